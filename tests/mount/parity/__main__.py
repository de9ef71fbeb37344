"""Runs system calls on two directories and compares what they answer and leave behind.

usage: python3 parity [--differences FILE] NATIVE MOUNT [CASE...]

Each module of cases/ holds a function of its own name, which gets an empty directory as its working directory and notes
(label, outcome) pairs: a result, or the name of an errno. The outcomes of both directories must be the same, but for the
labels that FILE (docs/COMPATIBILITY.md) lists as `case: label` in the first column of a table, each of which must really
differ. Exit 1 where anything else differs, or where a case does not come to its end.
"""

import importlib
import os
import sys

sys.dont_write_bytecode = True  # the tree stays as it is

from compare import Differences, compare  # noqa: E402

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cases')


def modules(wanted):
    names = sorted(n[:-3] for n in os.listdir(CASES) if n.endswith('.py'))
    for unknown in set(wanted) - set(names):
        sys.exit(f'there is no case {unknown}; there are: {" ".join(names)}')
    found = {n: importlib.import_module(f'cases.{n}') for n in wanted or names}
    return {n: m for n, m in found.items() if wanted or not getattr(m, 'IN_PLACE', False)}


def main(args):
    differences = Differences()
    if args[:1] == ['--differences']:
        differences = Differences(args[1])
        args = args[2:]
    if len(args) < 2:
        sys.exit(__doc__)
    cases = modules(args[2:])
    total = failures = 0
    for name, module in cases.items():
        compared, differing = compare(name, module, args[:2], differences)
        total += compared
        failures += differing
    for label in differences.unused(cases):
        print(f'  listed as a difference but none: {label}')
        failures += 1
    print(f'{total} outcomes compared, {differences.total()} differ as listed, {failures} otherwise')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
