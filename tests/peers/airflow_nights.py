"""Runs a DAG of integrations/airflow with the real Airflow, once for each line on standard input. After each run it prints the states of the tasks, their
XCom values and the reported assets. AIRFLOW_HOME is a separate folder. All DAGs are parsed first."""

import importlib.util
import json
import pathlib
import subprocess
import sys

subprocess.run([pathlib.Path(sys.executable).with_name("airflow"), "db", "migrate"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

from airflow.models.asset import AssetEvent  # noqa: E402
from airflow.models.dagbag import DagBag  # noqa: E402
from airflow.models.xcom import XComModel  # noqa: E402
from airflow.utils.session import create_session  # noqa: E402

folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
bag = DagBag(dag_folder=str(folder), include_examples=False)


def tell(what):
    print("\nTOLD " + json.dumps(what), flush=True)


schedules = {dag_id: f"{dag.timetable.summary} {dag.timezone.name}" for dag_id, dag in sorted(bag.dags.items())}
tell({"import_errors": {str(path): str(error) for path, error in bag.import_errors.items()}, "dags": schedules})

spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for setting, value in json.loads(sys.argv[3] if len(sys.argv) > 3 else "{}").items():
    setattr(module, setting, value)
dag, seen = getattr(module, name)(), 0

for _ in sys.stdin:
    run = dag.test()
    with create_session() as session:
        events = [[event.asset.uri, event.extra] for event in session.query(AssetEvent).order_by(AssetEvent.id).all()]
        left = session.query(XComModel).filter(XComModel.run_id == run.run_id, XComModel.map_index == -1).all()
        left = {f"{value.task_id}.{value.key}": XComModel.deserialize_value(value) for value in left}
    tasks = {}
    for task in run.get_task_instances():
        tasks.setdefault(task.task_id, []).append([str(task.state), task.try_number])
    tell({"state": str(run.state), "tasks": tasks, "left": left, "events": events[seen:]})
    seen = len(events)
