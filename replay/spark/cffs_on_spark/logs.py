"""The logs that are read: which they are, where Spark finds them, and of what format."""
import os
import subprocess
from dataclasses import dataclass

from .problem import Problem, first_line

RECORDINGS = {"strace", "fatrace", "opensnoop", "trace", "transactions"}  # a line means what those before it say
SPLIT = {"common", "combined", "json", "s3"}  # a line means what it says
MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x9d", b"LZIP", b"\x89LZO",
         b"\x5d\0\0", b"SQLite format 3\0")
# Names by which Spark's reader would decompress what is plain.
CODECS = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".xz")


@dataclass


class Log:
    name: str
    path: object  # Hadoop's
    length: int
    format: str = "auto"
    plain: bool = False

    @property
    def base(self):
        return os.path.basename(self.name)

    @property
    def is_recording(self):
        return self.format in RECORDINGS

    @property
    def is_cut(self):
        return self.plain and self.format in SPLIT

    @property
    def local(self):
        """Its path, where it is a file of this machine's."""
        uri = self.path.toUri()
        return uri.getPath() if uri.getScheme() in (None, "file") else None


def listed(run):
    """In the order given; of a directory or a pattern by name."""
    sc = run.spark.sparkContext
    jvm, conf = sc._jvm, sc._jsc.hadoopConfiguration()
    found = []
    for log in run.q["logs"]:
        try:
            local = os.path.exists(log)
            path = jvm.org.apache.hadoop.fs.Path("file", None, os.path.abspath(log)) if local else jvm.org.apache.hadoop.fs.Path(log)
            system = path.getFileSystem(conf)
            there = [system.getFileStatus(path)] if local else list(system.globStatus(path) or [])
            if not there:
                raise Problem(f"{log}: No such file or directory")
            for status in there:
                if status.isDirectory():
                    below = [s for s in system.listStatus(status.getPath())
                             if s.isFile() and not s.getPath().getName().startswith((".", "_"))]
                    found += sorted(((log.rstrip("/") + "/" + s.getPath().getName(), s) for s in below), key=lambda s: s[0])
                else:
                    found.append((log if len(there) == 1 else status.getPath().toString(), status))
        except Problem:
            raise
        except Exception as e:
            raise Problem(f"{log}: Spark cannot read it ({first_line(e)}); a path, a pattern or an address that Spark has a file system for is wanted")
    if not found:
        raise Problem(f"{run.q['logs'][0]}: no file in it")
    return [Log(name, s.getPath(), s.getLen()) for name, s in found]


def look_into(run, log):
    """Finds its format by its head, which may end anywhere."""
    try:
        stream = log.path.getFileSystem(run.spark.sparkContext._jsc.hadoopConfiguration()).open(log.path)
        try:
            head = bytes(stream.readNBytes(1 << 20))
        finally:
            stream.close()
    except Exception as e:
        raise Problem(f"{log.name}: Spark cannot read it ({first_line(e)}); may its workers read it?")
    log.plain = bool(head) and not head.startswith(MAGIC) and not log.name.endswith(CODECS)
    log.format = run.q["reader"]["format"]
    if log.format == "auto":
        path = run.scratch("head")
        with open(path, "wb") as file:
            file.write(head)
        log.format = subprocess.run([run.cffs, "spark-part", "format", path], capture_output=True, text=True).stdout.strip()
