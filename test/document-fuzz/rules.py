"""What Schemathesis would call a failure, and the interface has a rule for. Each has its reason. Everything else is a failure."""

import re
from dataclasses import dataclass

import schemathesis
from schemathesis.hooks import HookContext

REFUSED_TOKEN = {"ignored_auth", "missing_required_header"}
REFUSED_REQUEST = {"positive_data_acceptance"}


@dataclass(frozen=True)
class Rule:
    reason: str
    checks: set[str]
    status: int
    type: str
    message: str = ""


RULES = [
    Rule("A token that is missing or wrong is 404, so that nobody learns what is there.", REFUSED_TOKEN, 404, "request_error"),
    # 400 for what no schema can say.
    Rule("A stash is there or not.", REFUSED_REQUEST, 400, "stash_not_found"),
    Rule("A key may have been used for another request.", REFUSED_REQUEST, 400, "idempotency_key_reused"),
    Rule("SQL is a language of its own, and names tables.", REFUSED_REQUEST, 400, "query_invalid"),
    Rule("The limits of cells and rows are in bytes, over several of them.", REFUSED_REQUEST, 400, "limit_exceeded"),
]
RULES += [
    Rule(reason, REFUSED_REQUEST, 400, "request_validation_error", message)
    for message, reason in {
        r"^(query\.)?continuation: it is invalid": "A continuation is opaque: only those that a page gave are valid.",
        r"^name: it (is missing|stands in the query and in the body)": "The name of a table stands in the query or in the body.",
        r'\$rowID: .* is the ID of no row': "A row keeps its identity only if the table ever had it.",
    }.items()
]


@schemathesis.hook
def filter_failure(context: HookContext, failure, case, response) -> bool:
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return True
    return not any(
        rule.checks.intersection(failure.checks)
        and rule.status == response.status_code
        and rule.type == error["type"]
        and re.search(rule.message, error["message"])
        for rule in RULES
    )


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
