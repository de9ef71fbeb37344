"""Sphinx's configuration for scripts/make_site.sh, which lays the pages out as they lie in the repository, so that their links lead where they lead there."""
import os
import pathlib
import re
import shutil

tree = pathlib.Path(os.environ['CFFS_TREE'])
project = 'cffs'
html_title = 'cffs'
root_doc = 'README'
extensions = ['myst_parser']
myst_heading_anchors = 4
html_theme = 'furo'
html_static_path = ['static']
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False
# Blocks without a language are what programs say.
highlight_language = 'none'
pygments_style = 'tango'
pygments_dark_style = 'native'

DECISIONS = 'docs/adr'
# What a reader meets in which order. A page that no part names is under "More", so none is ever missing.
PARTS = {
    'Use it': ['docs/TUTORIAL', 'docs/ADVISE', 'docs/INSTALLING', 'docs/TRANSFER', 'docs/BROWSING', 'docs/GROUPING', 'docs/COMPRESSION', 'docs/DEDUPLICATION', 'docs/OBSERVING', 'docs/MANNERS', 'docs/PYTHON', 'docs/FOLLOWING', 'docs/REGION_STORE', 'docs/RADOS_STORE', 'docs/SPARK'],
    'Services in front': ['docs/services/*'],
    'What it promises': ['docs/COMPATIBILITY', 'docs/CONSISTENCY', 'docs/SECURITY', 'docs/SCALING'],
    'What it costs': ['docs/PERFORMANCE', 'docs/RESULTS', 'docs/MEASURING', 'docs/TRACES', 'The traces of this tree <traces/README>'],
    'Inside': ['CONTRIBUTING', 'docs/ARCHITECTURE', 'docs/ON_DISK_FORMAT', 'docs/CONCURRENCY', 'docs/TESTING'],
    'More': ['docs/*', 'CHANGELOG', 'docs/LICENCES'],
    'Decisions': [DECISIONS + '/README', DECISIONS + '/*'],
}


def navigation(top):
    """Hidden tables of contents for the first page."""
    named, text = set(), ''
    last = {'CHANGELOG', 'docs/LICENCES'}
    for part, patterns in PARTS.items():
        pages = []
        for pattern in patterns:
            if '<' in pattern:  # a title of its own
                named.add(pattern[pattern.index('<') + 1:-1])
                pages.append(pattern)
                continue
            found = sorted(str(path.relative_to(top).with_suffix('')) for path in top.glob(pattern + '.md'))
            pages += [page for page in found if page not in named and page not in pages and (page not in last or pattern == page)]
        named.update(pages)
        if pages:
            text += f'\n```{{toctree}}\n:hidden:\n:caption: {part}\n\n' + '\n'.join(pages) + '\n```\n'
    return text


def list_decisions(top):
    """The page of a folder that has none of its own."""
    folder = top / DECISIONS
    titles = [(path.name, path.read_text().split('\n', 1)[0].lstrip('# ')) for path in sorted(folder.glob('0*.md'))]
    (folder / 'README.md').write_text('# Decisions\n\n' + ''.join(f'- [{title}]({name})\n' for name, title in titles))


def settle_links(source, page, top):
    """Links to folders and to files that are no pages lead to the folder's page and to the file; what is not there stays, and is an error."""
    def settled(found):
        target = (page.parent / found[1]).resolve()
        if not target.is_relative_to(top):
            return found[0]
        if (target / 'README.md').exists():
            return f']({found[1]}/README.md)'
        original = tree / target.relative_to(top)
        if not target.exists() and original.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(original, target)
        return found[0]
    return re.sub(r'\]\(([^)#:\s]+)\)', settled, source)


def on_source(app, document, source):
    top = pathlib.Path(app.srcdir).resolve()
    source[0] = settle_links(source[0], top / (document + '.md'), top)
    if document == root_doc:
        source[0] += navigation(top)


def setup(app):
    app.connect('source-read', on_source)


list_decisions(pathlib.Path(__file__).parent)
