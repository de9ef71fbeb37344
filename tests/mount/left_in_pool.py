#!/usr/bin/env python3
# What a store at rest has in its pool that it should not: pieces of objects that no name names, notes of removals. Standard input: what
# "rados listomapvals" says of its maps of names; arguments: a file of all names in the pool, and the store's.
import re
import sys

objects, store = sys.argv[1:]
named = set()
key, value = None, b""
for line in sys.stdin.read().split("\n") + [""]:
    if re.match(r"value \(\d+ bytes\)", line):
        value = b""
    elif part := re.match(r"[0-9a-f]{8}  ((?:[0-9a-f]{2} {1,2})+)", line):
        value += bytes.fromhex(part.group(1))
    elif line == "" and key is not None:
        if key.startswith("g/"):
            print(key)
        number = 0  # a varint; what is behind it says nothing of the object
        for shift, byte in enumerate(value):
            number |= (byte & 127) << (7 * shift)
            if byte < 128:
                break
        named.add(f"{number:016x}")
        key = None
    elif not re.fullmatch(r"[0-9a-f]{8}", line):
        key = line
for name in open(objects):
    piece = re.fullmatch(re.escape(store) + r"\.([0-9a-f]{16})\.[0-9a-f]{8}\n", name)
    if piece and piece.group(1) not in named:
        print(name.strip())
