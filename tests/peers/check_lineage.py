"""Parses every event of some JSON Lines files into OpenLineage's own classes, which are generated from its schemas. An event must not have unknown or
missing fields or other types, and must serialise to the same event. Prints the number of events of each type."""

import collections
import importlib
import json
import pkgutil
import sys
import types
import typing
from enum import Enum

import attr
import jsonschema
from openlineage.client import generated
from openlineage.client.generated.base import BaseFacet, RunEvent
from openlineage.client.serde import Serde

FORMATS = jsonschema.FormatChecker()
assert {"uri", "uuid", "date-time"} <= set(FORMATS.checkers), "formats are checked only if their validators are installed"

classes = [
    item
    for module in pkgutil.iter_modules(generated.__path__)
    for item in vars(importlib.import_module(f"{generated.__name__}.{module.name}")).values()
    if isinstance(item, type) and attr.has(item) and item.__module__.startswith(generated.__name__)
]
facets = {item._get_schema(): item for item in classes if issubclass(item, BaseFacet)}


def made(kind, value, place):
    """Converts a value to the type of a class's field."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (kind,) = [argument for argument in arguments if argument is not type(None)]
        return made(kind, value, place)
    if origin is list:
        assert isinstance(value, list), f"{place} is not a list"
        return [made(arguments[0], item, f"{place}[{number}]") for number, item in enumerate(value)]
    if origin is dict:
        assert isinstance(value, dict), f"{place} is not an object"
        return {key: made(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not attr.has(kind):
        assert type(value) is kind or (kind is float and type(value) is int), f"{place} is {value!r}, not {kind.__name__}"
        return value
    if issubclass(kind, BaseFacet):
        expected = kind
        kind = facets[value["_schemaURL"]]
        assert issubclass(kind, expected), f"{place} is a {kind.__name__} where a {expected.__name__} belongs"
    types_of_fields, known, given = typing.get_type_hints(kind), {}, dict(value)
    for field in attr.fields(kind):
        if field.name not in given:
            continue
        item = given.pop(field.name)
        if field.name in ("_producer", "producer", "_schemaURL", "schemaURL", "uri"):
            FORMATS.check(item, "uri")
        if field.name in ("eventTime",):
            FORMATS.check(item, "date-time")
        if field.name == "runId":
            FORMATS.check(item, "uuid")
        if field.init:
            known[field.alias] = made(types_of_fields[field.name], item, f"{place}.{field.name}")
        else:
            assert item == kind._get_schema(), f"{place}.{field.name} is {item}"
    assert not given, f"{place}: {kind.__name__} knows no {sorted(given)}"
    return kind(**known)


def without_nothing(value):
    """Removes empty values, which the classes and our events write in different ways."""
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := without_nothing(item)) not in (None, {}, [])}
    return [without_nothing(item) for item in value] if isinstance(value, list) else value


counts, states = collections.Counter(), collections.defaultdict(list)
for path in sys.argv[1:]:
    for line in open(path, encoding="utf-8"):
        read = json.loads(line)
        event = made(RunEvent, read, "event")
        assert without_nothing(json.loads(Serde.to_json(event))) == without_nothing(read)
        counts[read["eventType"]] += 1
        states[read["run"]["runId"]].append(read["eventType"])
for run, seen in states.items():
    assert len(seen) == 2 and seen[0] == "START" and seen[1] in ("COMPLETE", "FAIL"), f"{run}: {seen}"
print(json.dumps(counts))
