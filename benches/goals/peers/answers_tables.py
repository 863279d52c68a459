"""The rows that a profile shows, for the servers that are compared with.

usage: answers_tables.py RELEASE DEST
Writes DEST/profile.parquet and DEST/profile.db, a SQLite database with an index on the area: the metrics of the newest vintage with the columns
that an answer has. Figures are doubles, lists of variables text: less work for all of them than decimals and lists.
"""
import pathlib
import sqlite3
import sys

import duckdb

COLUMNS = """zcta, metric, unit, value::DOUBLE AS value, moe::DOUBLE AS moe, moe_approximate::DOUBLE AS moe_approximate, moe_status, qualifier, null_reason,
             universe, table_id, array_to_string(variables, ' ') AS variables, moe_variable, is_derived, record_id"""


def main():
    release, dest = sys.argv[1:]
    newest = max(pathlib.Path(release, "geo.zcta_metric").glob("*.parquet"))
    dest = pathlib.Path(dest)
    dest.mkdir(parents=True, exist_ok=True)
    rows = duckdb.sql(f"SELECT {COLUMNS} FROM read_parquet('{newest}') ORDER BY zcta, metric")
    rows.write_parquet(str(dest / "profile.parquet"))
    database = sqlite3.connect(dest / "profile.db")
    database.execute(f"CREATE TABLE profile ({', '.join(rows.columns)})")
    database.executemany(f"INSERT INTO profile VALUES ({', '.join('?' * len(rows.columns))})", rows.fetchall())
    database.execute("CREATE INDEX profile_zcta ON profile (zcta)")
    database.commit()


if __name__ == "__main__":
    main()
