"""Reading: each log to a task or many, and their counts put together."""
import json
import re
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .accesses import ROWS, split_reader, whole_reader
from .logs import escaped, listed, look_into
from .problem import Problem

MOST_WHOLE = 1 << 30  # bytes of a log that is no local file and is read whole
HASH_STEP, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass
class Accesses:
    rows: DataFrame
    bases: list  # (split, number of its first access)
    count: int
    format: str
    first_format: str  # of the log with the first access
    last_log: str


def cut_logs(run, logs, indexes):
    """Of logs whose lines Spark cuts."""
    # Spark writes a local file's address with three slashes in its metadata, Hadoop with one.
    uris = [(index, re.sub("^file:/+", slashes, logs[index].path.toUri().toString())) for index in indexes for slashes in ("file:/", "file:///")]
    hashed = run.spark.createDataFrame(uris, "i int, p string").select("i", F.xxhash64("p").alias("h")).collect()
    parse = split_reader(run.cffs, run.version, run.q["reader"], {row.h: row.i for row in hashed},
                         {index: logs[index].format for index in indexes}, {index: (logs[index].name, logs[index].base) for index in indexes})
    lines = run.spark.read.text([escaped(logs[index].path) for index in indexes], lineSep="\n")
    return lines.select(F.col("value").cast("binary"), F.xxhash64("_metadata.file_path").alias("p"),
                        F.col("_metadata.file_block_start").alias("s")).mapInArrow(parse, ROWS)


def whole_logs(run, logs, units):
    """Of logs that are not cut: a task for each unit, which is indexes of logs."""
    spark, tasks, contents, addresses = run.spark, [], [], []
    for number, unit in enumerate(units):
        for place, index in enumerate(unit):
            log = logs[index]
            if log.local is not None:
                continue
            if log.length > MOST_WHOLE:
                raise Problem(f"{log.name}: {log.length} bytes that cannot be read in parts, and Spark takes up to {MOST_WHOLE} whole: cut it, or decompress it")
            contents.append((number, place, log.path.toString()))
            addresses.append(escaped(log.path))
        tasks.append((unit[0], [(logs[index].name, logs[index].local) for index in unit]))
    frame = spark.range(0, len(units), 1, len(units)).select(F.col("id").cast("int").alias("unit"), F.lit(None).cast("array<binary>").alias("contents"))
    if contents:
        rows = spark.createDataFrame(contents, "unit int, number int, p string")
        bytes_of = spark.read.format("binaryFile").load(addresses).select("path", "content")
        held = rows.join(bytes_of, rows.p == bytes_of.path).groupBy("unit").agg(
            F.sort_array(F.collect_list(F.struct("number", "content"))).alias("c")).select("unit", F.col("c.content").alias("contents"))
        frame = frame.drop("contents").join(held, "unit", "left").repartition(len(units), "unit")
    return frame.mapInArrow(whole_reader(run.cffs, run.version, run.q["reader"], tasks), ROWS)


def read(run):
    logs = listed(run)
    for log in logs:
        look_into(run, log)
    recordings = [index for index, log in enumerate(logs) if log.is_recording]
    web = [index for index, log in enumerate(logs) if not log.is_recording]
    if recordings and web:
        raise Problem(f"{logs[web[0]].name} is a web log and {logs[recordings[0]].name} a recording: give Spark logs of one kind at a time")
    splits = [index for index in web if logs[index].is_cut]
    units = [recordings] if recordings else [[index] for index in web if not logs[index].is_cut]
    parts = []
    if splits:
        parts.append(cut_logs(run, logs, splits))
    if units:
        parts.append(whole_logs(run, logs, units))
    rows = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
    rows = rows.persist(StorageLevel.DISK_ONLY)
    run.step(f"reading {len(logs)} logs, {sum(log.length for log in logs)} bytes")
    told = sorted(rows.where("kind >= 2").select("split", "kind", "blob").collect())
    for _, kind, blob in told:
        if kind == 3:
            raise Problem(bytes(blob).decode(errors="replace"))
    return counted(rows, told, logs)


def counted(rows, told, logs):
    """Puts the counts of the parts together."""
    inputs = {}
    accesses = Accesses(rows, [], 0, "auto", "auto", logs[-1].name)
    for split, _, blob in told:
        part = json.loads(bytes(blob).decode())
        accesses.bases.append((split, accesses.count))
        if accesses.count == 0 and part["accesses"]:
            accesses.first_format = part["first_format"]
        if part["format"] != "auto":
            accesses.format = part["format"]
        accesses.count += part["accesses"]
        for number, one in enumerate(part.get("inputs", [])):
            index = (split >> 44) + number
            add_input(inputs, index, one, logs[index].base)
    return {"inputs": [inputs[index] for index in sorted(inputs)]}, accesses


def add_input(inputs, index, one, name):
    """What a part says of a log, to what those before it say."""
    samples = []
    have = inputs.get(index)
    before = have["lines"] if have else 0
    for sample in one["samples"]:
        line, text = re.match(r".*? line (\d+): (.*)", sample[len(one["name"]):] if sample.startswith(one["name"]) else sample, re.S).groups()
        samples.append(f"{name} line {int(line) + before}: {text}")
    if have is None:
        inputs[index] = {**one, "name": name, "samples": samples}
        return
    have["hash"] = (have["hash"] * pow(HASH_STEP, one["lines"], 1 << 64) + one["hash"]) & WORD
    for count in ("lines", "malformed", "accesses", "errors", "others"):
        have[count] += one[count]
    have["samples"] = (have["samples"] + samples)[:5]
    have["first_ms"] = have["first_ms"] or one["first_ms"]
    have["last_ms"] = max(have["last_ms"], one["last_ms"])
