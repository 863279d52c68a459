"""Answers the rows of an area as JSON from a table in DuckDB's memory, in uvicorn without a framework.

usage: answers_duckdb.py PARQUET ADDRESS
`GET /ZCTA` is the array of the area's rows.
"""
import sys

import duckdb
import orjson
import uvicorn


def main():
    parquet, address = sys.argv[1:]
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE profile AS FROM read_parquet('{parquet}')")
    connection.execute("CREATE INDEX profile_zcta ON profile (zcta)")
    columns = [row[0] for row in connection.execute("DESCRIBE profile").fetchall()]

    async def answer(scope, receive, send):
        rows = connection.execute("SELECT * FROM profile WHERE zcta = ?", [scope["path"].lstrip("/")]).fetchall()
        body = orjson.dumps([dict(zip(columns, row)) for row in rows])
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    host, port = address.rsplit(":", 1)
    uvicorn.run(answer, host=host, port=int(port), http="httptools", loop="uvloop", log_level="error", access_log=False, lifespan="off")


if __name__ == "__main__":
    main()
