"""What a survivor of a power cut may hold (docs/CONSISTENCY.md, "The power is cut"): the tree as its user knows it, call by call, and whether a tree
that was found is one of its states. For power_cuts.py."""
import os

SECTOR = 512


class Tree:
    """What the user knows: after each call the names, and every content that a file has had."""

    def __init__(self):
        self.names, self.directories = {}, set()   # path -> file number
        self.versions = []                         # by file: [(call, content)]
        # (names, directories, log positions where it started and ended), the empty tree first
        self.calls = [({}, set(), 0, 0)]
        self.promises = []                         # (log position, call): durable once the log was that long
        self.durable_version = []                  # by file: [(log position, number of versions then)]

    def file(self):
        self.versions.append([(len(self.calls), b"")])
        self.durable_version.append([(0, 0)])
        return len(self.versions) - 1

    def content(self, path):
        return self.versions[self.names[path]][-1][1]

    def change(self, path, content):
        self.versions[self.names[path]].append((len(self.calls), content))

    def called(self, started, ended):
        self.calls.append((dict(self.names), set(self.directories), started, ended))

    def promise_all(self, position):
        self.promises.append((position, len(self.calls) - 1))
        for number, history in enumerate(self.durable_version):
            history.append((position, len(self.versions[number]) - 1))

    def promise(self, path, position):
        self.promises.append((position, len(self.calls) - 1))
        number = self.names[path]
        self.durable_version[number].append((position, len(self.versions[number]) - 1))


def observe(root):
    found, directories = {}, set()
    for directory, names, files in os.walk(root, onerror=lambda error: (_ for _ in ()).throw(error)):
        below = os.path.relpath(directory, root)
        below = "" if below == "." else below + "/"
        directories.update(below + name for name in names)
        for name in files:
            with open(os.path.join(directory, name), "rb") as f:
                found[below + name] = f.read()
    return found, directories


def sector_by_sector(content, candidates):
    """Where it holds what no candidate has at that place, or None. Behind the end that the shortest had, bytes may still be the zeros that the file
    system below shows where a size has arrived and data has not."""
    grown_from = min(len(c) for c in candidates)
    for at in range(0, len(content), SECTOR):
        piece = content[at:at + SECTOR]
        zeros = max(0, min(len(piece), grown_from - at))  # from there on they are in order
        if not any(is_torn(piece, c[at:at + SECTOR], zeros) for c in candidates):
            return at
    return None


def is_torn(piece, candidate, zeros_from):
    if piece == candidate:
        return True
    candidate = candidate[:len(piece)].ljust(len(piece), b"\0")
    return all(a == b or (a == 0 and i >= zeros_from) for i, (a, b) in enumerate(zip(piece, candidate)))


def differences(tree, observed, low, high, position, exact=False):
    """Nothing, or why the survivor is none of the states from `low` to `high`."""
    found, directories = observed
    why = []
    for state in range(high, low - 1, -1):
        names, wanted_directories = tree.calls[state][:2]
        if set(names) != set(found) or wanted_directories != directories:
            why.append(f"state {state}: missing {sorted(set(names) - set(found))[:5]}, beyond {sorted(set(found) - set(names))[:5]}, "
                       f"directories {sorted(wanted_directories ^ directories)}")
            continue
        wrong = None
        for path, number in names.items():
            history = tree.versions[number]
            at_state = [c for call, c in history if call <= state][-1]
            content = found[path]
            if content == at_state:
                continue
            large = max(len(c) for _, c in history) >= tree.blob_from
            if exact or not large:
                wrong = f"{path} has {len(content)} bytes, is not what it was in state {state} ({len(at_state)} bytes)"
                break
            # In place, in any order, since it was last durable; shorter where it had not grown yet.
            first = max(version for durable, version in tree.durable_version[number] if durable <= position)
            candidates = [c for call, c in history[first:] if call <= high]
            if len(content) > max(len(c) for c in candidates):
                wrong = f"{path} is longer than it ever was since it was durable"
                break
            at = sector_by_sector(content, candidates)
            if at is not None:
                zeros = not any(content[at:at + SECTOR])
                wrong = (f"{path}, of {len(content)} bytes, has at byte {at} {'zeros, which' if zeros else 'what'} it never had since it was durable "
                         f"(version {first} of {len(history)}; lengths {[len(c) for c in candidates]})")
                break
        if wrong is None:
            return []
        why.insert(0, f"state {state}: {wrong}")
    return [f"no state from {low} to {high} fits: " + "; ".join(why[:4])]
