"""Reads the datasets of a release as tables, by their Delta logs and as folders, with one engine, and compares rows, types and values with those of our
own reader. It can also check the logs and the Data Package themselves.

Usage: read_tables.py EXPECTED.json ENGINE. ENGINE is deltalake, polars, pandas, sail (by the logs), spark (folders of Parquet), duckdb (by the logs,
if the extension `delta` is available; otherwise it prints a reason), logs or package. EXPECTED.json is the input of `read_parts.py`, with a `release_id`.

Prints one JSON object {"tables", "rows", "values"} with the numbers of compared values. Differences go to standard error, and the exit code is then 1.
"""

import datetime
import decimal
import json
import os
import struct
import sys
import uuid
import warnings

warnings.simplefilter("ignore")

# The type of each reader for a physical type of a contract. Precision and scale follow a decimal.
ARROW = {
    "String": "string",
    "Int32": "int32",
    "Int64": "int64",
    "Float64": "double",
    "Boolean": "bool",
    "Date": "date32[day]",
    "Decimal": "decimal128(%d, %d)",
    "StringList": "list<element: string not null>",
    "Pointers": "list<element: struct<source_id: string not null, snapshot: string not null, member: string, offset: int64 not null, "
    "length: int64 not null> not null>",
}
POLARS = {
    "String": "String",
    "Int32": "Int32",
    "Int64": "Int64",
    "Float64": "Float64",
    "Boolean": "Boolean",
    "Date": "Date",
    "Decimal": "Decimal(precision=%d, scale=%d)",
    "StringList": "List(String)",
    "Pointers": "List(Struct({'source_id': String, 'snapshot': String, 'member': String, 'offset': Int64, 'length': Int64}))",
}
SPARK = {
    "String": "string",
    "Int32": "int",
    "Int64": "bigint",
    "Float64": "double",
    "Boolean": "boolean",
    "Date": "date",
    "Decimal": "decimal(%d,%d)",
    "StringList": "array<string>",
    "Pointers": "array<struct<source_id:string,snapshot:string,member:string,offset:bigint,length:bigint>>",
}
DUCKDB = {
    "String": "VARCHAR",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
    "Date": "DATE",
    "Decimal": "DECIMAL(%d,%d)",
    "StringList": "VARCHAR[]",
    "Pointers": 'STRUCT(source_id VARCHAR, "snapshot" VARCHAR, member VARCHAR, "offset" BIGINT, length BIGINT)[]',
}
LOG = "_delta_log/00000000000000000000.json"

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
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {name: written(field) for name, field in value.items()}
    return [written(item) for item in value]


class DeltaLake:
    types = ARROW

    def __init__(self):
        import deltalake

        self.open = deltalake.DeltaTable

    def read(self, folder):
        table = self.open(folder)
        self.dataset = table.to_pyarrow_dataset()
        table = table.to_pyarrow_table()
        return [(field.name, str(field.type)) for field in table.schema], table.to_pydict()

    def find(self, column, value):
        import pyarrow.dataset

        field = pyarrow.dataset.field(column)
        return self.dataset.count_rows(filter=field.is_null() if value is None else field == value)


class Pandas(DeltaLake):
    """Has its own types for most columns, so only column names and the values of texts and whole numbers are compared."""

    types = {kind: "" for kind in ARROW}

    def read(self, folder):
        import pandas

        table = self.open(folder).to_pandas()
        for path in [folder]:
            rows = len(pandas.read_parquet(path))
            if rows != len(table):
                problems.append(f"pandas: {path} read as a folder has {rows} rows, and {len(table)} by its log")
        values = {}
        for name in table.columns:
            if all(value is None or isinstance(value, str) for value in table[name]):
                values[name] = list(table[name])
            elif str(table[name].dtype) in ("int32", "int64"):
                values[name] = [int(value) for value in table[name]]
        return [(name, "") for name in table.columns], values

    find = None


class Polars:
    types = POLARS

    def read(self, folder):
        import polars

        self.lazy = polars.scan_delta(folder)
        table = self.lazy.collect()
        return [(name, str(kind)) for name, kind in table.schema.items()], table.to_dict(as_series=False)

    def find(self, column, value):
        import polars

        field = polars.col(column)
        return self.lazy.filter(field.is_null() if value is None else field == value).select(polars.len()).collect().item()


class Spark:
    """Spark 4 itself, which reads the folders: it treats a folder with a log as a folder of Parquet files."""

    types = SPARK

    def __init__(self):
        from pyspark.sql import SparkSession

        self.session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

    def frame(self, folder):
        return self.session.read.parquet(folder)

    def read(self, folder):
        self.last = frame = self.frame(folder)
        rows = frame.collect()
        return frame.dtypes, {name: [row[name] for row in rows] for name in frame.columns}

    find = None


class Sail(Spark):
    def __init__(self):
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession

        self.server = SparkConnectServer(ip="127.0.0.1", port=0)
        self.server.start(background=True)
        self.session = SparkSession.builder.remote(f"sc://127.0.0.1:{self.server.listening_address[1]}").getOrCreate()

    def frame(self, folder):
        return self.session.read.format("delta").load(folder)

    def find(self, column, value):
        from pyspark.sql import functions

        field = functions.col(column)
        return self.last.filter(field.isNull() if value is None else field == value).count()


class DuckDb:
    types = DUCKDB

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect(config={"autoinstall_known_extensions": False})
        self.connection.execute("LOAD delta")

    def read(self, folder):
        table = self.connection.sql(f"SELECT * FROM delta_scan('{folder}')")
        rows = table.fetchall()
        return list(zip(table.columns, map(str, table.types))), {name: [row[at] for row in rows] for at, name in enumerate(table.columns)}

    find = None


ENGINES = {"deltalake": DeltaLake, "pandas": Pandas, "polars": Polars, "spark": Spark, "sail": Sail, "duckdb": DuckDb}


def check_table(name, engine, folder, dataset_id, dataset, counts):
    parts, place = dataset["parts"], f"{name}: {dataset_id}"

    def type_of(kind):
        kind, *digits = kind.split(" ")
        return engine.types[kind] % tuple(int(digit) for digit in digits) if digits and engine.types[kind] else engine.types[kind]

    try:
        columns, values = engine.read(os.path.join(folder, dataset_id))
    except Exception as error:
        problems.append(f"{place} cannot be read: {type(error).__name__}: {error}")
        return
    expected_columns = [(column["name"], type_of(column["kind"])) for column in parts[0]["columns"]]
    if [tuple(column) for column in columns] != expected_columns:
        problems.append(f"{place}: columns are {columns}, expected {expected_columns}")
    order = [record_id for part in parts for record_id in part["values"]["record_id"]]
    expected = {column: dict(zip(order, [value for part in parts for value in part["values"][column]])) for column in parts[0]["values"]}
    if sorted(values["record_id"]) != sorted(order):
        problems.append(f"{place}: has {len(values['record_id'])} rows, expected {len(order)}")
        return
    for column, found in values.items():
        for record_id, value in zip(values["record_id"], found):
            counts["values"] += 1
            if written(value) != expected[column][record_id]:
                problems.append(f"{place}: `{column}` of {record_id} is {written(value)!r}, expected {expected[column][record_id]!r}")
    # An engine that skips parts by the statistics of the log must still find all rows: those with a value of each column, and those with null.
    # Each query takes Sail as long as a table takes the others: only columns by which it can skip parts are queried.
    asked = ["record_id", *dataset["partition_by"]] if name == "sail" else values
    for column in asked if engine.find else []:
        found = values[column]
        some = next((value for value in found if value is not None), None)
        if isinstance(some, (list, dict)):
            continue
        for value in {some, None}:
            count = sum(1 for other in found if other == value)
            if engine.find(column, value) != count:
                problems.append(f"{place}: {engine.find(column, value)} rows where `{column}` is {value!r}, expected {count}")
    counts["tables"] += 1
    counts["rows"] += len(order)


def check_log(folder, release_id, dataset_id, dataset, counts):
    """Compares the actions of a log with the values of its parts; `read_parts.py` has shown that the files contain those values."""
    lines = open(os.path.join(folder, dataset_id, LOG), encoding="utf-8").read().splitlines()
    protocol, table, *adds = [json.loads(line) for line in lines]
    problem = lambda text: problems.append(f"log of {dataset_id}: {text}")
    if protocol != {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}:
        problem(f"protocol is {protocol}")
    table = table["metaData"]
    if table["id"] != str(uuid.uuid5(uuid.NAMESPACE_URL, f"pubdata:{release_id}/{dataset_id}")) or table["name"] != dataset_id:
        problem(f"is of table {table['id']} {table['name']}")
    bounded = table["configuration"].get("delta.dataSkippingStatsColumns", "")
    fields = json.loads(table["schemaString"])["fields"]
    if not all(field["metadata"].get("comment") for field in fields):
        problem("a column is not described")
    if [add["add"]["path"] for add in adds] != [part["path"].removeprefix(dataset_id + "/") for part in dataset["parts"]]:
        problem("names other parts")
    for add, part in zip(adds, dataset["parts"]):
        add = add["add"]
        stats = json.loads(add["stats"])
        if add["size"] != os.path.getsize(os.path.join(folder, part["path"])) or add["modificationTime"] != 0 or add["partitionValues"] != {}:
            problem(f"says {add} of {part['path']}")
        if stats["numRecords"] != part["rows"]:
            problem(f"says {stats['numRecords']} rows of {part['path']}, which has {part['rows']}")
        for column, nulls in stats["nullCount"].items():
            there = [value for value in part["values"][column] if value is not None]
            bounds = (stats["minValues"].get(column), stats["maxValues"].get(column))
            counts["values"] += 1
            if nulls != part["rows"] - len(there):
                problem(f"says {nulls} nulls of `{column}` in {part['path']}")
            if bounds != ((min(there), max(there)) if there else (None, None)):
                problem(f"says {bounds} of `{column}` in {part['path']}")
        if ",".join(sorted(stats["nullCount"])) != ",".join(sorted(filter(None, bounded.split(",")))):
            problem(f"says {stats['nullCount']} of {part['path']}, and of the table that it says so of {bounded}")
    # A footer truncates longer texts; the log has bounds for all others.
    is_short = all(len(record_id.encode()) <= 64 for part in dataset["parts"] for record_id in part["values"]["record_id"])
    if is_short and "record_id" not in bounded.split(","):
        problem("says nothing of record_id")
    counts["tables"] += 1
    counts["rows"] += sum(part["rows"] for part in dataset["parts"])


def check_package(folder, expected, counts):
    import dplib
    import frictionless
    import jsonschema

    path = os.path.join(folder, "datapackage.json")
    package = json.load(open(path, encoding="utf-8"))
    profiles = os.path.join(os.path.dirname(dplib.__file__), "profiles/2.0")
    profile = json.load(open(os.path.join(profiles, "datapackage.json"), encoding="utf-8"))
    for error in jsonschema.Draft7Validator(profile).iter_errors(package):
        problems.append(f"profile: {error.json_path}: {error.message[:300]}")
    report = frictionless.Package.validate_descriptor(package)
    problems.extend(f"frictionless: {error}" for error in report.errors)
    if [resource["name"] for resource in package["resources"]] != sorted(expected["datasets"]):
        problems.append(f"package: has the resources {[resource['name'] for resource in package['resources']]}")
    for resource in package["resources"]:
        dataset = expected["datasets"][resource["name"]]
        if resource["path"] != [part["path"] for part in dataset["parts"]] or not all(os.path.isfile(os.path.join(folder, path)) for path in resource["path"]):
            problems.append(f"package: {resource['name']} has the paths {resource['path']}")
        fields = {field["name"]: field for field in resource["schema"]["fields"]}
        if list(fields) != [column["name"] for column in dataset["parts"][0]["columns"]]:
            problems.append(f"package: {resource['name']} has the fields {list(fields)}")
        if not resource["licenses"] or not resource["sources"] or not all(field["description"] for field in fields.values()):
            problems.append(f"package: {resource['name']} lacks licenses, sources or column descriptions")
        # Constraints hold for all values.
        keys = set()
        for part in dataset["parts"]:
            keys.update(zip(*(part["values"][name] for name in resource["schema"]["primaryKey"])))
            for name, values in part["values"].items():
                constraints = fields[name].get("constraints", {})
                counts["values"] += len(values)
                for value in values:
                    check_value(f"package: {resource['name']}: `{name}`", constraints, value)
        rows = sum(part["rows"] for part in dataset["parts"])
        if len(keys) != rows or resource["rows"] != rows:
            problems.append(f"package: {resource['name']} has {resource['rows']} rows and {len(keys)} keys, and there are {rows} rows")
        counts["tables"] += 1
        counts["rows"] += rows


def check_value(place, constraints, value):
    import re

    if value is None:
        if constraints.get("required"):
            problems.append(f"{place} is required and null")
        return
    number = value
    if isinstance(value, str) and ("minimum" in constraints or "maximum" in constraints):
        number = struct.unpack(">d", bytes.fromhex(value[4:]))[0] if value.startswith("f64:") else decimal.Decimal(value)
    is_wrong = (
        ("enum" in constraints and value not in constraints["enum"])
        or ("pattern" in constraints and not re.fullmatch(constraints["pattern"], value))
        or ("minimum" in constraints and number < constraints["minimum"])
        or ("maximum" in constraints and number > constraints["maximum"])
    )
    if is_wrong:
        problems.append(f"{place} is {value!r}, which {constraints} does not allow")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    name, folder, counts = sys.argv[2], expected["folder"], {"tables": 0, "rows": 0, "values": 0}
    if name == "package":
        check_package(folder, expected, counts)
    elif name == "logs":
        for dataset_id, dataset in expected["datasets"].items():
            check_log(folder, expected["release_id"], dataset_id, dataset, counts)
    else:
        try:
            engine = ENGINES[name]()
        except Exception as error:
            if name != "duckdb":
                raise
            # The extension comes from DuckDB's own server, which tests do not contact.
            print(f"skipped: DuckDB has no extension `delta` here: {str(error).splitlines()[0]}", file=sys.stderr)
            print(json.dumps(None))
            return
        for dataset_id, dataset in expected["datasets"].items():
            check_table(name, engine, folder, dataset_id, dataset, counts)
    print(json.dumps(counts))
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    # A server in the process would prevent its end.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if problems else 0)


main()
