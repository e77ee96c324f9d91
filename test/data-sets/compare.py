"""Compares files with the exports of the tables that they were imported into, cell by cell. The files are read by Python's csv module.

Reads a line of JSON for each file from stdin: {"file", "delimiter", "exported", "types": {column ID: type}}. Writes a line of JSON for each: how many cells
were compared, how many of each kind differ, the first that differs otherwise, and the columns that became text because of a few cells.

The rule: the texts of a cell are equal, in the same row and column. These differences are promised by docs/spec/decisions.md, and counted by their kind:

  named       a column without a name is `column_<n>`
  left out    a column behind the last one with a name has neither a name nor values, and is not there
  padded      a line has fewer cells than the header: the missing ones are empty
  case        a cell of a boolean column is `true` or `false`, where the file has `TRUE` or `False`
  spelling    a cell of a number column is the same number in the syntax of JSON, where the file has it as `.5`, `5.`, `+3`, or with blanks around it
  blanks      blanks stand before or behind a quoted cell, and do not belong to it
  end         the file ends with Ctrl-Z, which is not there

Everything else is a difference.
"""
import csv
import io
import json
import re
import sys
import unicodedata
from collections import Counter
from itertools import zip_longest

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|"}
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# What is a number too: without digits before or behind the point, with a plus, or with blanks around it.
SPELLED_NUMBER = re.compile(r"\s*\+?(?P<minus>-?)(?P<whole>(0|[1-9][0-9]*)?)(\.(?P<fraction>[0-9]*))?(?P<exponent>([eE][+-]?[0-9]+)?)\s*")
# A column whose cells are numbers but for at most so many different texts became text because of a few cells.
FEW = 3


BLANKS_AROUND_QUOTE = re.compile(r'(^|[,;|\t])[ \t]+"|"[ \t]+([,;|\t]|$)', re.MULTILINE)


def read(path: str, delimiter: str, kinds: Counter, *, skips_blanks: bool = False) -> list[list[str]]:
    """All records but blank lines. `skips_blanks`: without the blanks before and behind each cell."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    if text.endswith("\x1a"):
        kinds["end"] += 1
        text = text[:-1]
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITERS[delimiter], skipinitialspace=skips_blanks) if row]
    return [[cell.strip(" \t") for cell in row] for row in rows] if skips_blanks else rows


def has_blanks_around_quotes(path: str) -> bool:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return BLANKS_AROUND_QUOTE.search(file.read()) is not None


def name_columns(header: list[str], kinds: Counter) -> list[str]:
    taken = set(header)
    names = []
    for position, cell in enumerate(header, start=1):
        name = cell
        if cell == "":
            kinds["named"] += 1
            name, n = f"column_{position}", 2
            while name in taken:
                name, n = f"column_{position}_{n}", n + 1
            taken.add(name)
        names.append(name)
    return names


def normalised(names: list[str]) -> list[str]:
    return [unicodedata.normalize("NFC", name) for name in names]


def in_json(cell: str) -> str | None:
    """A number in the syntax of JSON, with all of its digits; None if the text is no number."""
    found = SPELLED_NUMBER.fullmatch(cell)
    if found is None or not (found["whole"] or found["fraction"]):
        return None
    fraction = f".{found['fraction']}" if found["fraction"] else ""
    return f"{found['minus']}{found['whole'] or '0'}{fraction}{found['exponent']}"


def difference(cell: str, exported: str, column_type: str, *, skips_blanks: bool) -> str | None:
    """None if the cells are equal, else the kind of the difference."""
    if cell == exported:
        return None
    if skips_blanks and cell == exported.strip(" \t"):
        return "blanks"
    if column_type == "boolean" and exported == cell.strip().lower():
        return "case"
    if column_type == "number" and exported == in_json(cell):
        return "spelling"
    return "other"


def in_the_way(cells: list[str]) -> list[str]:
    """The texts that keep a column from being numbers, if they are few."""
    others = {cell for cell in cells if cell != "" and not JSON_NUMBER.fullmatch(cell)}
    numbers = sum(1 for cell in cells if JSON_NUMBER.fullmatch(cell))
    return sorted(others) if 0 < len(others) <= FEW and numbers > 1 else []


def compare(file: str, delimiter: str, exported: str, types: dict[str, str]) -> dict:
    kinds: Counter = Counter()
    first = None
    skips_blanks = has_blanks_around_quotes(file)
    header, *rows = read(file, delimiter, kinds, skips_blanks=skips_blanks)
    names = name_columns(header, kinds)
    width = len(names)
    kinds["padded"] += sum(max(0, width - len(row)) for row in rows)
    rows = [row + [""] * (width - len(row)) for row in rows]
    named = max((position for position, name in enumerate(header, start=1) if name != ""), default=0)
    there = [position for position in range(width) if position < named or any(row[position] != "" for row in rows)]
    kinds["left out"] += width - len(there)
    names = [names[position] for position in there]
    exported_header, *exported_rows = read(exported, "comma", Counter())
    # The first column of an export has the IDs of the rows.
    exported_names = exported_header[1:]

    def note(place: str, cell: str, other: str) -> None:
        nonlocal first
        kinds["other"] += 1
        first = first or {"place": place, "file": cell[:80], "table": other[:80]}

    shown_names = [name.strip(" \t") for name in exported_names] if skips_blanks else exported_names
    if normalised(shown_names) != normalised(names):
        place = next(at for at, pair in enumerate(zip_longest(normalised(names), normalised(shown_names))) if len(set(pair)) > 1)
        note(f"column {place + 1}", json.dumps(names[place:]), json.dumps(exported_names[place:]))
    elif len(exported_rows) != len(rows):
        note("rows", str(len(rows)), str(len(exported_rows)))
    else:
        column_types = [types[name] for name in exported_names]
        for number, (row, (_, *shown)) in enumerate(zip(rows, exported_rows), start=1):
            if any(cell != "" for cell in row[width:]):
                note(f"row {number}", json.dumps(row[width:]), "")
            cells = [row[position] for position in there]
            if cells == shown:
                continue
            for name, column_type, cell, other in zip(exported_names, column_types, cells, shown, strict=True):
                kind = difference(cell, other, column_type, skips_blanks=skips_blanks)
                if kind == "other":
                    note(f"row {number}, {name}", cell, other)
                elif kind is not None:
                    kinds[kind] += 1

    stopped = {}
    for name, position in zip(exported_names, there):
        if types.get(name) == "string" and (found := in_the_way([row[position] for row in rows])):
            stopped[name] = found
    return {"rows": len(rows), "cells": len(rows) * len(there), "columns": len(there), "kinds": +kinds, "first": first, "textBecauseOf": stopped}


if __name__ == "__main__":
    csv.field_size_limit(sys.maxsize)
    for line in sys.stdin:
        print(json.dumps(compare(**json.loads(line))), flush=True)
