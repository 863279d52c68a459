"""The datasets of pubdata as Dagster assets. One run makes all of them and materializes those that changed. Dagster 1.13.

`dagster dev -f pubdata_assets.py` shows them. The machine needs the program (PUBDATA_PROGRAM, `pubdata` by default) and a persistent home
(PUBDATA_HOME), whose pubdata.toml has selectors and flags. At load time, the file reads the list of datasets from the release, or from the contracts
before the first run. Reload the code location after the first run and after adding a pipeline.

Start the schedule in Dagster's pages or with `dagster schedule start pubdata_nightly`; it is off by default.

A dataset is materialized when its digest differs from that of its latest materialization. This includes releases that an operator published or promoted,
and those of a killed run. In each run, the check `renewed` states whether all its inputs arrived.

| exit code | meaning | state of the Dagster run |
|---|---|---|
| 0 | published, or unchanged | success |
| 10 | published, something needs attention | success, with warnings in the log and in the checks of the affected datasets |
| 20 | a dataset was blocked, the rest is published | failure without retry: a retry fails again |
| 30 | a source was not available, the rest is published | retried: the next attempt fetches and builds only missing data |
| 40 | a setting is wrong | failure without retry |
| 50 | another run holds the lock | retried |
| 60 | own files cannot be read or written | retried |

Materializations are reported before a failure.
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
    """Runs the program, which logs to the step's log; returns its exit code and output."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def release_of_channel():
    """Returns the manifest of the channel's release. Before the first run, the command fails with the hint that `pubdata run` makes one: None."""
    done = subprocess.run([PROGRAM, "releases", "show", "--channel", CHANNEL, "--json"], capture_output=True, text=True, check=False)
    if done.returncode == 40 and "`pubdata run` makes one" in done.stderr:
        return None
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        raise dg.Failure(f"pubdata releases show: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["manifest"]


def datasets_of(manifest):
    """Returns rows, tasks and the digest of the parts of each dataset of a release. A changed dataset has another digest."""
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
    """Yields an asset for each dataset. Only changes materialize it, so it becomes stale only if it stays unchanged for much longer than the shortest
    cadence of its inputs. The check reports editions that are late by their publisher's calendar at once."""
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
    """Yields tasks of the run's report that need attention, whether each failed, and the reason."""
    for told in report["tasks"]:
        words = [*told["reasons"], *(finding["detail"] for finding in told["findings"])]
        if told["outcome"] in ("blocked", "missing") or told["late_since"] or told["is_above_warning_level"] or told["findings"]:
            yield told["task_id"], told["outcome"] in ("blocked", "missing"), f"{told['task_id']}: {told['outcome']}: {'; '.join(words)}"


def told_of(instance, key):
    """Returns the digest of an asset's latest materialization."""
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
        # The tasks of a missing dataset are unknown: any task without parts may belong to it.
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
        # The SEC's nightly archives appear at about 03:00 Eastern.
        dg.ScheduleDefinition(
            name="pubdata_nightly",
            cron_schedule="30 4 * * *",
            execution_timezone="America/New_York",
            target=dg.AssetSelection.assets(*(spec.key for spec in SPECS)),
        )
    ],
)
