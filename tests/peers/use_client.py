"""Uses the client of clients/python against the server that PUBDATA_URL names, on the fixtures' release."""

import hashlib
import os

import httpx
from pubdata import Client, Problem, types

URL, KEY = os.environ["PUBDATA_URL"], os.environ["PUBDATA_KEY"]

with Client(URL, KEY) as client:
    place = client.get_location("90210")
    assert place.data["summary"]["households"]["value"] == 8025, place.data
    assert place.release_id.startswith("r") and "ZCTA_NOT_USPS_ZIP" in [notice["code"] for notice in place.notices]
    chosen = client.get_demographics("95120", metric=["population", "median_household_income"], history=True)
    assert sorted(chosen.data["demographics"]) == ["median_household_income", "population"]
    body: types.CompareRequest = {"locations": ["90210", "95120"], "metrics": ["population"]}
    assert client.compare_locations(body).data["comparisons"][0]["metric"] == "population"
    assert client.get_property("11436 Flushwing Dr, Austin, TX 78754", limit=1).data["match"]["quality"]

    # The four codes nearby, two on a page; only the first page is `data`.
    near = client.get_nearby_zips("55401", radius_mi=5, limit=2)
    assert [record["zip"] for record in near.data] == ["55402", "55403"], near.data
    assert [record["zip"] for record in near] == ["55402", "55403", "55404", "55405"], list(near)
    schools = client.get_schools("35950", limit=2)
    assert len(schools.data["schools"]) == 2 and len(list(schools)) == schools.meta["page"]["total"]
    # The pages of an earlier answer's release continue without its name in each request.
    kept = client.get_nearby_zips("55401", radius_mi=5, limit=3, release=near.release_id)
    assert len(list(kept)) == 4

    frame = near.to_polars()
    assert frame.shape[0] == 4 and frame["distance_mi"].is_sorted(), frame
    assert near.to_pandas()["provenance.dataset_id"].unique().tolist() == ["zip.zip"]
    assert len(schools.to_polars()) == schools.meta["page"]["total"]

    dataset = client.download_dataset("current", "geo.school").data
    assert hashlib.sha256(client.download(dataset["parts"][0]["parquet"])).hexdigest() == dataset["parts"][0]["sha256"]
    assert len(client.download(dataset["csv"]).splitlines()) == dataset["rows"] + 1

    try:
        client.get_zip("00000")
    except Problem as problem:
        assert (problem.status, problem.code) == (404, "not_found"), problem
        assert problem.request_id and problem.advice and problem.errors[0]["field"] == "zip", problem.errors
    else:
        raise AssertionError("an unknown code must raise a problem")

with Client(URL) as stranger:
    assert stranger.get_coverage().data["datasets"]
    try:
        stranger.get_zip("90210")
    except Problem as problem:
        assert (problem.status, problem.code) == (401, "missing_api_key")
    else:
        raise AssertionError("a request without a key must raise a problem")

# Busy twice, then an answer: the client retries, and not before the requested wait.
asked = []


def busy_twice(request: httpx.Request) -> httpx.Response:
    asked.append(request)
    if len(asked) > 2:
        return httpx.Response(200, json={"data": {}, "meta": {}})
    problem = {"status": 429, "code": "rate_limited", "title": "", "detail": "", "errors": []}
    return httpx.Response(429 if len(asked) == 1 else 503, json=problem, headers={"Retry-After": "0"})


def always_busy(_: httpx.Request) -> httpx.Response:
    return httpx.Response(503, text="a proxy says so", headers={"Retry-After": "0"})


with Client("http://nowhere", "k", transport=httpx.MockTransport(busy_twice)) as client:
    client.get_zip("90210", fields=["city", "state"])
    assert len(asked) == 3 and asked[0].headers["X-API-Key"] == "k"
    assert asked[0].url.params["fields"] == "city,state", asked[0].url
with Client("http://nowhere", "k", transport=httpx.MockTransport(always_busy)) as client:
    try:
        client.get_zip("90210")
    except Problem as problem:
        assert (problem.status, problem.code, problem.detail) == (503, "no_problem_document", "a proxy says so")
    else:
        raise AssertionError("the client must give up")

print("all as expected")
