"""Distributes a pubdata run on a Spark cluster: plan on the driver, units on executors, commit on the driver.

Spark only starts processes. The processes read and write the store themselves, and every unit is idempotent. So Spark may retry, speculate on or lose
a task: the release equals that of `pubdata run`.
"""

import argparse
import ctypes
import json
import os
import signal
import stat
import subprocess
import sys

DONE, BLOCKED = 0, 20  # after 20 the commit reports why a task is blocked


def batches(work, kind, batch_bytes):
    """Returns groups of (task, wave, keys), the most expensive first. A group costs at most `batch_bytes`, unless it is a single piece."""
    name = "number" if kind == "inputs" else "key"
    made = []
    for task in work:
        cost, keys = 0, []
        for piece in sorted(task[kind], key=lambda piece: -piece["cost_bytes"]):
            if keys and cost + piece["cost_bytes"] > batch_bytes:
                made.append((cost, task["task_id"], kind, keys))
                cost, keys = 0, []
            cost += piece["cost_bytes"]
            keys.append(str(piece[name]))
        if keys:
            made.append((cost, task["task_id"], kind, keys))
    made.sort(key=lambda batch: (-batch[0], batch[1:]))
    return [batch[1:] for batch in made]


def die_with_parent():
    """Makes the kernel kill the child when its parent dies (Linux), so that a lost executor leaves no process behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(binary, arguments, threads=None, stdout=subprocess.PIPE):
    """Runs the program and returns its exit code and output; it logs to the parent's log."""
    environment = dict(os.environ)
    if threads:
        environment.update(RAYON_NUM_THREADS=str(threads), POLARS_MAX_THREADS=str(threads))
    done = subprocess.run([binary, *arguments], stdout=stdout, env=environment, preexec_fn=die_with_parent, check=False)
    return done.returncode, done.stdout


def doing(binary_name, plan, threads, executor_home, declarations):
    """Returns the function that executors call with the batches of a partition."""

    def run(partition):
        from pyspark import SparkFiles

        binary = SparkFiles.get(binary_name)
        os.chmod(binary, os.stat(binary).st_mode | stat.S_IXUSR)
        home = executor_home or os.path.join(SparkFiles.getRootDirectory(), "pubdata-home")
        for task_id, kind, keys in partition:
            what = ["split", "--input"] if kind == "inputs" else ["build", "--unit"]
            arguments = ["task", what[0], "--plan", plan, "--task", task_id, what[1], ",".join(keys), "--home", home, "--json", *declarations]
            code, printed = start(binary, arguments, threads)
            if code not in (DONE, BLOCKED):
                # Spark retries, on another executor if possible.
                hint = "a retry will fail again" if code == 40 else "a retry may succeed"
                raise RuntimeError(f"pubdata {' '.join(arguments)}: exit code {code}, {hint}; see this executor's stderr")
            yield code, json.loads(printed)

    return run


def night(spark, options):
    """Runs plan, units and commit; returns the exit code of the equivalent `pubdata run`."""
    context = spark.sparkContext
    context.addPyFile(os.path.abspath(__file__))
    context.addFile(options.binary)
    store = ["--store", options.store]
    home = ["--home", options.home] if options.home else []
    declarations = ["--declarations", options.declarations] if options.declarations else []
    mirror = [word for url in options.mirror for word in ("--mirror", url)]
    force = ["--force"] if options.force else []
    asked = ["plan", *options.selectors, "--write", "--json", "--channel", options.channel, *store, *home, *declarations, *mirror, *force]
    code, printed = start(options.binary, asked)
    if code != DONE:
        print(f"pubdata plan: exit code {code}", file=sys.stderr)
        return code
    planned = json.loads(printed)
    print(f"plan {planned['plan']}", file=sys.stderr)
    threads = int(context.getConf().get("spark.task.cpus", "1"))
    run = doing(os.path.basename(options.binary), planned["plan"], threads, options.executor_home, declarations)
    for kind in ("inputs", "units"):
        placed = batches(planned["work"], kind, options.batch_bytes)
        if placed:
            context.setJobDescription(f"pubdata: {kind}")
            done = context.parallelize(placed, len(placed)).mapPartitions(run).collect()
            rows = sum(unit["rows"] for _, told in done for unit in told["units"])
            print(f"{kind}: {len(done)} batches, {rows} rows, {sum(code == BLOCKED for code, _ in done)} with something blocked", file=sys.stderr)
    extent = ["--json"] if options.json else []
    code, _ = start(options.binary, ["commit", "--plan", planned["plan"], *home, *declarations, *extent], stdout=None)
    return code


def parser():
    parser = argparse.ArgumentParser(prog="pubdata_spark", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("selectors", nargs="*", help="pipelines, families, datasets or tasks; default: everything")
    parser.add_argument("--store", required=True, metavar="URL", help="the store that all machines share: s3://bucket/prefix, az://…, gs://…, file:///folder")
    parser.add_argument("--binary", required=True, metavar="PATH", help="the program, on the driver; executors get a copy")
    parser.add_argument("--mirror", action="append", default=[], metavar="URL", help="fetch from this mirror instead of the publishers; repeatable")
    parser.add_argument("--batch-bytes", type=int, default=200_000_000, metavar="N", help="work of one Spark task, in bytes of sources (%(default)s)")
    parser.add_argument("--channel", default="nightly", help="the channel to compare with and to move (%(default)s)")
    parser.add_argument("--home", metavar="DIR", help="the driver's folder: ledger, state of URLs, snapshots; keep it between runs")
    parser.add_argument("--executor-home", metavar="DIR", help="the executors' folder (default: with the files of the application)")
    parser.add_argument("--declarations", metavar="DIR", help="replaces the built-in pipelines/ and schemas/; needed on every machine")
    parser.add_argument("--force", action="store_true", help="build again without changes")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    return parser


def main(arguments=None):
    options = parser().parse_args(arguments)
    options.binary = os.path.abspath(options.binary)
    if not os.access(options.binary, os.X_OK):
        print(f"--binary {options.binary}: not an executable file", file=sys.stderr)
        return 40
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("pubdata").getOrCreate()
    try:
        return night(spark, options)
    except Py4JJavaError as error:
        print(f"{error}\nnot published; start again, finished units are kept", file=sys.stderr)
        return 30
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
