"""The datasets of pubdata as Dagster assets: one run makes all of them, and those that are others than before are materialized. Dagster 1.13.

`dagster dev -f pubdata_assets.py` shows them. The machine needs the program (PUBDATA_PROGRAM, `pubdata` by default) and a home that stays
(PUBDATA_HOME); what runs, and with which flags, stands in the home's pubdata.toml. Which datasets there are is asked of the release when the file is
loaded, and of the contracts before the first night: reload the code location after it, and when a pipeline was added.

The schedule is stopped until a person starts it in Dagster's pages or by `dagster schedule start pubdata_nightly`.

A dataset is materialized when its digest is another than that of its latest materialization: so is what a person has published or promoted by day, and
what a night that was killed had published. Its check `renewed` says each night whether all that it is built from came.

| exit code | what it means | what becomes of the run |
|---|---|---|
| 0 | published, or nothing had changed | success |
| 10 | published, something needs a person by day | success, with warnings in the log and the checks of what it is about |
| 20 | a dataset was blocked, the rest is published | failure, not tried again: another try ends alike |
| 30 | a source was not available, the rest is published | tried again: the next try fetches and builds only what is missing |
| 40 | a setting is wrong | failure, not tried again |
| 50 | another run holds the lock | tried again |
| 60 | own files cannot be read or written | tried again |

What was published is told before a failure is.
"""

import datetime
import hashlib
import json
import os
import subprocess
import sys

import dagster as dg

PROGRAM = os.environ.get("PUBDATA_PROGRAM", "pubdata")
CHANNEL = os.environ.get("PUBDATA_CHANNEL", "nightly")
TRIES_AGAIN = 2
WAIT_SECONDS = int(os.environ.get("PUBDATA_RETRY_SECONDS", "3600"))

ANOTHER_TRY_ENDS_ALIKE = {20: "a dataset was blocked", 40: "a setting is wrong"}
WORTH_ANOTHER_TRY = {30: "a source was not available", 50: "another run holds the lock", 60: "own files cannot be read or written"}

CHECK = "renewed"
DIGEST = "dagster/data_version"


def pubdata(*arguments):
    """Starts the program, whose log goes to the step's; its exit code and what it printed."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def release_of_channel():
    """The manifest of the release that the channel points at; none before the first night, whose failure has the hint that `pubdata run` makes one."""
    done = subprocess.run([PROGRAM, "releases", "show", "--channel", CHANNEL, "--json"], capture_output=True, text=True, check=False)
    if done.returncode == 40 and "`pubdata run` makes one" in done.stderr:
        return None
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise dg.Failure(f"pubdata releases show: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["manifest"]


def datasets_of(manifest):
    """Of each dataset of a release its rows, its tasks, and the digest of its parts: it is another one where the digest is."""
    found = {}
    for dataset_id, dataset in (manifest or {"datasets": {}})["datasets"].items():
        digests = "\n".join(part["sha256"] for part in dataset["parts"])
        found[dataset_id] = {
            "rows": sum(part["rows"] for part in dataset["parts"]),
            "digest": hashlib.sha256(digests.encode()).hexdigest(),
            "tasks": sorted({part["task_id"] for part in dataset["parts"]}),
        }
    return found


def specs():
    """An asset for each dataset. It is materialized when it is another one, so that it is late only where nothing has changed for far longer than the
    shortest cadence of what it is built from; of editions that are late by their publisher's calendar the check tells at once."""
    code, printed = pubdata("schema", "dictionary")
    if code != 0:
        raise dg.Failure(f"pubdata schema dictionary: exit code {code}")
    contracts, manifest = printed["contracts"], release_of_channel()
    known = datasets_of(manifest)
    for dataset_id in sorted(known or contracts):
        contract = contracts.get(dataset_id, {"title": dataset_id, "grain": "", "columns": []})
        cadences = [manifest["tasks"][task_id]["cadence_days"] for task_id in known[dataset_id]["tasks"]] if known else []
        freshness = None
        if cadences:
            period = datetime.timedelta(days=min(cadences))
            grace = datetime.timedelta(weeks=1)
            freshness = dg.FreshnessPolicy.time_window(warn_window=2 * period + grace, fail_window=3 * period + 2 * grace)
        columns = [dg.TableColumn(column["name"], description=column["description"]) for column in contract["columns"]]
        yield dg.AssetSpec(
            dataset_id.split("."),
            description=f"{contract['title']}. {contract['grain']}",
            group_name=dataset_id.split(".")[0],
            metadata={"dagster/column_schema": dg.TableSchema(columns)},
            freshness_policy=freshness,
            kinds={"parquet"},
            skippable=True,
        )


SPECS = list(specs())


def attention(report):
    """What needs a person, by task, as the run's report has it, and whether it is more than a word of warning."""
    for told in report["tasks"]:
        words = [*told["reasons"], *(finding["detail"] for finding in told["findings"])]
        if told["outcome"] in ("blocked", "missing") or told["late_since"] or told["is_above_warning_level"] or told["findings"]:
            yield told["task_id"], told["outcome"] in ("blocked", "missing"), f"{told['task_id']}: {told['outcome']}: {'; '.join(words)}"


def told_of(instance, key):
    """The digest of an asset's latest materialization."""
    event = instance.get_latest_materialization_event(key)
    return event.asset_materialization.tags.get(DIGEST) if event and event.asset_materialization else None


@dg.multi_asset(specs=SPECS, check_specs=[dg.AssetCheckSpec(CHECK, asset=spec.key) for spec in SPECS], name="pubdata_run")
def pubdata_run(context: dg.AssetExecutionContext):
    code, report = pubdata("run", "--channel", CHANNEL)
    needs = list(attention(report)) if report else []
    for _, _, line in needs:
        context.log.warning(line)
    manifest = release_of_channel()
    after = datasets_of(manifest)
    for spec in SPECS:
        dataset_id = ".".join(spec.key.path)
        dataset = after.get(dataset_id)
        if dataset and dataset["digest"] != told_of(context.instance, spec.key):
            metadata = {"release_id": manifest["release_id"], "exit_code": code, "dagster/row_count": dataset["rows"]}
            if report:
                metadata["run_id"] = report["run_id"]
            yield dg.MaterializeResult(spec.key, metadata=metadata, data_version=dg.DataVersion(dataset["digest"]))
    have_parts = {task_id for dataset in after.values() for task_id in dataset["tasks"]}
    for spec in SPECS:
        dataset = after.get(".".join(spec.key.path))
        # What a dataset that is not there would be built from is not known: it may be each task that has given nothing yet.
        is_of = lambda task_id: task_id in dataset["tasks"] if dataset else task_id not in have_parts
        about = [(is_failed, line) for task_id, is_failed, line in needs if is_of(task_id)]
        severity = dg.AssetCheckSeverity.ERROR if any(is_failed for is_failed, _ in about) else dg.AssetCheckSeverity.WARN
        told = {"needs": [line for _, line in about], "is_in_release": dataset is not None}
        yield dg.AssetCheckResult(passed=bool(report) and not about, asset_key=spec.key, check_name=CHECK, severity=severity, metadata=told)
    summary = " | ".join(line for _, _, line in needs)
    if code in ANOTHER_TRY_ENDS_ALIKE:
        raise dg.Failure(f"pubdata run: exit code {code}: {ANOTHER_TRY_ENDS_ALIKE[code]}: {summary}", allow_retries=False)
    if code not in (0, 10):
        reason = f"pubdata run: exit code {code}: {WORTH_ANOTHER_TRY.get(code, 'not one of a run')}: {summary}"
        raise dg.RetryRequested(max_retries=TRIES_AGAIN, seconds_to_wait=WAIT_SECONDS) from dg.Failure(reason)


defs = dg.Definitions(
    assets=[pubdata_run],
    schedules=[
        # The SEC's archives of the night are there at about 03:00 Eastern.
        dg.ScheduleDefinition(
            name="pubdata_nightly",
            cron_schedule="30 4 * * *",
            execution_timezone="America/New_York",
            target=dg.AssetSelection.assets(*(spec.key for spec in SPECS)),
        )
    ],
)
