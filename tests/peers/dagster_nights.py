"""Materializes the assets of integrations/dagster with the real Dagster, once for each line on standard input, and prints the result of each
run. The definitions are loaded again for each run, as `dagster dev` does when a user reloads them."""

import importlib.util
import json
import sys

import dagster as dg


def load():
    spec = importlib.util.spec_from_file_location("pubdata_assets", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


with dg.DagsterInstance.ephemeral() as instance:
    for _ in sys.stdin:
        try:
            module = load()
        except dg.Failure as failure:
            print("\nTOLD " + json.dumps({"not_loaded": str(failure)}), flush=True)
            continue
        dg.Definitions.validate_loadable(module.defs)
        night = dg.materialize([module.pubdata_run], instance=instance, raise_on_error=False)
        made = {}
        for event in night.get_asset_materialization_events():
            metadata = event.materialization.metadata
            made[event.asset_key.to_user_string()] = {key: value.value for key, value in metadata.items()}
        failed = [check for check in night.get_asset_check_evaluations() if not check.passed]
        freshness = {spec.key.to_user_string(): str(spec.freshness_policy) for spec in module.SPECS if spec.freshness_policy}
        steps = [event.event_type_value for event in night.all_events if event.event_type_value in ("STEP_UP_FOR_RETRY", "STEP_FAILURE", "STEP_SUCCESS")]
        told = {
            "success": night.success,
            "steps": steps,
            "assets": sorted(spec.key.to_user_string() for spec in module.SPECS),
            "made": made,
            "checks": sorted([check.asset_key.to_user_string(), check.severity.value] for check in failed),
            "freshness": freshness,
            "schedules": [f"{one.name} {one.cron_schedule} {one.execution_timezone} {one.default_status.value}" for one in module.defs.schedules],
        }
        print("\nTOLD " + json.dumps(told), flush=True)
