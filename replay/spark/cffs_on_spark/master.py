"""The master: whether somebody is there, and Spark's session with it."""
import os
import re
import socket
import sys
import time
import zipfile

import pyspark
from pyspark import SparkConf
from pyspark.sql import SparkSession

from .problem import Problem

SMALL = 64 << 20  # bytes of all logs
OURS = "spark.cffs."  # settings that are ours
LOCAL_CLUSTER = re.compile(r"local-cluster\[\d+, *\d+, *(\d+)\]$")


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


def is_here(master):
    return bool(master.startswith("local") or re.match(r"spark://(127\.|localhost:|\[::1\])", master))


def is_small(logs):
    """Whether compiling for these logs takes longer than doing it."""
    return all(map(os.path.isfile, logs)) and sum(map(os.path.getsize, logs)) < SMALL


def settings_for(q, small):
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    settings = {
        "spark.app.name": "cffs analyze", "spark.ui.enabled": "false", "spark.local.dir": q["scratch"],
        "spark.driver.memory": f"{min(max(room // 4, 1024), 8192)}m", "spark.driver.maxResultSize": "0",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer", "spark.sql.files.maxPartitionBytes": str(64 << 20),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536", "spark.ui.showConsoleProgress": "false",
        # Hadoop's client of S3 asks twenty times, and eight times that, before it says that nobody answers.
        "spark.hadoop.fs.s3a.attempts.maximum": "5", "spark.hadoop.fs.s3a.retry.limit": "3",
        "spark.sql.warehouse.dir": os.path.join(q["scratch"], "warehouse"), "spark.sql.session.timeZone": "UTC"}
    if is_here(q["master"]):
        settings.update({"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
    if small:
        settings.update({"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.adaptive.enabled": "false",
                         "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"})
    cluster = LOCAL_CLUSTER.match(q["master"])
    if cluster:  # a worker has that much, and Spark asks for 1024 by itself
        settings["spark.executor.memory"] = f"{cluster.group(1)}m"
    settings.update(q["settings"])
    # A split is all that a task has: where a file's room counts as much as a task's, no second one fits.
    settings["spark.sql.files.openCostInBytes"] = settings["spark.sql.files.maxPartitionBytes"]
    return settings


def wait_for_worker(sc, master, seconds):
    limit = time.monotonic() + seconds
    while sc._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > limit:
            raise Problem(f"the master at {master} gives no worker: start one (start-worker.sh {master}), or wait until one is free; "
                          "--spark-conf=spark.executor.memory=512m asks for less")
        time.sleep(0.2)


def ship(sc, scratch):
    """This package, to wherever tasks run: what they are is sent by its name in it."""
    package = os.path.dirname(os.path.abspath(__file__))
    name = os.path.basename(package)
    path = os.path.join(scratch, name + ".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for module in sorted(os.listdir(package)):
            if module.endswith(".py"):
                archive.write(os.path.join(package, module), f"{name}/{module}")
    sc.addPyFile(path)


def home_in(scratch):
    """Workers of a local cluster have their directories in Spark's home, which others use, or may not be written to, and leave them there.
    So it gets a home in the run's directory, of links to what is in its own."""
    own, home = os.path.dirname(pyspark.__file__), os.path.join(scratch, "home")
    os.mkdir(home)
    for name in os.listdir(own):
        os.symlink(os.path.join(own, name), os.path.join(home, name))
    os.environ["SPARK_HOME"] = home


def session_at(q, small):
    """Spark's session, and the settings that are ours."""
    master = q["master"]
    if is_here(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if LOCAL_CLUSTER.match(master):
        home_in(q["scratch"])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = settings_for(q, small)
    ours = {name: settings.pop(name) for name in list(settings) if name.startswith(OURS)}
    conf = SparkConf().setMaster(master)
    for name, value in settings.items():
        conf.set(name, value)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    if master.startswith("spark://"):
        wait_for_worker(spark.sparkContext, master, float(ours.get("spark.cffs.workersWithin", 30)))
    ship(spark.sparkContext, q["scratch"])
    return spark, ours
