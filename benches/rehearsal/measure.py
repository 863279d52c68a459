#!/usr/bin/env python3
"""Measures nights of rehearsal: one machine night by night, then the first night placed on executors.

Prints Markdown tables: wall and processor time, memory and disk at most, and how long each task took. Ends with 1 where
the executors made another release than one machine.
"""

import argparse
import concurrent.futures
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

TASKS = ["sec.submissions", "sec.financials", "business.fl_sunbiz", "license.nppes", "census.gazetteer", "census.acs5"]
# Done, done with warnings, and not all of it could be renewed.
DONE = (0, 10, 30)


def ask(options, home, arguments, cpu=None, threads=None):
    """Runs the program; its document, the seconds it took, its processor time and its memory at most in bytes."""
    environment = dict(os.environ, PUBDATA_LOG="error")
    if threads:
        environment.update(RAYON_NUM_THREADS=str(threads), POLARS_MAX_THREADS=str(threads))
    before = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    command = [options.binary, *arguments, "--home", str(home), "--json"]
    begun = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, preexec_fn=before) as process:
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in DONE:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return json.loads(text), time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


class Disk:
    """The most that was written to a file system while something ran: other writers count too."""

    def __init__(self, folder):
        self.folder, self.most, self.stop = folder, 0, threading.Event()
        self.before = shutil.disk_usage(folder).used
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.stop.wait(1):
            self.most = max(self.most, shutil.disk_usage(self.folder).used - self.before)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def one_machine(options, home, night):
    with Disk(options.work) as disk:
        report, seconds, processor, memory = ask(options, home, ["run", *TASKS, "--mirror", str(night)])
    print(f"| {night.name}, one machine | {seconds:.0f} s | {processor:.0f} s | {memory / 1e6:.0f} MB | {disk.most / 1e9:.1f} GB | {tasks_of(report)} | {report['release_id']} |", flush=True)
    return report


def tasks_of(report):
    """How long each task took, the longest first; those of less than a second are left out."""
    took = sorted(((task["duration_ms"] / 1000, task["task_id"]) for task in report["tasks"]), reverse=True)
    return ", ".join(f"{task_id} {seconds:.0f} s" for seconds, task_id in took if seconds >= 1)


def batches(work, kind, name, most):
    """Pieces of each task, the most expensive batch first."""
    found = []
    for task in work:
        cost, names = 0, []
        for piece in task[kind]:
            if names and cost + piece["cost_bytes"] > most:
                found.append((cost, task["task_id"], names))
                cost, names = 0, []
            cost, names = cost + piece["cost_bytes"], [*names, str(piece[name])]
        if names:
            found.append((cost, task["task_id"], names))
    return sorted(found, key=lambda batch: -batch[0])


def executors(options, folder, night, count):
    """A night on so many executors, each on a processor of its own, and what one executor does after the other."""
    store, driver = f"file://{folder.resolve()}/store", folder / "driver"
    with Disk(options.work) as disk:
        written, planning, _, _ = ask(options, driver, ["plan", "--write", *TASKS, "--mirror", str(night), "--store", store])
        begun, processor, memory = time.monotonic(), [], []
        for wave, kind, name, flag in [("split", "inputs", "number", "--input"), ("build", "units", "key", "--unit")]:
            left = queue.Queue()
            for batch in batches(written["work"], kind, name, options.batch_mb * 1e6):
                left.put(batch)

            def work(number):
                while True:
                    try:
                        _, task, names = left.get_nowait()
                    except queue.Empty:
                        return
                    arguments = ["task", wave, "--plan", written["plan"], "--task", task, flag, ",".join(names)]
                    _, _, used, most = ask(options, folder / f"executor-{number}", arguments, cpu=number, threads=1)
                    processor.append(used)
                    memory.append(most)

            with concurrent.futures.ThreadPoolExecutor(count) as pool:
                list(pool.map(work, range(count)))
        seconds = time.monotonic() - begun
        report, committing, _, _ = ask(options, driver, ["commit", "--plan", written["plan"]])
    print(
        f"| {night.name}, {count} executors | {planning:.0f} + {seconds:.0f} + {committing:.0f} s | {sum(processor):.0f} s | {max(memory) / 1e6:.0f} MB in one of {len(memory)} processes | {disk.most / 1e9:.1f} GB | – | {report['release_id']} |",
        flush=True,
    )
    return report["release_id"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nights", nargs="+", type=Path, help="mirrors made by generate.py, one night after the other")
    parser.add_argument("--work", type=Path, required=True, help="a new folder for homes and stores, which are removed once measured")
    parser.add_argument("--binary", default="pubdata")
    parser.add_argument("--executors", type=int, nargs="*", default=[], help="also place the first night on so many executors")
    parser.add_argument("--batch-mb", type=float, default=150, help="bytes of its sources that one process of an executor is given")
    options = parser.parse_args()
    options.work.mkdir(parents=True)
    print("| Night | Wall time | Processor time | Memory at most | Disk at most | Tasks | Release |\n|---|---|---|---|---|---|---|")
    reports = [one_machine(options, options.work / "home", night) for night in options.nights]
    shutil.rmtree(options.work / "home")
    placed = []
    for count in options.executors:
        folder = options.work / f"executors-{count}"
        placed.append(executors(options, folder, options.nights[0], count))
        shutil.rmtree(folder)
    for (release_id, seconds), count in zip(placed, options.executors):
        print(f"\n{count} executors: {placed[0][1] / seconds:.2f} times as fast as {options.executors[0]}")
        if release_id != reports[0]["release_id"]:
            sys.exit(f"{count} executors made {release_id}, one machine made {reports[0]['release_id']}")


if __name__ == "__main__":
    main()
