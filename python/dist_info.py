"""Writes what Python's tools ask of an installed package (pip list, importlib.metadata, entry points), from pyproject.toml: what pip puts
beside a wheel's files, for the package in the build tree and for Debian's, which no pip installs.

    python3 dist_info.py pyproject.toml VERSION DIRECTORY     makes DIRECTORY/cffs-VERSION.dist-info

VERSION is the build's; it has to be pyproject.toml's.
"""

import pathlib
import shutil
import sys
import sysconfig
import tomllib


def metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {needed}" for needed in project["dependencies"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in packages]
    return "\n".join(lines) + "\n"


def entry_points(project):
    groups = project["entry-points"].items()
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
                     for group, points in groups)


def wheel():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"Wheel-Version: 1.0\nGenerator: cffs\nRoot-Is-Purelib: false\nTag: {python}-{python}-{platform}\n"


def main(description, version, directory):
    project = tomllib.loads(pathlib.Path(description).read_text(encoding="utf-8"))["project"]
    if project["version"] != version:
        sys.exit(f"{description} says version {project['version']}, CMakeLists.txt {version}")
    for old in pathlib.Path(directory).glob("cffs-*.dist-info"):
        shutil.rmtree(old)
    made = pathlib.Path(directory) / f"cffs-{version}.dist-info"
    made.mkdir(parents=True)
    for name, text in {"METADATA": metadata(project), "entry_points.txt": entry_points(project), "WHEEL": wheel()}.items():
        (made / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
