"""Facts of the wanted concepts from companyfacts.zip to Parquet, as one would write it in Python: zipfile, orjson, polars, one process per processor.

usage: facts_polars.py ARCHIVE CONCEPTS DEST PROCESSES
Prints {"members": …, "facts": …, "rows": …} as JSON: members read, facts in them, rows written. Values are doubles.
"""
import json
import multiprocessing
import pathlib
import sys
import zipfile

import orjson
import polars as pl

FIELDS = ("start", "end", "accn", "fy", "fp", "form", "filed")
SCHEMA = {"cik": pl.Int64, "taxonomy": pl.String, "concept": pl.String, "unit": pl.String, "val": pl.Float64} | {
    name: pl.Int64 if name == "fy" else pl.String for name in FIELDS
}


def extract(job):
    archive, names, wanted, dest = job
    columns = {name: [] for name in SCHEMA}
    fact_count = 0
    with zipfile.ZipFile(archive) as opened:
        for name in names:
            member = orjson.loads(opened.read(name))
            cik = int(member["cik"])
            for taxonomy, concepts in member["facts"].items():
                wanted_here = wanted.get(taxonomy, ())
                for concept, body in concepts.items():
                    units = body["units"]
                    fact_count += sum(map(len, units.values()))
                    if concept not in wanted_here:
                        continue
                    for unit, facts in units.items():
                        rows = len(facts)
                        for column, value in (("cik", cik), ("taxonomy", taxonomy), ("concept", concept), ("unit", unit)):
                            columns[column] += [value] * rows
                        columns["val"] += [float(fact["val"]) for fact in facts]
                        for field in FIELDS:
                            columns[field] += [fact.get(field) for fact in facts]
    frame = pl.DataFrame(columns, schema=SCHEMA)
    frame.write_parquet(dest, compression="zstd", compression_level=1)
    return len(names), fact_count, frame.height


def main():
    archive, concepts, dest, processes = sys.argv[1:]
    processes, dest = int(processes), pathlib.Path(dest)
    wanted = {}
    for name in pathlib.Path(concepts).read_text().split():
        taxonomy, concept = name.split(":")
        wanted.setdefault(taxonomy, set()).add(concept)
    dest.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as opened:
        members = sorted(opened.infolist(), key=lambda member: member.file_size)
    # Dealt out by size, so that the processes end together.
    jobs = [(archive, [member.filename for member in members[part::processes]], wanted, dest / f"part-{part}.parquet") for part in range(processes)]
    with multiprocessing.Pool(processes) as pool:
        totals = [sum(counts) for counts in zip(*pool.map(extract, jobs))]
    print(json.dumps(dict(zip(("members", "facts", "rows"), totals))))


if __name__ == "__main__":
    main()
