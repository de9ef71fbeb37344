"""cffs itself, which a task runs for its part (replay/spark/part.h), between two pipes."""
import socket
import struct
import subprocess
import threading

from .problem import Problem


def frames_of(cffs, version, words, feed=None):
    """(kind, rows, stream) for each frame that a part writes; `feed`: its input, an iterable of bytes."""
    try:
        part = subprocess.Popen([cffs, "spark-part", *words], stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as e:
        raise Problem(f"{cffs} cannot be run on {socket.gethostname()} ({e.strerror}): install cffs {version} there, as on each worker")
    failed = []

    def pour():
        try:
            with part.stdin:
                for chunk in feed:
                    part.stdin.write(chunk)
        except BrokenPipeError:
            pass
        except BaseException as e:
            failed.append(e)

    pourer = threading.Thread(target=pour, daemon=True) if feed else None
    if pourer:
        pourer.start()
    try:
        while True:
            head = part.stdout.read(5)
            if len(head) < 5:
                break
            kind, rows = head[:1], struct.unpack("<I", head[1:])[0]
            if kind == b"V":
                there = part.stdout.read(rows).decode()
                if there != version:
                    raise Problem(f"{cffs} on {socket.gethostname()} is version {there}, this is {version}: install the same on each worker")
                continue
            yield kind, rows, part.stdout
    finally:
        part.stdout.close()
        if pourer:
            pourer.join()
        code = part.wait()
    if failed:
        raise failed[0]
    if code != 0:
        raise Problem(f"{cffs} on {socket.gethostname()} ended with {code}: is it another version? this is {version}")
