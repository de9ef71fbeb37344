#!/usr/bin/env python3
"""Types what a page shows after "$ " in its console blocks into one shell, in order, and compares what comes with what is shown there.

  tutorial.py PAGE BIN      BIN: the directory of the cffs under test; it stands for $PWD/build/release

Numbers stand for any numbers, a path below /tmp for any such path, "..." for any lines. A command that ends with an error fails, whatever it prints."""
import difflib
import re
import subprocess
import sys


def steps(page):
    """(command, shown lines) for each command."""
    found = []
    for block in re.findall(r'^```console\n(.*?)^```$', page, re.M | re.S):
        for line in block.splitlines():
            if line.startswith('$ '):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def plain(line):
    """The line without what varies."""
    line = re.sub(r'/tmp/[\w./-]*/', 'DIR/', line)
    line = re.sub(r'(\d[\d.,:-]*)(?: ?(B|KB|MB|GB|K|M|G))?(?![\w])', 'N', line)
    return re.sub(r'\s+', ' ', line).strip()


def alike(shown, came):
    pattern = ''.join('(.*\n)*?' if line == '...' else re.escape(plain(line)) + '\n' for line in shown)
    return re.fullmatch(pattern, ''.join(plain(line) + '\n' for line in came)) is not None


class Shell:
    end = '=end of a command='

    def __init__(self):
        self.process = subprocess.Popen(['bash'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        self.process.stdin.write(f'{command}\nprintf "\\n{self.end}%d\\n" $?\n')
        self.process.stdin.flush()
        text = ''
        for line in self.process.stdout:
            if line.startswith(self.end):
                text = text[:-1]  # the newline before the end
                return text.splitlines(), int(line[len(self.end):])
            text += line
        raise SystemExit(f'the shell ended at: {command}')


def check_itself():
    assert steps('x\n```console\n$ a\nb\n$ c\n```\n```sh\n$ d\n```\n') == [('a', ['b']), ('c', [])]
    assert alike(['1,5 MB in 2 files', '...', 'end'], ['17 KB in 30 files', 'x', 'y', 'end'])
    assert not alike(['2 files'], ['2 directories']) and not alike([], ['error']) and not alike(['a'], []) and not alike(['clean'], ['not clean'])


check_itself()
page, binaries = sys.argv[1:]
typed = steps(open(page).read())
shell, wrong = Shell(), 0
for command, shown in typed:
    came, code = shell.run(command.replace('$PWD/build/release', binaries))
    if code == 0 and alike(shown, came):
        print(f'  ok: {command}')
        continue
    wrong += 1
    print(f'  FAILED: {command} (exit code {code})')
    print('\n'.join('    ' + line for line in difflib.unified_diff(shown, came, 'shown', 'came', lineterm='')))
print(f'{len(typed)} commands, {wrong} wrong')
sys.exit(wrong != 0 or len(typed) < 20)
