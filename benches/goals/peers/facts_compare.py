"""Whether three extractions say the same.

usage: facts_compare.py RELEASE POLARS_ROWS DUCKDB_ROWS COUNTS
COUNTS is what facts_polars.py printed. The two peers must have the same rows. The release must have as many registrants, facts and wanted
facts, and each of its figures must be a row of the peers: same registrant, concept, unit, period, filing, form, filing date and value.
Prints what was compared; ends with 1 and the differences when there are any.
"""
import json
import sys

import duckdb

# A share count has its report's period beside the day it is of; days that a report states otherwise than the period's other reports stand beside
# the period's in the values, and of lines a warning says so.
FIGURES = """
    SELECT cik::BIGINT AS cik, concept, lower(unit) AS unit, {start} AS "start", {end} AS "end", accession_number AS accn, form, filed_date AS filed, value,
           {other_start} AS has_other_start, {other_end} AS has_other_end
    FROM read_parquet('{release}/{dataset}/*.parquet') WHERE value IS NOT NULL
"""


def main():
    release, polars_rows, duckdb_rows, counts = sys.argv[1:]
    counts = json.loads(counts)
    connection = duckdb.connect()
    one = lambda query: connection.execute(query).fetchone()
    columns = 'cik, taxonomy, concept, unit, val, "start", "end", accn, fy, fp, form, filed'
    for name, folder in (("a", polars_rows), ("b", duckdb_rows)):
        connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet('{folder}/*.parquet')")
    problems = []
    for left, right in (("a", "b"), ("b", "a")):
        only = one(f"SELECT count(*) FROM (FROM {left} EXCEPT ALL FROM {right})")[0]
        if only:
            problems.append(f"{only} rows of {left} are not in {right} (a: polars, b: DuckDB)")
    members = f"read_parquet('{release}/sec.archive_member/*.parquet')"
    ours = dict(zip(("members", "facts", "rows"), one(f"SELECT count(*), sum(facts_total)::BIGINT, sum(facts_used)::BIGINT FROM {members}")))
    if ours != counts:
        problems.append(f"the release has {ours}, the peer {counts}")
    connection.execute(
        """CREATE TABLE facts AS SELECT DISTINCT cik, taxonomy || ':' || concept AS concept, lower(unit) AS unit, "start"::DATE AS "start", "end"::DATE AS "end",
           accn, form, filed::DATE AS filed, val::VARCHAR::DECIMAL(28, 10) AS value FROM a WHERE abs(val) < 1e18"""
    )
    compared = []
    for dataset in ("sec.financial_value", "sec.statement_line"):
        is_values = dataset == "sec.financial_value"
        start = "if(as_of_date IS NULL, coalesce(reported_start, period_start), NULL)" if is_values else "period_start"
        end = "coalesce(as_of_date, reported_end, period_end)" if is_values else "period_end"
        warned = lambda code: "false" if is_values else f"list_contains(warnings, '{code}')"
        other = {"other_start": warned("period_start_differs"), "other_end": warned("period_end_differs")}
        figures = FIGURES.format(release=release, dataset=dataset, start=start, end=end, **other)
        total = one(f"SELECT count(*) FROM ({figures})")[0]
        missing = connection.execute(
            f"""SELECT * FROM ({figures}) AS figure ANTI JOIN facts ON figure.cik = facts.cik AND figure.concept = facts.concept AND figure.unit = facts.unit
                AND (figure."end" = facts."end" OR figure.has_other_end AND abs(figure."end" - facts."end") <= 7) AND (figure."start" IS NOT DISTINCT FROM facts."start" OR figure.has_other_start) AND figure.accn = facts.accn AND figure.form = facts.form
                AND figure.filed = facts.filed AND figure.value = facts.value"""
        ).fetchall()
        if missing or not total:
            problems.append(f"{len(missing)} of {total} figures of {dataset} are no facts of the archive, such as {missing[:2]}")
        compared.append(f"{total:,} figures of {dataset}")
    if problems:
        sys.exit("\n".join(problems))
    print(f"equal: {counts['members']:,} members, {counts['facts']:,} facts, {counts['rows']:,} wanted facts in all three; found among them: {', '.join(compared)}")


if __name__ == "__main__":
    main()
