#!/usr/bin/env bash
# cffs analyze --engine=spark: the same sessions, itemsets and plans as the native engine, byte for byte; clusters; and what is said
# where something is wrong. Usage: CFFS_BINARY=... tests/spark/spark.sh CASE...
#   sentences   what is refused; needs no Spark but for the last of them
#   same        sample logs by local[2]: a web log in many splits with closed sets by parts, recordings, all sets by FPGrowth
#   places      directories, patterns and addresses of logs
#   elsewhere   file systems that are not this machine's
#   hdfs, s3    a name node with a data node, and a server of S3, which are made here and go at the end
#   no_places   logs that are refused for where they are
#   local_cluster  two workers as processes of one run
#   interrupted Ctrl-C, and cffs killed: what is said and left
#   cluster     a master and two workers on loopback, which are made here and go at the end
#   every       (not by CTest) each log named by CFFS_SPARK_LOGS, by both algorithms
# 77: Spark is not installed, or what serves logs (scripts/install_spark_places.sh).
set -uo pipefail
cffs=$(realpath "${CFFS_BINARY:?set CFFS_BINARY to the cffs binary under test}")
here=$(cd "$(dirname "$0")" && pwd)
traces=$here/../../traces
place=${CFFS_SPARK:-${XDG_DATA_HOME:-$HOME/.local/share}/cffs/spark}
base=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/cffs-spark-tests.XXXXXX")")
failures=0
daemons=()
end_daemons() {
  local pid
  # A number may be somebody else's by now.
  for pid in "${daemons[@]}"; do
    if grep -qaE 'org.apache.(spark.deploy|hadoop.hdfs.server)|moto_server' "/proc/$pid/cmdline" 2>/dev/null; then kill "$pid" 2>/dev/null; fi
  done
  for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null; done
  daemons=()
}
trap '[ $BASHPID != $$ ] || { trap "" INT TERM; end_daemons; rm -rf "$base"; }' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export TMPDIR=$base

check() {  # what it is, command...
  local what=$1
  shift
  if "$@" >"$base/said" 2>&1; then
    echo "ok    $what"
  else
    echo "FAIL  $what"
    sed 's/^/      /' "$base/said" | tail -n 20
    failures=$((failures + 1))
  fi
}
need_spark() {
  [ -x "$place/bin/python" ] && return
  echo "spark: Spark is not installed: not tried; scripts/install_spark.sh installs it" | tee -a "${CFFS_SKIPPED:-/dev/null}"
  exit 77
}
. "$here/servers.sh"
spark() { timeout 280 "$cffs" analyze --engine=spark --spark="$place" "$@"; }

# One sentence on standard error, a code that is not 0, nothing of Python's or Java's.
refused() {  # pattern, command...
  local pattern=$1 code=0
  shift
  "$@" >"$base/out" 2>"$base/err" || code=$?
  cat "$base/err"
  [ $code != 0 ] || { echo "ended with 0"; return 1; }
  # A slow run says every ten seconds where it is.
  [ "$(grep -n '^cffs: ' "$base/err" | cut -d : -f 1)" = "$(wc -l <"$base/err")" ] || { echo "not one sentence at the end"; return 1; }
  ! grep -qE 'Traceback|Exception|^\s+at ' "$base/err" "$base/out" || return 1
  grep -qE "$pattern" "$base/err"
}
nothing_left() { ! compgen -G "$base/cffs-spark.*"; }

# The plan, the transactions and what is printed are the same; plans hold the itemsets with their supports and latest sessions.
same() {  # log, options of both -- options of Spark
  local both=() only=() to=both word
  for word in "$@"; do
    [ "$word" != -- ] || { to=only; continue; }
    if [ $to = both ]; then both+=("$word"); else only+=("$word"); fi
  done
  rm -f "$base"/native.* "$base"/spark.*
  "$cffs" analyze "${both[@]}" -o "$base/native.db" --transactions "$base/native.txt" >"$base/native.said" &&
    spark --spark-log="$base/spark.log" "${only[@]}" "${both[@]}" -o "$base/spark.db" --transactions "$base/spark.txt" >"$base/spark.said" &&
    cmp "$base/native.txt" "$base/spark.txt" && cmp "$base/native.db" "$base/spark.db" &&
    diff <(grep -v '^plan: ' "$base/native.said") <(grep -v '^plan: ' "$base/spark.said") && [ -s "$base/native.txt" ]
}

case_sentences() {
  local log=$traces/nasa_19950801.log.xz analyze=("$cffs" analyze --engine=spark)
  check "no Spark installed" refused 'not installed in .*/nowhere: scripts/install_spark.sh' "${analyze[@]}" --spark="$base/nowhere" "$log"
  check "a master of no kind" refused "wants local.*not 'mesos://x'" "${analyze[@]}" --master=mesos://x "$log"
  check "a master without a port" refused "spark://HOST:PORT, not 'spark://here'" "${analyze[@]}" --master=spark://here "$log"
  check "a setting without a value" refused "wants NAME=VALUE, not 'spark.x'" "${analyze[@]}" --spark-conf=spark.x "$log"
  check "options of Spark without it" refused 'go with --engine=spark' "$cffs" analyze --master=local "$log"
  check "from stdin" refused 'cannot come from stdin' "${analyze[@]}" -
  check "to be tuned" refused 'leave out --engine=spark' "${analyze[@]}" --tune "$log"
  mkdir -p "$base/old/bin" "$base/none/bin"
  printf '#!/bin/sh\necho "openjdk version \\"21.0.1\\" 2023" >&2\n' >"$base/old/bin/java"
  chmod +x "$base/old/bin/java"
  # Where the program runs in any Python, what it asks for first is Java, then pyspark.
  ln -sf "$(command -v python3)" "$base/none/bin/python"
  check "no Java" refused 'needs Java, and .* cannot be run: install one' env JAVA_HOME="$base/nojava" "${analyze[@]}" --spark="$base/none" "$log"
  check "Java of another version" refused 'runs on Java 8, 11 and 17, and .* is 21' env JAVA_HOME="$base/old" "${analyze[@]}" --spark="$base/none" "$log"
  check "nothing is left of them" nothing_left
  need_spark
  check "by the paper's variant" refused 'take --engine=native' "${analyze[@]}" --spark="$place" --algorithm=adjacency "$log"
  check "a master that is not there" refused 'no master answers at spark://127.0.0.1:1 .*refused' "${analyze[@]}" --spark="$place" --master=spark://127.0.0.1:1 "$log"
  mkdir -p "$base/other/pyspark"
  echo '__version__ = "4.0.0"' >"$base/other/pyspark/__init__.py"
  check "Spark of another version" refused 'is 4.0.0, and cffs works with 3.5' env PYTHONPATH="$base/other" "${analyze[@]}" --spark="$place" "$log"
  check "a log that is not there" refused 'missing.log: No such file' spark --master='local[1]' "$base/missing.log"
  head -c 100000 "$log" >"$base/cut.xz"
  check "a damaged log" refused 'cut.xz: .*is the file complete' spark --master='local[1]' "$base/cut.xz"
  check "nothing is left of them" nothing_left
}

not_by_frequent() { grep -q 'mining closed sets .* in parts' "$base/spark.log" && ! grep -q 'FPGrowth: sets' "$base/spark.log"; }
case_same() {
  need_spark
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/nasa.log"
  # Splits of 400 kB; and no FPGrowth first, so that all closed sets come from parts.
  check "a web log in nine splits, closed sets by parts" same "$base/nasa.log" -- --master='local[2]' --spark-conf=spark.sql.files.maxPartitionBytes=400000 \
    --spark-conf=spark.cffs.closedFromFrequent=0
  check "two web logs, closed sets from FPGrowth's" same "$traces/semicomplete_2015.log.xz" "$base/nasa.log" --min-support=40 --max-size=6 -- --master='local[2]' \
    --spark-conf=spark.cffs.closedFromFrequent=100000
  check "more sessions than FPGrowth is tried with" same "$traces/semicomplete_2015.log.xz" --min-support=40 -- --master='local[2]' --spark-conf=spark.cffs.frequentOfSessions=100
  check "for which it is not" not_by_frequent
  check "strace's output, all sets" same "$traces/c_project_session.strace.xz" --below=/home/dev/work --algorithm=apriori --min-support=30 -- --master='local[2]'
  check "nothing is left" nothing_left
}

# A standalone cluster: Spark's own classes, each a process of ours.
start_cluster() {
  local port=
  SPARK_HOME=$("$place/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') || return 1
  # What Spark's own start scripts say, and a worker's launcher asks for.
  export SPARK_SCALA_VERSION=2.12 SPARK_HOME SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$place/bin/python
  daemon() { exec_java "$@" & daemons+=($!); }
  exec_java() { exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx256m -cp "$SPARK_HOME/jars/*" "$@"; }
  daemon org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0 >"$base/master.log" 2>&1
  for _ in $(seq 300); do
    port=$(sed -n "s/.*Starting Spark master at spark:\/\/127.0.0.1:\([0-9]*\).*/\1/p" "$base/master.log")
    [ -z "$port" ] || break
    sleep 0.1
  done
  [ -n "$port" ] || { tail "$base/master.log"; return 1; }
  master=spark://127.0.0.1:$port
}
start_workers() {
  local w
  for w in 1 2; do
    mkdir -p "$base/local$w"
    SPARK_LOCAL_DIRS=$base/local$w daemon org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --cores 1 --memory 768m --webui-port 0 --work-dir "$base/work$w" "$master" \
      >"$base/worker$w.log" 2>&1
  done
  for _ in $(seq 300); do
    [ "$(grep -c 'Registering worker' "$base/master.log")" = 2 ] && return
    sleep 0.1
  done
  tail "$base"/worker*.log
  return 1
}
case_cluster() {
  need_spark
  check "a master starts" start_cluster
  [ $failures = 0 ] || return
  check "without a worker it takes nothing" refused 'gives no worker: start one' spark --master="$master" --spark-conf=spark.cffs.workersWithin=2 "$traces/semicomplete_2015.log.xz"
  check "two workers start" start_workers
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/nasa.log"
  check "a web log on both" same "$base/nasa.log" -- --master="$master" --spark-conf=spark.executor.memory=700m --spark-conf=spark.sql.files.maxPartitionBytes=1000000
  # Two executors, and none of them anew.
  check "each of them had a part" test "$(grep -c 'Launching executor .* on worker' "$base/master.log")" = 2
  end_daemons
}

# Whoever has this TMPDIR, or one below: a run's own processes, and those that they started.
of_run() {
  local environ pid
  for environ in /proc/[0-9]*/environ; do
    if grep -qzE "^TMPDIR=$1(/|\$)" "$environ" 2>/dev/null; then
      pid=${environ#/proc/}
      echo "${pid%/environ} $(tr '\0' ' ' <"/proc/${pid%/environ}/cmdline" 2>/dev/null | cut -c 1-150)"
    fi
  done
}
none_of_run() {
  local left
  left=$(of_run "$1")
  [ -z "$left" ] || { echo "left: $left"; return 1; }
}
# SIGINT to the group of cffs, as a terminal's Ctrl-C comes, when Spark has said this.
interrupted() {  # what Spark says, options...
  local said=$1 dir=$base/interrupted pid code=0 tenths
  shift
  rm -rf "$dir"
  mkdir "$dir"
  # What a script starts in the background ignores SIGINT; setsid: a group of its own.
  TMPDIR=$dir setsid env --default-signal=INT "$cffs" analyze --engine=spark --spark="$place" --spark-log="$base/spark.log" "$@" -o "$base/never.db" "$base/nasa.log" \
    >"$base/out" 2>"$base/err" &
  pid=$!
  for tenths in $(seq 1500); do
    if [ -e "$base/spark.log" ] && { [ -z "$said" ] || grep -q "$said" "$base/spark.log"; }; then break; fi
    sleep 0.1
  done
  [ -z "$said" ] || grep -q "$said" "$base/spark.log" || { echo "Spark did not say '$said'"; kill -9 -- -$pid; return 1; }
  sleep "${LATER:-0.5}"
  kill -INT -- -$pid
  wait $pid || code=$?
  echo "ended with $code, said: $(cat "$base/err")"
  none_of_run "$dir" || return 1
  rm -f "$base/spark.log"
  [ $code = 130 ] && [ "$(tail -n 1 "$base/err")" = "cffs: interrupted; no plan was written" ] && [ "$(grep -c '^cffs: ' "$base/err")" = 1 ] && [ ! -s "$base/out" ] || return 1
  ! ls "$base" | grep never || return 1
  ! ls -A "$dir" | grep .
}
killed() {
  local dir=$base/interrupted pid tenths
  mkdir -p "$dir"
  rm -f "$base/spark.log"
  TMPDIR=$dir "$cffs" analyze --engine=spark --spark="$place" --spark-log="$base/spark.log" --master='local[2]' -o "$base/never.db" "$base/nasa.log" >"$base/out" 2>&1 &
  pid=$!
  for tenths in $(seq 1500); do
    if grep -q 'cutting' "$base/spark.log" 2>/dev/null; then break; fi
    sleep 0.1
  done
  kill -9 $pid
  wait $pid
  for tenths in $(seq 150); do
    if none_of_run "$dir" >/dev/null; then break; fi
    sleep 0.1
  done
  none_of_run "$dir" && ! ls -A "$dir" | grep . && ! ls "$base" | grep never
}
case_interrupted() {
  need_spark
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/nasa.log"
  LATER=0 check "Ctrl-C before Java is there" interrupted '' --master='local[2]'
  for LATER in 0.6 1.5 3; do check "Ctrl-C $LATER s later" interrupted '' --master='local[2]'; done
  unset LATER
  check "Ctrl-C while it reads" interrupted 'reading 1 logs' --master='local[2]'
  check "Ctrl-C while it cuts sessions" interrupted 'cutting .* into sessions' --master='local[2]'
  LATER=2 check "Ctrl-C while it mines" interrupted 'mining closed sets' --master='local[2]' --spark-conf=spark.cffs.closedFromFrequent=0 --min-support=2
  check "Ctrl-C with workers as processes" interrupted 'cutting .* into sessions' --master='local-cluster[2,1,1024]'
  check "cffs killed: Spark ends by itself" killed
}

# Both of Spark's executors had tasks, and none was lost on the way.
both_worked() {
  python3 - "$1" <<'END'
import glob, json, sys
events = [json.loads(line) for file in glob.glob(sys.argv[1] + "/*") for line in open(file)]
worked = {e["Task Info"]["Executor ID"] for e in events if e["Event"] == "SparkListenerTaskEnd"}
added = {e["Executor ID"] for e in events if e["Event"] == "SparkListenerExecutorAdded"}
print(f"executors {sorted(added)}, at work {sorted(worked)}")
sys.exit(0 if added == worked == {"0", "1"} else 1)
END
}
case_local_cluster() {
  need_spark
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/nasa.log"
  local pyspark
  pyspark=$("$place/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
  mkdir "$base/events"
  find "$pyspark" ! -name "*.pyc" | sort >"$base/before"
  check "two workers as processes of one run" same "$base/nasa.log" -- --master='local-cluster[2,1,1024]' --spark-conf=spark.sql.files.maxPartitionBytes=400000 \
    --spark-conf=spark.cffs.closedFromFrequent=0 --spark-conf=spark.eventLog.enabled=true --spark-conf=spark.eventLog.dir="file://$base/events"
  check "each of them had a part" both_worked "$base/events"
  check "one with less memory than Spark takes by itself" same "$traces/semicomplete_2015.log.xz" --min-support=40 -- --master='local-cluster[1,1,600]'
  check "nothing is left" nothing_left
  check "nor in Spark's own directory" diff "$base/before" <(find "$pyspark" ! -name "*.pyc" | sort)
}

# Logs whose names Hadoop takes for patterns and escapes; what is compressed by content, of any name; what is no log.
make_places() {
  mkdir -p "$base/logs/a" "$base/logs/b" "$base/logs/none"
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/nasa.log"
  (cd "$base" && split -n l/5 nasa.log part. && cp part.aa "logs/a/access one%20[1].log" && gzip -c part.ab >logs/a/b.log.gz && cp part.ac 'logs/b/c{2}.log' &&
    xz -c part.ad >'logs/b/d ü[2]' && cp part.ae logs/b/e.log && cp part.aa logs/b/.hidden && : >logs/b/_SUCCESS)
  logs=("$base/logs/a/access one%20[1].log" "$base/logs/a/b.log.gz" "$base/logs/b/c{2}.log" "$base/logs/b/d ü[2]" "$base/logs/b/e.log")
  "$cffs" analyze "${logs[@]}" -o "$base/native.db" >"$base/native.said"
}
places() {
  rm -f "$base/spark.db"
  spark --master='local[2]' --spark-log="$base/spark.log" "$@" -o "$base/spark.db" >"$base/spark.said" && cmp "$base/native.db" "$base/spark.db" &&
    diff <(grep -v '^plan: ' "$base/native.said") <(grep -v '^plan: ' "$base/spark.said")
}
case_places() {
  need_spark
  check "five logs by the native engine" make_places
  check "files" places "${logs[@]}"
  check "directories" places "$base/logs/a/" "$base/logs/b"
  check "a pattern of directories" places "$base/logs/[ab]"
  check "a directory's address, and patterns in addresses" places "file://$base/logs/a" "file:$base/logs/b/[cd]*" "file://$base/logs/b/*e.log"
  check "nothing is left" nothing_left
}
case_elsewhere() {
  need_spark
  check "five logs by the native engine" make_places
  # The client of federated HDFS, whose addresses are no local files for Spark.
  check "another file system's addresses" places --spark-conf=spark.hadoop.fs.viewfs.mounttable.site.link./logs="file://$base/logs" 'viewfs://site/logs/a' 'viewfs://site/logs/b/*'
  local nodes port=
  exec {nodes}> >(exec python3 "$here/web_hdfs.py" "$base/logs" >"$base/port")  # ends with this script
  for _ in $(seq 100); do
    port=$(cat "$base/port")
    [ -z "$port" ] || break
    sleep 0.1
  done
  check "over the net, as HDFS's own HTTP has it, in splits" places --spark-conf=spark.sql.files.maxPartitionBytes=200000 "webhdfs://127.0.0.1:$port/a" "webhdfs://127.0.0.1:$port/[b]"
  exec {nodes}>&-
  check "nothing is left" nothing_left
}
# Spark has begun to read by then.
data_node_goes() {
  rm -f "$base/spark.log"
  { for _ in $(seq 1500); do
      if grep -q 'reading 1 logs' "$base/spark.log" 2>/dev/null; then break; fi
      sleep 0.1
    done
    kill -9 "$data_node"; } &
  refused "$@"
}
case_hdfs() {
  need_places
  check "five logs by the native engine" make_places
  check "a name node and a data node start" start_hdfs
  [ $failures = 0 ] || return
  for _ in $(seq 20); do cat "$base/nasa.log"; done >"$base/long.log"
  check "logs are put there, in blocks of 1 MiB" into_hdfs "$base/logs" "$base/long.log" /
  check "directories" places "$hdfs/logs/a" "$hdfs/logs/b/"
  check "a pattern of directories, in splits" places --spark-conf=spark.sql.files.maxPartitionBytes=200000 "$hdfs/logs/[ab]"
  check "patterns, and a file" places "$hdfs/logs/a/*" "$hdfs/logs/b/[cd]*" "$hdfs/logs/b/e.log"
  check "over HTTP" places "$web_hdfs/logs/a" "$web_hdfs/logs/[b]"
  check "a log that is not there" refused '/logs/missing.log: No such file' spark --master='local[1]' "$hdfs/logs/missing.log"
  check "somebody who may not read it" refused "/mine/part.aa: Spark cannot read it .*Permission denied: user=somebody" forbidden_in_hdfs
  check "the data node is killed while it is read" data_node_goes '/long.log: Spark cannot read it to its end .none of the data nodes' spark --master='local[1]' \
    --spark-log="$base/spark.log" --spark-conf=spark.sql.files.maxPartitionBytes=1000000 "$hdfs/long.log"
  check "without a data node" refused '/logs/b/e.log: Spark cannot read it .none of the data nodes' spark --master='local[1]' "$hdfs/logs/b/e.log"
  end_daemons
  check "nothing is left" nothing_left
}
forbidden_in_hdfs() {
  mkdir "$base/mine"
  cp "$base/part.aa" "$base/mine"
  into_hdfs "$base/mine" / && (hadoop org.apache.hadoop.fs.FsShell -chmod -R 700 "$hdfs/mine") && HADOOP_USER_NAME=somebody spark --master='local[1]' "$hdfs/mine/part.aa"
}
case_s3() {
  need_places
  check "five logs by the native engine" make_places
  check "a server of S3 starts" start_s3
  [ $failures = 0 ] || return
  check "logs are put there" into_s3 bucket "$base"
  check "directories" places "${s3[@]}" "${s3_key[@]}" s3a://bucket/logs/a s3a://bucket/logs/b/
  check "patterns, and a file, in splits" places "${s3[@]}" "${s3_key[@]}" --spark-conf=spark.sql.files.maxPartitionBytes=200000 's3a://bucket/logs/[a]' 's3a://bucket/logs/b/[cd]*' \
    s3a://bucket/logs/b/e.log
  check "a log that is not there" refused 's3a://bucket/logs/missing.log: No such file' spark --master='local[1]' "${s3[@]}" "${s3_key[@]}" s3a://bucket/logs/missing.log
  check "no such bucket" refused 's3a://nowhere/logs: Spark cannot read it .there is no such bucket' spark --master='local[1]' "${s3[@]}" "${s3_key[@]}" s3a://nowhere/logs
  check "without a key" refused 's3a://bucket/logs/a: .*no key is named: spark.hadoop.fs.s3a.access.key' env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$cffs" analyze --engine=spark \
    --spark="$place" --master='local[1]' "${s3[@]}" s3a://bucket/logs/a
  check "one of two jars" refused 'aws-java-sdk-bundle-1.12.262.jar has' spark --master='local[1]' "${s3[@]}" "${s3_key[@]}" --spark-conf=spark.jars="$(echo "$served"/jars/hadoop-aws-*.jar)" \
    s3a://bucket/logs/a
  check "the server takes no key any more" s3_forbids
  check "another key" refused 's3a://bucket/logs/a: Spark cannot read it .it is forbidden' spark --master='local[1]' "${s3[@]}" "${s3_key[@]}" s3a://bucket/logs/a
  end_daemons
  check "nobody answers" refused 's3a://bucket/logs/a: .*Connection refused.*endpoint' spark --master='local[1]' "${s3[@]}" "${s3_key[@]}" s3a://bucket/logs/a
  check "nothing is left" nothing_left
}
case_no_places() {
  need_spark
  mkdir -p "$base/logs/none"
  xz -dc "$traces/nasa_19950801.log.xz" >"$base/logs/e.log"
  echo kept >"$base/logs/plan.db"
  check "a pattern that nothing has" refused 'logs/\*.no: No such file' spark --master='local[1]' "$base/logs/*.no"
  check "a directory without a log" refused 'none: no file in it' spark --master='local[1]' "$base/logs/none"
  check "a log twice" refused 'e.log is given twice' spark --master='local[1]' "$base/logs" "$base/logs/e.log"
  check "the plan among the logs" refused 'plan.db is what is read, and would be overwritten' spark --master='local[1]' "$base/logs" -o "$base/logs/plan.db"
  check "which is as it was" grep -qx kept "$base/logs/plan.db"
  check "an address without a jar for it" refused 's3a://bucket/x.log: Spark has no file system for .*spark.jars=' spark --master='local[1]' s3a://bucket/x.log
  check "an address of no kind" refused 'nosuch://x/y.log: Spark has no file system for' spark --master='local[1]' nosuch://x/y.log
  check "a name node that is not there" refused 'hdfs://127.0.0.1:1/x.log: Spark cannot read it .*Connection refused\);' spark --master='local[1]' hdfs://127.0.0.1:1/x.log
  check "nothing is left" nothing_left
}

case_every() {
  need_spark
  local log
  for log in ${CFFS_SPARK_LOGS:-"$traces"/*.log.xz "$traces"/*.strace.xz "$traces"/*.db.xz}; do
    check "$(basename "$log"), closed" same "$log"
    check "$(basename "$log"), all" same "$log" --algorithm=apriori
  done
}

[ $# -gt 0 ] || { echo "usage: tests/spark/spark.sh CASE...; there are sentences, same, places, elsewhere, hdfs, s3, no_places, local_cluster, interrupted, cluster, every" >&2; exit 2; }
for name in "$@"; do "case_$name"; done
[ $failures = 0 ] || { echo "$failures failed"; exit 1; }
