"""The program that `cffs analyze --engine=spark` starts (docs/SPARK.md). What it does is in cffs_on_spark.

Asked and answering in lines of JSON on standard input and output; all else that is said goes to standard error, a file.
"""
import json
import os
import queue
import shutil
import sys
import threading
import traceback

from cffs_on_spark.installation import java_there, pyspark_there
from cffs_on_spark.problem import Problem, sentence_of


def end_spark(scratch):
    """Java goes when its input ends, and takes its files along. The run's own go with it, too, should cffs have been killed."""
    try:
        from pyspark import SparkContext
        if SparkContext._gateway is not None:
            java = SparkContext._gateway.proc
            java.stdin.close()
            java.wait(timeout=9)
    except BaseException:
        pass
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def begun(q, answer):
    java_there()
    pyspark_there()
    from cffs_on_spark.run import Run  # which needs both
    return Run(q, answer)


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints

    def answer(what):
        out.write(json.dumps(what) + "\n")
        out.flush()

    asked, first, run = queue.Queue(), {}, None

    def listen():
        for line in sys.stdin:
            asked.put(json.loads(line))
        end_spark(first.get("scratch"))  # nobody waits for an answer

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
            traceback.print_exc()
            answer({"problem": sentence_of(e, first)})


if __name__ == "__main__":
    main()
