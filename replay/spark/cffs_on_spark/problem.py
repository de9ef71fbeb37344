"""What goes wrong, as a sentence for a person."""
import re
import sys


class Problem(Exception):
    """A sentence for a person."""


def first_line(error):
    """What a Java or Python error says, without where from."""
    said = str(getattr(error, "java_exception", None) or error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^(\S+(Exception|Error): |Job aborted due to stage failure: .* \(TID \d+\) \(.*?\): )+", "", said[0])[:300]


# What the clients of HDFS and S3 say of a place that cannot be read, which goes on for lines: (pattern, why).
PLACES = [
    (r"BlockMissingException(: Could not obtain block: \S+ file=(?P<what>[^\n]*?) No live nodes)?", "none of the data nodes that hold a part of it answers"),
    (r"NoSuchBucket", "there is no such bucket"),
    (r"No AWS Credentials provided", "no key is named: spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key do"),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|Service: Amazon S3; Status Code: 40[13]",
     "it is forbidden: are spark.hadoop.fs.s3a.access.key and .secret.key right, and may their owner read it?"),
    (r"Unable to execute HTTP request: (?P<said>[^\n]*?)(:? Unable to execute HTTP request|\n|$)", "{said}; is spark.hadoop.fs.s3a.endpoint right?"),
    (r"(NoClassDefFoundError|ClassNotFoundException): (?P<said>com[./]amazonaws[./]\S+)",
     "there is no {said}, which aws-java-sdk-bundle-1.12.262.jar has: name that in spark.jars too"),
]


def why_no_place(error):
    """(what it is of, why), as a person would put it, or None where it is something else."""
    for pattern, why in PLACES:
        found = re.search(pattern, str(error))
        if found:
            words = found.groupdict()
            return words.get("what"), why.format(said=words.get("said"))
    return None


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
    place = why_no_place(error)
    if place:
        return f"{place[0] or 'a log'}: Spark cannot read it to its end ({place[1]})"
    for pattern, sentence in KNOWN:
        if re.search(pattern, said):
            return sentence.format(python=sys.version.split()[0], master=q.get("master"), scratch=q.get("scratch"), first=first_line(error))
    return f"Spark failed: {first_line(error)}; --spark-log=FILE keeps all that it said"
