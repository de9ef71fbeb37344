"""Mining: frequent sets by FPGrowth, closed ones of those or by parts."""
import numpy
from pyspark import StorageLevel
from pyspark.ml.fpm import FPGrowth
from pyspark.sql import functions as F

from .frames import BLOBS
from .itemsets import closed_miner, conditional_rows, itemset_frames
from .problem import Problem

# FPGrowth's sets are tried first up to so many, and of logs with up to so many sessions: it deals all of them out before it lists a set, which of
# eleven million had not ended after 850 s of the processor, and what it lists is thrown away where there are more sets.
FEW_SETS, FEW_SESSIONS = 20_000, 1_000_000


def mine(run, sessions, ask):
    if ask["min_support"] > sessions.count:
        nothing = run.scratch("itemsets")
        open(nothing, "wb").close()
        return {"gave_up": False, "with_last": True, "itemsets": nothing}
    return (mine_closed if ask["algorithm"] == "closed" else mine_all)(run, sessions, ask)


def frequent(run, sessions, least, most):
    """All frequent sets by FPGrowth, or None where they are more than `most` (0: any number). It lists them one after the other,
    so no more are listed than that."""
    run.step(f"FPGrowth: sets that at least {least} sessions hold")
    # Its support is a share, rounded up to a number: half a session less is that number again.
    model = FPGrowth(itemsCol="items", minSupport=(least - 0.5) / sessions.count,
                     numPartitions=run.cores if run.small else 2 * run.cores).fit(sessions.transactions)
    sets = model.freqItemsets
    sets = (sets.limit(most + 1) if most else sets).persist(StorageLevel.DISK_ONLY)
    if most and sets.count() > most:
        sets.unpersist()
        return None
    return sets


def told(run, sets):
    return {"gave_up": False, "with_last": False, "itemsets": run.written(sets.mapInArrow(itemset_frames, BLOBS), "itemsets")}


def mine_all(run, sessions, ask):
    size, most = ask["max_size"], ask["max_itemsets"]
    sets = frequent(run, sessions, ask["min_support"], most)
    if sets is None and size:
        raise Problem(f"FPGrowth finds sets of all sizes before those of up to --max-size={size} are taken, and there are more than "
                      f"{most}: take --engine=native, --algorithm=closed, or a higher --min-support")
    if sets is None:
        return {"gave_up": True}
    if size:
        sets = sets.where(f"size(items) <= {size}")
    return told(run, sets.select("items", "freq"))


def mine_closed(run, sessions, ask):
    least, size, most = ask["min_support"], ask["max_size"], ask["max_itemsets"]
    is_tried = sessions.count <= int(run.ours.get("spark.cffs.frequentOfSessions", FEW_SESSIONS))
    few = int(run.ours.get("spark.cffs.closedFromFrequent", FEW_SETS if is_tried else 0))
    sets = frequent(run, sessions, least, few) if few else None
    if sets is None:
        return mine_parts(run, sessions, least, size, most)
    closed = closed_of(sets)
    if size:
        closed = closed.where(f"size(items) <= {size}")
    if most and few > most and closed.count() > most:
        return {"gave_up": True}
    return told(run, closed)


def closed_of(sets):
    """Not closed is what one item more does not make rarer."""
    known = sets.select(F.array_sort("items").alias("items"), "freq")
    less = known.where("size(items) > 1").select(
        F.explode(F.expr("transform(items, x -> array_remove(items, x))")).alias("items"), "freq").distinct()
    return known.join(less, ["items", "freq"], "left_anti")


def mine_parts(run, sessions, least, size, most):
    """Closed sets, where listing all frequent ones would not end: each part's transactions to our own miner."""
    run.step(f"mining closed sets that at least {least} sessions hold, in parts")
    counts = sessions.transactions.select(F.explode("items").alias("item")).groupBy("item").count().where(F.col("count") >= least).collect()
    originals = numpy.array([row[0] for row in sorted(counts, key=lambda row: (row[1], row[0]))], "i4")
    ranks = numpy.full(sessions.files, -1, "i4")
    ranks[originals] = numpy.arange(len(originals), dtype="i4")
    sc = run.spark.sparkContext
    parts = run.cores if run.small else 4 * run.cores
    dealt = (sessions.transactions.mapInArrow(conditional_rows(sc.broadcast(ranks), parts), "part int, number long, ranks array<int>")
             .repartitionByRange(parts, "part").sortWithinPartitions("part", "number"))
    found = dealt.mapInArrow(closed_miner(run.cffs, run.version, (least, size, most), parts, sc.broadcast(originals)),
                             BLOBS).persist(StorageLevel.DISK_ONLY)
    problems = [bytes(row.blob).decode() for row in found.where("count < 0").collect()]
    others = [problem for problem in problems if problem != "too many"]
    if others:
        raise Problem(others[0])
    total = found.agg(F.sum("count")).collect()[0][0] or 0
    if problems or (most and total > most):
        found.unpersist()
        return {"gave_up": True}
    return {"gave_up": False, "with_last": True, "itemsets": run.written(found, "itemsets")}
