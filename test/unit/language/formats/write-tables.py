"""Writes tables with Python's csv module: for each line of JSON on stdin, which has the records and the dialect, a line of JSON with the text."""
import csv
import io
import json
import sys

QUOTING = {"all": csv.QUOTE_ALL, "minimal": csv.QUOTE_MINIMAL, "none": csv.QUOTE_NONE}

for line in sys.stdin:
    asked = json.loads(line)
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=asked["delimiter"], quotechar=asked["quote"], escapechar=asked["escape"], doublequote=asked["escape"] is None,
        lineterminator=asked["newline"], quoting=QUOTING[asked["quoting"]],
    )
    writer.writerows(asked["records"])
    print(json.dumps(text.getvalue()), flush=True)
