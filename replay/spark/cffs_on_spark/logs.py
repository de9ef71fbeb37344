"""The logs that are read: which they are, where Spark finds them, and of what format."""
import os
import re
import subprocess
from dataclasses import dataclass

from .problem import Problem, first_line, why_no_place

RECORDINGS = {"strace", "fatrace", "opensnoop", "trace", "transactions"}  # a line means what those before it say
SPLIT = {"common", "combined", "json", "s3"}  # a line means what it says
MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x9d", b"LZIP", b"\x89LZO",
         b"\x5d\0\0", b"SQLite format 3\0")
# Names by which Spark's reader would decompress what is plain.
CODECS = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".xz")
PATTERN = re.compile(r"[\\*?\[\]{}]")  # of Hadoop


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


def escaped(path):
    """A Hadoop path as a pattern that matches it alone. Spark, told that its paths are no patterns, reads all of them once more for
    each that looks like one (3.5, checkAndGlobPathIfNecessary), so it is not told."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path.toString())


def spoken(status):
    uri = status.getPath().toUri()
    return uri.getPath() if uri.getScheme() in (None, "file") else status.getPath().toString()


def is_hidden(name):
    return name.startswith((".", "_"))


def found_at(run, log):
    """(name, status) of each file or directory at a path, or that an address or a pattern stands for."""
    sc = run.spark.sparkContext
    path_of, conf = sc._jvm.org.apache.hadoop.fs.Path, sc._jsc.hadoopConfiguration()
    if os.path.exists(log):
        path = path_of("file", None, os.path.abspath(log))
        return [(log, path.getFileSystem(conf).getFileStatus(path))]
    path = path_of(log)
    there = sorted(path.getFileSystem(conf).globStatus(path) or [], key=lambda s: s.getPath().toString())
    if not PATTERN.search(log):
        return [(log, s) for s in there]
    wants_hidden = is_hidden(path.getName())
    return [(spoken(s), s) for s in there if wants_hidden or not is_hidden(s.getPath().getName())]


def files_at(run, log):
    found = []
    for name, status in found_at(run, log):
        if not status.isDirectory():
            found.append((name, status))
            continue
        system = status.getPath().getFileSystem(run.spark.sparkContext._jsc.hadoopConfiguration())
        below = [(name.rstrip("/") + "/" + s.getPath().getName(), s) for s in system.listStatus(status.getPath())
                 if s.isFile() and not is_hidden(s.getPath().getName())]
        if not below:
            raise Problem(f"{name}: no file in it")
        found += sorted(below, key=lambda s: s[0])
    if not found:
        raise Problem(f"{log}: No such file or directory")
    return found


def listed(run):
    """In the order given; of a directory or a pattern by name."""
    logs = []
    for log in run.q["logs"]:
        try:
            logs += [Log(name, s.getPath(), s.getLen()) for name, s in files_at(run, log)]
        except Problem:
            raise
        except Exception as e:
            known = why_no_place(e)
            if known:
                raise Problem(f"{log}: Spark cannot read it ({known[1]})")
            why = re.sub(r"[\w.]+Exception: ", "", first_line(e).partition("; For more details")[0])
            if re.search("No FileSystem for scheme|Class .* not found", why):
                raise Problem(f"{log}: Spark has no file system for such an address here; --spark-conf=spark.jars=FILE.jar,... brings one")
            raise Problem(f"{log}: Spark cannot read it ({why}); a path, a pattern or an address that Spark has a file system for is wanted")
    seen = set()
    for log in logs:
        if log.path.toString() in seen:
            raise Problem(f"{log.name} is given twice, and Spark would count it once: name it once")
        seen.add(log.path.toString())
        for output in run.q["outputs"]:
            if log.local and os.path.exists(output) and os.path.exists(log.local) and os.path.samefile(output, log.local):
                raise Problem(f"{output} is what is read, and would be overwritten; name another file to write")
    return logs


def look_into(run, log):
    """Finds its format by its head, which may end anywhere."""
    try:
        stream = log.path.getFileSystem(run.spark.sparkContext._jsc.hadoopConfiguration()).open(log.path)
        try:
            head = bytes(stream.readNBytes(1 << 20))
        finally:
            stream.close()
    except Exception as e:
        known = why_no_place(e)
        if known:
            raise Problem(f"{log.name}: Spark cannot read it ({known[1]})")
        raise Problem(f"{log.name}: Spark cannot read it ({first_line(e)}); may its workers read it?")
    log.plain = bool(head) and not head.startswith(MAGIC) and not log.name.endswith(CODECS)
    log.format = run.q["reader"]["format"]
    if log.format == "auto":
        path = run.scratch("head")
        with open(path, "wb") as file:
            file.write(head)
        log.format = subprocess.run([run.cffs, "spark-part", "format", path], capture_output=True, text=True).stdout.strip()
