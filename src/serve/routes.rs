//! The route table: every endpoint of the API on one screen. Paths, parameters and access are declared here once; the router, the
//! strict reading of parameters and the OpenAPI document follow from it.

use super::call::{Access, Endpoint, Handler};
use super::general::{business, contractors, license, permits, properties, tax, verify, zips};
use super::geo::{self, compare, coverage, schools};
use super::parameters::{AS_OF, Kind, Parameter, RELEASE, VINTAGE};
use super::provenance;
use super::sec::{self, filings, financials, search, statements};
use crate::store::Scope;

const SEC: Access = Access::Scope(Scope::Sec);
const GENERAL: Access = Access::Scope(Scope::General);
const GEO: Access = Access::Scope(Scope::Geo);
const OF_RELEASE: &[Parameter] = &[RELEASE, AS_OF];
const OF_VINTAGE: &[Parameter] = &[VINTAGE, RELEASE, AS_OF];
const DEMOGRAPHICS: &[Parameter] = &[
    Parameter { name: "metrics", kind: Kind::SomeOf("geo.zcta_metric", "metric"), description: "Comma list of metric keys; all twelve when absent." },
    Parameter { name: "history", kind: Kind::Flag, description: "`true`: each metric also carries its figures of every published vintage." },
    VINTAGE,
    RELEASE,
    AS_OF,
];

/// Every endpoint.
#[rustfmt::skip]
pub static ENDPOINTS: [Endpoint; 29] = [
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}", operation_id: "getLocation", summary: "ZCTA profile", access: GEO,
        parameters: OF_VINTAGE, body: None, data: "Profile", handler: Handler::Memory(geo::profile) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}/demographics", operation_id: "getDemographics", summary: "ZCTA demographics", access: GEO,
        parameters: DEMOGRAPHICS, body: None, data: "Demographics", handler: Handler::Memory(geo::demographics) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/locations/{zcta}/schools", operation_id: "getSchools", summary: "Public schools near a ZCTA", access: GEO,
        parameters: schools::PARAMETERS, body: None, data: "Schools", handler: Handler::Memory(schools::schools) },
    Endpoint { method: "POST", path: "/v1/geo-demographics/locations/compare", operation_id: "compareLocations", summary: "Comparison of two ZCTAs", access: GEO,
        parameters: OF_RELEASE, body: Some("CompareRequest"), data: "Comparison", handler: Handler::Memory(compare::compare) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/counties/{fips}", operation_id: "getCounty", summary: "County profile", access: GEO,
        parameters: OF_VINTAGE, body: None, data: "Profile", handler: Handler::Memory(geo::county) },
    Endpoint { method: "GET", path: "/v1/geo-demographics/coverage", operation_id: "getGeographicCoverage", summary: "What the geographic datasets cover", access: GEO,
        parameters: OF_RELEASE, body: None, data: "CoverageReport", handler: Handler::Memory(coverage::geographic) },
    Endpoint { method: "GET", path: "/v1/sec/companies/search", operation_id: "searchCompanies", summary: "Companies by name, ticker or CIK", access: SEC,
        parameters: search::PARAMETERS, body: None, data: "Companies", handler: Handler::Memory(search::search) },
    Endpoint { method: "GET", path: "/v1/sec/companies/{cik}", operation_id: "getCompany", summary: "Company profile", access: SEC,
        parameters: OF_RELEASE, body: None, data: "Company", handler: Handler::Files(sec::profile) },
    Endpoint { method: "GET", path: "/v1/sec/companies/{cik}/filings", operation_id: "getCompanyFilings", summary: "Annual and quarterly reports of a company", access: SEC,
        parameters: filings::PARAMETERS, body: None, data: "Reports", handler: Handler::Files(filings::of_company) },
    Endpoint { method: "GET", path: "/v1/sec/companies/{cik}/financials", operation_id: "getCompanyFinancials", summary: "Metrics of a company by fiscal period, as filed", access: SEC,
        parameters: financials::PARAMETERS, body: None, data: "Financials", handler: Handler::Files(financials::financials) },
    Endpoint { method: "GET", path: "/v1/sec/financials/compare", operation_id: "compareCompanies", summary: "One metric of several companies", access: SEC,
        parameters: sec::compare::PARAMETERS, body: None, data: "FinancialComparison", handler: Handler::Files(sec::compare::compare) },
    Endpoint { method: "GET", path: "/v1/filings/search", operation_id: "searchFilings", summary: "Filings by company, form and date", access: GENERAL,
        parameters: filings::SEARCH_PARAMETERS, body: None, data: "Filings", handler: Handler::Files(filings::search) },
    Endpoint { method: "GET", path: "/v1/financials/{cik}", operation_id: "getStatements", summary: "Financial statements of a company, as filed", access: GENERAL,
        parameters: statements::PARAMETERS, body: None, data: "Statements", handler: Handler::Files(statements::statements) },
    Endpoint { method: "GET", path: "/v1/business/search", operation_id: "searchBusinesses", summary: "Businesses by name, number or agent", access: GENERAL,
        parameters: business::PARAMETERS, body: None, data: "Businesses", handler: Handler::Files(business::search) },
    Endpoint { method: "GET", path: "/v1/business/{entity_id}", operation_id: "getBusiness", summary: "A business as its registry publishes it", access: GENERAL,
        parameters: business::ONE_PARAMETERS, body: None, data: "Business", handler: Handler::Files(business::business) },
    Endpoint { method: "GET", path: "/v1/license/verify", operation_id: "verifyLicense", summary: "Whether a number is a license of a state, and whose", access: GENERAL,
        parameters: verify::PARAMETERS, body: None, data: "Verification", handler: Handler::Files(verify::verify) },
    Endpoint { method: "GET", path: "/v1/license/search", operation_id: "searchLicenses", summary: "Licenses by name of a person or business", access: GENERAL,
        parameters: license::PARAMETERS, body: None, data: "Licenses", handler: Handler::Files(license::search) },
    Endpoint { method: "GET", path: "/v1/permits/search", operation_id: "searchPermits", summary: "Building permits of a place", access: GENERAL,
        parameters: permits::PARAMETERS, body: None, data: "Permits", handler: Handler::Files(permits::search) },
    Endpoint { method: "GET", path: "/v1/contractors/{license}", operation_id: "getContractor", summary: "A license and the permits linked to it", access: GENERAL,
        parameters: contractors::PARAMETERS, body: None, data: "Contractor", handler: Handler::Files(contractors::contractor) },
    Endpoint { method: "GET", path: "/v1/properties/{address}", operation_id: "getProperty", summary: "A property and its permits", access: GENERAL,
        parameters: properties::PARAMETERS, body: None, data: "Property", handler: Handler::Files(properties::property) },
    Endpoint { method: "GET", path: "/v1/properties", operation_id: "findProperty", summary: "A property and its permits, the address as a parameter", access: GENERAL,
        parameters: properties::QUERY_PARAMETERS, body: None, data: "Property", handler: Handler::Files(properties::property_of_query) },
    Endpoint { method: "GET", path: "/v1/zip/{zip}", operation_id: "getZip", summary: "A ZIP code: places, counties, area, people, sales tax", access: GENERAL,
        parameters: zips::PARAMETERS, body: None, data: "Zip", handler: Handler::Memory(zips::zip) },
    Endpoint { method: "POST", path: "/v1/zip/batch", operation_id: "getZips", summary: "Up to 100 ZIP codes", access: GENERAL,
        parameters: OF_RELEASE, body: Some("ZipBatchRequest"), data: "ZipBatch", handler: Handler::Memory(zips::batch) },
    Endpoint { method: "GET", path: "/v1/zip/{zip}/nearby", operation_id: "getNearbyZips", summary: "ZIP codes around a ZIP code", access: GENERAL,
        parameters: zips::nearby::PARAMETERS, body: None, data: "NearbyZips", handler: Handler::Memory(zips::nearby::nearby) },
    Endpoint { method: "GET", path: "/v1/tax/rate", operation_id: "getTaxRate", summary: "Sales tax rate of a place on a day", access: GENERAL,
        parameters: tax::rate::PARAMETERS, body: None, data: "TaxRate", handler: Handler::Memory(tax::rate::rate) },
    Endpoint { method: "POST", path: "/v1/tax/calculate", operation_id: "calculateTax", summary: "Sales tax of a sale", access: GENERAL,
        parameters: OF_RELEASE, body: Some("TaxCalculationRequest"), data: "TaxCalculation", handler: Handler::Memory(tax::calculate::calculate) },
    Endpoint { method: "POST", path: "/v1/tax/batch", operation_id: "getTaxRates", summary: "Sales tax rates of up to 100 places", access: GENERAL,
        parameters: OF_RELEASE, body: Some("TaxBatchRequest"), data: "TaxBatch", handler: Handler::Memory(tax::batch::batch) },
    Endpoint { method: "GET", path: "/v1/coverage", operation_id: "getCoverage", summary: "What all datasets cover", access: Access::Everyone,
        parameters: OF_RELEASE, body: None, data: "CoverageReport", handler: Handler::Memory(coverage::all) },
    Endpoint { method: "GET", path: "/v1/provenance/{record_id}", operation_id: "getProvenance", summary: "From a record to the publisher's bytes", access: Access::Key,
        parameters: OF_RELEASE, body: None, data: "Chain", handler: Handler::Files(provenance::provenance) },
];

/// Placeholders of paths: name, pattern, example, meaning.
pub const PLACEHOLDERS: [(&str, &str, &str, &str); 8] = [
    ("zcta", "^[0-9]{5}$", "90210", "ZCTA code: five digits, leading zeros kept."),
    ("fips", "^[0-9]{5}$", "06037", "County FIPS code: five digits, leading zeros kept."),
    ("cik", "^0{0,9}[1-9][0-9]{0,9}$", "0000320193", "CIK, with or without leading zeros; answers carry all ten digits."),
    ("entity_id", "^[^/]{1,80}$", "FL-L23000448570", "Id of a business: state and the registry's number."),
    ("license", "^[^/]{1,120}$", "TX-tdlr-ba-21907", "Id of a license; or its number, with `state`."),
    ("address", "^[^/]{1,200}$", "618 W Elmira St, San Antonio, TX 78212", "Street address on one line, with ZIP code or city and state; or a property id."),
    ("zip", "^[0-9]{5}(-[0-9]{4})?$", "10001", "ZIP code of five digits, or nine, of which the last four are not looked at."),
    ("record_id", "^[^:]+:.+$", "geo.zcta_metric:2023:90210:population", "A `record_id` of any answer."),
];
