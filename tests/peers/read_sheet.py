"""Prints the first sheet of a workbook as JSON, read with openpyxl: rows of texts, null where a cell is empty."""

import json
import sys

import openpyxl

sheet = openpyxl.load_workbook(sys.argv[1], read_only=True).worksheets[0]
rows = [[None if cell is None else str(cell).strip() for cell in row] for row in sheet.iter_rows(values_only=True)]
json.dump(rows, sys.stdout)
