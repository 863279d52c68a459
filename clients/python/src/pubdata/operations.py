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
    "ambiguous_identifier": "Repeat the request with one of `candidates`.",
    "missing_api_key": "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
    "invalid_api_key": "Check the key; it may be mistyped, expired or revoked.",
    "insufficient_permission": "Use a key with the scope that `detail` names.",
    "not_found": "Check the code; `detail` says why it may be missing.",
    "route_not_found": "Check the path against /v1/openapi.json.",
    "method_not_allowed": "Use one of the methods in `Allow`.",
    "coverage_unavailable": "See /v1/coverage for what is published.",
    "rate_limited": "Wait for the seconds in `Retry-After`.",
    "internal_error": "Try again; if the error persists, report the request ID.",
    "busy": "Try again after the seconds in `Retry-After`.",
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

        Lists every API key with its scopes, plan and dates, without secrets and digests.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/keys", {}, {})

    def create_key(self, body: types.NewKeyRequest) -> Answer[types.CreatedKey]:
        """Create an API key.

        Creates an API key and shows it, only this once: the server stores only its digest. The key works immediately on every server that shares the keys.

        Needs a key with the scope `admin`.
        """
        return self._answer("POST", "/v1/admin/keys", {}, {}, body)

    def revoke_key(self, key_id: str) -> Answer[types.Key]:
        """Revoke an API key.

        Revokes a key permanently. Servers may accept it for up to a quarter of a second more. It stays in the list, with the time of its revocation.

        Needs a key with the scope `admin`.
        """
        return self._answer("POST", "/v1/admin/keys/{key_id}/revoke", {"key_id": key_id}, {})

    def get_status(self) -> Answer[types.StatusReport]:
        """Program, release, tasks and newest runs, in full.

        Shows the program, the release, the tasks and the ten newest runs in full. `/v1/coverage` shortens the reasons of a failure; this response also names folders of the server.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/status", {}, {})

    def get_usage(self) -> Answer[types.UsageReport]:
        """Use of each key since the server started.

        Shows the use of each key since the server started: requests, and how many were rate limited, refused or failed. Each server counts for itself; sockets of the stream are not counted.

        Needs a key with the scope `admin`.
        """
        return self._answer("GET", "/v1/admin/usage", {}, {})

    def search_businesses(self, *, name: str | None = None, state: list[str] | None = None, status: list[types.BusinessEntityStatus] | None = None, entity_type: list[types.BusinessEntityType] | None = None, jurisdiction: str | None = None, agent: str | None = None, entity_number: str | None = None, city: str | None = None, zip: str | None = None, formed_from: str | None = None, formed_to: str | None = None, match: types.SearchBusinessesMatch | None = None, include_dba: bool | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Businesses]:
        """Businesses by name, number or agent.

        Finds businesses of state registries by name, registry number or registered agent.

        Use it to find the legal entity behind a name. Spelling of legal forms, accents and punctuation do not matter. A name with a typing error in one word of five letters or more is found only if few names match as written. It ranks last and is marked `misspelled`. The search never matches by similar meaning or sound. A state without a covered registry is refused with the list of covered states. An empty response therefore means that no such business is published. `STATUS_IMPLIED` marks lists of active entities only.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/business/search", {}, {"name": name, "state": state, "status": status, "entity_type": entity_type, "jurisdiction": jurisdiction, "agent": agent, "entity_number": entity_number, "city": city, "zip": zip, "formed_from": formed_from, "formed_to": formed_to, "match": match, "include_dba": include_dba, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_business(self, entity_id: str, *, include: types.GetBusinessInclude | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Business]:
        """A business as its registry publishes it.

        Returns a business as its registry publishes it: names, addresses by role, registered agent, officers, identifiers and the newest report.

        `status` is pubdata's term and `status_raw` the registry's; `status_basis` states how `status` is known. Street addresses of persons are not published. `include=raw` adds the registry's own cells, except those that may contain personal data.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/business/{entity_id}", {"entity_id": entity_id}, {"include": include, "release": release, "as_of": as_of})

    def get_catalog(self, *, release: str | None = None, as_of: str | None = None) -> types.Catalog:
        """All datasets as a DCAT-US 3.0 catalog.

        Returns all datasets of a release as one DCAT-US 3.0 catalog (`data.json`), which portals such as data.gov harvest. It has publishers, licences, update frequency, the period if partitions name one, and Parquet and CSV downloads. The document has no `data` and `meta`.

        Give its address to a portal. `contactPoint` is the operator's contact (`serve --contact`), and is empty without one. Addresses begin with the server's public URL (`--public-url`).

        Needs no key.
        """
        return self._document("/v1/catalog.json", {}, {"release": release, "as_of": as_of})

    def get_contractor(self, license: str, *, state: str | None = None, profession: types.LicenseProfession | None = None, permits_from: str | None = None, permits_to: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Contractor]:
        """A license and the permits linked to it.

        Returns a license and the permits that are linked to it, with counts by type, status and jurisdiction.

        Use it to see a contractor's work. Permits are linked by exact license number. A permit without a number is linked by business name and state if only one license has that name (`LINKED_BY_NAME`). Similar names are never linked. Pass `license_id`, or a number with `state`; a number that several licenses have is refused with the candidates.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/contractors/{license}", {"license": license}, {"state": state, "profession": profession, "permits_from": permits_from, "permits_to": permits_to, "limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_coverage(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.CoverageReport]:
        """Coverage of all datasets.

        Reports what is published: every dataset with its rows, partitions, sources, freshness and jurisdictions, the gaps in coverage, and the result for every source row.

        Read it before you conclude anything from an empty response. `late_since` is the day since which the publisher's next edition is late. `reach` is the number of people in the areas that a dataset covers. `quarantined` counts quarantined records by rule.

        Needs no key.
        """
        return self._answer("GET", "/v1/coverage", {}, {"release": release, "as_of": as_of})

    def list_datasets(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Datasets]:
        """The datasets of the release.

        Lists every dataset of a release: its publisher, its size, its freshness, and since when the publisher's next edition is late.

        Use it to find a dataset. `/v1/datasets/{dataset_id}` describes its columns, `/v1/releases/{release_id}/datasets/{dataset_id}` downloads it.

        Needs no key.
        """
        return self._answer("GET", "/v1/datasets", {}, {"release": release, "as_of": as_of})

    def get_dataset(self, dataset_id: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Dataset]:
        """A dataset: columns, rules, sources, limits and the rows of its last releases.

        Describes one dataset by its contract: columns with types, units and allowed values, rules, known limits and credit line. It also reports the evidence for the sources' layouts, quarantined records by rule, and the row counts of the last releases.

        Read it before you use a column: `unit`, `description` and `not_covered` state what a figure means and what it excludes.

        Needs no key.
        """
        return self._answer("GET", "/v1/datasets/{dataset_id}", {"dataset_id": dataset_id}, {"release": release, "as_of": as_of})

    def get_croissant(self, dataset_id: str, *, release: str | None = None, as_of: str | None = None) -> types.Croissant:
        """A dataset as a Croissant 1.1 document (JSON-LD).

        Describes one dataset in the terms of schema.org and Croissant 1.1, for machine learning programs and dataset search engines: each part with its digest and download address, and each column with its type and meaning. The document has no `data` and `meta`.

        Read it with `mlcroissant`, or give its address to a program that lists datasets. Addresses begin with the server's public URL (`--public-url`). Downloads need a key.

        Needs no key.
        """
        return self._document("/v1/datasets/{dataset_id}/croissant.json", {"dataset_id": dataset_id}, {"release": release, "as_of": as_of})

    def search_filings(self, *, ticker: list[str] | None = None, cik: str | None = None, company: str | None = None, form: list[str] | None = None, form_type: list[str] | None = None, include_amendments: bool | None = None, filed_from: str | None = None, filed_to: str | None = None, period_from: str | None = None, period_to: str | None = None, items: list[str] | None = None, accession_number: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Filings]:
        """Filings by company, form and date.

        Finds filings of all forms by company, form and date, newest first.

        Pass a company (`ticker`, `cik` or `company`), or a form or a range of filing dates over all registrants. Items of current reports, periods and single accession numbers need a registrant. Form types are spelled as in EDGAR: `10-K`, `DEF 14A`. For filings as they appear, follow the stream at `/v1/stream`.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/filings/search", {}, {"ticker": ticker, "cik": cik, "company": company, "form": form, "form_type": form_type, "include_amendments": include_amendments, "filed_from": filed_from, "filed_to": filed_to, "period_from": period_from, "period_to": period_to, "items": items, "accession_number": accession_number, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_statements(self, cik: str, *, statement: types.GetStatementsStatement | None = None, period: types.PeriodType | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Statements]:
        """Financial statements of a company, as filed.

        Returns income statement, balance sheet and cash flow of a company, each as one filing states it.

        Every statement has the same lines in the same order. An unreported line is null with `not_reported`, and no line is computed from others. Each line names its filing and concept and states whether it was restated. `limit` counts periods, not lines.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/financials/{cik}", {"cik": cik}, {"statement": statement, "period": period, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "limit": limit, "release": release, "as_of": as_of}, "statements")

    def get_county(self, fips: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Profile]:
        """County profile.

        Returns a county or its equivalent (parish, borough, municipio, planning region) in the form of a ZCTA's profile.

        Codes are those of the vintage: Connecticut has its old counties up to 2021 and planning regions from 2022. Margins of a county are mostly smaller than those of its ZCTAs: prefer the county if your question concerns more than a neighbourhood.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/counties/{fips}", {"fips": fips}, {"metric": metric, "vintage": vintage, "release": release, "as_of": as_of})

    def list_county_locations(self, fips: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.CountyLocations]:
        """ZCTAs of a county.

        Lists the ZCTAs of a county, each with the metrics that `metric` names.

        Use it to go from a county to its neighbourhoods. `PRIMARY_COUNTY_RULE` states the rule for a ZCTA that lies in several counties. Results are paged by `cursor`; `format=csv` returns all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/counties/{fips}/locations", {"fips": fips}, {"metric": metric, "vintage": vintage, "include": include, "limit": limit, "release": release, "as_of": as_of}, "locations")

    def get_geographic_coverage(self, *, release: str | None = None, as_of: str | None = None) -> Answer[types.CoverageReport]:
        """Coverage of the geographic datasets.

        Reports vintages, counts and freshness of the geographic datasets, and the result for every row of their sources.

        The report is that of `/v1/coverage`, for this family's datasets only.

        Needs no key.
        """
        return self._answer("GET", "/v1/geo-demographics/coverage", {}, {"release": release, "as_of": as_of})

    def compare_locations(self, body: types.CompareRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Comparison]:
        """Comparison of two ZCTAs.

        Compares two ZCTAs by metric: each difference, its margin of error, and whether it is significant at 90 % by the Bureau's own test.

        Use it before you state that one place is richer, older or larger than another. `significant_at_90` is null, with a `reason`, if the test does not apply (`value_not_available`, `open_ended_median`, `both_controlled`, `no_published_moe`, `moe_not_fetched`). `margin_basis` names the margins that the test used: a `controlled` estimate counts as free of sampling error. To compare one metric of many areas, use `/v1/geo-demographics/metrics/{metric}` with `areas`.

        Needs a key with the scope `geo`.
        """
        return self._answer("POST", "/v1/geo-demographics/locations/compare", {}, {"release": release, "as_of": as_of}, body)

    def get_location(self, zcta: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Profile]:
        """ZCTA profile.

        Returns a ZIP Code Tabulation Area (ZCTA) with its twelve survey metrics. Call this endpoint first if you have five digits and want to know who lives there.

        Each metric has its published 90 % margin of error, or states in `moe_status` why it has none. A metric that the Bureau suppressed has a null `value` and a `null_reason`; it is never left out. The figures describe a whole five-year period, which `vintage` names.

        Notices: `ZCTA_NOT_USPS_ZIP` on every response (a ZCTA approximates a postal ZIP area and is not one); `PRIMARY_COUNTY_RULE`; `NOT_IN_SURVEY` if the area exists but the survey has no estimates for it; `MOE_NOT_FETCHED` if the release has percentages without the margins that the Bureau publishes with a key. For a postal ZIP code, including post office boxes, use `/v1/zip/{zip}`.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/locations/{zcta}", {"zcta": zcta}, {"metric": metric, "vintage": vintage, "release": release, "as_of": as_of})

    def get_demographics(self, zcta: str, *, metric: list[types.MetricKey] | None = None, history: bool | None = None, vintage: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Demographics]:
        """ZCTA demographics.

        Returns chosen metrics of a ZCTA, and with `history=true` the same metrics in every published vintage.

        Use it for a series over time, or to fetch two metrics instead of twelve. Vintages whose periods share years are not independent: `history` adds the notice `OVERLAPPING_PERIODS`. Compare only periods without a common year (such as 2014-2018 and 2019-2023) as independent.

        Needs a key with the scope `geo`.
        """
        return self._answer("GET", "/v1/geo-demographics/locations/{zcta}/demographics", {"zcta": zcta}, {"metric": metric, "history": history, "vintage": vintage, "release": release, "as_of": as_of})

    def get_schools(self, zcta: str, *, radius_mi: float | None = None, level: types.GeoSchoolLevel | None = None, charter: bool | None = None, virtual: bool | None = None, grade: types.GetSchoolsGrade | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Schools]:
        """Public schools near a ZCTA.

        Lists open public schools around a ZCTA, nearest first.

        Distances are straight lines from the area's internal point (`STRAIGHT_LINE_DISTANCE`), not routes. The list does not state which schools serve the area: this source has no attendance zones. `charter=false` and `virtual=false` keep every school that is not known to be one. Schools without coordinates cannot be found; the notice `SCHOOLS_WITHOUT_COORDINATES` counts them. Results are paged by `cursor`.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/locations/{zcta}/schools", {"zcta": zcta}, {"radius_mi": radius_mi, "level": level, "charter": charter, "virtual": virtual, "grade": grade, "limit": limit, "release": release, "as_of": as_of}, "schools")

    def list_metric_areas(self, metric: str, *, geography_type: types.GeographyType | None = None, areas: list[str] | None = None, state: str | None = None, vintage: int | None = None, sort: types.ListMetricAreasSort | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.MetricAreas]:
        """One metric of all areas.

        Ranks all ZCTAs or counties, or those in `areas`, by one metric.

        Use it for maps and rankings. Areas with the same value share a rank; those without a value come last and have none. An open-ended median is ranked by its `bound`. A rank ignores margins: two areas a few ranks apart often do not differ, which `/v1/geo-demographics/locations/compare` tests for two ZCTAs. Results are paged by `cursor`; `format=csv` returns all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/metrics/{metric}", {"metric": metric}, {"geography_type": geography_type, "areas": areas, "state": state, "vintage": vintage, "sort": sort, "include": include, "limit": limit, "release": release, "as_of": as_of}, "areas")

    def list_state_counties(self, state: str, *, metric: list[types.MetricKey] | None = None, vintage: int | None = None, include: types.ListCountyLocationsInclude | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.StateCounties]:
        """Counties of a state.

        Lists the counties of a state, each with the metrics that `metric` names.

        Pass the state's postal code or name. Results are paged by `cursor`; `format=csv` returns all of them.

        Needs a key with the scope `geo`.
        """
        return self._listing("/v1/geo-demographics/states/{state}/counties", {"state": state}, {"metric": metric, "vintage": vintage, "include": include, "limit": limit, "release": release, "as_of": as_of}, "counties")

    def redeem_invitation(self, body: types.InvitationRequest) -> Answer[types.CreatedKey]:
        """Create the key of an invitation.

        Creates the key that an invitation offers and shows it, only this once. An invitation creates one key: of several requests with the same token one succeeds, the others get 404 `not_found`.

        Needs no key.
        """
        return self._answer("POST", "/v1/invitations/redeem", {}, {}, body)

    def show_invitation(self, body: types.InvitationRequest) -> Answer[types.Invitation]:
        """Contents of an invitation.

        Shows the offer of an invitation: the scopes, the plan and the expiry of the key that it creates. Showing an invitation does not use it up.

        Send the token in the body: addresses are logged. An unknown, used, revoked or expired token gets 404 `not_found`.

        Needs no key.
        """
        return self._answer("POST", "/v1/invitations/show", {}, {}, body)

    def search_licenses(self, *, name: str | None = None, state: list[str] | None = None, profession: list[types.LicenseProfession] | None = None, status: list[types.LicenseStatus] | None = None, city: str | None = None, zip: str | None = None, holder_type: types.PartyType | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Licenses]:
        """Licenses by name of a person or business.

        Finds licenses by the name of a person or business, best first.

        Narrow by `state`, `profession`, `status` or place. To find a person, pass the whole last name with a first name or initial. `evidence` distinguishes what only the holder states (`self_reported`) from what a board publishes.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/license/search", {}, {"name": name, "state": state, "profession": profession, "status": status, "city": city, "zip": zip, "holder_type": holder_type, "limit": limit, "release": release, "as_of": as_of}, None)

    def verify_license(self, *, number: str | None = None, license_number: str | None = None, state: str | None = None, profession: types.LicenseProfession | None = None, name: str | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Verification]:
        """Verification of a license number in a state.

        Checks whether a number is a license in a state, who holds it, and whether it was active on the date of the list.

        Use it before you hire a contractor. `no_match` is a result, not an error, and does not prove that no license exists (`NO_MATCH_IS_NOT_PROOF`). A number that several boards issued is `multiple_matches`, never merged (`SEVERAL_LICENSES`). With `name`, the response also states whether holder and name agree. `checked_sources` names the lists and their dates.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/license/verify", {}, {"number": number, "license_number": license_number, "state": state, "profession": profession, "name": name, "release": release, "as_of": as_of})

    def get_me(self) -> Answer[types.Me]:
        """Scopes, plan, limits and use of your key.

        Shows the rights and the use of the request's key: its scopes, its plan and the plan's limits, its expiry, and the requests that this server has counted since it started. The secret is never shown. Without a key, the response has the limits of requests without one.

        `/v1/plans` lists the limits of all plans. The `RateLimit` header of every response states the remaining requests.

        A key is optional.
        """
        return self._answer("GET", "/v1/me", {}, {})

    def revoke_my_key(self) -> Answer[types.Key]:
        """Revoke your key.

        Revokes the request's key permanently, with all its secrets. Servers may accept it for up to a quarter of a second more.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("POST", "/v1/me/revoke", {}, {})

    def rotate_my_key(self, body: types.RotationRequest) -> Answer[types.CreatedKey]:
        """Give your key a new secret.

        Gives the request's key a new secret, shown only this once. Id, name, scopes, plan, expiry and use stay the same; both secrets share the limits of the plan.

        The present secret is accepted for `overlap_minutes` more, so that you can update your programs one by one; send 0 if it has leaked. Only the present secret can rotate a key, and a second rotation ends the first secret at once. If you set no field, send `{}` as the body.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("POST", "/v1/me/rotate", {}, {}, body)

    def search_permits(self, *, address: str | None = None, zip: str | None = None, city: str | None = None, state: str | None = None, jurisdiction: str | None = None, lat: float | None = None, lon: float | None = None, radius_mi: float | None = None, parcel: str | None = None, permit_number: str | None = None, type: list[types.PermitType] | None = None, work_class: types.PermitWorkClass | None = None, property_class: types.PermitPropertyClass | None = None, tags: list[str] | None = None, status: list[types.PermitStatus] | None = None, date_field: types.SearchPermitsDateField | None = None, date_from: str | None = None, date_to: str | None = None, contractor: str | None = None, contractor_license: str | None = None, min_value: float | None = None, max_value: float | None = None, q: str | None = None, sort: types.SearchPermitsSort | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Permits]:
        """Building permits of a place.

        Finds building permits of a place: an address, ZIP code, city, jurisdiction, parcel, permit number, or a point with a radius.

        Use it to see what was built where, and by whom. Some cities publish no ZIP codes, dates or types. `PERMITS_WITHOUT_ZIP`, `DATE_NOT_PUBLISHED` and `TYPE_NOT_PUBLISHED` name the lists that cannot answer the query, so an empty list does not mean that no permit exists. `tags` are pubdata's, from words of the description (`TAGS_ARE_DERIVED`).

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/permits/search", {}, {"address": address, "zip": zip, "city": city, "state": state, "jurisdiction": jurisdiction, "lat": lat, "lon": lon, "radius_mi": radius_mi, "parcel": parcel, "permit_number": permit_number, "type": type, "work_class": work_class, "property_class": property_class, "tags": tags, "status": status, "date_field": date_field, "date_from": date_from, "date_to": date_to, "contractor": contractor, "contractor_license": contractor_license, "min_value": min_value, "max_value": max_value, "q": q, "sort": sort, "limit": limit, "release": release, "as_of": as_of}, None)

    def list_plans(self) -> Answer[types.PlanList]:
        """The plans and their limits.

        Lists the plans that this server declares, with the rate, the burst and the other limits of each. `anonymous` is the plan of requests without a key.

        Needs no key.
        """
        return self._answer("GET", "/v1/plans", {}, {})

    def find_property(self, *, address: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Property]:
        """A property and its permits, the address as a parameter.

        Returns the same as `/v1/properties/{address}`, with the address as a parameter: use it for addresses with `/` or `#`, which paths do not accept.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/properties", {}, {"address": address, "limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_property(self, address: str, *, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Property]:
        """A property and its permits.

        Returns the permits of one property, newest first, with counts.

        The address is one line with ZIP code or city and state, or a `property_id` from another response. `match.quality` states how it matches: `exact`, `street_and_zip`, or `unit_ignored`. A property without permits is unknown here (404).

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/properties/{address}", {"address": address}, {"limit": limit, "release": release, "as_of": as_of}, "permits")

    def get_provenance(self, record_id: str, *, include: list[types.GetProvenanceInclude] | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Chain]:
        """From a record to the publisher's bytes.

        Traces a record to the publisher's bytes: the release and part that hold it, the run and code that made it, and for every cell the file, its digest, and the range of bytes. `formula` and `derivations` state how a column is derived if the source does not state it.

        Take `record_id` from any response. With the digest, the offset and the length, anyone can fetch the publisher's file and read the same bytes. The key needs the scope of the record's family.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/provenance/{record_id}", {"record_id": record_id}, {"include": include, "release": release, "as_of": as_of})

    def get_receipt(self, record_id: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Receipt]:
        """Proof that a release has or lacks a record.

        Returns a receipt of a record: its canonical form, with the hashes that lead through its part, dataset and release to the signed checkpoint of the channel's log. For an id that the release does not have, the receipt proves absence. It has the neighbours of the id in every part of the dataset that could hold it, and the adjacent parts, which show that no others exist.

        Use it to prove to a third party, who trusts neither you nor this server, what was published or not published. `pubdata verify-receipt` and `clients/receipts/verify_receipt.py` check it with only the key of the publisher's log. A release has receipts once its publisher has sealed it with `pubdata seal`; before that, the response is 404 `coverage_unavailable`.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/receipts/{record_id}", {"record_id": record_id}, {"release": release, "as_of": as_of})

    def get_record_history(self, record_id: str) -> Answer[types.RecordHistory]:
        """History of a record through the retained releases, with the causes of its changes.

        Traces one record through the retained releases: when it was present, each change with both values, and which of its files changed.

        Use it if a figure differs from the one you remember. Successive releases without a change to the record are one entry.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/records/{record_id}/history", {"record_id": record_id}, {})

    def list_releases(self, *, limit: int | None = None) -> Listing[types.Releases]:
        """The releases of the channel, newest first.

        Lists the releases that the channel has pointed at, newest first, each with the cause: a publication, a promotion or a rollback.

        Use it to find the release of a day. If `is_kept` is true, every endpoint accepts the release in `release`. Results are paged by `cursor`.

        Needs no key.
        """
        return self._listing("/v1/releases", {}, {"limit": limit}, "releases")

    def get_release(self, release_id: str, *, dataset: str | None = None) -> Answer[types.Release]:
        """A release: its parts with their digests, and the files that it was built from.

        Lists the content of a release: every part with its rows, bytes and SHA-256, and every publisher's file that it was built from, with address and digest.

        Use it to mirror a release: it lists the files to fetch and the digests to check. `dataset` limits it to one dataset. `current` is the release that is served now.

        Needs no key.
        """
        return self._answer("GET", "/v1/releases/{release_id}", {"release_id": release_id}, {"dataset": dataset})

    def get_changes(self, release_id: str, *, since: str | None = None) -> Answer[types.Changes]:
        """Differences between two releases, with their causes.

        Compares two releases and states causes: for each dataset the added, removed and changed parts, and for each changed task whether its files, declaration, contracts or code changed.

        Without `since`, it compares with the channel's previous release. The first release of a channel has no predecessor: the response is 404 `coverage_unavailable`.

        Needs no key.
        """
        return self._answer("GET", "/v1/releases/{release_id}/changes", {"release_id": release_id}, {"since": since})

    def download_dataset(self, release_id: str, dataset_id: str) -> Answer[types.Download]:
        """A whole dataset: its parts, or one of them as Parquet, or all as CSV.

        Returns a whole dataset of a release. Without `format`, it lists the parts with their addresses, digests, licence and credit line. `format=parquet` with `part` returns one part unchanged. `format=csv`, or `Accept: text/csv`, returns all parts as one table.

        Parts are immutable, have their digest as `ETag`, and support `Range`, so an interrupted transfer can resume. A CSV that ends early closes its connection with an error and never looks complete. For a list of another endpoint, use `format=csv` there.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/releases/{release_id}/datasets/{dataset_id}", {"release_id": release_id, "dataset_id": dataset_id}, {})

    def search(self, *, q: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Found]:
        """One search over everything.

        Searches all data for one text: a ZIP code, a county, a state, a company by name, ticker or CIK, a business, a license number, an address, an accession number, a record id, a dataset, a release.

        Exact identifiers come first, then names. Each result states its type, how it matches, and the path of the full response. The search covers only families within the key's scopes; notices name the others.

        Needs a key. The answer has what the key's scopes allow.
        """
        return self._answer("GET", "/v1/search", {}, {"q": q, "limit": limit, "release": release, "as_of": as_of})

    def search_companies(self, *, name: str | None = None, q: str | None = None, ticker: list[str] | None = None, cik: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Companies]:
        """Companies by name, ticker or CIK.

        Finds registrants of the SEC by exactly one of `name`, `ticker` and `cik`.

        Use it to turn a name or ticker into the CIK that all other endpoints take. The last word of a name may be incomplete, so you can search as you type. Results come best first, and `match` states why each matches. A ticker is the current one (`TICKER_IS_CURRENT`) and can belong to two companies for a while, so the response is a list. `TICKER_UNKNOWN` and `CIK_UNKNOWN` explain an empty list.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/companies/search", {}, {"name": name, "q": q, "ticker": ticker, "cik": cik, "limit": limit, "release": release, "as_of": as_of}, None)

    def get_company(self, cik: str, *, release: str | None = None, as_of: str | None = None) -> Answer[types.Company]:
        """Company profile.

        Returns a company as the SEC knows it: current and former names, tickers, industry, state, counts of its reports, and the years with values for each of the eight metrics.

        Call this endpoint first: `metrics_available` states for each metric the range of its values, or why it has none. `FISCAL_YEAR_END_IS_A_HINT` and `ADDRESS_WITHHELD` state the limits of the published data.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/companies/{cik}", {"cik": cik}, {"release": release, "as_of": as_of})

    def get_company_filings(self, cik: str, *, form: list[types.GetCompanyFilingsForm] | None = None, filed_from: str | None = None, filed_to: str | None = None, period_from: str | None = None, period_to: str | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.Reports]:
        """Annual and quarterly reports of a company.

        Lists annual and quarterly reports of a company (10-K, 10-Q, transition reports and their amendments), newest first.

        `10-K` does not include `10-K/A`: request both as a comma-separated list. For all other forms, use `/v1/filings/search`. Results are paged by `cursor`; later pages come from the release of the first.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/companies/{cik}/filings", {"cik": cik}, {"form": form, "filed_from": filed_from, "filed_to": filed_to, "period_from": period_from, "period_to": period_to, "limit": limit, "release": release, "as_of": as_of}, "filings")

    def get_company_financials(self, cik: str, *, metric: list[types.FinancialMetric] | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, include: types.GetCompanyFinancialsInclude | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Financials]:
        """Metrics of a company by fiscal period, as filed.

        Returns the eight metrics of a company by fiscal period, as filed: no value is estimated, summed or adjusted.

        Every value names the filing that states it. `is_restated` marks a value that a later report changed, `first_reported` is the original value, and `include=history` lists every version. For a study that must not look ahead, `known_at` returns the values filed by that day. Companies do not report a fourth quarter (`NO_FOURTH_QUARTER`). Quarterly reports state figures of the quarter, of the year to date, or both: `is_ytd` distinguishes them, and `span=quarter` or `span=ytd` selects one kind.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/companies/{cik}/financials", {"cik": cik}, {"metric": metric, "period": period, "span": span, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "include": include, "release": release, "as_of": as_of})

    def compare_companies(self, *, metric: types.FinancialMetric | None = None, ciks: list[str] | None = None, tickers: list[str] | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, fiscal_year: int | None = None, fiscal_year_from: int | None = None, fiscal_year_to: int | None = None, known_at: str | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.FinancialComparison]:
        """One metric of several companies.

        Compares one metric of 2 to 20 companies by fiscal period.

        Companies are aligned by their own fiscal labels, not by dates: a fiscal year 2023 may end in January or in December. `SPANS_DIFFER` means that one company reported the quarter alone and another only the year to date; `span` selects one kind. A missing period has the members of a reported one, all null, with a reason. Pass `ciks`, or current `tickers`.

        Needs a key with the scope `sec`.
        """
        return self._answer("GET", "/v1/sec/financials/compare", {}, {"metric": metric, "ciks": ciks, "tickers": tickers, "period": period, "span": span, "fiscal_year": fiscal_year, "fiscal_year_from": fiscal_year_from, "fiscal_year_to": fiscal_year_to, "known_at": known_at, "release": release, "as_of": as_of})

    def get_financial_frame(self, metric: str, *, fiscal_year: int | None = None, period: types.PeriodType | None = None, span: types.FinancialComparisonSpan | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.FinancialFrame]:
        """One metric of all companies for a fiscal year.

        Returns one metric of all companies for one fiscal year, as filed, with the filing and the provenance of each value.

        Use it for screens and comparisons across companies. Fiscal years are the companies' own labels and end in different months; `period_end` identifies a period. Results are paged by `cursor`; `format=csv` returns all of them.

        Needs a key with the scope `sec`.
        """
        return self._listing("/v1/sec/financials/frames/{metric}", {"metric": metric}, {"fiscal_year": fiscal_year, "period": period, "span": span, "limit": limit, "release": release, "as_of": as_of}, "values")

    def get_snapshot(self, sha256: str) -> Answer[types.SnapshotReport]:
        """A publisher's file, and the releases that were made from it.

        Returns a publisher's file as it was fetched: its address, dates, size, digest and licence, and the releases that were made from it. If the server permits it, the response has the bytes themselves, or a `Range` of them.

        Use it to check a record against the original file, by the digest that `/v1/provenance` names. Files of lists that may contain personal data need the scope `admin`.

        Needs no key.
        """
        return self._answer("GET", "/v1/snapshots/{sha256}", {"sha256": sha256}, {})

    def get_tax_rates(self, body: types.TaxBatchRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxBatch]:
        """Sales tax rates of up to 100 places.

        Returns rates of up to 100 places on one day, each as `/v1/tax/rate` returns it.

        An address is an object, a ZIP code or a text on one line. An object may have an `id` of your choice: each item repeats its address in `input`. If one address has an error, the others are still answered. Each address costs one request.

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/tax/batch", {}, {"release": release, "as_of": as_of}, body)

    def calculate_tax(self, body: types.TaxCalculationRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxCalculation]:
        """Sales tax of a sale.

        Calculates the tax of a sale to the cent: by line, by jurisdiction, and for the delivery charge.

        `to` and `from` are objects, or a ZIP code or an address on one line. Numbers are read exactly. Amounts are rounded half a cent up, on each line or once on the invoice. A refund reverses its sale to the cent. If part of the tax is unknown, the totals are null and `known_tax_amount` is the known part. `unknown` lists the unknown parts and the amounts that depend on them. The result is not tax advice (`NOT_TAX_ADVICE`).

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/tax/calculate", {}, {"release": release, "as_of": as_of}, body)

    def get_tax_rate(self, *, address: str | None = None, street: str | None = None, city: str | None = None, state: str | None = None, zip: str | None = None, county_fips: str | None = None, unincorporated: bool | None = None, date: str | None = None, origin_state: str | None = None, category: types.TaxCategory | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.TaxRate]:
        """Sales tax rate of a place on a day.

        Returns the sales tax rate of a place on a day, with the part of each jurisdiction and the rule behind it.

        Pass an address for the exact rate if boundaries are published, a ZIP code whose parts may differ (`SEVERAL_RATES`, with `alternatives`), or a city and state. A city that the state's list lacks has no local rate (`city_not_listed`), and `alternatives` has the areas in which it may lie. An unknown part is null with a reason, and so is the total; `known_rate` is the sum of the rest. `coverage.level` states how far a state is covered. The state's rate alone is never returned as the total.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/tax/rate", {}, {"address": address, "street": street, "city": city, "state": state, "zip": zip, "county_fips": county_fips, "unincorporated": unincorporated, "date": date, "origin_state": origin_state, "category": category, "release": release, "as_of": as_of})

    def get_zips(self, body: types.ZipBatchRequest, *, release: str | None = None, as_of: str | None = None) -> Answer[types.ZipBatch]:
        """Up to 100 ZIP codes.

        Returns up to 100 ZIP codes in one request, each as `/v1/zip/{zip}` returns it.

        The response keeps order and repeats. If one code is unknown, the others are still answered: its item has `error` in place of `result`, and `input` and `index` identify it. Each code costs one request. Each item has its own `notices`, such as `ZIP_WITHOUT_ZCTA`.

        Needs a key with the scope `general`.
        """
        return self._answer("POST", "/v1/zip/batch", {}, {"release": release, "as_of": as_of}, body)

    def get_zip(self, zip: str, *, fields: list[types.ZipField] | None = None, release: str | None = None, as_of: str | None = None) -> Answer[types.Zip]:
        """A ZIP code: places, counties, area, people, sales tax.

        Returns a postal ZIP code: its places, counties, coordinates, the tabulation area used for it with twelve metrics, and the range of sales tax rates within it.

        `zcta.match` states how the code relates to the area: `same_code`, `spatial_join` for a post office box that lies in it, or `none`. `fields` limits the response to the named members. `MILITARY_REGION_CONFLICT` marks military codes whose source and first digits disagree.

        Needs a key with the scope `general`.
        """
        return self._answer("GET", "/v1/zip/{zip}", {"zip": zip}, {"fields": fields, "release": release, "as_of": as_of})

    def get_nearby_zips(self, zip: str, *, radius_mi: float | None = None, type: types.ZipType | None = None, include_self: bool | None = None, limit: int | None = None, release: str | None = None, as_of: str | None = None) -> Listing[types.NearbyZips]:
        """ZIP codes around a ZIP code.

        Lists ZIP codes around a ZIP code, nearest first.

        A code is listed if its point lies within `radius_mi`. Distances are great circles between points (`CENTROID_DISTANCE`), so a large area may touch the circle without being listed. `type` selects one type, for example to exclude post office boxes or military codes. Results are paged by `cursor`.

        Needs a key with the scope `general`.
        """
        return self._listing("/v1/zip/{zip}/nearby", {"zip": zip}, {"radius_mi": radius_mi, "type": type, "include_self": include_self, "limit": limit, "release": release, "as_of": as_of}, None)
