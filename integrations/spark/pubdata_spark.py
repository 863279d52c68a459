"""Places the work of a pubdata run on a Spark cluster: plan on the driver, units on executors, commit on the driver.

Spark only starts processes. The program reads and writes the store by itself, every unit is idempotent, and so a task that Spark tries again,
speculates on or loses does no harm: the release is the one that `pubdata run` makes.
"""

import argparse
import ctypes
import json
import os
import signal
import stat
import subprocess
import sys

DONE, BLOCKED = 0, 20  # after 20 the commit says why a task is not renewed


def batches(work, kind, batch_bytes):
    """Groups of (task, wave, keys), the most expensive first; none costs more than `batch_bytes`, unless one piece alone does."""
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
    """Has the kernel kill the child when its parent dies (Linux): an executor that is lost leaves no process behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(binary, arguments, threads=None, stdout=subprocess.PIPE):
    """Runs the program and returns its exit code and what it printed; what it logs goes where the parent logs."""
    environment = dict(os.environ)
    if threads:
        environment.update(RAYON_NUM_THREADS=str(threads), POLARS_MAX_THREADS=str(threads))
    done = subprocess.run([binary, *arguments], stdout=stdout, env=environment, preexec_fn=die_with_parent, check=False)
    return done.returncode, done.stdout


def doing(binary_name, plan, threads, executor_home, declarations):
    """The function that executors call with the batches of a partition."""

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
                # Spark tries again, on another executor where it can.
                hint = "another try will end alike" if code == 40 else "worth another try"
                raise RuntimeError(f"pubdata {' '.join(arguments)}: exit code {code}, {hint}; its last words are in this executor's stderr")
            yield code, json.loads(printed)

    return run


def night(spark, options):
    """A whole night; returns the exit code that `pubdata run` would have ended with."""
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
    parser.add_argument("selectors", nargs="*", help="pipelines, families, datasets or tasks; everything when none is given")
    parser.add_argument("--store", required=True, metavar="URL", help="what all machines share: s3://bucket/prefix, az://…, gs://…, file:///folder")
    parser.add_argument("--binary", required=True, metavar="PATH", help="the program, on the driver; executors get a copy")
    parser.add_argument("--mirror", action="append", default=[], metavar="URL", help="where files are instead of at the publishers; several times")
    parser.add_argument("--batch-bytes", type=int, default=200_000_000, metavar="N", help="work of one Spark task, in bytes of sources (%(default)s)")
    parser.add_argument("--channel", default="nightly", help="the channel to compare with and to move (%(default)s)")
    parser.add_argument("--home", metavar="DIR", help="the driver's folder: ledger, state of URLs, snapshots; keep it from night to night")
    parser.add_argument("--executor-home", metavar="DIR", help="the executors' folder (default: with the files of the application)")
    parser.add_argument("--declarations", metavar="DIR", help="pipelines/ and schemas/ to use instead of those built in; on every machine")
    parser.add_argument("--force", action="store_true", help="builds again even when nothing changed")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    return parser


def main(arguments=None):
    options = parser().parse_args(arguments)
    options.binary = os.path.abspath(options.binary)
    if not os.access(options.binary, os.X_OK):
        print(f"--binary {options.binary}: not a program that can be started", file=sys.stderr)
        return 40
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("pubdata").getOrCreate()
    try:
        return night(spark, options)
    except Py4JJavaError as error:
        print(f"{error}\nnothing is published; start again, what is done stays done", file=sys.stderr)
        return 30
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
