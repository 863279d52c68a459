"""Reads Croissant documents as foreign programs do: `read_croissant.py cases.json`, a list of `{document, files, parts}` with the paths of the document and
of each part. The parts are at their paths beside the document. Every document must be valid without a warning, and its records must equal those of its parts: one
part is read by its file, several are found by the reader. With the address of a server, rdflib reads the same document from there."""

import json
import sys
import time
import urllib.request

import mlcroissant
import pyarrow.parquet
import rdflib


def main(path, server):
    read, rows = 0, 0
    for case in json.load(open(path)):
        dataset = mlcroissant.Dataset(case["document"], mapping=case["files"] if len(case["files"]) == 1 else None)
        issues = dataset.metadata.ctx.issues
        if issues.errors or issues.warnings:
            sys.exit(f"{case['document']}: {issues.report()}")
        described = {(file.id, file.sha256) for file in dataset.metadata.file_objects}
        if described != {(part["path"], part["sha256"]) for part in case["parts"]}:
            sys.exit(f"{case['document']}: {described} are not its parts")
        rows += compare(case, dataset)
        read += 1
    print(json.dumps({"documents": read, "rows": rows, "linked": linked(server)}))


def linked(server):
    """Returns the number of files that a document names in rdflib's graph, given only the address."""
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{server}/readyz")
            break
        except OSError:
            time.sleep(0.2)
    graph = rdflib.Graph().parse(f"{server}/v1/datasets/geo.zcta_metric/croissant.json")
    return len(set(graph.subjects(rdflib.RDF.type, rdflib.URIRef("http://mlcommons.org/croissant/FileObject"))))


def compare(case, dataset):
    fields = [field.id for field in dataset.metadata.record_sets[0].fields]
    columns = [field.removeprefix("records/") for field in fields]
    table = [row for _, file in sorted(case["files"].items()) for row in pyarrow.parquet.read_table(file, columns=columns).to_pylist()]
    records = list(dataset.records("records"))
    if [key for record in records for key in record if key not in fields]:
        sys.exit(f"{case['document']}: undescribed fields")
    found = [{column: plain(record[field]) for column, field in zip(columns, fields)} for record in records]
    expected = [{column: plain(value) for column, value in row.items()} for row in table]
    different = [(one, other) for one, other in zip(found, expected) if one != other]
    if len(found) != len(expected) or different:
        sys.exit(f"{case['document']}: {len(found)} of {len(expected)} records; {different[:1]}")
    return len(found)


def plain(value):
    """Converts a reader's value: texts come as bytes, dates as instants, decimals as floats, missing lists as none."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist") and getattr(value, "ndim", 0):
        return [plain(item) for item in value]
    if value is None or value != value:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
