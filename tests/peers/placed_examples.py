"""Checks that the examples of integrations/ have the form their readers expect, and prints every `pubdata` command in them, one per line."""

import ast
import json
import pathlib
import re
import subprocess
import sys

import yaml

root = pathlib.Path(sys.argv[1])
commands = []

documents = list(yaml.safe_load_all((root / "kubernetes/night.yaml").read_text()))
assert [document["metadata"]["labels"]["wave"] for document in documents] == ["split", "build"]
for document in documents:
    assert (document["apiVersion"], document["kind"]) == ("batch/v1", "Job")
    spec = document["spec"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"]
    assert {"completionMode", "completions", "parallelism", "backoffLimitPerIndex", "ttlSecondsAfterFinished", "template"} == set(spec)
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    volumes = {volume["name"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    (text,) = container["args"]
    assert f"/{spec['completions']} " in text, "as many shares as pods"
    commands.append(text)

definition = json.loads((root / "aws-batch/job-definition.json").read_text())
assert definition["type"] == "container" and set(definition["parameters"]) == {"what", "plan"}
container = definition["containerProperties"]
assert {need["type"] for need in container["resourceRequirements"]} == {"VCPU", "MEMORY"}
assert [word for word in container["command"] if word.startswith("Ref::")] == ["Ref::what", "Ref::plan"]
commands.append(container["command"][2].replace("$1", "build"))

for script in ["kubernetes/night.sh", "aws-batch/night.sh"]:
    # The program prints the document with line breaks.
    document = json.dumps({"format": "pubdata.plan", "plan": "s3://bucket/plans/1.json", "work": []}, indent=2)
    find = re.search(r"sed -n '[^']*'", (root / script).read_text()).group(0)
    found = subprocess.run(["sh", "-c", find], input=document, capture_output=True, text=True, check=True).stdout
    assert found == "s3://bucket/plans/1.json\n", f"{script}: {found!r}"
    commands += re.findall(r"pubdata (?:plan|commit)[^|)\n]*", (root / script).read_text())

dag = ast.parse((root / "airflow/pubdata_night.py").read_text())
calls = [node for node in ast.walk(dag) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pubdata"]
for call in calls:
    words = [word.value if isinstance(word, ast.Constant) else "WORD" for word in call.args]
    commands.append(" ".join(["pubdata", *words, "--json"]))

for command in commands:
    command = re.sub(r"\|\|.*", "", command)
    command = re.sub(r"--share \S+", "--share 0/10", command).replace('"$@"', "").replace("exec ", "")
    print(re.sub(r"--plan \S+", "--plan " + "0" * 64, command).replace('"', "").strip())
