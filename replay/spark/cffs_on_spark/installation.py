"""What must be there before anything of Spark is: Java and pyspark, of versions that go together."""
import os
import re
import shutil
import subprocess
import sys

from .problem import Problem

PYSPARK = "3.5."
JAVA = (8, 11, 17)


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
