"""Answers the rows of an area with datasette, without a log of requests and without what a page needs beside rows.

usage: answers_datasette.py DATABASE ADDRESS
"""
import sys

import uvicorn
from datasette.app import Datasette


def main():
    database, address = sys.argv[1:]
    datasette = Datasette(immutables=[database], settings={"suggest_facets": False, "default_facet_size": 1})
    host, port = address.rsplit(":", 1)
    uvicorn.run(datasette.app(), host=host, port=int(port), http="httptools", loop="uvloop", log_level="error", access_log=False)


if __name__ == "__main__":
    main()
