"""Reads the published Parquet of a release with DuckDB, polars, pyarrow and pandas and compares it with the values of our own reader.

Usage: read_parts.py EXPECTED.json

EXPECTED.json: {"folder": …, "datasets": {id: {"partition_by": [column], "parts": [{"path", "rows", "columns": [{"name", "kind"}],
"values": {column: [value]}, "totals": {column: {"count", "sum", "min", "max"}}}]}}}. Paths are below the folder.

Values are written in the same form for all readers: decimals as their text, dates as ISO text, floats as `f64:` and the bits, lists and structs as
JSON. Prints one JSON object {engine: {"parts", "values", "totals", "folder_rows"}} with the numbers of compared values. Differences go to standard
error, and the exit code is then 1.
"""

import datetime
import decimal
import json
import math
import os
import struct
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet

POINTERS = {
    "duckdb": 'STRUCT(source_id VARCHAR, "snapshot" VARCHAR, member VARCHAR, "offset" BIGINT, length BIGINT)[]',
    "polars": "List(Struct({'source_id': String, 'snapshot': String, 'member': String, 'offset': Int64, 'length': Int64}))",
    "pyarrow": "list<item: struct<source_id: string not null, snapshot: string not null, member: string, offset: int64 not null, "
    "length: int64 not null> not null>",
}
# The type of each reader for a physical type of a contract. Precision and scale follow a decimal.
TYPES = {
    "duckdb": {"String": "VARCHAR", "Int32": "INTEGER", "Int64": "BIGINT", "Float64": "DOUBLE", "Boolean": "BOOLEAN", "Date": "DATE"}
    | {"Decimal": "DECIMAL(%d,%d)", "StringList": "VARCHAR[]", "Pointers": POINTERS["duckdb"]},
    "polars": {"String": "String", "Int32": "Int32", "Int64": "Int64", "Float64": "Float64", "Boolean": "Boolean", "Date": "Date"}
    | {"Decimal": "Decimal(precision=%d, scale=%d)", "StringList": "List(String)", "Pointers": POINTERS["polars"]},
    "pyarrow": {"String": "string", "Int32": "int32", "Int64": "int64", "Float64": "double", "Boolean": "bool", "Date": "date32[day]"}
    | {"Decimal": "decimal128(%d, %d)", "StringList": "list<item: string not null>", "Pointers": POINTERS["pyarrow"]},
}

problems = []


def written(value):
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return "f64:" + struct.pack(">d", value).hex()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: written(field) for name, field in value.items()}
    return [written(item) for item in value]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class DuckDb:
    def open(self, path):
        self.table = duckdb.connect().from_parquet(path)

    def columns(self):
        return list(zip(self.table.columns, [str(kind) for kind in self.table.types]))

    def values(self):
        rows = self.table.fetchall()
        return {name: [row[index] for row in rows] for index, name in enumerate(self.table.columns)}

    def totals(self, name):
        column = quoted(name)
        return self.table.aggregate(f"count({column}), sum({column}), min({column}), max({column})").fetchall()[0]

    def folder(self, folder, keys):
        table = duckdb.connect().from_parquet(os.path.join(folder, "*.parquet"))
        names = ", ".join(quoted(name) for name in ["record_id", *keys])
        return [tuple(row) for row in table.project(names).fetchall()]


class Polars:
    def open(self, path):
        self.table = polars.read_parquet(path)

    def columns(self):
        return [(name, str(kind)) for name, kind in self.table.schema.items()]

    def values(self):
        return self.table.to_dict(as_series=False)

    def totals(self, name):
        column = self.table[name]
        return (len(column) - column.null_count(), column.sum(), column.min(), column.max())

    def folder(self, folder, keys):
        return polars.scan_parquet(os.path.join(folder, "*.parquet")).select("record_id", *keys).collect().rows()


class PyArrow:
    def open(self, path):
        self.table = pyarrow.parquet.read_table(path)

    def columns(self):
        return [(field.name, str(field.type)) for field in self.table.schema]

    def values(self):
        return self.table.to_pydict()

    def totals(self, name):
        column = self.table[name]
        bounds = pyarrow.compute.min_max(column)
        return (len(column) - column.null_count, pyarrow.compute.sum(column).as_py(), bounds["min"].as_py(), bounds["max"].as_py())

    def folder(self, folder, keys):
        table = pyarrow.parquet.read_table(folder)
        return list(zip(*(table[name].to_pylist() for name in ["record_id", *keys])))


class Pandas:
    """Reads only folders: pandas reads files with pyarrow, and has its own types for most columns."""

    def folder(self, folder, keys):
        table = pandas.read_parquet(folder)
        return list(table[["record_id", *keys]].itertuples(index=False, name=None))


def is_equal_total(ours, theirs):
    if isinstance(theirs, float):
        bits = bytes.fromhex(ours.removeprefix("f64:"))
        return math.isclose(struct.unpack(">d", bits)[0], theirs, rel_tol=1e-12)
    return ours == written(theirs)


def check_part(name, engine, folder, part, counts):
    engine.open(os.path.join(folder, part["path"]))
    place = f"{name}: {part['path']}"

    def type_of(kind):
        kind, *digits = kind.split(" ")
        return TYPES[name][kind] % tuple(int(digit) for digit in digits) if digits else TYPES[name][kind]

    expected_columns = [(column["name"], type_of(column["kind"])) for column in part["columns"]]
    if engine.columns() != expected_columns:
        problems.append(f"{place}: columns are {engine.columns()}, expected {expected_columns}")
    values = engine.values()
    for column, expected in part["values"].items():
        found = [written(value) for value in values[column]]
        counts["values"] += len(found)
        if len(found) != len(expected):
            problems.append(f"{place}: `{column}` has {len(found)} rows, expected {len(expected)}")
        for row, (theirs, ours) in enumerate(zip(found, expected)):
            if theirs != ours or type(theirs) is not type(ours):
                problems.append(f"{place}: `{column}` in row {row} is {theirs!r}, expected {ours!r}")
    for column, expected in part["totals"].items():
        found = dict(zip(["count", "sum", "min", "max"], engine.totals(column)))
        for what, ours in expected.items():
            # One reader returns null for the sum of no values, another returns zero.
            is_nothing = expected["count"] == 0 and what != "count"
            counts["totals"] += 1
            if not is_nothing and not is_equal_total(ours, found[what]):
                problems.append(f"{place}: {what} of `{column}` is {found[what]!r}, expected {ours!r}")
    counts["parts"] += 1


def check_folder(name, engine, folder, dataset_id, dataset, counts):
    keys = dataset["partition_by"]
    columns = [[part["values"][column] for part in dataset["parts"]] for column in ["record_id", *keys]]
    expected = sorted(zip(*(["%s" % value for values in column for value in values] for column in columns)))
    try:
        found = sorted(tuple("%s" % value for value in row) for row in engine.folder(os.path.join(folder, dataset_id), keys))
    except Exception as error:
        problems.append(f"{name}: {dataset_id} cannot be read as one folder: {type(error).__name__}: {error}")
        return
    counts["folder_rows"] += len(found)
    if found != expected:
        problems.append(f"{name}: {dataset_id} read as one folder has rows {found[:3]} …, expected {expected[:3]} …")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    summary = {}
    for name, engine in [("duckdb", DuckDb()), ("polars", Polars()), ("pyarrow", PyArrow()), ("pandas", Pandas())]:
        counts = summary[name] = {"parts": 0, "values": 0, "totals": 0, "folder_rows": 0}
        for dataset_id, dataset in expected["datasets"].items():
            for part in dataset["parts"] if hasattr(engine, "open") else []:
                check_part(name, engine, expected["folder"], part, counts)
            check_folder(name, engine, expected["folder"], dataset_id, dataset, counts)
    print(json.dumps(summary))
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
