"""Tells schemathesis the rules of requests that OpenAPI cannot express."""

import re

import schemathesis

# Mutually exclusive parameters; a name and its alias are two of them.
AT_MOST_ONE = {
    "/v1/sec/companies/search": [["name", "q", "ticker", "cik"]],
    "/v1/sec/financials/compare": [["ciks", "tickers"]],
    "/v1/filings/search": [["ticker", "cik", "company"], ["form", "form_type"]],
    "/v1/license/verify": [["number", "license_number"]],
}
# First and last parameter of a range.
RANGES = [("fiscal_year_from", "fiscal_year_to"), ("filed_from", "filed_to"), ("date_from", "date_to"),
          ("period_from", "period_to"), ("formed_from", "formed_to"), ("permits_from", "permits_to")]
NUMBERS = [("min_value", "max_value")]
# Bodies whose random values are hardly ever a place with a record of that day, or a name.
BODIES = {
    "/v1/tax/calculate": {"to": {"zip": "55401"}, "date": "2019-01-01", "line_items": [{"id": "a", "quantity": 2, "unit_price": 9.99}]},
    "/v1/admin/keys": {"name": "made up", "scopes": ["geo"]},
    "/v1/tax/batch": {"date": "2019-01-01", "addresses": [{"id": "a", "zip": "55401"}, {"id": "b", "zip": "00000"}]},
}
# A random place is not covered, and a random state does not exist: these requests use places of the fixtures.
PLACES = {
    "/v1/business/search": {"state": ["NY", "FL"]},
    "/v1/license/search": {"state": ["TX", "WA"]},
    "/v1/license/verify": {"state": "TX", "profession": "barber"},
    "/v1/contractors/{license}": {"state": "TX", "profession": "barber"},
    "/v1/permits/search": {"jurisdiction": "us-il-chicago"},
}


# Parameters of which a request needs one, with a value for requests that have none.
NEEDED = {
    "/v1/sec/companies/search": (["name", "q", "ticker", "cik"], "name", "apple"),
    "/v1/filings/search": (["ticker", "cik", "company"], "ticker", "AAPL"),
    "/v1/business/search": (["name", "entity_number", "agent"], "name", "synthetic"),
    "/v1/license/search": (["name"], "name", "smith"),
    "/v1/license/verify": (["number", "license_number"], "number", "29995"),
    "/v1/search": (["q"], "q", "90210"),
    "/v1/properties": (["address"], "address", "2245 W Jackson Blvd, Chicago, IL"),
    "/v1/sec/financials/frames/{metric}": (["fiscal_year"], "fiscal_year", 2010),
}


def exclusive(path, query):
    """Keeps one of several mutually exclusive parameters, orders ranges, and adds a required parameter."""
    names, name, value = NEEDED.get(path, ([], None, None))
    if names and not set(names) & set(query):
        query[name] = value
    # A blank is not a name.
    for name in ("name", "q", "company"):
        if name in query and not (str(query[name]).strip() and str(query[name]).isprintable()):
            query[name] = "apple"
    # Random companies are unknown, or one of them twice.
    if path == "/v1/sec/financials/compare":
        query.pop("ciks", None)
        query["tickers"] = ["AAPL", "NVDA"]
        query.setdefault("metric", "revenue")
    # One year, or the first and the last; only quarterly figures have a span.
    if "fiscal_year" in query and "{metric}" not in path:
        query.pop("fiscal_year_from", None)
        query.pop("fiscal_year_to", None)
    if "span" in query:
        query["period"] = "quarterly"
    for names in [["metric", "metrics"], *AT_MOST_ONE.get(path, [])]:
        for extra in [name for name in names if name in query][1:]:
            del query[extra]
    places(path, query)
    for first, last in NUMBERS:
        if first in query and last in query and float(query[first]) > float(query[last]):
            del query[last]
    for first, last in RANGES:
        if first in query and last in query and str(query[first]) > str(query[last]):
            del query[last]


def places(path, query):
    """Replaces places with covered ones: other places are refused with 404, which is tested elsewhere."""
    known = PLACES.get(path, {})
    for name, value in known.items():
        if name in query or name in ("state", "jurisdiction"):
            query[name] = value
    if path == "/v1/permits/search":
        for name in ("address", "zip", "city", "state", "lat", "lon", "radius_mi", "tags"):
            query.pop(name, None)
    if path == "/v1/tax/rate":
        for name in ("address", "street", "city", "state", "origin_state"):
            query.pop(name, None)
        query["zip"], query["date"] = "55401", "2019-01-01"
    if path == "/v1/properties":
        query["address"] = "2245 W Jackson Blvd, Chicago, IL"



def is_wrong_in_one_address_alone(case):
    """Returns true if only one address of a batch is wrong: its result reports this, which a schema of the whole request cannot express."""
    body = case.body
    if case.path != "/v1/tax/batch" or not isinstance(body, dict) or not set(body) <= {"date", "addresses"}:
        return False
    addresses, day = body.get("addresses"), body.get("date")
    is_day = day is None or (isinstance(day, str) and re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])", day))
    return isinstance(addresses, list) and 1 <= len(addresses) <= 100 and is_day


@schemathesis.hook
def filter_case(context, case):
    is_meant_to_be_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    return not (is_meant_to_be_wrong and is_wrong_in_one_address_alone(case))


@schemathesis.hook
def before_call(context, case, kwargs):
    # Another operation lists the key of the test, which would then be revoked.
    if case.path == "/v1/admin/keys/{key_id}/revoke":
        case.path_parameters = {"key_id": "k000000000000"}
    is_meant_to_be_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_meant_to_be_valid:
        return
    query = case.query or {}
    # `release` and `as_of` exclude each other, which OpenAPI cannot express.
    if {"release", "as_of"} <= set(query):
        del query["as_of"]
    # Only the server can create a cursor.
    query.pop("cursor", None)
    exclusive(case.path, query)
    # A pattern cannot distinguish a street address from a similar text.
    if case.path == "/v1/properties/{address}":
        case.path_parameters = {"address": "us-il-chicago:2245-w-jackson-blvd-chicago"}
    if case.path == "/v1/contractors/{license}":
        case.path_parameters = {"license": "TX-tdlr-ba-21907"}
    # A stateful test would use the word `batch` as the value of the next request.
    if case.path.startswith("/v1/zip/{") and "batch" in (case.path_parameters or {}).values():
        case.path_parameters = {name: "90210" for name in case.path_parameters}
    if case.path == "/v1/geo-demographics/states/{state}/counties":
        case.path_parameters = {"state": "ca"}
    # The pattern of a coded column allows any letters, so a random value is not one of its words.
    if case.path.endswith("/{metric}"):
        case.path_parameters = {"metric": "revenue" if "/sec/" in case.path else "population"}
    # A part exists in one format only.
    if case.path == "/v1/releases/{release_id}/datasets/{dataset_id}":
        query.pop("part", None)
        query.pop("format", None)
    # An address needs a ZIP code, or city and state: only the program can check this.
    if case.path == "/v1/tax/rate":
        query["zip"] = "55401"
    if case.path == "/v1/tax/calculate" and {"amount", "line_items"} <= set(case.body):
        case.body = {name: value for name, value in case.body.items() if name != "line_items"}
    if query:
        case.query = query
    if case.path in BODIES:
        case.body = BODIES[case.path]
    # Two random codes are almost never both areas: half of the requests use areas of the fixtures.
    if case.path.endswith("/locations/compare") and case.body["locations"][0] < "5":
        case.body = case.body | {"locations": ["90210", "95120"]}
