"""What `cffs analyze --engine=spark` has Spark do (docs/SPARK.md): sessions, transactions and frequent itemsets as DataFrames.

Asked and answering in lines of JSON on standard input and output; all else that is said goes to standard error, a file. Reading a
line and mining a closed set is done by cffs itself in each task (replay/spark/part.h), so that there is one set of rules; what
is here deals the work out and puts the order of the log back together:

  accesses have a number, their place among all accesses of the logs; files are numbered by their first access; sessions come in the
  order in which the native engine closes them: at the stream's next access, at a sweep for idle ones (each 65,536th access), or
  at the end, where those that are left come as they began.
"""
import bisect
import json
import os
import queue
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

PYSPARK = "3.5."
JAVA = (8, 11, 17)
RECORDINGS = {"strace", "fatrace", "opensnoop", "trace", "transactions"}  # a line means what those before it say
SPLIT = {"common", "combined", "json", "s3"}  # a line means what it says
MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x9d", b"LZIP", b"\x89LZO",
         b"\x5d\0\0", b"SQLite format 3\0")
# Names by which Spark's reader would decompress what is plain.
CODECS = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".xz")
SMALL = 64 << 20  # bytes of all logs
MOST_WHOLE = 1 << 30  # bytes of a log that is no local file and is read whole
HASH_STEP, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
NEVER = 1 << 62
OURS = "spark.cffs."  # settings that are ours


class Problem(Exception):
    """A sentence for a person."""


# ---- frames (replay/spark/columns.h) ----

def text_frame(kind, text):
    return kind + struct.pack("<I", len(text)) + text


def frame_of(kind, columns):
    return kind + struct.pack("<I", len(columns[0])) + b"".join(c.tobytes() for c in columns)


def column(stream, dtype, rows):
    import numpy
    data = stream.read(numpy.dtype(dtype).itemsize * rows)
    return numpy.frombuffer(data, dtype)


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


# ---- reading ----

ROWS = "kind int, split long, at long, a long, stream long, file long, flag boolean, blob binary"


def batches_of_part(cffs, version, reader, format_name, logs, split, named, feed=None):
    """Rows of a part as Arrow batches. kind 0: access (a: time), 1: file (a: bytes, stream: accesses, at: its first access), 2:
    counts, 3: a problem. `named`: (what the part calls a log, what it is called)."""
    import numpy
    import pyarrow

    def batch(kind, rows, at, a, stream, file, flag, blobs):
        def whole(value, kind_of):
            return pyarrow.array(numpy.full(rows, value, kind_of))
        return pyarrow.RecordBatch.from_arrays(
            [whole(kind, "i4"), whole(split, "i8"), pyarrow.array(at), pyarrow.array(a), pyarrow.array(stream), pyarrow.array(file),
             pyarrow.array(flag), pyarrow.nulls(rows, pyarrow.binary()) if blobs is None else pyarrow.array(blobs, pyarrow.binary())],
            names=["kind", "split", "at", "a", "stream", "file", "flag", "blob"])

    def said(kind, text):
        none = numpy.zeros(1, "i8")
        return batch(kind, 1, none, none, none, none, none.astype("?"), [text])

    words = ["accesses", "--format", format_name]
    for option in ("stream", "below", "prefix"):
        if reader[option]:
            words += [f"--{option}={reader[option]}"]
    at = 0
    try:
        for kind, rows, stream in frames_of(cffs, version, words + ["--", *logs], feed):
            if kind == b"A":
                times, streams, files = (column(stream, "<i8", rows) for _ in range(3))
                crawlers = column(stream, "u1", rows).astype("?")
                yield batch(0, rows, numpy.arange(at, at + rows, dtype="i8"), times, streams, files, crawlers, None)
                at += rows
            elif kind == b"F":
                files, sizes, accesses, firsts = (column(stream, "<i8", rows) for _ in range(4))
                full, lengths = column(stream, "u1", rows).astype("?"), column(stream, "<u4", rows)
                yield batch(1, rows, firsts, sizes, accesses, files, full, [stream.read(n) for n in lengths.tolist()])
            else:
                text = stream.read(rows)
                if kind == b"E":
                    for theirs, ours, _ in named:
                        text = re.sub(b"^" + re.escape(theirs.encode()) + b"(?=: )", lambda _: ours.encode(), text)
                yield said({b"S": 2, b"E": 3}[kind], text)
    except Problem as problem:
        yield said(3, str(problem).encode())


def split_reader(cffs, version, reader, index_of, formats, names):
    """Parses the lines of one split, which is all that a task has."""
    def parse(batches):
        first = next(batches, None)
        while first is not None and first.num_rows == 0:
            first = next(batches, None)
        if first is None:
            return
        where, start = first.column(1)[0].as_py(), first.column(2)[0].as_py()
        index = index_of[where]

        def feed():
            batch = first
            while batch is not None:
                if batch.num_rows > 0:
                    end = batch.num_rows - 1
                    if batch.column(1)[end].as_py() != where or batch.column(2)[end].as_py() != start:
                        raise AssertionError("two splits in one task")
                    lines = batch.column(0).to_pylist()
                    lines.append(b"")
                    yield b"\n".join(lines)
                batch = next(batches, None)

        # The first split finds the format as one reader of the whole does, and counts what comes before it is known.
        format_name = reader["format"] if start == 0 else formats[index]
        yield from batches_of_part(cffs, version, reader, format_name, ["-"], index << 44 | start, [("-", *names[index])], feed())
    return parse


def whole_reader(cffs, version, reader, units):
    """Parses logs that are not split: a task for each unit, (index of its first, [(name, path or None)])."""
    def parse(batches):
        for batch in batches:
            for unit, contents in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                index, logs = units[unit]
                with tempfile.TemporaryDirectory() as scratch:
                    paths = []
                    for number, (name, path) in enumerate(logs):
                        if path is None:
                            path = os.path.join(scratch, str(number))
                            with open(path, "wb") as file:
                                file.write(contents[number])
                        paths.append(path)
                    named = [(path, name, os.path.basename(path)) for path, (name, _) in zip(paths, logs)]
                    yield from batches_of_part(cffs, version, reader, reader["format"], paths, index << 44, named)
    return parse


# ---- sessions (grouping/mining/sessions.h) ----

class Sweeps:
    """When idle sessions are looked for, and the time then."""

    def __init__(self, every, times):
        self.every, self.times, self.most = every, times, []
        for t in times:
            self.most.append(max(t, self.most[-1]) if self.most else t)

    def first(self, sweep, beyond):
        """The first one from `sweep` on whose time is beyond; their number: none."""
        found = bisect.bisect_right(self.most, beyond)
        if found >= sweep:
            return found
        for at in range(sweep, len(self.times)):  # the log has stepped back
            if self.times[at] > beyond:
                return at
        return len(self.times)


def session_cutter(sweeps, gap, most_files):
    """Cuts streams, which come one after the other and each in its order, into sessions. Rows (event, begin, items): the order in
    which they are closed; at last four with event -1: begin is a count, items say of what."""
    def cut_batches(batches):
        import numpy
        import pyarrow
        every = sweeps.every
        most = numpy.array(sweeps.most, "i8")
        events, begins, lengths, flat = [], [], [], []
        counts = [0, 0, 0, 0]  # sessions, of crawlers, too large, repeats
        session = None  # stream, begin, last, number of its last access, crawler, items

        def rows():
            offsets = numpy.concatenate(([0], numpy.cumsum(numpy.array(lengths, "i8")))).astype("i4")
            batch = pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(events, pyarrow.int64()), pyarrow.array(begins, pyarrow.int64()),
                 pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(flat, pyarrow.int32()))],
                names=["event", "begin", "items"])
            for column_of in (events, begins, lengths, flat):
                column_of.clear()
            return batch

        def close(next_access):
            """`next_access`: of the same stream, or None."""
            stream, begin, last, number, crawler, items = session
            if crawler:
                counts[1] += 1
            elif len(items) > most_files:
                counts[2] += 1
            else:
                counts[0] += 1
                sweep = sweeps.first(number // every + 1, last + 2 * gap)
                if next_access is not None and sweep > next_access // every:
                    events.append(2 * next_access + 1)
                else:
                    events.append(2 * sweep * every if sweep < len(sweeps.times) else NEVER)
                begins.append(begin)
                lengths.append(len(items))
                flat.extend(items)

        def is_cut(t, last, number, g):
            if abs(t - last) > gap:
                return True
            return g // every > number // every and sweeps.first(number // every + 1, last + 2 * gap) <= g // every

        for batch in batches:
            n = batch.num_rows
            if n == 0:
                continue
            s, g, t, item, crawler = (batch.column(c).to_numpy(zero_copy_only=False) for c in range(5))
            same = numpy.empty(n, "?")
            same[1:] = s[1:] == s[:-1]
            same[0] = session is not None and session[0] == s[0]
            after = numpy.maximum(t, 0)  # the session's last time after each access, where the stream does not step back
            last, number = numpy.empty(n, "i8"), numpy.empty(n, "i8")
            last[1:], number[1:] = after[:-1], g[:-1]
            last[0], number[0] = (session[2], session[3]) if same[0] else (0, 0)
            cut = ~same | (numpy.abs(t - last) > gap)
            asked = numpy.nonzero(same & ~cut & (g // every > number // every))[0]
            if len(asked):
                from_sweep, beyond = number[asked] // every, last[asked] + 2 * gap
                found = numpy.searchsorted(most, beyond, "right")
                cut[asked] = (found > from_sweep) & (found <= g[asked] // every)
                for i in asked[found <= from_sweep].tolist():
                    cut[i] = is_cut(int(t[i]), int(last[i]), int(number[i]), int(g[i]))
            for back in numpy.unique(s[same & (t < last)]).tolist():
                run = numpy.nonzero(s == back)[0]
                known = int(last[run[0]])
                for i in range(int(run[0]), int(run[-1]) + 1):
                    last[i] = known
                    if same[i]:
                        cut[i] = is_cut(int(t[i]), known, int(number[i]), int(g[i]))
                    known = max(0 if cut[i] else known, int(t[i]))
                    after[i] = known
            starts = numpy.nonzero(cut)[0].tolist()
            edges = ([0] if not starts or starts[0] != 0 else []) + starts + [n]
            crawled = numpy.concatenate(([0], numpy.cumsum(crawler)))
            items = item.tolist()
            for a, b in zip(edges, edges[1:]):
                if cut[a]:
                    if session is not None:
                        close(int(g[a]) if same[a] else None)
                    session = [s[a], int(g[a]), 0, 0, False, {}]
                session[2], session[3] = int(after[b - 1]), int(g[b - 1])
                session[4] = session[4] or bool(crawled[b] > crawled[a])
                seen = session[5]
                if not seen:
                    seen = dict.fromkeys(items[a:b])
                    if len(seen) <= most_files:
                        counts[3] += b - a - len(seen)
                        session[5] = seen
                        continue
                    seen = session[5]
                for one in items[a:b]:
                    if len(seen) > most_files:
                        break
                    if one in seen:
                        counts[3] += 1
                    seen[one] = None
            if len(flat) > 1 << 18:
                yield rows()
        if session is not None:
            close(None)
        for of, count in enumerate(counts):
            events.append(-1), begins.append(count), lengths.append(1), flat.append(of)
        yield rows()
    return cut_batches


# ---- itemsets ----

def lists_of(array):
    """Lengths and values of a list column."""
    import numpy
    offsets = array.offsets.to_numpy()
    return numpy.diff(offsets).astype("<u4"), array.values.to_numpy()[offsets[0]:offsets[-1]].astype("<u4")


def blobs(of, rows=1):
    import pyarrow
    return pyarrow.RecordBatch.from_arrays([pyarrow.array([rows], pyarrow.int64()), pyarrow.array([of], pyarrow.binary())],
                                           names=["count", "blob"])


BLOBS = "count long, blob binary"


def transaction_frames(batches):
    for batch in batches:
        if batch.num_rows:
            yield blobs(frame_of(b"T", [batch.column(0).to_numpy().astype("<u8"), *lists_of(batch.column(1))[:1]]) +
                        lists_of(batch.column(1))[1].tobytes(), batch.num_rows)


def itemset_frames(batches):
    import numpy
    for batch in batches:
        if batch.num_rows:
            lengths, items = lists_of(batch.column(0))
            support = batch.column(1).to_numpy().astype("<u8")
            yield blobs(frame_of(b"I", [support, numpy.zeros(batch.num_rows, "<u8"), lengths]) + items.tobytes(), batch.num_rows)


def conditional_rows(rank_of, parts):
    """(part, number, ranks) of each transaction for each part that one of its frequent items is in."""
    def deal(batches):
        import numpy
        import pyarrow
        ranks_of = rank_of.value
        for batch in batches:
            lengths, items = lists_of(batch.column(1))
            rank = ranks_of[items]
            row = numpy.repeat(numpy.arange(batch.num_rows), lengths)
            row, rank = row[rank >= 0], rank[rank >= 0]
            order = numpy.lexsort((rank, row))
            row, rank = row[order], rank[order]
            offsets = numpy.searchsorted(row, numpy.arange(batch.num_rows + 1)).astype("i4")
            pairs = numpy.unique(row.astype("i8") * parts + rank % parts)
            lists = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(rank.astype("i4")))
            for at in range(0, len(pairs), 1 << 14):
                some = pairs[at:at + (1 << 14)]
                rows = pyarrow.array(some // parts)
                yield pyarrow.RecordBatch.from_arrays(
                    [pyarrow.array((some % parts).astype("i4")), batch.column(0).take(rows), lists.take(rows)],
                    names=["part", "number", "ranks"])
    return deal


def closed_miner(cffs, version, bounds, parts, originals):
    """Mines each part, whose rows come one after the other in their order. count -1: a sentence."""
    def mine(batches):
        import numpy
        items_of = originals.value
        ahead = []  # batches of one part each, a part's next to each other

        def pieces():
            for batch in batches:
                part = batch.column(0).to_numpy()
                edges = [0, *(numpy.nonzero(numpy.diff(part))[0] + 1).tolist(), batch.num_rows]
                for a, b in zip(edges, edges[1:]):
                    if b > a:
                        yield int(part[a]), batch.slice(a, b - a)

        source = pieces()
        ahead.append(next(source, None))
        while ahead[0] is not None:
            part = ahead[0][0]

            def feed():
                yield struct.pack("<QQQIII", *bounds, parts, part, len(items_of))
                while ahead[0] is not None and ahead[0][0] == part:
                    batch = ahead[0][1]
                    lengths, ranks = lists_of(batch.column(2))
                    yield frame_of(b"T", [batch.column(1).to_numpy().astype("<u8"), lengths]) + ranks.tobytes()
                    ahead[0] = next(source, None)

            try:
                for kind, rows, stream in frames_of(cffs, version, ["closed"], feed()):
                    if kind == b"E":
                        yield blobs(stream.read(rows), -1)
                        return
                    supports, lasts, lengths = column(stream, "<u8", rows), column(stream, "<u8", rows), column(stream, "<u4", rows)
                    items = items_of[column(stream, "<u4", int(lengths.sum()))].astype("<u4")
                    yield blobs(frame_of(b"I", [supports, lasts, lengths]) + items.tobytes(), rows)
            except Problem as problem:
                yield blobs(str(problem).encode(), -1)
                return
    return mine


# ---- the run ----

def java_there():
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    cure = "install one (apt-get install openjdk-17-jre-headless) or name its place with JAVA_HOME"
    if not java or not os.access(java, os.X_OK):
        raise Problem(f"Spark needs Java, and {java or 'no java in PATH'} {'cannot be run' if java else 'is there'}: {cure}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if not version or int(version.group(1)) not in JAVA:
        raise Problem(f"Spark 3.5 runs on Java 8, 11 and 17, and {java} is {version.group(1) if version else 'none of them'}: {cure}")


def pyspark_there():
    cure = "scripts/install_spark.sh installs it"
    try:
        import numpy  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark
    except ImportError as e:
        raise Problem(f"Spark is not complete in {sys.prefix} ({e}): {cure}")
    if not pyspark.__version__.startswith(PYSPARK):
        raise Problem(f"Spark in {sys.prefix} is {pyspark.__version__}, and cffs works with {PYSPARK}x: {cure}")


def master_there(master):
    if not master.startswith("spark://"):
        return
    why = "nobody"
    for place in master[len("spark://"):].split(","):
        host, port = place.rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), 5).close()
            return
        except (OSError, OverflowError) as e:
            why = getattr(e, "strerror", None) or str(e)
    raise Problem(f"no master answers at {master} ({why}): is it running, and is the port the one that it says in its log?")


class Run:
    def __init__(self, answer):
        self.answer = answer
        self.spark, self.began = None, time.monotonic()

    def step(self, text):
        print(f"{time.monotonic() - self.began:8.2f} s  {text}", file=sys.stderr, flush=True)
        self.answer({"step": text})

    def start(self, q):
        java_there()
        pyspark_there()
        master = q["master"]
        master_there(master)
        alone = master.startswith("local") or re.match(r"spark://(127\.|localhost:|\[::1\])", master)
        if alone:
            os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
        room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        settings = {
            "spark.app.name": "cffs analyze", "spark.ui.enabled": "false", "spark.local.dir": q["scratch"],
            "spark.driver.memory": f"{min(max(room // 4, 1024), 8192)}m", "spark.driver.maxResultSize": "0",
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer", "spark.sql.files.maxPartitionBytes": str(64 << 20),
            "spark.sql.execution.arrow.maxRecordsPerBatch": "65536", "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": os.path.join(q["scratch"], "warehouse"), "spark.sql.session.timeZone": "UTC"}
        if alone:
            settings.update({"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
        # Of a short log, compiling for it takes longer than doing it.
        self.small = sum(os.path.getsize(log) for log in q["logs"] if os.path.isfile(log)) < SMALL and all(map(os.path.isfile, q["logs"]))
        if self.small:
            settings.update({"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.adaptive.enabled": "false",
                             "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"})
        settings.update(q["settings"])
        # A split is all that a task has: where a file's room counts as much as a task's, no second one fits.
        settings["spark.sql.files.openCostInBytes"] = settings["spark.sql.files.maxPartitionBytes"]
        self.ours = {name: settings.pop(name) for name in list(settings) if name.startswith(OURS)}
        conf = SparkConf().setMaster(master)
        for name, value in settings.items():
            conf.set(name, value)
        self.spark = SparkSession.builder.config(conf=conf).getOrCreate()
        sc = self.spark.sparkContext
        if master.startswith("spark://"):
            limit = time.monotonic() + float(self.ours.get("spark.cffs.workersWithin", 30))
            while sc._jsc.sc().getExecutorMemoryStatus().size() < 2:
                if time.monotonic() > limit:
                    raise Problem(f"the master at {master} gives no worker: start one (start-worker.sh {master}), or wait until one is free; "
                                  "--spark-conf=spark.executor.memory=512m asks for less")
                time.sleep(0.2)
        self.step(f"Spark {self.spark.version} at {master}")
        self.cores = max(sc.defaultParallelism, 2)
        self.q, self.cffs, self.version = q, q["cffs"], q["version"]

    # Logs, as (name, Hadoop path, length), in the order given; of a directory or a pattern by name.
    def listed(self):
        sc = self.spark.sparkContext
        jvm, conf = sc._jvm, sc._jsc.hadoopConfiguration()
        found = []
        for log in self.q["logs"]:
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
            raise Problem(f"{self.q['logs'][0]}: no file in it")
        return [(name, s.getPath(), s.getLen()) for name, s in found]

    def head_of(self, name, path):
        try:
            stream = path.getFileSystem(self.spark.sparkContext._jsc.hadoopConfiguration()).open(path)
            try:
                return bytes(stream.readNBytes(1 << 20))
            finally:
                stream.close()
        except Exception as e:
            raise Problem(f"{name}: Spark cannot read it ({first_line(e)}); may its workers read it?")

    def format_of(self, head):
        path = os.path.join(self.q["scratch"], "head")
        with open(path, "wb") as file:
            file.write(head)
        return subprocess.run([self.cffs, "spark-part", "format", path], capture_output=True, text=True).stdout.strip()

    def read(self):
        from pyspark import StorageLevel
        from pyspark.sql import functions as F
        spark, reader = self.spark, self.q["reader"]
        logs = self.listed()
        formats, splits, wholes, recordings, web = {}, [], [], [], []
        for index, (name, path, length) in enumerate(logs):
            head = self.head_of(name, path)
            formats[index] = reader["format"] if reader["format"] != "auto" else self.format_of(head)
            (recordings if formats[index] in RECORDINGS else web).append(index)
            plain = head and not head.startswith(MAGIC) and not name.endswith(CODECS)
            (splits if plain and formats[index] in SPLIT else wholes).append(index)
        if recordings and web:
            raise Problem(f"{logs[web[0]][0]} is a web log and {logs[recordings[0]][0]} a recording: give Spark logs of one kind at a time")
        units = [recordings] if recordings else [[index] for index in wholes]
        parts = []
        self.names = [name for name, _, _ in logs]
        if splits:
            # Spark writes a local file's address with three slashes in its metadata, Hadoop with one.
            uris = [(index, re.sub("^file:/+", slashes, logs[index][1].toUri().toString())) for index in splits for slashes in ("file:/", "file:///")]
            hashed = spark.createDataFrame(uris, "i int, p string").select("i", F.xxhash64("p").alias("h")).collect()
            index_of = {row.h: row.i for row in hashed}
            names = {index: (self.names[index], os.path.basename(self.names[index])) for index in splits}
            parse = split_reader(self.cffs, self.version, reader, index_of, {i: formats[i] for i in splits}, names)
            lines = spark.read.option("__globPaths__", "false").text([logs[index][1].toString() for index in splits], lineSep="\n")
            parts.append(lines.select(F.col("value").cast("binary"), F.xxhash64("_metadata.file_path").alias("p"),
                                      F.col("_metadata.file_block_start").alias("s")).mapInArrow(parse, ROWS))
        if units:
            tasks, contents = [], []
            for number, unit in enumerate(units):
                of = []
                for index in unit:
                    name, path, length = logs[index]
                    local = path.toUri().getScheme() in (None, "file")
                    if not local and length > MOST_WHOLE:
                        raise Problem(f"{name}: {length} bytes that cannot be read in parts, and Spark takes up to {MOST_WHOLE} whole: cut it, or decompress it")
                    of.append((name, path.toUri().getPath() if local else None))
                    if not local:
                        contents.append((number, len(of) - 1, path.toString()))
                tasks.append((unit[0], of))
            rows = spark.createDataFrame([(n, i, p) for n, i, p in contents], "unit int, number int, p string") if contents else None
            frame = spark.range(0, len(units), 1, len(units)).select(F.col("id").cast("int").alias("unit"), F.lit(None).cast("array<binary>").alias("contents"))
            if rows is not None:
                bytes_of = spark.read.format("binaryFile").option("__globPaths__", "false").load([p for _, _, p in contents]).select("path", "content")
                held = rows.join(bytes_of, rows.p == bytes_of.path).groupBy("unit").agg(
                    F.sort_array(F.collect_list(F.struct("number", "content"))).alias("c")).select("unit", F.col("c.content").alias("contents"))
                frame = frame.drop("contents").join(held, "unit", "left").repartition(len(units), "unit")
            parts.append(frame.mapInArrow(whole_reader(self.cffs, self.version, reader, tasks), ROWS))
        rows = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
        self.rows = rows.persist(StorageLevel.DISK_ONLY)
        self.step(f"reading {len(logs)} logs, {sum(length for _, _, length in logs)} bytes")
        told = sorted(self.rows.where("kind >= 2").select("split", "kind", "blob").collect())
        for split, kind, blob in told:
            if kind == 3:
                raise Problem(bytes(blob).decode(errors="replace"))
        return self.counted(told, logs)

    def counted(self, told, logs):
        """Puts the counts of the parts together."""
        inputs, self.bases, base = {}, [], 0
        self.first_format = self.format = "auto"
        for split, _, blob in told:
            part = json.loads(bytes(blob).decode())
            self.bases.append((split, base))
            if base == 0 and part["accesses"]:
                self.first_format = part["first_format"]
            if part["format"] != "auto":
                self.format = part["format"]
            base += part["accesses"]
            for number, one in enumerate(part.get("inputs", [])):
                index = (split >> 44) + number
                name = os.path.basename(self.names[index])
                samples = []
                have = inputs.get(index)
                before = have["lines"] if have else 0
                for sample in one["samples"]:
                    line, text = re.match(r".*? line (\d+): (.*)", sample[len(one["name"]):] if sample.startswith(one["name"]) else sample, re.S).groups()
                    samples.append(f"{name} line {int(line) + before}: {text}")
                if have is None:
                    inputs[index] = {**one, "name": name, "samples": samples}
                    continue
                have["hash"] = (have["hash"] * pow(HASH_STEP, one["lines"], 1 << 64) + one["hash"]) & WORD
                for count in ("lines", "malformed", "accesses", "errors", "others"):
                    have[count] += one[count]
                have["samples"] = (have["samples"] + samples)[:5]
                have["first_ms"] = have["first_ms"] or one["first_ms"]
                have["last_ms"] = max(have["last_ms"], one["last_ms"])
        self.accesses = base
        return {"inputs": [inputs[index] for index in sorted(inputs)]}

    def written(self, frame, name):
        """A DataFrame of blobs as a file, in its order."""
        path = os.path.join(self.q["scratch"], name)
        with open(path, "wb") as file:
            for row in frame.toLocalIterator(prefetchPartitions=True):
                file.write(row.blob)
        return path

    def cut(self):
        from pyspark import StorageLevel
        from pyspark.sql import Window
        from pyspark.sql import functions as F
        spark, q = self.spark, self.q
        spark.conf.set("spark.sql.shuffle.partitions", str(self.cores if self.small else max(4 * self.cores, self.accesses // 2_000_000)))
        bases = F.broadcast(spark.createDataFrame(self.bases, "split long, base long"))
        placed = self.rows.join(bases, "split").withColumn("g", F.col("base") + F.col("at"))
        self.step("numbering the files")
        files = (placed.where("kind = 1").groupBy("file").agg(
            F.min("g").alias("g"), F.min("blob").alias("path"), F.max("blob").alias("other"), F.sum("stream").alias("accesses"),
            F.max(F.when(F.col("flag"), F.col("a"))).alias("whole"), F.max("a").alias("most"))
            .select("file", "g", "path", (F.col("path") == F.col("other")).alias("one"), "accesses", F.coalesce("whole", "most").alias("bytes"))
            .withColumn("item", (F.row_number().over(Window.orderBy("g")) - 1).cast("int")).persist(StorageLevel.MEMORY_AND_DISK))
        count = files.count()
        if count > q["most_files"]:
            raise Problem(f"{self.names[-1]}: more than {q['most_files']} different files; --below takes those of one directory, or give it less of the log")
        if files.where("not one").count():
            raise Problem("two paths of these logs have the same hash, by which Spark tells files apart: take --engine=native")
        written_files = self.written(files.orderBy("item").coalesce(1).mapInArrow(file_frames, BLOBS), "files")
        self.step(f"cutting {self.accesses} accesses into sessions")
        numbers = files.select("file", "item")
        accesses = (placed.where("kind = 0").select((F.lit(0).cast("long") if q["one_stream"] else F.col("stream")).alias("stream"), "g",
                                                    F.col("a").alias("time"), "file",
                                                    (F.lit(False) if q["crawlers_mixed"] else F.col("flag")).alias("crawler"))
                    .join(F.broadcast(numbers) if count <= 2_000_000 else numbers, "file")
                    .select("stream", "g", "time", "item", "crawler"))
        every = q["sweep_every"]
        times = [row.a for row in placed.where((F.col("kind") == 0) & (F.col("g") % every == 0)).select("g", "a").orderBy("g").collect()]
        gap, most = q["gap_ms"][self.first_format], q["session_max_files"][self.first_format]
        cut = (accesses.repartition("stream").sortWithinPartitions("stream", "g")
               .mapInArrow(session_cutter(Sweeps(every, times), gap, most), "event long, begin long, items array<int>")
               .persist(StorageLevel.DISK_ONLY))
        counts = [0, 0, 0, 0]
        for row in cut.where("event < 0").select(F.col("items")[0].alias("of"), "begin").groupBy("of").agg(F.sum("begin").alias("n")).collect():
            counts[row.of] = row.n
        self.step(f"ordering {counts[0]} sessions")
        # By partitions that are kept: a number is the place in them.
        ordered = cut.where("event >= 0").orderBy("event", "begin").select("items").persist(StorageLevel.DISK_ONLY)
        sizes = dict(ordered.groupBy(F.spark_partition_id().alias("p")).count().collect())
        firsts, total = {}, 0
        for partition in sorted(sizes):
            firsts[partition], total = total, total + sizes[partition]
        self.transactions = ordered.mapInArrow(numbered(firsts), "number long, items array<int>").persist(StorageLevel.DISK_ONLY)
        self.count, self.files = total, count
        self.step(f"numbered {total} sessions")
        path = self.written(self.transactions.mapInArrow(transaction_frames, BLOBS), "transactions")
        for frame in (self.rows, cut, ordered, files):
            frame.unpersist()
        return {"format": self.format, "gap_ms": gap, "sessions": counts[0], "apart_crawlers": counts[1], "apart_too_large": counts[2],
                "repeats": counts[3], "files": written_files, "transactions": path}

    def mine(self, ask):
        nothing = os.path.join(self.q["scratch"], "itemsets")
        open(nothing, "wb").close()
        if ask["min_support"] > self.count:
            return {"gave_up": False, "with_last": True, "itemsets": nothing}
        return self.mine_closed(ask) if ask["algorithm"] == "closed" else self.mine_all(ask)

    def frequent(self, least, most):
        """All frequent sets by FPGrowth, or None where they are more than `most` (0: any number). It lists them one after the other,
        so no more are listed than that."""
        from pyspark import StorageLevel
        from pyspark.ml.fpm import FPGrowth
        # Its support is a share, rounded up to a number: half a session less is that number again.
        model = FPGrowth(itemsCol="items", minSupport=(least - 0.5) / self.count, numPartitions=self.cores if self.small else 2 * self.cores).fit(self.transactions)
        sets = model.freqItemsets
        sets = (sets.limit(most + 1) if most else sets).persist(StorageLevel.DISK_ONLY)
        if most and sets.count() > most:
            sets.unpersist()
            return None
        return sets

    def mine_all(self, ask):
        self.step(f"FPGrowth: sets that at least {ask['min_support']} sessions hold")
        sets = self.frequent(ask["min_support"], ask["max_itemsets"])
        if sets is None and ask["max_size"]:
            raise Problem(f"FPGrowth finds sets of all sizes before those of up to --max-size={ask['max_size']} are taken, and there are more than "
                          f"{ask['max_itemsets']}: take --engine=native, --algorithm=closed, or a higher --min-support")
        if sets is None:
            return {"gave_up": True}
        if ask["max_size"]:
            sets = sets.where(f"size(items) <= {ask['max_size']}")
        path = self.written(sets.select("items", "freq").mapInArrow(itemset_frames, BLOBS), "itemsets")
        return {"gave_up": False, "with_last": False, "itemsets": path}

    def mine_closed(self, ask):
        from pyspark.sql import functions as F
        least, size, most = ask["min_support"], ask["max_size"], ask["max_itemsets"]
        few = int(self.ours.get("spark.cffs.closedFromFrequent", 20_000))
        if few:
            self.step(f"FPGrowth: sets that at least {least} sessions hold")
            sets = self.frequent(least, few)
            if sets is not None:
                # Not closed is what one item more does not make rarer.
                known = sets.select(F.array_sort("items").alias("items"), "freq")
                less = known.where("size(items) > 1").select(
                    F.explode(F.expr("transform(items, x -> array_remove(items, x))")).alias("items"), "freq").distinct()
                closed = known.join(less, ["items", "freq"], "left_anti")
                if size:
                    closed = closed.where(f"size(items) <= {size}")
                if most and few > most and closed.count() > most:
                    return {"gave_up": True}
                return {"gave_up": False, "with_last": False,
                        "itemsets": self.written(closed.mapInArrow(itemset_frames, BLOBS), "itemsets")}
        return self.mine_parts(least, size, most)

    def mine_parts(self, least, size, most):
        """Closed sets, where listing all frequent ones would not end: each part's transactions to our own miner."""
        import numpy
        from pyspark import StorageLevel
        from pyspark.sql import functions as F
        self.step(f"mining closed sets that at least {least} sessions hold, in parts")
        counts = self.transactions.select(F.explode("items").alias("item")).groupBy("item").count().where(F.col("count") >= least).collect()
        originals = numpy.array([row[0] for row in sorted(counts, key=lambda row: (row[1], row[0]))], "i4")
        ranks = numpy.full(self.files, -1, "i4")
        ranks[originals] = numpy.arange(len(originals), dtype="i4")
        sc = self.spark.sparkContext
        parts = self.cores if self.small else 4 * self.cores
        dealt = (self.transactions.mapInArrow(conditional_rows(sc.broadcast(ranks), parts), "part int, number long, ranks array<int>")
                 .repartitionByRange(parts, "part").sortWithinPartitions("part", "number"))
        found = dealt.mapInArrow(closed_miner(self.cffs, self.version, (least, size, most), parts, sc.broadcast(originals)),
                                 BLOBS).persist(StorageLevel.DISK_ONLY)
        problems = [bytes(row.blob).decode() for row in found.where("count < 0").collect()]
        others = [problem for problem in problems if problem != "too many"]
        if others:
            raise Problem(others[0])
        total = found.agg(F.sum("count")).collect()[0][0] or 0
        if problems or (most and total > most):
            found.unpersist()
            return {"gave_up": True}
        return {"gave_up": False, "with_last": True, "itemsets": self.written(found, "itemsets")}


def file_frames(batches):
    import numpy
    for batch in batches:
        if batch.num_rows:
            by_name = {name: batch.column(at) for at, name in enumerate(batch.schema.names)}
            paths = by_name["path"].to_pylist()
            columns = [by_name[name].to_numpy().astype("<u8") for name in ("file", "bytes", "accesses", "g")]
            columns += [numpy.zeros(len(paths), "u1"), numpy.array([len(p) for p in paths], "<u4")]
            yield blobs(frame_of(b"F", columns) + b"".join(paths), len(paths))


def numbered(firsts):
    def number(batches):
        import pyarrow
        import numpy
        from pyspark import TaskContext
        at = firsts.get(TaskContext.get().partitionId(), 0)
        for batch in batches:
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(numpy.arange(at, at + batch.num_rows, dtype="i8")), batch.column(0)],
                                                  names=["number", "items"])
            at += batch.num_rows
    return number


def first_line(error):
    """What a Java or Python error says, without where from."""
    said = str(getattr(error, "java_exception", None) or error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^(\S+(Exception|Error): )+", "", said[0])[:300]


# What is known of how Spark fails: (pattern, sentence).
KNOWN = [
    (r"PYTHON_VERSION_MISMATCH|Python in worker has different version",
     "a worker has another Python than {python}: run scripts/install_spark.sh on each worker, for the same version"),
    (r"InvalidClassException|incompatible|serialVersionUID|Unsupported message|IllegalArgumentException: Unknown message type|"
     r"Too large frame|All masters are unresponsive|SparkContext has been shut down|has been stopped",
     "the master at {master} does not take this program: is it Spark 3.5, and is the port the master's own (7077), not its page's?"),
    (r"stopped SparkContext|Master removed our application",
     "the master at {master} has ended this run, mostly since its workers cannot start what is asked of them: their work directories say why"),
    (r"OutOfMemoryError|Java heap space", "Spark has not enough memory: --spark-conf=spark.driver.memory=SIZE (local) or spark.executor.memory=SIZE gives more"),
    (r"No space left on device", "no room for Spark's temporary files in {scratch}: TMPDIR names another place"),
    (r"Java gateway process exited", "Java ended before Spark had begun: does it have the memory that spark.driver.memory says?"),
    (r"FileNotFoundException|does not exist", "a log has gone, or is not on each worker: {first}"),
    (r"EOFException|ChecksumException|truncated", "a log cannot be read to its end: {first}"),
]


def sentence_of(error, run, q):
    said = str(error)
    for pattern, sentence in KNOWN:
        if re.search(pattern, said):
            return sentence.format(python=sys.version.split()[0], master=q.get("master"), scratch=q.get("scratch"), first=first_line(error))
    return f"Spark failed: {first_line(error)}; --spark-log=FILE keeps all that it said"


def end_spark(scratch):
    """Java goes when its input ends, and takes its files along. The run's own go with it, too, should cffs have been killed."""
    try:
        from pyspark import SparkContext
        if SparkContext._gateway is not None:
            java = SparkContext._gateway.proc
            java.stdin.close()
            java.wait(timeout=9)
    except BaseException:
        pass
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints

    def answer(what):
        out.write(json.dumps(what) + "\n")
        out.flush()

    asked, run, first = queue.Queue(), Run(answer), {}

    def listen():
        for line in sys.stdin:
            asked.put(json.loads(line))
        end_spark(first.get("scratch"))  # nobody waits for an answer

    threading.Thread(target=listen, daemon=True).start()
    while True:
        q = asked.get()
        try:
            if q["ask"] == "read":
                first.update(q)
                run.start(q)
                answer(run.read())
            elif q["ask"] == "cut":
                answer(run.cut())
            else:
                answer(run.mine(q))
        except Problem as problem:
            answer({"problem": str(problem)})
        except Exception as e:
            traceback.print_exc()
            answer({"problem": sentence_of(e, run, first)})


if __name__ == "__main__":
    main()
