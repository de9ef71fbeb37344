"""The end of a run, in the midst of it too: Spark, and what it has started, are gone before this program is."""
import os
import shutil
import signal
import sys
import threading
import time

POLITELY_SECONDS, BY_TERM_SECONDS, BY_KILL_SECONDS = 4, 4, 1  # cffs waits for all of them


def others_of_session():
    """Processes of this one's session: Java, its executors and theirs, which are process groups of their own. Another session's are none
    of ours, and where this program has been started by hand, in the session of who did, nor are that's."""
    mine, found = os.getsid(0), []
    if mine != os.getpid():
        return found
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, _, _, session = file.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == mine and int(pid) != mine and state not in "ZX":
            found.append(int(pid))
    return found


def end_others(by, seconds):
    limit = time.monotonic() + seconds
    for pid in others_of_session():
        try:
            os.kill(pid, by)
        except OSError:
            pass
    while others_of_session() and time.monotonic() < limit:
        time.sleep(0.05)


def stop_context():
    """Has a master's workers end theirs, too."""
    context = sys.modules.get("pyspark") and sys.modules["pyspark"].SparkContext._active_spark_context
    if context:
        context.cancelAllJobs()
        context.stop()


def end_all(scratch):
    try:
        stopping = threading.Thread(target=stop_context, daemon=True)
        stopping.start()
        stopping.join(POLITELY_SECONDS)
        end_others(signal.SIGTERM, BY_TERM_SECONDS)
        end_others(signal.SIGKILL, BY_KILL_SECONDS)
        shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os._exit(0)
