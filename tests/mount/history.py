#!/usr/bin/env python3
"""A history that tells its moment: `write DIR SECONDS` makes steps one after the other, each known by its number; `check DIR` holds a
copy of DIR against it: what is there must be what some step left, in every file at once.

Step n writes n into a slot of a large file in place, then into a small file, then renames a file to n. Every 50th step cuts the
large file short and fills it again, every 70th one makes it anew."""
import os
import struct
import sys
import time

SLOTS, SLOT = 40, 50_000


def number(data):
    return struct.unpack("<Q", data)[0]


def slots_after(n):
    """The large file after n steps, a number for each slot."""
    slots = [0] * SLOTS
    for step in range(max(1, n - n % 50 - 100), n + 1):
        if step % 50 == 0:
            slots[SLOTS // 2:] = [step] * (SLOTS - SLOTS // 2)
        slots[step % SLOTS] = step
    return slots


def write(folder, seconds):
    large, small = os.path.join(folder, "large"), os.path.join(folder, "small")
    with open(large, "wb") as f:
        f.write(b"".join(struct.pack("<Q", 0).ljust(SLOT, b"\0") for _ in range(SLOTS)))
    with open(small, "wb") as f:
        f.write(struct.pack("<Q", 0))
    open(os.path.join(folder, "mark.0"), "w").close()
    end, n = time.time() + seconds, 0
    while time.time() < end:
        n += 1
        if n % 70 == 0:
            with open(large, "rb") as f:
                data = f.read()
            with open(large + ".new", "wb") as f:
                f.write(data)
            os.rename(large + ".new", large)
        fd = os.open(large, os.O_RDWR)
        if n % 50 == 0:
            os.ftruncate(fd, SLOTS // 2 * SLOT)
            os.pwrite(fd, b"".join(struct.pack("<Q", n).ljust(SLOT, b"\0") for _ in range(SLOTS - SLOTS // 2)),
                      SLOTS // 2 * SLOT)
        os.pwrite(fd, struct.pack("<Q", n), n % SLOTS * SLOT)
        os.close(fd)
        fd = os.open(small, os.O_WRONLY)
        os.pwrite(fd, struct.pack("<Q", n), 0)
        os.close(fd)
        os.rename(os.path.join(folder, f"mark.{n - 1}"), os.path.join(folder, f"mark.{n}"))
    print(n)


def check(folder):
    marks = [int(name[5:]) for name in os.listdir(folder) if name.startswith("mark.")]
    if len(marks) != 1:
        sys.exit(f"{folder}: marks {marks}")
    with open(os.path.join(folder, "small"), "rb") as f:
        small = number(f.read())
    with open(os.path.join(folder, "large"), "rb") as f:
        data = f.read()
    slots = [number(data[at:at + 8]) for at in range(0, len(data) - 7, SLOT)]
    begun = marks[0] + 1  # the step that may be under way
    if small not in (marks[0], begun):
        sys.exit(f"{folder}: small file {small}, mark {marks[0]}")
    states = [slots_after(marks[0])] if small == marks[0] else []
    states.append(slots_after(begun))
    if begun % 50 == 0 and small != begun:  # cut short, refilled piece by piece, not yet written to
        kept, filled = slots_after(marks[0])[:SLOTS // 2], slots[SLOTS // 2:]
        if slots[:SLOTS // 2] == kept and all(s == begun for s in filled):
            return
    if slots not in states:
        sys.exit(f"{folder}: mark {marks[0]}, small {small}, large {slots}, none of {states}")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], float(sys.argv[3]))
    else:
        check(sys.argv[2])
