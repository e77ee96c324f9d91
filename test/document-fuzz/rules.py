"""What Schemathesis would call a failure, and the interface has a rule for. Each has its reason. Everything else is a failure."""

import json
import re
from dataclasses import dataclass

import schemathesis
from schemathesis.hooks import HookContext


@dataclass(frozen=True)
class Rule:
    """A well-formed request that is 400 all the same."""

    reason: str
    type: str
    message: str = ""


RULES = [
    Rule("A stash is there or not.", "stash_not_found"),
    Rule("A key may have been used for another request.", "idempotency_key_reused"),
    Rule("SQL is a language of its own, and names tables.", "query_invalid"),
    Rule("The limits of cells and rows are in bytes, over several of them.", "limit_exceeded"),
]
RULES += [
    Rule(reason, "request_validation_error", message)
    for message, reason in {
        r"^(query\.)?continuation: no page of .* has returned this continuation": "A continuation is opaque: only those that a page gave are valid.",
        r"^name: (required$|given in the query and in the body)": "The name of a table stands in the query or in the body.",
        r"\$rowID: .* is the ID of no row": "A row keeps its identity only if the table ever had it.",
        r"the table has no key by which rows could be found": "Rows are upserted by the key of their table.",
        r"^\$stashID: mode=upsert takes no stash": "An upsert takes its rows in the body.",
        r"^dryRun: a key cannot be tried": "The declaration of a key reads all rows.",
        r"^key: columns are changed in the same request": "A key is declared in a request of its own.",
        r"^expires: that time has passed": "A token expires in the future.",
        r"^The headers of the request are too large": "The head of a request has a limit in bytes, over all of it.",
        r"must be nested at most|must have at most 100 conditions": "A condition has limits over all of its parts.",
        r"has no meaning with groupBy|must be a column of groupBy|the answer would have .* twice": "What a query of groups may name depends on the groups.",
        r"must have at most [0-9]+ bytes": "The document has the limits of texts in characters, because JSON Schema cannot count bytes.",
        r"broken JSON|a row must be an object|stops before its JSON ends|follows the row in its line|the key stands twice|the body is empty": "NDJSON is a text of which each line is JSON.",
        r"^line [0-9]+|has a quote in it|begins with a quote|behind its closing quote": "CSV has a grammar of its own.",
        r"^the body has no header": "Lines may be skipped up to the end of the body.",
        r"^query\.\w+: (applies |must not be the )": "How CSV is written is said beside CSV only, and no two marks are the same character.",
    }.items()
]


NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")


@schemathesis.serializer(*NDJSON)
def serialize_lines(context, value):
    """Schemathesis knows no NDJSON."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


@schemathesis.hook
def filter_failure(context: HookContext, failure, case, response) -> bool:
    """Whether it is one."""
    # A token that is missing or wrong is 404, so that nobody learns what is there.
    if "ignored_auth" in failure.checks:
        return "got `404 Not Found`" not in failure.message
    error = error_of(response)
    if "missing_required_header" in failure.checks:
        return error is None or response.status_code != 404 or error["type"] != "request_error"
    # Whatever is sent as CSV, TSV or NDJSON is a text: nearly every text has a first line that names columns, and JSON may be one line of NDJSON.
    if "negative_data_rejection" in failure.checks and ((case.media_type or "").startswith("text/") or case.media_type in NDJSON):
        return isinstance(case.body, str)
    if "positive_data_acceptance" not in failure.checks or response.status_code != 400 or error is None:
        return True
    return not any(rule.type == error["type"] and re.search(rule.message, error["message"]) for rule in RULES)


def error_of(response):
    try:
        return response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return None


@schemathesis.hook
def before_call(context: HookContext, case, kwargs) -> None:
    """Mends what Schemathesis cannot express in headers."""
    headers = case.headers or {}
    # It compresses no body.
    if headers.get("Content-Encoding") in ("gzip", "br", "zstd"):
        headers["Content-Encoding"] = "identity"
    # Its coverage phase writes headers of letters and digits: what needs quotation marks becomes 0.
    for name in ("If-Match", "If-None-Match", "If-Range"):
        if str(headers.get(name)) == "0":
            del headers[name]
    # A continuation that no page gave is refused: without it, the rest of the request is tried.
    query = case.query or {}
    if isinstance(query.get("continuation"), str) and not re.fullmatch(r"[\w-]{40,}", query["continuation"], re.ASCII):
        del query["continuation"]
