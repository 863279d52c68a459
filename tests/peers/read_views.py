"""Runs the script of `pubdata releases duckdb` into a database file, opens that file again, and prints the contents of its views as JSON.

Usage: read_views.py SCRIPT.sql DATABASE QUERIES.json

QUERIES.json: {name: SQL}. Prints {"rows": {view: count}, "views": {view: comment}, "columns": {view: {column: [type, comment]}},
"answers": {name: rows}}. The script runs twice, as when a user creates the same file again.
"""

import json
import sys

import duckdb

script, database, queries = sys.argv[1:]
for _ in range(2):
    with duckdb.connect(database) as connection, open(script, encoding="utf-8") as file:
        connection.execute(file.read())

with duckdb.connect(database, read_only=True) as connection:

    def ask(sql):
        return connection.execute(sql).fetchall()

    views = {f"{schema}.{view}": comment for schema, view, comment in ask("SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal")}
    columns = {view: {} for view in views}
    for schema, view, column, kind, comment in ask("SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"):
        columns[f"{schema}.{view}"][column] = [kind, comment]
    rows = {}
    for name in views:
        schema, view = name.split(".")
        rows[name] = ask(f'SELECT count(*) FROM "{schema}"."{view}"')[0][0]
    with open(queries, encoding="utf-8") as file:
        answers = {name: [list(row) for row in ask(sql)] for name, sql in json.load(file).items()}

json.dump({"rows": rows, "views": views, "columns": columns, "answers": answers}, sys.stdout)
