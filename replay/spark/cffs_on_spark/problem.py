"""What goes wrong, as a sentence for a person."""
import re
import sys


class Problem(Exception):
    """A sentence for a person."""


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


def sentence_of(error, q):
    said = str(error)
    for pattern, sentence in KNOWN:
        if re.search(pattern, said):
            return sentence.format(python=sys.version.split()[0], master=q.get("master"), scratch=q.get("scratch"), first=first_line(error))
    return f"Spark failed: {first_line(error)}; --spark-log=FILE keeps all that it said"
