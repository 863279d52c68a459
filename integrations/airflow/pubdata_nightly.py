"""A night of pubdata as an Airflow DAG: one run on one machine, and every dataset that is another than before as an asset. Airflow 3.

The worker needs the program (PUBDATA_PROGRAM, `pubdata` by default) and a home that stays (PUBDATA_HOME); what runs, and with which flags, stands
in the home's pubdata.toml. Other DAGs wait for a dataset: `@dag(schedule=[Asset("pubdata://nightly/permit.permit")])`; the asset's event says in
`extra` of which release it is, how many rows it has, and with which digest. A dataset is told when its digest is another than in its last event: so is
what a person has published or promoted by day, and what a night that was killed had published. Where old events are cleaned away, it is told again.

| exit code | what it means | state of `run` |
|---|---|---|
| 0 | published, or nothing had changed | success |
| 10 | published, something needs a person by day | success, and a warning in the log |
| 20 | a dataset was blocked, the rest is published | failed at once: another try ends alike |
| 30 | a source was not available, the rest is published | up for retry: the next try fetches and builds only what is missing |
| 40 | a setting is wrong | failed at once |
| 50 | another run holds the lock | up for retry |
| 60 | own files cannot be read or written | up for retry |

What was published is told in any case: `publish` runs whatever became of `run`; the night as a whole has failed where one of them has.
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
    """Starts the program, whose log goes to the task's; its exit code and what it printed."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def release_of_channel():
    """The manifest of the release that the channel points at; none before the first night, whose failure has the hint that `pubdata run` makes one."""
    done = subprocess.run([PROGRAM, "releases", "show", "--channel", CHANNEL, "--json"], capture_output=True, text=True, check=False)
    if done.returncode == 40 and "`pubdata run` makes one" in done.stderr:
        return None
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise AirflowException(f"pubdata releases show: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["manifest"]


def datasets_of(manifest):
    """Of each dataset of a release its rows and the digest of its parts: it is another one where the digest is."""
    found = {}
    for dataset_id, dataset in (manifest or {"datasets": {}})["datasets"].items():
        digests = "\n".join(part["sha256"] for part in dataset["parts"])
        rows = sum(part["rows"] for part in dataset["parts"])
        found[dataset_id] = {"rows": rows, "digest": hashlib.sha256(digests.encode()).hexdigest()}
    return found


def attention(report):
    """What needs a person, as the run's report has it."""
    for told in report["tasks"]:
        words = [*told["reasons"], *(finding["detail"] for finding in told["findings"])]
        if told["outcome"] in ("blocked", "missing") or told["late_since"] or told["is_above_warning_level"] or told["findings"]:
            yield f"{told['task_id']}: {told['outcome']}: {'; '.join(words)}"


# The SEC's archives of the night are there at about 03:00 Eastern; the zone of the start is the zone of the schedule.
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
            log.warning("pubdata run: exit code 10: published, and something needs a person; `pubdata status` says what")
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
        """The last task decides the state of the DAG's run: this one is not begun where another has failed."""

    ran, published = run(), publish()
    ran >> published
    [ran, published] >> night()


pubdata_nightly()
