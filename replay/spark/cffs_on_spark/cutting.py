"""Cutting: accesses get their places, files their numbers, and streams become sessions in the order of the native engine."""
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .frames import BLOBS
from .problem import Problem
from .sessions import Sweeps, session_cutter
from .transactions import file_frames, numbered, transaction_frames


@dataclass
class Sessions:
    transactions: DataFrame  # number, items
    count: int
    files: int


def numbered_files(run, placed, last_log):
    """Each file with its item, by its first access; and their number."""
    files = (placed.where("kind = 1").groupBy("file").agg(
        F.min("g").alias("g"), F.min("blob").alias("path"), F.max("blob").alias("other"), F.sum("stream").alias("accesses"),
        F.max(F.when(F.col("flag"), F.col("a"))).alias("whole"), F.max("a").alias("most"))
        .select("file", "g", "path", (F.col("path") == F.col("other")).alias("one"), "accesses", F.coalesce("whole", "most").alias("bytes"))
        .withColumn("item", (F.row_number().over(Window.orderBy("g")) - 1).cast("int")).persist(StorageLevel.MEMORY_AND_DISK))
    count = files.count()
    most = run.q["most_files"]
    if count > most:
        raise Problem(f"{last_log}: more than {most} different files; --below takes those of one directory, or give it less of the log")
    if files.where("not one").count():
        raise Problem("two paths of these logs have the same hash, by which Spark tells files apart: take --engine=native")
    return files, count


def cut_sessions(run, placed, files, count, gap, most_files):
    """Rows of session_cutter(), of all streams."""
    q = run.q
    numbers = files.select("file", "item")
    accesses = (placed.where("kind = 0").select((F.lit(0).cast("long") if q["one_stream"] else F.col("stream")).alias("stream"), "g",
                                                F.col("a").alias("time"), "file",
                                                (F.lit(False) if q["crawlers_mixed"] else F.col("flag")).alias("crawler"))
                .join(F.broadcast(numbers) if count <= 2_000_000 else numbers, "file")
                .select("stream", "g", "time", "item", "crawler"))
    every = q["sweep_every"]
    times = [row.a for row in placed.where((F.col("kind") == 0) & (F.col("g") % every == 0)).select("g", "a").orderBy("g").collect()]
    return (accesses.repartition("stream").sortWithinPartitions("stream", "g")
            .mapInArrow(session_cutter(Sweeps(every, times), gap, most_files), "event long, begin long, items array<int>")
            .persist(StorageLevel.DISK_ONLY))


def in_order(cut):
    """Sessions in their order, with their numbers, and how many there are. By partitions that are kept: a number is the place in
    them."""
    ordered = cut.where("event >= 0").orderBy("event", "begin").select("items").persist(StorageLevel.DISK_ONLY)
    sizes = dict(ordered.groupBy(F.spark_partition_id().alias("p")).count().collect())
    firsts, total = {}, 0
    for partition in sorted(sizes):
        firsts[partition], total = total, total + sizes[partition]
    return ordered, ordered.mapInArrow(numbered(firsts), "number long, items array<int>").persist(StorageLevel.DISK_ONLY), total


def cut(run, read):
    spark, q = run.spark, run.q
    spark.conf.set("spark.sql.shuffle.partitions", str(run.cores if run.small else max(4 * run.cores, read.count // 2_000_000)))
    bases = F.broadcast(spark.createDataFrame(read.bases, "split long, base long"))
    placed = read.rows.join(bases, "split").withColumn("g", F.col("base") + F.col("at"))
    run.step("numbering the files")
    files, count = numbered_files(run, placed, read.last_log)
    written_files = run.written(files.orderBy("item").coalesce(1).mapInArrow(file_frames, BLOBS), "files")
    run.step(f"cutting {read.count} accesses into sessions")
    gap = q["gap_ms"][read.first_format]
    cut = cut_sessions(run, placed, files, count, gap, q["session_max_files"][read.first_format])
    counts = [0, 0, 0, 0]
    for row in cut.where("event < 0").select(F.col("items")[0].alias("of"), "begin").groupBy("of").agg(F.sum("begin").alias("n")).collect():
        counts[row.of] = row.n
    run.step(f"ordering {counts[0]} sessions")
    ordered, transactions, total = in_order(cut)
    run.step(f"numbered {total} sessions")
    path = run.written(transactions.mapInArrow(transaction_frames, BLOBS), "transactions")
    for frame in (read.rows, cut, ordered, files):
        frame.unpersist()
    told = {"format": read.format, "gap_ms": gap, "sessions": counts[0], "apart_crawlers": counts[1], "apart_too_large": counts[2],
            "repeats": counts[3], "files": written_files, "transactions": path}
    return told, Sessions(transactions, total, count)
