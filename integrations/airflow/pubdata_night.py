"""A distributed run of pubdata as an Airflow DAG: plan, two waves of mapped tasks, commit. Airflow 3, with the standard operators only.

Each task is one process; with the KubernetesExecutor or several workers, tasks run on several machines. Workers need the program, the store's
credentials, and PUBDATA_STORE. `plan` and `commit` need a persistent home (PUBDATA_HOME) and run in the pool "pubdata_home", which has one slot on
the worker with the home.

A `commit` that has published ends like a run: with 20 (a dataset was blocked) or 30 (a source was not available) the rest is published, and a
retry ends the same. The task then fails without retry, with the release in its XCom `release_id`.
"""

import json
import subprocess

import pendulum
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, get_current_context, task

SHARES = 10


def pubdata(*arguments):
    """Runs the program, which logs to the task's log; returns its exit code and output. A wrong setting fails without retry."""
    done = subprocess.run(["pubdata", *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 40:
        raise AirflowFailException(f"pubdata {arguments[0]}: exit code 40: a setting is wrong")
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def refuse(code, *fine):
    """Fails with a retry on any other exit code."""
    if code not in fine:
        raise AirflowException(f"exit code {code}")


# The SEC's nightly archives appear at about 03:00 Eastern. The time zone of start_date applies to the schedule.
@dag(schedule="30 4 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"), catchup=False, max_active_runs=1, tags=["pubdata"])
def pubdata_night():
    @task(retries=3, pool="pubdata_home")
    def plan():
        code, planned = pubdata("plan", "--write")
        refuse(code, 0, 10)
        return planned["plan"]

    @task(retries=3)
    def split(plan, share):
        # 20: a file contradicts its declaration. The result is final, and `commit` names the task.
        refuse(pubdata("task", "split", "--plan", plan, "--share", f"{share}/{SHARES}")[0], 0, 20)

    @task(retries=3)
    def build(plan, share):
        refuse(pubdata("task", "build", "--plan", plan, "--share", f"{share}/{SHARES}")[0], 0, 20)

    @task(retries=3, pool="pubdata_home")
    def commit(plan):
        code, report = pubdata("commit", "--plan", plan)
        if code in (20, 30) and report:
            get_current_context()["ti"].xcom_push(key="release_id", value=report["release_id"])
            raise AirflowFailException(f"exit code {code}: the channel points at {report['release_id']}, with stale tasks; see `pubdata status`")
        refuse(code, 0, 10)
        return report["release_id"]

    planned = plan()
    shares = list(range(SHARES))
    split.partial(plan=planned).expand(share=shares) >> build.partial(plan=planned).expand(share=shares) >> commit(planned)


pubdata_night()
