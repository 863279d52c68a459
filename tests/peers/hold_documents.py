"""Validates the output of commands against their schemas with the `jsonschema_rs` package, and the schemas against their draft.

Argument: a folder of files with a schema and its documents. Each document is also changed: with a key that the schema lacks it must be
refused, which proves that it was validated.
"""

import json
import pathlib
import sys

import jsonschema_rs

held = refused = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    both = json.loads(path.read_text())
    jsonschema_rs.meta.validate(both["schema"])
    validator = jsonschema_rs.Draft202012Validator(both["schema"], validate_formats=True)
    for document in both["documents"]:
        for error in validator.iter_errors(document):
            sys.exit(f"{path.name}: {error}")
        held += 1
        refused += not validator.is_valid({**document, "another": 1})
print(f"{held} documents held, {refused} changed ones refused")
