"""A night of pubdata as an Airflow DAG: plan, two waves of mapped tasks, commit. Airflow 3, with the standard operators only.

Each task is one process; with the KubernetesExecutor or on several workers they run on several machines. Workers need the program, the
credentials of the store, and PUBDATA_STORE; `plan` and `commit` need a home that stays (PUBDATA_HOME) and run in the pool "pubdata_home", of one
slot on the worker that has it.
"""

import json
import subprocess

import pendulum
from airflow.decorators import dag, task
from airflow.exceptions import AirflowFailException

SHARES = 10


def pubdata(*arguments):
    """Starts the program; what another try cannot mend fails for good."""
    done = subprocess.run(["pubdata", *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode in (20, 40) and arguments[0] != "task" or done.returncode == 40:
        raise AirflowFailException(f"pubdata {arguments[0]}: exit code {done.returncode}")
    if done.returncode not in (0, 10, 20):
        raise RuntimeError(f"pubdata {arguments[0]}: exit code {done.returncode}")
    return json.loads(done.stdout)


@dag(schedule="30 2 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), catchup=False, max_active_runs=1)
def pubdata_night():
    @task(retries=3, pool="pubdata_home")
    def plan():
        return pubdata("plan", "--write")["plan"]

    @task(retries=3)
    def split(plan, share):
        pubdata("task", "split", "--plan", plan, "--share", f"{share}/{SHARES}")

    @task(retries=3)
    def build(plan, share):
        pubdata("task", "build", "--plan", plan, "--share", f"{share}/{SHARES}")

    @task(retries=3, pool="pubdata_home")
    def commit(plan):
        return pubdata("commit", "--plan", plan)["release_id"]

    planned = plan()
    shares = list(range(SHARES))
    split.partial(plan=planned).expand(share=shares) >> build.partial(plan=planned).expand(share=shares) >> commit(planned)


pubdata_night()
