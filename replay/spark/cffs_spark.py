"""The program that `cffs analyze --engine=spark` starts (docs/SPARK.md). What it does is in cffs_on_spark.

Asked and answering in lines of JSON on standard input and output; all else that is said goes to standard error, a file. The argument
is the directory of the run, which goes when this ends.
"""
import json
import os
import queue
import sys
import threading
import time
import traceback

from cffs_on_spark.installation import java_there, pyspark_there
from cffs_on_spark.ending import end_all
from cffs_on_spark.problem import Problem, sentence_of


def begun(q, answer):
    java_there()
    pyspark_there()
    from cffs_on_spark.run import Run  # which needs both
    return Run(q, answer)


def main():
    # What pyspark and Python's workers leave where they are ended in the midst goes with the run.
    os.environ["TMPDIR"] = sys.argv[1]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints

    def answer(what):
        out.write(json.dumps(what) + "\n")
        out.flush()

    asked, first, run = queue.Queue(), {}, None
    ending = threading.Event()

    def listen():
        for line in sys.stdin:
            asked.put(json.loads(line))
        ending.set()  # nobody waits for an answer
        end_all(sys.argv[1])

    threading.Thread(target=listen, daemon=True).start()
    while True:
        q = asked.get()
        try:
            if q["ask"] == "read":
                first.update(q)
                run = begun(q, answer)
                answer(run.read())
            elif q["ask"] == "cut":
                answer(run.cut())
            else:
                answer(run.mine(q))
        except Problem as problem:
            answer({"problem": str(problem)})
        except Exception as e:
            while ending.is_set():  # what fails now does since Spark is being ended
                time.sleep(1)
            traceback.print_exc()
            answer({"problem": sentence_of(e, first)})


if __name__ == "__main__":
    main()
