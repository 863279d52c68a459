"""A night of pubdata as an Airflow DAG: plan, two waves of mapped tasks, commit. Airflow 3, with the standard operators only.

Each task is one process; with the KubernetesExecutor or on several workers they run on several machines. Workers need the program, the
credentials of the store, and PUBDATA_STORE; `plan` and `commit` need a home that stays (PUBDATA_HOME) and run in the pool "pubdata_home", of one
slot on the worker that has it.

A `commit` that has published ends as a run does: with 20 (a dataset was blocked) or 30 (a source was not available) the rest is published, and
another try ends alike. The task then fails at once, with the release in its XCom `release_id`.
"""

import json
import subprocess

import pendulum
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, get_current_context, task

SHARES = 10


def pubdata(*arguments):
    """Starts the program, whose log goes to the task's; its exit code and what it printed. Another try cannot mend a wrong setting."""
    done = subprocess.run(["pubdata", *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 40:
        raise AirflowFailException(f"pubdata {arguments[0]}: exit code 40: a setting is wrong")
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None


def refuse(code, *fine):
    """Fails, to be tried again, on any other exit code than these."""
    if code not in fine:
        raise AirflowException(f"exit code {code}")


# The SEC's archives of the night are there at about 03:00 Eastern; the zone of the start is the zone of the schedule.
@dag(schedule="30 4 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="America/New_York"), catchup=False, max_active_runs=1, tags=["pubdata"])
def pubdata_night():
    @task(retries=3, pool="pubdata_home")
    def plan():
        code, planned = pubdata("plan", "--write")
        refuse(code, 0, 10)
        return planned["plan"]

    @task(retries=3)
    def split(plan, share):
        # 20: a file is not what is declared; done for good, and `commit` says of which task.
        refuse(pubdata("task", "split", "--plan", plan, "--share", f"{share}/{SHARES}")[0], 0, 20)

    @task(retries=3)
    def build(plan, share):
        refuse(pubdata("task", "build", "--plan", plan, "--share", f"{share}/{SHARES}")[0], 0, 20)

    @task(retries=3, pool="pubdata_home")
    def commit(plan):
        code, report = pubdata("commit", "--plan", plan)
        if code in (20, 30) and report:
            get_current_context()["ti"].xcom_push(key="release_id", value=report["release_id"])
            raise AirflowFailException(f"exit code {code}: the channel points at {report['release_id']}, in which not all is new; see `pubdata status`")
        refuse(code, 0, 10)
        return report["release_id"]

    planned = plan()
    shares = list(range(SHARES))
    split.partial(plan=planned).expand(share=shares) >> build.partial(plan=planned).expand(share=shares) >> commit(planned)


pubdata_night()
