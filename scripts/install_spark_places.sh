#!/usr/bin/env bash
# Installs what the tests spark_hdfs and spark_s3 serve logs from: HDFS's own name and data node and Hadoop's client of S3 from Maven Central, and moto,
# a server that answers as S3 does, from PyPI; pinned and checked by their hashes. No program of cffs needs any of it.
#   scripts/install_spark_places.sh [DIR]     by itself ${CFFS_SPARK_PLACES}, else ${CFFS_SUITE_TOOLS:-~/.cache/cffs-suites}/spark_places
# Does nothing where the same is there. 430 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

case "${1:-}" in
  -h|--help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) echo "install_spark_places: unknown option '$1'; there is: [DIR]" >&2; exit 2 ;;
esac
place=${1:-${CFFS_SPARK_PLACES:-${CFFS_SUITE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/cffs-suites}/spark_places}}
fail() { echo "install_spark_places: $*" >&2; exit 1; }

# Of the version of Hadoop's client that pyspark brings.
jars='cd8a1703393946c302bb3a52d0fcd23f6f8ded4554bc0dac5d2ee673dbe2b40e org.apache.hadoop:hadoop-client-minicluster:3.3.4
53f9ae03c681a30a50aa17524bd9790ab596b28481858e54efd989a826ed3a4a org.apache.hadoop:hadoop-aws:3.3.4
873fe7cf495126619997bec21c44de5d992544aea7e632fdc77adb1a0915bae5 com.amazonaws:aws-java-sdk-bundle:1.12.262'
needed='blinker==1.9.0 --hash=sha256:ba0efaa9080b619ff2f3459d1d500c57bddea4a6b424b60a91141db6fd2f08bc
boto3==1.34.162 --hash=sha256:d6f6096bdab35a0c0deff469563b87d184a28df7689790f7fe7be98502b7c590
botocore==1.34.162 --hash=sha256:2d918b02db88d27a75b48275e6fb2506e9adaaddbec1ffa6a8a0898b34e769be
certifi==2026.10.19.post1 --hash=sha256:1324c476b4811eff41a8bc2122cd0bbd4d9c7234c725446d99ab1612b3a7fdd2
cffi==2.1.1 --hash=sha256:34e261f78cb6ceaaa36f42f2613f4380d94d9c759a9c73c769ee6e0247364632 --hash=sha256:3311ed60d36f83378794e1009ac6258bafbf81f7888b4caa7b35a521e3f95813
charset-normalizer==3.5.3 --hash=sha256:2a6f937e0b70133d1f826d0a253331b6fe1a4c874808cc12e16f2fb8177042f4 --hash=sha256:90b1ff6cb9c7a204a3b79b1b0ed6ac8a1d8fed3b6dc69e50ae5de0f358ee81d4
click==8.5.1 --hash=sha256:8bb5376d2006950386f8c6427613334a2acadc5f559cb80e638d00b4df957e37
cryptography==43.0.3 --hash=sha256:c2e6fc39c4ab499049df3bdf567f768a723a5e8464816e8f009f121a5a9f4405 --hash=sha256:846da004a5804145a5f441b8530b4bf35afbf7da70f82409f151695b127213d5
flask-cors==4.0.1 --hash=sha256:f2a704e4458665580c074b714c4627dd5a306b333deb9074d0b1794dfa2fb677
flask==3.0.3 --hash=sha256:34e815dfaa43340d1d15a5c3a02b8476004037eb4840b34910c6e21679d288f3
idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c
itsdangerous==2.2.0 --hash=sha256:c6242fc49e35958c8b15141343aa660db5fc54d4f13a1db01a3f5891b98700ef
jinja2==3.1.6 --hash=sha256:85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67
jmespath==1.1.0 --hash=sha256:a5663118de4908c91729bea0acadca56526eb2698e83de10cd116ae0f4e97c64
markupsafe==3.0.4 --hash=sha256:6da83a088f8ef93b2d483a8232a4dbf4d69d3d8496b568a03c56becac43e1808 --hash=sha256:849dd2bb0e5e4ab2b71c7191726a4a8d5aa8a610daa584728cbee0b710ddc4ef
moto==5.0.28 --hash=sha256:2dfbea1afe3b593e13192059a1a7fc4b3cf7fdf92e432070c22346efa45aa0f0
py-partiql-parser==0.6.1 --hash=sha256:ff6a48067bff23c37e9044021bf1d949c83e195490c17e020715e927fe5b2456
pycparser==3.12 --hash=sha256:a076f3f489b39b43ed13563a1dafe42447445bec2e294154ec5c57fcdda4c85e
python-dateutil==2.9.0.post0 --hash=sha256:a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427
pyyaml==6.0.4 --hash=sha256:622aa875fa6533f25fedcffe23079357d65a690d462200afed5d8e9d0e01ebee --hash=sha256:71bb5b87465d88d1dfc577115af6d435bff9b26f2512936f610c26aa55966028
requests==2.34.2 --hash=sha256:2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0
responses==0.26.3 --hash=sha256:74474f799334ac4f37d93b6437ecc3bb1bb5c77a8d31780a338643be2dce0af8
s3transfer==0.10.4 --hash=sha256:244a76a24355363a68164241438de1b72f8781664920260c48465896b712a41e
six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
urllib3==2.8.0 --hash=sha256:0cf3cae568d36aa9576b28dfb35f11328f1cb974ca7647d9475ebb86c75ac6e3
werkzeug==3.0.6 --hash=sha256:1bc0c2310d2fbb07b1dd1105eba2f7af72f322e1e455f2f93c993bee8c8a5f17
xmltodict==1.0.4 --hash=sha256:a4a00d300b0e1c59fc2bfccb53d7b2e88c32f200df138a0dd2229f842497026a'
sum=$(printf '%s\n%s\n' "$jars" "$needed" | sha256sum | cut -d ' ' -f 1)
[ "$(cat "$place/installed" 2>/dev/null)" != "$sum" ] || exit 0

# What another version left, or who was interrupted, is not mixed with this: it goes first. Nothing else does, so what is in the way must have
# the mark of this script, or be what versions without one have made: a virtual environment, and the sum of what is in it.
made_here() {
  [ "$(cat "$place/made_by" 2>/dev/null)" = install_spark_places.sh ] || { [ -e "$place/pyvenv.cfg" ] && grep -qxE '[0-9a-f]{64}' "$place/installed" 2>/dev/null; }
}
if [ -n "$(ls -A "$place" 2>/dev/null)" ] && ! made_here; then
  fail "$place is neither empty nor what this script has made: name another directory"
fi

packages=()
command -v mvn >/dev/null || packages+=(maven)
python=/usr/bin/python3  # Debian's own, whatever else is on the path
[ -x $python ] && $python -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
[ ${#packages[@]} = 0 ] || "$here/install_packages.sh" "${packages[@]}"

rm -rf "$place"
mkdir -p "$place" && echo "install_spark_places.sh" >"$place/made_by" && : >"$place/install.log"
$python -m venv "$place" || fail "no virtual environment could be made in $place, see above"
echo "   downloading HDFS, Hadoop's client of S3 and moto (340 MB) to $place"
log=$place/install.log
while read -r hash artifact; do
  file=$place/jars/$(cut -d : -f 2,3 <<<"$artifact" | tr : -).jar
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact="$artifact" -DoutputDirectory="$place/jars" </dev/null >>"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; fail "Maven could not fetch $artifact, see above and $log; is Maven Central reachable?"; }
  sha256sum --quiet -c <<<"$hash  $file" >&2 || fail "$file is not the file that is wanted: its hash is another"
done <<<"$jars"
"$place/bin/python" -m pip install --quiet --no-deps --require-hashes --only-binary=:all: --disable-pip-version-check -r /dev/stdin <<<"$needed" >>"$log" 2>&1 ||
  { tail -n 5 "$log" >&2; fail "pip failed, see above and $log; is PyPI reachable?"; }
echo "$sum" >"$place/installed"
