"""CPU of looking up the latest annual figures of registrants in a release's Parquet with DataFusion, one thread.

usage: lookup_datafusion.py RELEASE FIGURES ROUNDS
FIGURES has a line of JSON per registrant: [cik, [[metric, period end or day, value], …]]. Each lookup must find just these; then all are timed
ROUNDS times. Prints CPU microseconds per lookup as JSON, one number per round. The file that holds a registrant is known, and registered before.
"""
import decimal
import json
import pathlib
import sys
import time

from datafusion import SessionConfig, SessionContext

QUERY = """
    SELECT metric, fiscal_year, fiscal_period, period_start, coalesce(as_of_date, period_end) AS day, value, unit, is_ytd, concept, form, filed_date,
           accession_number, change, conflicts, warnings
    FROM facts_{bucket} WHERE cik = '{cik}' AND series = 'annual' AND is_latest AND value IS NOT NULL ORDER BY metric, period_end
"""


def main():
    release, figures, rounds = sys.argv[1:]
    config = SessionConfig().with_target_partitions(1)
    for name in ("pushdown_filters", "reorder_filters"):
        config = config.set(f"datafusion.execution.parquet.{name}", "true")
    context = SessionContext(config)
    wanted = [json.loads(line, parse_float=decimal.Decimal) for line in pathlib.Path(figures).read_text().splitlines()]
    for bucket in {cik[-3:] for cik, _ in wanted}:
        context.register_parquet(f"facts_{bucket}", f"{release}/sec.financial_value/{bucket}.parquet")
    look_up = lambda cik: context.sql(QUERY.format(bucket=cik[-3:], cik=cik)).collect()
    for cik, expected in wanted:
        rows = [row for batch in look_up(cik) for row in batch.to_pylist()]
        found = sorted((row["metric"], str(row["day"]), decimal.Decimal(row["value"]).normalize()) for row in rows)
        if found != sorted((metric, day, decimal.Decimal(value).normalize()) for metric, day, value in expected):
            sys.exit(f"{cik}: {len(found)} figures in the Parquet, {len(expected)} in the answer")
    samples = []
    for _ in range(int(rounds)):
        begun = time.process_time()
        for cik, _ in wanted:
            look_up(cik)
        samples.append((time.process_time() - begun) / len(wanted) * 1e6)
    print(json.dumps(samples))


if __name__ == "__main__":
    main()
