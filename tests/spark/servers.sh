# HDFS and S3 on loopback, for tests/spark/spark.sh, which reads this: what they are, scripts/install_spark_places.sh installs.
served=${CFFS_SPARK_PLACES:-${CFFS_SUITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-suites}/spark_places}
need_places() {
  need_spark
  [ -e "$served/installed" ] && return
  echo "spark: no HDFS and no S3 is installed: not tried; scripts/install_spark_places.sh installs them" | tee -a "${CFFS_SKIPPED:-/dev/null}"
  exit 77
}

# What a server says of itself when it is up.
said_by() {  # log, expression with a group
  local said
  for _ in $(seq 600); do
    said=$(sed -nE "s,.*$2.*,\1,p" "$1" 2>/dev/null | head -n 1)
    [ -z "$said" ] || { echo "$said"; return; }
    sleep 0.1
  done
  tail "$1" >&2
  return 1
}

# A class of Hadoop's, with the client that Spark has.
hadoop() { exec_hadoop "$@"; }
exec_hadoop() {
  local jars
  jars=$("$place/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')/jars
  # Its HTTP server makes classes in a way that Java 17 forbids by itself, and Java 8 does not know the word for.
  export JDK_JAVA_OPTIONS=--add-opens=java.base/java.lang=ALL-UNNAMED
  exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx256m -cp "$(printf %s: "$base/hadoop" "$served"/jars/hadoop-client-*.jar "$jars"/{hadoop-client,slf4j,log4j,commons-logging,jaxb,jakarta.xml.bind,activation,istack}*.jar)" "$@"
}
served_daemon() {  # log, command...
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  daemons+=($!)
}

# A name node and a data node, each a process; `hdfs` is the address, `web_hdfs` its other one, `data_node` the data node's process.
start_hdfs() {
  local port settings=(-D "dfs.namenode.name.dir=file://$base/hadoop/name" -D "dfs.datanode.data.dir=file://$base/hadoop/data" -D "hadoop.tmp.dir=$base/hadoop/tmp"
    -D dfs.namenode.http-address=127.0.0.1:0 -D dfs.datanode.address=127.0.0.1:0 -D dfs.datanode.http.address=127.0.0.1:0 -D dfs.datanode.ipc.address=127.0.0.1:0
    -D dfs.datanode.hostname=127.0.0.1)
  mkdir -p "$base/hadoop"
  printf '%s\n' 'rootLogger.level = info' 'rootLogger.appenderRef.a.ref = c' 'appender.c.type = Console' 'appender.c.name = c' 'appender.c.layout.type = PatternLayout' \
    'appender.c.layout.pattern = %c{1}: %m%n' >"$base/hadoop/log4j2.properties"
  echo '<configuration/>' >"$base/hadoop/core-site.xml"
  (hadoop org.apache.hadoop.hdfs.server.namenode.NameNode "${settings[@]}" -D fs.defaultFS=hdfs://127.0.0.1:0 -format -force) >"$base/format.log" 2>&1 ||
    { tail "$base/format.log"; return 1; }
  served_daemon "$base/name_node.log" exec_hadoop org.apache.hadoop.hdfs.server.namenode.NameNode "${settings[@]}" -D fs.defaultFS=hdfs://127.0.0.1:0
  port=$(said_by "$base/name_node.log" 'NameNode RPC up at: .*:([0-9]+)') || return 1
  hdfs=hdfs://127.0.0.1:$port
  web_hdfs=webhdfs://127.0.0.1:$(said_by "$base/name_node.log" 'Jetty bound to port ([0-9]+)') || return 1
  served_daemon "$base/data_node.log" exec_hadoop org.apache.hadoop.hdfs.server.datanode.DataNode "${settings[@]}" -D "fs.defaultFS=$hdfs"
  data_node=$!
  disown $data_node  # nobody says that it was killed
  said_by "$base/data_node.log" '(successfully registered with NN)' >/dev/null
}
into_hdfs() {  # what, where to
  (hadoop org.apache.hadoop.fs.FsShell -D "fs.defaultFS=$hdfs" -D dfs.replication=1 -D dfs.blocksize=1048576 -put "$@")
}

# A server of S3 without any bucket, that takes any key until `s3_forbids`; `s3_port` is its port, `s3` are Spark's options for it.
start_s3() {
  served_daemon "$base/s3.log" "$served/bin/moto_server" -H 127.0.0.1 -p 0
  s3_port=$(said_by "$base/s3.log" 'Running on http://127.0.0.1:([0-9]+)') || return 1
  s3=(--spark-conf=spark.jars="$(printf '%s\n' "$served"/jars/{hadoop-aws,aws-java-sdk-bundle}-*.jar | paste -sd ,)"
    --spark-conf=spark.hadoop.fs.s3a.endpoint="http://127.0.0.1:$s3_port" --spark-conf=spark.hadoop.fs.s3a.path.style.access=true)
  s3_key=(--spark-conf=spark.hadoop.fs.s3a.access.key=key --spark-conf=spark.hadoop.fs.s3a.secret.key=secret)
}
into_s3() {  # bucket, directory: what is below it
  "$served/bin/python" - "$s3_port" "$@" <<'END'
import os, sys
import boto3
port, bucket, top = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1")
s3.create_bucket(Bucket=bucket)
for folder, _, names in os.walk(top):
    for name in names:
        path = os.path.join(folder, name)
        s3.upload_file(path, bucket, os.path.relpath(path, top))
END
}
s3_forbids() {
  python3 -c 'import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], b"0", {"Content-Type": "text/plain"}))' "http://127.0.0.1:$s3_port/moto-api/reset-auth"
}
