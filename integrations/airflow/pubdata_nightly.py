"""A nightly run of pubdata as an Airflow DAG: one run on one machine, with an asset event for every changed dataset. Airflow 3.

The worker needs the program (PUBDATA_PROGRAM, `pubdata` by default) and a persistent home (PUBDATA_HOME), whose pubdata.toml has selectors and flags.
Other DAGs wait for a dataset: `@dag(schedule=[Asset("pubdata://nightly/permit.permit")])`. The `extra` of the asset's event has the release, the
number of rows and the digest. A dataset gets an event when its digest differs from that of its last event. This includes releases that an operator
published or promoted, and those of a killed run. If Airflow deletes old events, a dataset gets a new one.

| exit code | meaning | state of `run` |
|---|---|---|
| 0 | published, or unchanged | success |
| 10 | published, something needs attention | success, and a warning in the log |
| 20 | a dataset was blocked, the rest is published | failed without retry: a retry fails again |
| 30 | a source was not available, the rest is published | up for retry: the next attempt fetches and builds only missing data |
| 40 | a setting is wrong | failed without retry |
| 50 | another run holds the lock | up for retry |
| 60 | own files cannot be read or written | up for retry |

`publish` runs after every outcome of `run`. The DAG run fails if either task fails.
"""

import datetime
import hashlib
import json
import logging
import os
import subprocess
import sys

import pendulum
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import Asset, AssetAlias, dag, get_current_context, task

PROGRAM = os.environ.get("PUBDATA_PROGRAM", "pubdata")
CHANNEL = os.environ.get("PUBDATA_CHANNEL", "nightly")
TRIES_AGAIN = 2
WAIT = datetime.timedelta(seconds=int(os.environ.get("PUBDATA_RETRY_SECONDS", "3600")))
DATASETS = AssetAlias(f"pubdata-{CHANNEL}")

ANOTHER_TRY_ENDS_ALIKE = {20: "a dataset was blocked", 40: "a setting is wrong"}
WORTH_ANOTHER_TRY = {30: "a source was not available", 50: "another run holds the lock", 60: "own files cannot be read or written"}

log = logging.getLogger(__name__)


def pubdata(*arguments):
    """Runs the program, which logs to the task's log; returns its exit code and output."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def release_of_channel():
    """Returns the manifest of the channel's release. Before the first run, the command fails with the hint that `pubdata run` makes one: None."""
    done = subprocess.run([PROGRAM, "releases", "show", "--channel", CHANNEL, "--json"], capture_output=True, text=True, check=False)
    if done.returncode == 40 and "`pubdata run` makes one" in done.stderr:
        return None
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise AirflowException(f"pubdata releases show: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["manifest"]


def datasets_of(manifest):
    """Returns rows and the digest of the parts of each dataset of a release. A changed dataset has another digest."""
    found = {}
    for dataset_id, dataset in (manifest or {"datasets": {}})["datasets"].items():
        digests = "\n".join(part["sha256"] for part in dataset["parts"])
        rows = sum(part["rows"] for part in dataset["parts"])
        found[dataset_id] = {"rows": rows, "digest": hashlib.sha256(digests.encode()).hexdigest()}
    return found


def attention(report):
    """Yields a line for each task of the run's report that needs attention."""
    for told in report["tasks"]:
        words = [*told["reasons"], *(finding["detail"] for finding in told["findings"])]
        if told["outcome"] in ("blocked", "missing") or told["late_since"] or told["is_above_warning_level"] or told["findings"]:
            yield f"{told['task_id']}: {told['outcome']}: {'; '.join(words)}"


# The SEC's nightly archives appear at about 03:00 Eastern. The time zone of start_date applies to the schedule.
@dag(schedule="30 4 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"), catchup=False, max_active_runs=1, tags=["pubdata"])
def pubdata_nightly():
    @task(retries=TRIES_AGAIN, retry_delay=WAIT)
    def run():
        code, report = pubdata("run", "--channel", CHANNEL)
        needs = list(attention(report)) if report else []
        for line in needs:
            log.warning("%s", line)
        if code in ANOTHER_TRY_ENDS_ALIKE:
            raise AirflowFailException(f"pubdata run: exit code {code}: {ANOTHER_TRY_ENDS_ALIKE[code]}: {' | '.join(needs)}")
        if code not in (0, 10):
            raise AirflowException(f"pubdata run: exit code {code}: {WORTH_ANOTHER_TRY.get(code, 'not one of a run')}: {' | '.join(needs)}")
        if code == 10:
            log.warning("pubdata run: exit code 10: published; something needs attention (`pubdata status`)")
        return {"exit_code": code, "run_id": report["run_id"], "release_id": report["release_id"], "outcome": report["outcome"]}

    @task(inlets=[DATASETS], outlets=[DATASETS], retries=TRIES_AGAIN, retry_delay=WAIT, trigger_rule="all_done")
    def publish():
        manifest, context = release_of_channel(), get_current_context()
        told = {event.asset.uri: (event.extra or {}).get("digest") for event in sorted(context["inlet_events"][DATASETS], key=lambda event: event.id)}
        for dataset_id, dataset in datasets_of(manifest).items():
            asset = Asset(f"pubdata://{CHANNEL}/{dataset_id}")
            if dataset["digest"] != told.get(asset.uri):
                context["outlet_events"][DATASETS].add(asset, extra={"release_id": manifest["release_id"], **dataset})

    @task
    def night():
        """Decides the state of the DAG run as its last task: it does not start if another task failed."""

    ran, published = run(), publish()
    ran >> published
    [ran, published] >> night()


pubdata_nightly()
