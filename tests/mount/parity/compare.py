"""Runs a case on both directories, and says where the outcomes part."""

import fnmatch
import json
import os
import re
import shutil
import time
import traceback

from harness import Notes

SHOWN = 12  # differences of a case that are printed


class Differences:
    """The labels in the tables of a documentation page, `case: label`, with * and ?; each must really differ."""

    def __init__(self, page=None):
        self.counts = {}
        if page is None:
            return
        with open(page) as lines:
            for line in lines:
                m = re.match(r'\| `([a-z_]+: [^`]+)` \|', line)
                if m:
                    self.counts[m[1].replace('¦', '|')] = 0

    def lists(self, label):
        """Whether the label is listed; what lists it counts one more."""
        matches = [k for k in self.counts if fnmatch.fnmatchcase(label, k.replace('[', '[[]'))]
        for k in matches:
            self.counts[k] += 1
        return bool(matches)

    def unused(self, cases):
        return [k for k, n in self.counts.items() if n == 0 and k.split(':')[0] in cases]

    def total(self):
        return sum(self.counts.values())


def outcomes(function, directory):
    """The notes of a case, taken in a child so that nothing leaks from one to the next; and whether it came to its end."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        try:
            os.umask(0o022)
            os.chdir(directory)
            notes = Notes()
            ended = None
            try:
                function(notes)
            except BaseException as e:
                at = traceback.extract_tb(e.__traceback__)[-1]
                ended = f'{type(e).__name__}: {e} at {os.path.basename(at.filename)}:{at.lineno}'
            with os.fdopen(w, 'w') as out:
                json.dump([notes.list, ended], out)
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else ([], 'died')


def in_both(name, module, tops):
    """The outcomes of a case below each of the two directories."""
    function, both = getattr(module, name), []
    for top in tops:
        if getattr(module, 'IN_PLACE', False):
            both.append(outcomes(function, top))
            continue
        directory = os.path.join(top, name)
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        both.append(outcomes(function, directory))
        shutil.rmtree(directory, ignore_errors=True)
    return both


def compare(name, module, tops, differences):
    """Prints what differs without being listed; returns how many outcomes were compared, and how many of those there are."""
    started = time.time()
    (native, native_end), (mount, mount_end) = in_both(name, module, tops)
    wrong = []
    for side, end in (('native', native_end), ('mount', mount_end)):
        if end:
            wrong.append(f'{name}: did not come to its end on the {side} side: {end}')
    compared = max(len(native), len(mount))
    for i in range(compared):
        (label, a), (other, b) = [x[i] if i < len(x) else ('nothing', '') for x in (native, mount)]
        if (label, a) == (other, b) or differences.lists(f'{name}: {label}'):
            continue
        also = '' if label == other else f' ({other})'
        wrong.append(f'{name}: {label}\n    native {a[:300]}\n    mount  {b[:300]}{also}')
    for text in wrong[:SHOWN]:
        print(f'  {text}')
    print(f'{name}: {len(native)} calls, {len(wrong)} differ, {time.time() - started:.1f} s', flush=True)
    return compared, len(wrong)
