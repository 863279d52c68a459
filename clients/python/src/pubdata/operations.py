"""One method for each operation; written by generate.py from /v1/openapi.json."""

from __future__ import annotations

from typing import Any

from . import types
from .answers import Answer, Listing

# What to do about each problem.
ADVICE = {
    "invalid_parameter": "Correct the parameter, header or body field that `errors` names.",
    "missing_parameter": "Add the parameter or body field that `errors` names.",
    "unknown_parameter": "Remove or correct the name; the nearest valid one is given.",
    "invalid_cursor": "Use a cursor only with the filters and the release of the page it came from, or start again without it.",
    "invalid_json": "Send one JSON object with `Content-Type: application/json`.",
    "batch_too_large": "Split the batch.",
    "ambiguous_identifier": "Ask again for one of `candidates`.",
    "missing_api_key": "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
    "invalid_api_key": "Check the key; it may be mistyped, expired or revoked.",
    "insufficient_permission": "Use a key with the scope that `detail` names.",
    "not_found": "Check the code; `detail` says why it may be missing.",
    "route_not_found": "Check the path against /v1/openapi.json.",
    "method_not_allowed": "Use one of the methods in `Allow`.",
    "coverage_unavailable": "Ask /v1/coverage what is published.",
    "rate_limited": "Wait for the seconds in `Retry-After`.",
    "internal_error": "Try again; if the error persists, report the request ID.",
    "busy": "Ask again after the seconds in `Retry-After`.",
}


class Operations:
    """The operations of the API; `Client` asks them."""

    def _answer(self, method: str, path: str, values: dict[str, str], query: dict[str, Any], body: Any = None) -> Answer[Any]:
        raise NotImplementedError

    def _document(self, path: str, values: dict[str, str], query: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _listing(self, path: str, values: dict[str, str], query: dict[str, Any], records: str | None) -> Listing[Any]:
        raise NotImplementedError

    def list_keys(self) -> Answer[types.KeyList]:
        """The API keys, without their secrets.

        Lists every API key with its scopes, plan and dates, without secrets and without their digests.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/keys", {}, {})

    def create_key(self, body: types.NewKeyRequest) -> Answer[types.CreatedKey]:
        """Make an API key.

        Creates an API key and shows it, only this once: the server keeps nothing but its digest. The key works at once on every server that shares the keys.

        Needs a key with the scope `admin`.
        """
        return self._answer("POST", "/v1/admin/keys", {}, {}, body)

    def revoke_key(self, key_id: str) -> Answer[types.Key]:
        """Revoke an API key.

        Revokes a key for good. Servers may accept it for up to a quarter of a second more. It stays in the list, with the time at which it was revoked.

        Needs a key with the scope `admin`.
        """
        return self._answer("POST", "/v1/admin/keys/{key_id}/revoke", {"key_id": key_id}, {})

    def get_status(self) -> Answer[types.StatusReport]:
        """Program, release, tasks and newest runs, in full.

        Shows the program, the release, the tasks and the ten newest runs in full. `/v1/coverage` shortens the reasons of a failure; here they also name folders of the server.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/status", {}, {})

    def get_usage(self) -> Answer[types.UsageReport]:
        """What each key was used for since the server started.

        What each key was used for since the server started: requests, and how many were rate limited, refused or failed. Each server counts for itself; sockets of the stream are not counted.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/usage", {}, {})

    def search_businesses(self, *, name: str | None = None, state: list[str] | None = None, status: list[types.BusinessEntityStatus] | None = None, entity_type: list[types.BusinessEntityType] | None = None, jurisdiction: str | None = None, agent: str | None = None, entity_number: str | None = None, city: str | None = None, zip: str | None = None, formed_from: str | None = None, formed_to: str | None = None, match: types.SearchBusinessesMatch | None = None, include_dba: bool | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Businesses]:
        """Businesses by name, number or agent.

        Businesses of state registries by name, registry number or registered agent.

        Use it to find the legal entity behind a name. Spelling of legal forms, accents and punctuation do not matter. A name with a typing error in one word of five letters or more is found only when few names fit as written, ranks last and is marked `misspelled`; nothing is found by similarity of meaning or sound. A state whose registry is not covered is refused with the list of those that are, so an empty answer means that no such business is published. `STATUS_IMPLIED` says where a list has active entities only.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/business/search", {}, {"name": name, "state": state, "status": status, "entity_type": entity_type, "jurisdiction": jurisdiction, "agent": agent, "entity_number": entity_number, "city": city, "zip": zip, "formed_from": formed_from, "formed_to": formed_to, "match": match, "include_dba": include_dba, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_business(self, entity_id: str, *, include: types.GetBusinessInclude | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Business]:
        """A business as its registry publishes it.

        One business as its registry publishes it: names, addresses by role, registered agent, officers, identifiers and the newest report.

        `status` is ours and `status_raw` the registry's word; `status_basis` says which of them decided. Street addresses of persons are not published. `include=raw` adds the registry's own cells, where they tell nothing of persons.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/business/{entity_id}", {"entity_id": entity_id}, {"include": include, "release": release, "as_of": as_of})

    def get_catalog(self, *, release: str | None = None, as_of: str | None = None) -> types.Catalog:
        """All datasets as a DCAT-US 3.0 catalog.

        All datasets of a release as one DCAT-US 3.0 catalog (`data.json`), as portals such as data.gov harvest it: publishers, licences, how often an edition comes, the period where partitions name one, and Parquet and CSV downloads. The document stands alone, without `data` and `meta`.

        Give its address to a portal. `contactPoint` names whom the operator names (`serve --contact`), and is empty without. Addresses begin with what the server is known by (`--public-url`).

        Needs no key.
        """
        return self._document("/v1/catalog.json", {}, {"release": release, "as_of": as_of})

    def get_contractor(self, license: str, *, state: str | None = None, profession: types.LicenseProfession | None = None, permits_from: str | None = None, permits_to: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Contractor]:
        """A license and the permits linked to it.

        A license and the permits that are linked to it, with counts by type, status and jurisdiction.

        Use it to see what a contractor has done. Permits are linked by exact license number, or by business name and state where the permit has no number and only one license has that name (`LINKED_BY_NAME`); nothing is linked by similarity. Ask by `license_id`, or by number with `state`; a number that several licenses have is refused with the candidates.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/contractors/{license}", {"license": license}, {"state": state, "profession": profession, "permits_from": permits_from, "permits_to": permits_to, "limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_coverage(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.CoverageReport]:
        """Coverage of all datasets.

        What is published: every dataset with its rows, partitions, sources and freshness, whose records it holds, what is not covered, and what became of every row of its sources.

        Read it before you conclude anything from an empty answer. `late_since` says that the publisher's next edition is out and not here; `reach` how many people live in the areas that a dataset covers; `quarantined` how many records were set aside, and by which rule.

        Needs no key.
        """
        return self._answer("GET", "/v1/coverage", {}, {"release": release, "as_of": as_of})

    def list_datasets(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Datasets]:
        """The datasets of the release.

        Every dataset of a release: whose it is, how much it holds, how fresh it is, and when the publisher's next edition is late.

        Read it to see what there is. `/v1/datasets/{dataset_id}` says of one what its columns mean, `/v1/releases/{release_id}/datasets/{dataset_id}` hands it out whole.

        Needs no key.
        """
        return self._answer("GET", "/v1/datasets", {}, {"release": release, "as_of": as_of})

    def get_dataset(self, dataset_id: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Dataset]:
        """A dataset: columns, rules, sources, limits and the rows of its last releases.

        One dataset as its contract says: columns with types, units and allowed values, rules, known limits, credit line, what is known of the sources' layouts, what was set aside and by which rule, and the rows of its last releases.

        Read it before you use a column: `unit`, `description` and `not_covered` say what a figure is and what it is not.

        Needs no key.
        """
        return self._answer("GET", "/v1/datasets/{dataset_id}", {"dataset_id": dataset_id}, {"release": release, "as_of": as_of})

    def get_croissant(self, dataset_id: str, *, release: str | None = None, as_of: str | None = None) -> types.Croissant:
        """A dataset as a Croissant 1.1 document (JSON-LD).

        One dataset in the words of schema.org and Croissant 1.1, which programs for machine learning and search engines for data read: each part with its digest and where it is downloaded, and for each column its type and meaning. The document stands alone, without `data` and `meta`.

        Read it with `mlcroissant`, or hand its address to a program that lists datasets. Addresses begin with what the server is known by (`--public-url`). Files are downloaded with a key.

        Needs no key.
        """
        return self._document("/v1/datasets/{dataset_id}/croissant.json", {"dataset_id": dataset_id}, {"release": release, "as_of": as_of})

    def search_filings(self, *, ticker: list[str] | None = None, cik: str | None = None, company: str | None = None, form: list[str] | None = None, form_type: list[str] | None = None, include_amendments: bool | None = None, filed_from: str | None = None, filed_to: str | None = None, period_from: str | None = None, period_to: str | None = None, items: list[str] | None = None, accession_number: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Filings]:
        """Filings by company, form and date.

        Filings of all forms by company, form and date, newest first.

        Give a company (`ticker`, `cik` or `company`), or a form or a range of filing dates over all registrants. Items of current reports, periods and single accession numbers are found within a registrant. Form types are spelled as EDGAR does: `10-K`, `DEF 14A`. For filings as they appear, follow the stream at `/v1/stream`.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/filings/search", {}, {"ticker": ticker, "cik": cik, "company": company, "form": form, "form_type": form_type, "include_amendments": include_amendments, "filed_from": filed_from, "filed_to": filed_to, "period_from": period_from, "period_to": period_to, "items": items, "accession_number": accession_number, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_statements(self, cik: str, *, statement: types.GetStatementsStatement | None = None, period: types.PeriodType | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Statements]:
        """Financial statements of a company, as filed.

        Income statement, balance sheet and cash flow of a company, each as one filing states it.

        Every statement has the same lines in the same order; a line that was not reported is null with `not_reported`, and nothing is computed from others. Each line names its filing and concept and says whether it was restated. `limit` counts periods, not lines.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/financials/{cik}", {"cik": cik}, {"statement": statement, "period": period, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "limit": limit, "release": release, "as_of": as_of}, "statements")

    def get_county(self, fips: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Profile]:
        """County profile.

        A county or its equivalent (parish, borough, municipio, planning region) in the form of a ZCTA's profile.

        Codes are those of the vintage: Connecticut has its old counties up to 2021 and planning regions from 2022. Margins of a county are mostly smaller than those of its ZCTAs: prefer it where the question is about more than a neighbourhood.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/counties/{fips}", {"fips": fips}, {"metric": metric, "vintage": vintage, "release": release, "as_of": as_of})

    def list_county_locations(self, fips: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.CountyLocations]:
        """ZCTAs of a county.

        The ZCTAs of a county, each with its metrics where `metric` asks for them.

        Use it to go from a county to its neighbourhoods. `PRIMARY_COUNTY_RULE` says by which rule a ZCTA that lies in several counties is listed. Paged by `cursor`; `format=csv` writes all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/counties/{fips}/locations", {"fips": fips}, {"metric": metric, "vintage": vintage, "include": include, "limit": limit, "release": release, "as_of": as_of}, "locations")

    def get_geographic_coverage(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.CoverageReport]:
        """Coverage of the geographic datasets.

        What the geographic datasets cover: vintages, counts, freshness, and what became of every row of their sources.

        The same report as `/v1/coverage`, for the datasets of this family alone.

        Needs no key.
        """
        return self._answer("GET", "/v1/geo-demographics/coverage", {}, {"release": release, "as_of": as_of})

    def compare_locations(self, body: types.CompareRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Comparison]:
        """Comparison of two ZCTAs.

        Two ZCTAs, metric by metric, with each difference, its margin of error, and whether it is significant at 90 % by the Bureau's own test.

        Use it before saying that one place is richer, older or larger than another. `significant_at_90` is null, with a `reason`, where the test does not apply (`value_not_available`, `open_ended_median`, `both_controlled`, `no_published_moe`, `moe_not_fetched`). `margin_basis` says what the margins of the test are: an estimate that is `controlled` counts as free of sampling error. For one metric of many areas use `/v1/geo-demographics/metrics/{metric}` with `areas`.

        Needs a key with the scope `geo`.
        """
        return self._answer("POST", "/v1/geo-demographics/locations/compare", {}, {"release": release, "as_of": as_of}, body)

    def get_location(self, zcta: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Profile]:
        """ZCTA profile.

        A ZIP Code Tabulation Area (ZCTA) with its twelve survey metrics: the first thing to ask when you have five digits and want to know who lives there.

        Each metric carries its published 90 % margin of error, or says in `moe_status` why there is none. A metric that the Bureau suppressed is listed with a null `value` and a `null_reason`; it is never left out. The figures describe a whole five-year period, which `vintage` names.

        Notices: `ZCTA_NOT_USPS_ZIP` on every answer (a ZCTA approximates a postal ZIP area and is not one), `PRIMARY_COUNTY_RULE`, `NOT_IN_SURVEY` where the area exists and the survey has no estimates for it, `MOE_NOT_FETCHED` where the release has percentages without the margins that the Bureau publishes with a key. For a postal ZIP code, including post office boxes, ask `/v1/zip/{zip}`.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/locations/{zcta}", {"zcta": zcta}, {"metric": metric, "vintage": vintage, "release": release, "as_of": as_of})

    def get_demographics(self, zcta: str, *, metric: list[types.MetricKey] | None = None, history: bool | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Demographics]:
        """ZCTA demographics.

        Chosen metrics of a ZCTA, and with `history=true` the same metrics in every published vintage.

        Use it for a series over time, or to fetch two metrics instead of twelve. Vintages whose periods share years are not independent: the notice `OVERLAPPING_PERIODS` comes with `history`, and only periods without a common year (such as 2014-2018 and 2019-2023) may be compared as if they were.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/locations/{zcta}/demographics", {"zcta": zcta}, {"metric": metric, "history": history, "vintage": vintage, "release": release, "as_of": as_of})

    def get_schools(self, zcta: str, *, radius_mi: float | None = None, level: types.GeoSchoolLevel | None = None, charter: bool | None = None, virtual: bool | None = None, grade: types.GetSchoolsGrade | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Schools]:
        """Public schools near a ZCTA.

        Open public schools around a ZCTA, nearest first.

        Distances are straight lines from the area's internal point (`STRAIGHT_LINE_DISTANCE`), not routes, and no school is said to serve the area: attendance zones are not published in this source. `charter=false` and `virtual=false` keep every school that is not known to be one. Schools without coordinates cannot be found and are counted in the notice `SCHOOLS_WITHOUT_COORDINATES`. Paged by `cursor`.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/locations/{zcta}/schools", {"zcta": zcta}, {"radius_mi": radius_mi, "level": level, "charter": charter, "virtual": virtual, "grade": grade, "limit": limit, "release": release, "as_of": as_of}, "schools")

    def list_metric_areas(self, metric: str, *, geography_type: types.GeographyType | None = None, areas: list[str] | None = None, state: str | None = None, vintage: int | None = None, sort: types.ListMetricAreasSort | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.MetricAreas]:
        """One metric of all areas.

        One metric of all ZCTAs or counties, or of those in `areas`, ranked.

        Use it for maps and rankings. Areas with the same value share a rank; those without a value come last and have none. An open-ended median is ranked by its `bound`. A rank says nothing about margins: two areas a few places apart are often no different, which `/v1/geo-demographics/locations/compare` tells for two ZCTAs. Paged by `cursor`; `format=csv` writes all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/metrics/{metric}", {"metric": metric}, {"geography_type": geography_type, "areas": areas, "state": state, "vintage": vintage, "sort": sort, "include": include, "limit": limit, "release": release, "as_of": as_of}, "areas")

    def list_state_counties(self, state: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.StateCounties]:
        """Counties of a state.

        The counties of a state, each with its metrics where `metric` asks for them.

        The state is its postal code or name. Paged by `cursor`; `format=csv` writes all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/states/{state}/counties", {"state": state}, {"metric": metric, "vintage": vintage, "include": include, "limit": limit, "release": release, "as_of": as_of}, "counties")

    def redeem_invitation(self, body: types.InvitationRequest) -> Answer[types.CreatedKey]:
        """Make the key of an invitation.

        Makes the key that an invitation offers and shows it, only this once. An invitation makes one key: of several requests with the same token one succeeds, the others are 404 `not_found`.

        Needs no key.
        """
        return self._answer("POST", "/v1/invitations/redeem", {}, {}, body)

    def show_invitation(self, body: types.InvitationRequest) -> Answer[types.Invitation]:
        """What an invitation offers.

        Shows what an invitation offers: the scopes, the plan and the expiry of the key that it creates. Showing an invitation does not use it up.

        Send the token in the body: addresses are logged. An unknown, used, revoked or expired token is 404 `not_found`.

        Needs no key.
        """
        return self._answer("POST", "/v1/invitations/show", {}, {}, body)

    def search_licenses(self, *, name: str | None = None, state: list[str] | None = None, profession: list[types.LicenseProfession] | None = None, status: list[types.LicenseStatus] | None = None, city: str | None = None, zip: str | None = None, holder_type: types.PartyType | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Licenses]:
        """Licenses by name of a person or business.

        Licenses by the name of a person or business, best first.

        Narrow by `state`, `profession`, `status` or place. A person is found by the whole last name with a first name or initial. What only the holder states (`evidence` is `self_reported`) is told apart from what a board publishes.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/license/search", {}, {"name": name, "state": state, "profession": profession, "status": status, "city": city, "zip": zip, "holder_type": holder_type, "limit": limit, "release": release, "as_of": as_of}, None)

    def verify_license(self, *, number: str | None = None, license_number: str | None = None, state: str | None = None, profession: types.LicenseProfession | None = None, name: str | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Verification]:
        """Verification of a license number in a state.

        Whether a number is a license in a state, whose it is, and whether it was active on the date of the list.

        Use it before hiring a contractor. `no_match` is an answer, not an error, and does not prove that there is no license (`NO_MATCH_IS_NOT_PROOF`); a number that several boards gave out is `multiple_matches`, never merged (`SEVERAL_LICENSES`). With `name` it also says whether holder and name agree. `checked_sources` names the lists and their dates.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/license/verify", {}, {"number": number, "license_number": license_number, "state": state, "profession": profession, "name": name, "release": release, "as_of": as_of})

    def get_me(self) -> Answer[types.Me]:
        """Scopes, plan, limits and use of your key.

        Shows what the key of the request may do and how much of it is used: its scopes, its plan and the plan's limits, its expiry, and the requests that this server has counted since it started. The secret is never shown. Without a key, the response has the limits that apply to requests without one.

        `/v1/plans` lists the limits of all plans. The `RateLimit` header of every response says how many requests are left.

        A key is optional.
        """
        return self._answer("GET", "/v1/me", {}, {})

    def revoke_my_key(self) -> Answer[types.Key]:
        """Revoke your key.

        Revokes the key of the request for good, with all its secrets. Servers may accept it for up to a quarter of a second more.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("POST", "/v1/me/revoke", {}, {})

    def rotate_my_key(self, body: types.RotationRequest) -> Answer[types.CreatedKey]:
        """Give your key a new secret.

        Gives the key that is sent a new secret, shown only this once. Id, name, scopes, plan, expiry and use stay the same; both secrets share the limits of the plan.

        The present secret is accepted for `overlap_minutes` more, so that programs can be changed one after the other; send 0 if it has leaked. Only the present secret can rotate a key, and a second rotation ends the first secret at once. Send `{}` as the body if you set no field.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("POST", "/v1/me/rotate", {}, {}, body)

    def search_permits(self, *, address: str | None = None, zip: str | None = None, city: str | None = None, state: str | None = None, jurisdiction: str | None = None, lat: float | None = None, lon: float | None = None, radius_mi: float | None = None, parcel: str | None = None, permit_number: str | None = None, type: list[types.PermitType] | None = None, work_class: types.PermitWorkClass | None = None, property_class: types.PermitPropertyClass | None = None, tags: list[str] | None = None, status: list[types.PermitStatus] | None = None, date_field: types.SearchPermitsDateField | None = None, date_from: str | None = None, date_to: str | None = None, contractor: str | None = None, contractor_license: str | None = None, min_value: float | None = None, max_value: float | None = None, q: str | None = None, sort: types.SearchPermitsSort | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Permits]:
        """Building permits of a place.

        Building permits of a place: an address, ZIP code, city, jurisdiction, parcel, permit number, or a point with a radius.

        Use it for what was built where, and by whom. Some cities publish no ZIP codes, dates or types: `PERMITS_WITHOUT_ZIP`, `DATE_NOT_PUBLISHED` and `TYPE_NOT_PUBLISHED` say which lists cannot find what was asked, so that an empty list is not taken for none. `tags` are ours, from words of the description (`TAGS_ARE_DERIVED`).

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/permits/search", {}, {"address": address, "zip": zip, "city": city, "state": state, "jurisdiction": jurisdiction, "lat": lat, "lon": lon, "radius_mi": radius_mi, "parcel": parcel, "permit_number": permit_number, "type": type, "work_class": work_class, "property_class": property_class, "tags": tags, "status": status, "date_field": date_field, "date_from": date_from, "date_to": date_to, "contractor": contractor, "contractor_license": contractor_license, "min_value": min_value, "max_value": max_value, "q": q, "sort": sort, "limit": limit, "release": release, "as_of": as_of}, None)

    def list_plans(self) -> Answer[types.PlanList]:
        """The plans and their limits.

        The plans that this server declares, with the rate, the burst and the other limits of each. `anonymous` is the plan of requests without a key.

        Needs no key.
        """
        return self._answer("GET", "/v1/plans", {}, {})

    def find_property(self, *, address: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Property]:
        """A property and its permits, the address as a parameter.

        The same as `/v1/properties/{address}`, the address as a parameter: for addresses with `/` or `#`, which paths do not take.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/properties", {}, {"address": address, "limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_property(self, address: str, *, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Property]:
        """A property and its permits.

        The permits of one property, newest first, with counts.

        The address is one line with ZIP code or city and state, or a `property_id` from another answer. `match.quality` says how it fits: `exact`, `street_and_zip`, or `unit_ignored`. A property without permits is not known here (404).

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/properties/{address}", {"address": address}, {"limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_provenance(self, record_id: str, *, include: list[types.GetProvenanceInclude] | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Chain]:
        """From a record to the publisher's bytes.

        From a record to the publisher's bytes: which part of which release holds it, which run and code made it, and for every cell the file, its digest, and the range of bytes. `formula` and `derivations` say how a column comes from the source where the source does not state it.

        Take `record_id` from any answer. With the digest, the offset and the length, anybody can fetch the publisher's file and look at the same bytes. The key needs the scope of the record's family.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/provenance/{record_id}", {"record_id": record_id}, {"include": include, "release": release, "as_of": as_of})

    def get_receipt(self, record_id: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Receipt]:
        """Proof that a release has or lacks a record.

        A receipt of a record: the record in its canonical form, with the hashes that lead from it over its part, its dataset and its release to the signed checkpoint of the channel's log. Of an id that the release does not have: the neighbours between which it would be, in every part of the dataset that could hold it, and the parts beside these, which show that there are no others.

        Use it to prove to somebody who trusts neither you nor this server what was published, or that something was not. `pubdata verify-receipt` and `clients/receipts/verify_receipt.py` check it with nothing but the key of the publisher's log. A release has receipts once its publisher has sealed it with `pubdata seal`; until then the answer is 404 `coverage_unavailable`.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/receipts/{record_id}", {"record_id": record_id}, {"release": release, "as_of": as_of})

    def get_record_history(self, record_id: str) -> Answer[types.RecordHistory]:
        """A record through the releases that are kept: where it changed, and why.

        One record through the releases that are kept: when it was there, what changed in it with both values, and which of its files changed.

        Use it when a figure is not what you remember. Releases in which nothing of the record changed are one entry.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/records/{record_id}/history", {"record_id": record_id}, {})

    def list_releases(self, *, limit: int | None = None) -> Listing[types.Releases]:
        """The releases of the channel, newest first.

        What the channel has pointed at, newest first, with what moved it: a publication, a promotion, or the way back to an earlier release.

        Use it to find the release that was there on a day, and whether it `is_kept`: one that is kept can be asked for with `release` everywhere. Paged by `cursor`.

        Needs no key.
        """
        return self._listing("/v1/releases", {}, {"limit": limit}, "releases")

    def get_release(self, release_id: str, *, dataset: str | None = None) -> Answer[types.Release]:
        """A release: its parts with their digests, and the files that it was built from.

        What a release is made of: every part with its rows, bytes and SHA-256, and every publisher's file that it was built from with its address and digest.

        With it whoever mirrors a release knows what to fetch and whether it came whole. `dataset` narrows it to one. `current` is the release that is served now.

        Needs no key.
        """
        return self._answer("GET", "/v1/releases/{release_id}", {"release_id": release_id}, {"dataset": dataset})

    def get_changes(self, release_id: str, *, since: str | None = None) -> Answer[types.Changes]:
        """What is different between two releases, and why.

        What is different between two releases, and why: for each dataset the parts that came, went or changed, and for each task that changed whether its files, its declaration, its contracts or its code did.

        Without `since` it compares with the release that the channel had before. The first release of a channel has none before it: the answer is 404 `coverage_unavailable`.

        Needs no key.
        """
        return self._answer("GET", "/v1/releases/{release_id}/changes", {"release_id": release_id}, {"since": since})

    def download_dataset(self, release_id: str, dataset_id: str) -> Answer[types.Download]:
        """A whole dataset: its parts, or one of them as Parquet, or all as CSV.

        A whole dataset of a release. Without `format` it lists the parts with their addresses, digests, licence and credit line; `format=parquet` with `part` hands out one part as it is; `format=csv`, or `Accept: text/csv`, writes all of them as one table.

        Parts are immutable, have their digest as `ETag`, and answer a `Range`, so that a transfer that broke off goes on. A CSV that ends early ends its connection with an error and never looks whole. For a single list within an answer use the `format=csv` of that endpoint.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/releases/{release_id}/datasets/{dataset_id}", {"release_id": release_id, "dataset_id": dataset_id}, {})

    def search(self, *, q: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Found]:
        """One search over everything.

        One search over everything: what a person types into one box. A ZIP code, a county, a state, a company by name, ticker or CIK, a business, a license number, an address, an accession number, a record id, a dataset, a release.

        Exact identifiers come first, then names. Each result says what it is, how it fits, and the path that answers in full. Only families whose scope the key has are searched; notices say what was not.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/search", {}, {"q": q, "limit": limit, "release": release, "as_of": as_of})

    def search_companies(self, *, name: str | None = None, q: str | None = None, ticker: list[str] | None = None, cik: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Companies]:
        """Companies by name, ticker or CIK.

        Registrants of the SEC by `name`, `ticker` or `cik`: exactly one of the three.

        Use it to turn a name or ticker into the CIK that all other endpoints take. The last word of a name may be unfinished, so it serves as you type. Results come best first with a `match` that says why; a ticker is that of today (`TICKER_IS_CURRENT`), and can belong to two companies for a while, so the answer is a list. `TICKER_UNKNOWN` and `CIK_UNKNOWN` say why a list is empty.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/companies/search", {}, {"name": name, "q": q, "ticker": ticker, "cik": cik, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_company(self, cik: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Company]:
        """Company profile.

        A company as the SEC knows it: names now and before, tickers, industry, state, counts of its reports, and which of the eight metrics it has for which years.

        Ask here first: `metrics_available` tells for each metric from when to when there are values, or why there are none. `FISCAL_YEAR_END_IS_A_HINT` and `ADDRESS_WITHHELD` state the limits of what is published.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/companies/{cik}", {"cik": cik}, {"release": release, "as_of": as_of})

    def get_company_filings(self, cik: str, *, form: list[types.GetCompanyFilingsForm] | None = None, filed_from: str | None = None, filed_to: str | None = None, period_from: str | None = None, period_to: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Reports]:
        """Annual and quarterly reports of a company.

        Annual and quarterly reports of a company (10-K, 10-Q, transition reports and their amendments), newest first.

        `10-K` does not include `10-K/A`: ask for both, as a comma list. For all other forms ask `/v1/filings/search`. Paged by `cursor`; later pages come from the release of the first.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/companies/{cik}/filings", {"cik": cik}, {"form": form, "filed_from": filed_from, "filed_to": filed_to, "period_from": period_from, "period_to": period_to, "limit": limit, "release": release, "as_of": as_of}, "filings")

    def get_company_financials(self, cik: str, *, metric: list[types.FinancialMetric] | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, include: types.GetCompanyFinancialsInclude | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Financials]:
        """Metrics of a company by fiscal period, as filed.

        The eight metrics of a company by fiscal period, as filed: nothing is estimated, added up or adjusted.

        Every value names the filing that states it. `is_restated` says that a later report changed it, `first_reported` what was said at first, and `include=history` lists every version. For a study that must not look ahead, `known_at` answers with what had been filed by that day. There is no fourth quarter (`NO_FOURTH_QUARTER`): companies do not report one. Quarterly reports state figures of the quarter, of the year to date, or both: `is_ytd` tells them apart, and `span=quarter` or `span=ytd` selects one kind.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/companies/{cik}/financials", {"cik": cik}, {"metric": metric, "period": period, "span": span, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "include": include, "release": release, "as_of": as_of})

    def compare_companies(self, *, metric: types.FinancialMetric | None = None, ciks: list[str] | None = None, tickers: list[str] | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.FinancialComparison]:
        """One metric of several companies.

        One metric of 2 to 20 companies, fiscal period by fiscal period.

        Companies are lined up by their own fiscal labels, not by dates: a fiscal year 2023 may end in January or in December. `SPANS_DIFFER` says that one company reported a quarter alone and another only the year to date; `span` selects one kind. A missing period has the members of a reported one, null, with a reason. Give `ciks`, or `tickers` of today.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/financials/compare", {}, {"metric": metric, "ciks": ciks, "tickers": tickers, "period": period, "span": span, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "release": release, "as_of": as_of})

    def get_financial_frame(self, metric: str, *, fiscal_year: int | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.FinancialFrame]:
        """One metric of all companies for a fiscal year.

        One metric of all companies for one fiscal year, as filed, with the filing and the provenance of each value.

        Use it for screens and comparisons across companies. Fiscal years are the companies' own labels and end in different months; `period_end` is what identifies a period. Paged by `cursor`; `format=csv` writes all of them.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/financials/frames/{metric}", {"metric": metric}, {"fiscal_year": fiscal_year, "period": period, "span": span, "limit": limit, "release": release, "as_of": as_of}, "values")

    def get_snapshot(self, sha256: str) -> Answer[types.SnapshotReport]:
        """A publisher's file, and the releases that were made from it.

        A publisher's file as it was fetched: its address, dates, size, digest and licence, and the releases that were made from it; where the server allows it, the bytes themselves, or a `Range` of them.

        Use it to check a record against the very file, by the digest that `/v1/provenance` names. Files of lists that may tell of persons are for `admin` alone.

        Needs no key.
        """
        return self._answer("GET", "/v1/snapshots/{sha256}", {"sha256": sha256}, {})

    def get_tax_rates(self, body: types.TaxBatchRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxBatch]:
        """Sales tax rates of up to 100 places.

        Rates of up to 100 places on one day, each answered as by `/v1/tax/rate`.

        An address is an object, a ZIP code or a text on one line. An object may have an `id` of yours: each item repeats its address in `input`. An address that cannot be answered fails alone. It costs one request for each address.

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/tax/batch", {}, {"release": release, "as_of": as_of}, body)

    def calculate_tax(self, body: types.TaxCalculationRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxCalculation]:
        """Sales tax of a sale.

        The tax of a sale to the cent: by line, by jurisdiction, and for the delivery charge.

        `to` and `from` are objects, or a ZIP code or an address on one line. Numbers are read exactly and rounded half a cent up, on each line or once on the invoice. Refunds reverse their sale to the cent. Where a part of the tax is not known the totals are null, `known_tax_amount` is what is known, and `unknown` says which amount depends on what. It is not tax advice (`NOT_TAX_ADVICE`).

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/tax/calculate", {}, {"release": release, "as_of": as_of}, body)

    def get_tax_rate(self, *, address: str | None = None, street: str | None = None, city: str | None = None, state: str | None = None, zip: str | None = None, county_fips: str | None = None, unincorporated: bool | None = None, date: str | None = None, origin_state: str | None = None, category: types.TaxCategory | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxRate]:
        """Sales tax rate of a place on a day.

        The sales tax rate of a place on a day, with the part of each jurisdiction and the rule behind it.

        Give an address for the exact rate where boundaries are published, a ZIP code where parts may differ (`SEVERAL_RATES`, with `alternatives`), or a city and state. A city that the state's list lacks has no local rate (`city_not_listed`), and `alternatives` has the areas in which it may lie. A part that is not known is null with a reason, and then so is the whole: `known_rate` is the sum of the rest. `coverage.level` says how far a state is covered; nothing is ever answered with the state's rate alone as if it were all.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/tax/rate", {}, {"address": address, "street": street, "city": city, "state": state, "zip": zip, "county_fips": county_fips, "unincorporated": unincorporated, "date": date, "origin_state": origin_state, "category": category, "release": release, "as_of": as_of})

    def get_zips(self, body: types.ZipBatchRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.ZipBatch]:
        """Up to 100 ZIP codes.

        Up to 100 ZIP codes in one request, each answered as by `/v1/zip/{zip}`.

        Order and repeats are kept. A code that is not known fails alone: its item has `error` in place of `result`, and `input` and `index` say which it is. It costs one request for each code. Each item has `notices` of its own, such as `ZIP_WITHOUT_ZCTA`.

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/zip/batch", {}, {"release": release, "as_of": as_of}, body)

    def get_zip(self, zip: str, *, fields: list[types.ZipField] | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Zip]:
        """A ZIP code: places, counties, area, people, sales tax.

        A postal ZIP code: its places, counties, coordinates, the tabulation area that stands for it with twelve metrics, and the range of sales tax rates within it.

        `zcta.match` says how the code and the area belong together: `same_code`, `spatial_join` for a post office box that lies in it, or `none`. `fields` keeps the answer small. `MILITARY_REGION_CONFLICT` marks military codes whose source and first digits disagree.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/zip/{zip}", {"zip": zip}, {"fields": fields, "release": release, "as_of": as_of})

    def get_nearby_zips(self, zip: str, *, radius_mi: float | None = None, type: types.ZipType | None = None, include_self: bool | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.NearbyZips]:
        """ZIP codes around a ZIP code.

        ZIP codes around a ZIP code, nearest first.

        A code counts when its point lies within `radius_mi`; distances are great circles between points (`CENTROID_DISTANCE`), so a large area may touch the circle and not be listed. `type` leaves out post office boxes or military codes. Paged by `cursor`.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/zip/{zip}/nearby", {"zip": zip}, {"radius_mi": radius_mi, "type": type, "include_self": include_self, "limit": limit, "release": release, "as_of": as_of}, None)
