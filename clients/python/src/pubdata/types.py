"""What is asked and answered; written by generate.py from /v1/openapi.json."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

BoundType: TypeAlias = Literal["at_least", "at_most"]

BuildCauseCause: TypeAlias = Literal["task_added", "task_removed", "source_changed", "declaration_changed", "contracts_changed", "code_changed", "sample_changed", "layout_evidence_changed", "date_changed", "inputs_changed", "became_stale", "became_fresh"]

BusinessAddressRole: TypeAlias = Literal["principal", "mailing", "service_of_process", "agent"]

BusinessEntityStatus: TypeAlias = Literal["active", "good_standing", "delinquent", "suspended", "dissolved", "revoked", "withdrawn", "merged", "converted", "expired", "inactive", "pending", "unknown"]

BusinessEntityType: TypeAlias = Literal["corporation", "nonprofit_corporation", "professional_corporation", "benefit_corporation", "llc", "professional_llc", "lp", "llp", "lllp", "general_partnership", "cooperative", "trust", "bank", "sole_proprietorship", "trade_name", "reservation", "other", "unknown"]

BusinessEntityTypeBasis: TypeAlias = Literal["declared", "shared_vocabulary"]

BusinessIdentifierScheme: TypeAlias = Literal["state_entity_number", "tx_comptroller_number", "cik"]

BusinessNameType: TypeAlias = Literal["legal", "former", "assumed", "home_state"]

BusinessOfficerTitle: TypeAlias = Literal["president", "vice_president", "secretary", "treasurer", "director", "chairman", "chief_executive", "chief_financial", "manager", "member", "partner", "trustee", "authorized_person", "other", "unknown"]

Businesses: TypeAlias = "list[BusinessMatch]"

ChainSourceSnapshotObtained: TypeAlias = Literal["by program", "by hand"]

ChannelMoveAction: TypeAlias = Literal["publish", "promote", "rollback"]

Companies: TypeAlias = "list[CompanyMatch]"

CompanyNameMatchType: TypeAlias = Literal["cik", "ticker", "name", "name_without_suffix", "former_name", "name_prefix", "word_prefix", "misspelled"]

ComparedMetricMarginBasis: TypeAlias = Literal["published", "controlled"]

ComparedMetricReason: TypeAlias = Literal["value_not_available", "open_ended_median", "both_controlled", "no_published_moe", "moe_not_fetched"]

CroissantFieldDataType: TypeAlias = Literal["sc:Text", "cr:Int32", "cr:Int64", "cr:Float64", "sc:Boolean", "sc:Date", "sc:Float"]

CroissantFileType: TypeAlias = Literal["cr:FileObject", "cr:FileSet"]

DatasetChangeChangedPartChange: TypeAlias = Literal["added", "removed", "changed"]

DatasetColumnType: TypeAlias = Literal["string", "int32", "int64", "float64", "boolean", "date", "decimal", "string_list", "pointers"]

DatasetCoverageState: TypeAlias = Literal["not_updated", "late", "expired", "stale", "findings", "fresh"]

DatasetPartitionEvidenceKind: TypeAlias = Literal["file", "excerpt", "documented"]

DatasetPartitionLayoutEvidence: TypeAlias = Literal["file", "documented", "confirmed"]

DatasetRuleRule: TypeAlias = Literal["exactly_one_of", "all_or_none", "present_iff", "present_unless", "range_where", "in_order", "sum_within"]

DatasetRuleSeverity: TypeAlias = Literal["warning", "quarantine"]

DownloadDatasetFormat: TypeAlias = Literal["parquet", "csv"]

Filings: TypeAlias = "list[Filing]"

FinancialComparisonSpan: TypeAlias = Literal["quarter", "ytd"]

FinancialMetric: TypeAlias = Literal["revenue", "net_income", "total_assets", "total_liabilities", "stockholders_equity", "operating_cash_flow", "eps_diluted", "shares_outstanding"]

FinancialSeriesNullReason: TypeAlias = Literal["not_tagged", "multi_class", "other_unit", "not_a_10k_filer", "no_periodic_report", "unclassified_period", "stated_in_parts", "other_concept", "share_count_contradicted", "filed_not_in_archive", "no_xbrl_facts", "no_us_gaap_facts", "foreign_filer", "no_wanted_concept", "not_known_yet", "not_in_range", "not_in_span"]

FinancialUnit: TypeAlias = Literal["USD", "USD/shares", "shares"]

FiscalPeriod: TypeAlias = Literal["FY", "Q1", "Q2", "Q3", "Q4", "TP"]

Format: TypeAlias = Literal["json", "csv"]

FoundResultKind: TypeAlias = Literal["record", "release", "dataset", "zip", "zcta", "metric", "county", "state", "company", "filing", "business", "license", "property", "permit", "jurisdiction"]

Freshness: TypeAlias = Literal["fresh", "stale", "expired"]

GeoGeographyPrimaryCountyBasis: TypeAlias = Literal["largest_land_part", "planning_region", "principal_town", "none"]

GeoSchoolLevel: TypeAlias = Literal["prekindergarten", "elementary", "middle", "secondary", "high", "other", "ungraded", "adult_education", "not_applicable", "not_reported"]

GeoSchoolStatus: TypeAlias = Literal["open", "closed", "new", "added", "changed_boundary_or_agency", "inactive", "future", "reopened"]

GeoSchoolType: TypeAlias = Literal["regular", "special_education", "career_and_technical", "alternative"]

GeoSchoolVirtualStatus: TypeAlias = Literal["not_virtual", "supplemental", "primarily_virtual", "exclusively_virtual", "not_reported"]

GeographyMatchedBy: TypeAlias = Literal["exact_zcta_code", "exact_county_fips"]

GeographyType: TypeAlias = Literal["zcta", "county"]

GetBusinessInclude: TypeAlias = Literal["raw"]

GetCompanyFilingsForm: TypeAlias = Literal["10-K", "10-KT", "10-Q", "10-QT", "10-K/A", "10-KT/A", "10-Q/A", "10-QT/A"]

GetCompanyFinancialsInclude: TypeAlias = Literal["history"]

GetProvenanceInclude: TypeAlias = Literal["bytes", "replay"]

GetSchoolsGrade: TypeAlias = Literal["PK", "KG", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "UG", "AE"]

GetSnapshotFormat: TypeAlias = Literal["bytes"]

GetStatementsStatement: TypeAlias = Literal["income", "balance", "cash_flow", "all"]

JurisdictionType: TypeAlias = Literal["state", "county", "city", "special", "local"]

LicenseEvidence: TypeAlias = Literal["registry", "self_reported"]

LicenseProfession: TypeAlias = Literal["general_contractor", "specialty_contractor", "electrician", "plumber", "hvac", "roofer", "architect", "engineer", "land_surveyor", "real_estate_broker", "real_estate_salesperson", "appraiser", "cosmetologist", "barber", "accountant", "attorney", "physician", "physician_assistant", "nurse_rn", "nurse_lpn", "nurse_aprn", "dentist", "dental_hygienist", "pharmacist", "physical_therapist", "chiropractor", "psychologist", "counselor", "social_worker", "veterinarian", "optometrist", "massage_therapist", "insurance_producer", "security_guard", "private_investigator", "funeral_director", "home_inspector", "tow_operator", "elevator", "boiler", "municipal_business", "other", "unknown"]

LicenseStatus: TypeAlias = Literal["active", "expired", "inactive", "suspended", "revoked", "surrendered", "probation", "pending", "retired", "deceased", "cancelled", "closed", "void", "unknown"]

LicenseWorkersCompCoverage: TypeAlias = Literal["policy", "exempt", "none", "unknown"]

Licenses: TypeAlias = "list[LicenseMatch]"

ListCountyLocationsInclude: TypeAlias = Literal["provenance"]

ListMetricAreasSort: TypeAlias = Literal["value_desc", "value_asc", "id"]

MetricKey: TypeAlias = Literal["population", "median_age", "households", "median_household_income", "median_home_value", "median_gross_rent", "owner_occupied_share", "renter_occupied_share", "high_school_attainment", "bachelors_attainment", "poverty_rate", "unemployment_rate"]

MetricNullReason: TypeAlias = Literal["insufficient_sample", "not_applicable", "suppressed", "not_published", "zero_universe", "open_ended_interval", "unknown_special_value", "not_in_survey", "quarantined"]

MetricUnit: TypeAlias = Literal["persons", "years", "households", "usd", "percent"]

Metrics: TypeAlias = "dict[str, Metric]"

MoeStatus: TypeAlias = Literal["published", "controlled", "not_published", "not_fetched", "open_ended"]

NameMatchType: TypeAlias = Literal["exact", "normalized", "prefix", "token", "misspelled", "former_name", "dba", "principal"]

NearbyZipBasis: TypeAlias = Literal["centroid"]

NearbyZips: TypeAlias = "list[NearbyZip]"

PageTotalRelation: TypeAlias = Literal["eq", "gte"]

PartyType: TypeAlias = Literal["person", "organization"]

PeriodType: TypeAlias = Literal["annual", "quarterly"]

PermitAddressGeocodeSource: TypeAlias = Literal["source"]

PermitContactRole: TypeAlias = Literal["contractor", "owner", "applicant", "architect", "engineer", "expediter", "tenant", "other", "unknown"]

PermitContractorLinkConfidence: TypeAlias = Literal["stated", "likely"]

PermitContractorLinkMethod: TypeAlias = Literal["exact_number", "name_and_state"]

PermitPropertyClass: TypeAlias = Literal["residential", "non_residential"]

PermitStatus: TypeAlias = Literal["in_review", "active", "final", "inactive", "unknown"]

PermitTags: TypeAlias = Literal["solar", "ev_charger", "adu", "hvac", "roofing", "battery", "pool", "generator", "kitchen", "bathroom", "deck", "garage"]

PermitTagsBasis: TypeAlias = Literal["derived"]

PermitType: TypeAlias = Literal["building", "demolition", "electrical", "mechanical", "plumbing", "roof", "fence", "grading", "pool_spa", "sign", "fire", "solar", "other", "unknown"]

PermitWorkClass: TypeAlias = Literal["new", "existing"]

Permits: TypeAlias = "list[Permit]"

ProblemCode: TypeAlias = Literal["invalid_parameter", "missing_parameter", "unknown_parameter", "invalid_cursor", "invalid_json", "batch_too_large", "ambiguous_identifier", "missing_api_key", "invalid_api_key", "insufficient_permission", "not_found", "route_not_found", "method_not_allowed", "coverage_unavailable", "rate_limited", "internal_error", "busy"]

PropertyMatchQuality: TypeAlias = Literal["exact", "street_and_zip", "unit_ignored"]

ReceiptRecord: TypeAlias = "dict[str, Any]"

RecordReferences: TypeAlias = "list[RecordReference]"

ReplayVerdict: TypeAlias = Literal["match", "mismatch", "not_possible"]

RestatementKind: TypeAlias = Literal["value", "concept", "split", "scale_error"]

SaleItemCategory: TypeAlias = Literal["general", "food_drug", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing", "exempt"]

SchoolsOriginBasis: TypeAlias = Literal["zcta_internal_point"]

Scope: TypeAlias = Literal["general", "geo", "sec", "stream", "admin"]

SearchBusinessesMatch: TypeAlias = Literal["best", "exact", "prefix"]

SearchPermitsDateField: TypeAlias = Literal["issued", "applied", "completed", "status"]

SearchPermitsSort: TypeAlias = Literal["date_desc", "value_desc"]

SecFinancialValueChange: TypeAlias = Literal["first", "equal", "rounding", "value", "split", "scale_error", "concept_changed", "other_date", "other_scope", "zero"]

SecStatementLineStatement: TypeAlias = Literal["income", "balance", "cash_flow"]

SnapshotReportFileFor: TypeAlias = Literal["nobody", "keys", "administrators"]

SourceBytesShown: TypeAlias = Literal["whole", "published", "withheld", "unavailable"]

SourceTable: TypeAlias = "dict[str, ListedSource]"

SourcingPlace: TypeAlias = Literal["destination", "origin"]

StatementLineNullReason: TypeAlias = Literal["not_reported"]

StatementsCurrency: TypeAlias = Literal["USD"]

StatusBasis: TypeAlias = Literal["source", "shared_vocabulary", "derived_from_expiration", "implied_by_dataset"]

TaxBatch: TypeAlias = "list[TaxBatchItem]"

TaxCalculationRequestExemption: TypeAlias = Literal["none", "resale", "government", "nonprofit"]

TaxCalculationRequestRounding: TypeAlias = Literal["line", "invoice"]

TaxCalculationShippingTaxableBasis: TypeAlias = Literal["request", "state", "unknown"]

TaxCalculationUnknownPart: TypeAlias = Literal["line_items", "shipping"]

TaxCategory: TypeAlias = Literal["general", "food_drug", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing"]

TaxCoverageLevel: TypeAlias = Literal["full", "partial", "state_only", "none"]

TaxMatchLevel: TypeAlias = Literal["address", "zip9", "zip5", "zip5_consensus", "zip5_lowest", "place", "county", "state"]

TaxStateSourcing: TypeAlias = Literal["destination", "origin", "mixed"]

TaxTaxabilityClass: TypeAlias = Literal["general", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing", "shipping"]

TaxTaxabilityLevel: TypeAlias = Literal["state", "local"]

TaxTaxabilityTaxable: TypeAlias = Literal["yes", "no", "partly"]

TaxTaxabilityThresholdKind: TypeAlias = Literal["exempt_below_per_item", "taxed_above_per_item", "rate_above_per_item", "taxed_to_per_item"]

ValidationStatus: TypeAlias = Literal["passed", "passed_with_warnings"]

VerificationNameMatch: TypeAlias = Literal["exact", "partial", "none"]

VerificationResult: TypeAlias = Literal["match", "multiple_matches", "no_match"]

ZipBatch: TypeAlias = "list[ZipBatchItem]"

ZipCountyBasis: TypeAlias = Literal["land_area", "named_place"]

ZipDemographics: TypeAlias = "dict[str, Any]"

ZipField: TypeAlias = Literal["type", "type_raw", "city", "other_cities", "state", "military_region", "state_name", "state_fips", "county", "counties", "lat", "lon", "coordinate_accuracy", "zcta", "land_area_sqmi", "water_area_sqmi", "timezone", "timezone_basis", "timezone_null_reason", "demographics", "sales_tax", "sales_tax_null_reason"]

ZipSalesTaxCoverage: TypeAlias = Literal["full", "partial"]

ZipSalesTaxNullReason: TypeAlias = Literal["local_rates_not_covered", "city_not_listed", "rate_not_published"]

ZipTimezoneBasis: TypeAlias = Literal["county", "state"]

ZipTimezoneNullReason: TypeAlias = Literal["county_is_divided", "state_is_divided", "military", "not_listed", "list_not_read"]

ZipType: TypeAlias = Literal["standard", "po_box_or_unique", "military", "unknown"]

ZipZctaMatch: TypeAlias = Literal["same_code", "spatial_join", "none"]


class AreaFigures(TypedDict):
    bound: float | None
    bound_type: BoundType | None
    moe: float | None
    moe_approximate: float | None
    moe_status: MoeStatus
    null_reason: MetricNullReason | None
    qualifier: str | None
    record_id: str | None
    value: float | None


class BuildCause(TypedDict):
    after: str | None
    before: str | None
    cause: BuildCauseCause


class Business(TypedDict):
    addresses: list[BusinessAddress]
    county: str | None
    entity_id: str
    entity_number: str
    entity_type: BusinessEntityType
    entity_type_basis: BusinessEntityTypeBasis | None
    entity_type_raw: str | None
    formation_date: str | None
    identifiers: list[BusinessIdentifier]
    is_foreign: bool | None
    jurisdiction_of_formation: str | None
    last_report: BusinessLastReport | None
    last_transaction_date: str | None
    name: str
    name_normalized: str
    names: list[BusinessName]
    officers: list[BusinessOfficer]
    officers_complete: bool | None
    principal_city: str | None
    principal_state: str | None
    principal_zip: str | None
    provenance: Provenance
    registered_agent: BusinessRegisteredAgent | None
    registered_agent_name: str | None
    registry_url: str | None
    source_fields: NotRequired[dict[str, str]]
    state: str
    status: BusinessEntityStatus
    status_basis: StatusBasis
    status_raw: str | None
    warnings: list[str]


class BusinessAddress(TypedDict):
    city: str | None
    country: str | None
    line1: str | None
    line2: str | None
    raw: str
    role: BusinessAddressRole
    state: str | None
    zip: str | None
    zip4: str | None


class BusinessAnswer(TypedDict):
    data: Business
    meta: Meta


class BusinessIdentifier(TypedDict):
    scheme: BusinessIdentifierScheme
    value: str


class BusinessLastReport(TypedDict):
    filed_date: str | None
    year: int | None


class BusinessMatch(TypedDict):
    entity_id: str
    entity_number: str
    entity_type: BusinessEntityType
    entity_type_basis: BusinessEntityTypeBasis | None
    entity_type_raw: str | None
    formation_date: str | None
    is_foreign: bool | None
    jurisdiction_of_formation: str | None
    match: NameMatch
    name: str
    name_normalized: str
    principal_city: str | None
    principal_state: str | None
    principal_zip: str | None
    provenance: Provenance
    registered_agent_name: str | None
    state: str
    status: BusinessEntityStatus
    status_basis: StatusBasis
    status_raw: str | None


BusinessName = TypedDict(
    "BusinessName",
    {
        "from": "str | None",
        "name": "str",
        "to": "str | None",
        "type": "BusinessNameType",
    },
)


class BusinessOfficer(TypedDict):
    address: BusinessOfficerAddress | None
    name: str
    record_id: str
    title: BusinessOfficerTitle
    title_raw: str | None
    type: PartyType | None


class BusinessOfficerAddress(TypedDict):
    city: str | None
    line1: str | None
    state: str | None
    zip: str | None


class BusinessRegisteredAgent(TypedDict):
    address: BusinessRegisteredAgentAddress | None
    name: str
    type: PartyType | None


class BusinessRegisteredAgentAddress(TypedDict):
    city: str | None
    country: str | None
    line1: str | None
    line2: str | None
    state: str | None
    zip: str | None
    zip4: str | None


class BusinessesAnswer(TypedDict):
    data: Businesses
    meta: Meta


Catalog = TypedDict(
    "Catalog",
    {
        "@id": "str",
        "@type": "str",
        "conformsTo": "DcatStandard",
        "contactPoint": "list[DcatContact]",
        "dataset": "list[DcatDataset]",
        "description": "str",
        "homepage": "DcatDocument",
        "language": "list[str]",
        "modified": "str",
        "title": "str",
    },
)


class Chain(TypedDict):
    build: ChainBuild
    derivations: list[ChainDerivation]
    formula: str | None
    part: ChainPart
    record: ChainRecord
    release: ChainRelease
    replay: NotRequired[Replay]
    sources: list[ChainSource]


class ChainAnswer(TypedDict):
    data: Chain
    meta: Meta


class ChainBuild(TypedDict):
    built_at: str | None
    input_hash: str | None
    licence: str | None
    pipeline_id: str | None
    publisher: str | None
    task_id: str


class ChainDerivation(TypedDict):
    column: str
    rule: str


class ChainPart(TypedDict):
    path: str
    rows: int
    sha256: str
    size_bytes: int


class ChainRecord(TypedDict):
    columns: dict[str, str | float | bool | list[str] | None]
    dataset_id: str
    record_id: str
    schema_version: str | None
    validation_status: str


class ChainRelease(TypedDict):
    channel: str
    pubdata_version: str
    published_at: str
    release_id: str
    run_id: str


class ChainSource(TypedDict):
    bytes: NotRequired[SourceBytes]
    commands: NotRequired[list[str]]
    length: int
    member: str | None
    member_digest: str | None
    offset: int
    snapshot: ChainSourceSnapshot
    source_id: str


class ChainSourceSnapshot(TypedDict):
    fetched_at: str | None
    mirror: str | None
    obtained: ChainSourceSnapshotObtained | None
    redirected_through: list[str]
    sha256: str
    size_bytes: int | None
    source_date: str | None
    source_version: str | None
    url: str | None


Changes = TypedDict(
    "Changes",
    {
        "datasets": "list[DatasetChange]",
        "from": "ReleaseName",
        "tasks": "list[ChangesTask]",
        "to": "ReleaseName",
    },
)


class ChangesAnswer(TypedDict):
    data: Changes
    meta: Meta


class ChangesTask(TypedDict):
    causes: list[BuildCause]
    inputs: list[InputChange]
    task_id: str


class ChannelMove(TypedDict):
    action: ChannelMoveAction
    datasets: int | None
    generation: int
    is_current: bool
    is_kept: bool
    is_sample: bool | None
    moved_at: str
    parts: int | None
    published_at: str | None
    release_id: str
    rows: int | None
    run_id: str | None
    size_bytes: int | None


class ChosenFigures(TypedDict):
    """Figures of the metrics that `metric` names, by metric key."""
    bachelors_attainment: NotRequired[AreaFigures]
    high_school_attainment: NotRequired[AreaFigures]
    households: NotRequired[AreaFigures]
    median_age: NotRequired[AreaFigures]
    median_gross_rent: NotRequired[AreaFigures]
    median_home_value: NotRequired[AreaFigures]
    median_household_income: NotRequired[AreaFigures]
    owner_occupied_share: NotRequired[AreaFigures]
    population: NotRequired[AreaFigures]
    poverty_rate: NotRequired[AreaFigures]
    renter_occupied_share: NotRequired[AreaFigures]
    unemployment_rate: NotRequired[AreaFigures]


class CompaniesAnswer(TypedDict):
    data: Companies
    meta: Meta


class Company(TypedDict):
    business_address: CompanyBusinessAddress | None
    cik: str
    entity_type: str | None
    filer_category: str | None
    filer_statuses: list[str]
    filings: CompanyFilings
    fiscal_year_end: str | None
    former_names: list[CompanyFormerName]
    fund_classes: list[CompanyFundClass]
    investor_website: str | None
    lei: str | None
    metrics_available: list[CompanyMetricsAvailable]
    name: str | None
    provenance: Provenance
    sic: str | None
    sic_description: str | None
    state_of_incorporation: str | None
    state_of_incorporation_name: str | None
    successions: list[CompanySuccession]
    tickers: list[CompanyTicker]
    website: str | None


class CompanyAnswer(TypedDict):
    data: Company
    meta: Meta


class CompanyBusinessAddress(TypedDict):
    city: str | None
    country: str | None
    country_code: str | None
    postal_code: str | None
    state_or_country: str | None
    state_or_country_name: str | None
    street_1: str | None
    street_2: str | None


class CompanyFilings(TypedDict):
    """Number of periodic reports of each kind."""
    annual: ReportCount
    quarterly: ReportCount


CompanyFormerName = TypedDict(
    "CompanyFormerName",
    {
        "from": "str | None",
        "name": "str",
        "to": "str | None",
    },
)


class CompanyFundClass(TypedDict):
    class_id: str
    series_id: str
    symbol: str


class CompanyMatch(TypedDict):
    cik: str
    exchanges: list[str | None]
    former_name_matched: str | None
    match: CompanyNameMatch
    name: str | None
    provenance: Provenance
    sic: str | None
    sic_description: str | None
    tickers: list[str]


class CompanyMetricsAvailable(TypedDict):
    first_fiscal_year: int | None
    last_fiscal_year: int | None
    metric: FinancialMetric
    period: PeriodType
    reason_if_none: str | None
    values: int


class CompanyNameMatch(TypedDict):
    """How well a registrant matches a search."""
    score: float
    type: CompanyNameMatchType


class CompanySuccession(TypedDict):
    """A filing in which a registrant reports that it succeeds another registrant."""
    accession_number: str
    filed_date: str
    form: str
    primary_document_url: str | None


class CompanyTicker(TypedDict):
    exchange: str | None
    ticker: str


class CompareRequest(TypedDict):
    locations: list[str]
    metrics: NotRequired[list[MetricKey]]
    vintage: NotRequired[int | None]


class ComparedMetric(TypedDict):
    """Comparison of one metric between the two areas."""
    difference: float | None
    difference_moe: float | None
    margin_basis: ComparedMetricMarginBasis | None
    metric: MetricKey
    reason: ComparedMetricReason | None
    significant_at_90: bool | None
    unit: MetricUnit
    universe: str | None
    values: list[ComparedMetricValue]
    z: float | None


class ComparedMetricValue(TypedDict):
    bound: float | None
    bound_type: BoundType | None
    id: str
    moe: float | None
    moe_approximate: float | None
    moe_status: MoeStatus
    null_reason: MetricNullReason | None
    qualifier: str | None
    record_id: str | None
    value: float | None


class ComparedValue(TypedDict):
    """Without a value, the fields that describe its report are null."""
    accession_number: str | None
    as_of_date: str | None
    cik: str
    concept: str | None
    concept_changed: bool | None
    conflicts: list[str]
    evidence_url: str | None
    filed_date: str | None
    first_reported: ReportedValue | None
    fiscal_period: FiscalPeriod | None
    fiscal_year: int | None
    form: str | None
    is_amendment: bool | None
    is_restated: bool | None
    is_ytd: bool | None
    metric: FinancialMetric
    name: str | None
    null_reason: str | None
    period_end: str | None
    period_start: str | None
    provenance: Provenance | None
    restatement_kind: RestatementKind | None
    unit: FinancialUnit
    value: float | None
    warnings: list[str]


class Comparison(TypedDict):
    comparisons: list[ComparedMetric]
    locations: list[Geography]
    provenance: list[Provenance]
    vintage: Vintage


class ComparisonAnswer(TypedDict):
    data: Comparison
    meta: Meta


class Contractor(TypedDict):
    address: LicenseAddress | None
    board: str
    bond: LicenseBond | None
    classifications: list[LicenseClassification]
    disciplinary_actions: list[DisciplinaryAction]
    effective_date: str | None
    evidence: LicenseEvidence
    expiration_date: str | None
    holder: LicenseHolder
    insurance: LicenseInsurance | None
    issue_date: str | None
    last_renewed_date: str | None
    license_class: str | None
    license_id: str
    linking: ContractorLinking
    number: str
    number_raw: str
    permit_summary: PermitSummary
    permits: list[PermitOfContractor]
    phone: str | None
    profession: LicenseProfession
    profession_basis: BusinessEntityTypeBasis | None
    profession_raw: str
    provenance: Provenance
    secondary_status_raw: str | None
    state: str
    status: LicenseStatus | None
    status_basis: StatusBasis
    status_raw: str | None
    suspended_date: str | None
    verify_url: str | None
    warnings: list[str]
    workers_comp: WorkersComp | None


class ContractorAnswer(TypedDict):
    data: Contractor
    meta: Meta


class ContractorLinking(TypedDict):
    jurisdictions_with_license_numbers: list[str]
    methods: ContractorLinkingMethods


class ContractorLinkingMethods(TypedDict):
    exact_number: int
    name_and_state: int


class CountyLocations(TypedDict):
    geography: Geography
    geography_provenance: Provenance | None
    locations: list[CountyLocationsLocation]
    provenance: NotRequired[SourceTable]
    vintage: Vintage


class CountyLocationsAnswer(TypedDict):
    data: CountyLocations
    meta: Meta


class CountyLocationsLocation(TypedDict):
    geography: Geography
    is_primary: bool
    land_share: float | None
    metrics: ChosenFigures
    part_record_id: str | None
    provenance: NotRequired[RecordReferences]


class CoverageReport(TypedDict):
    datasets: list[DatasetCoverage]
    without_records: list[CoverageReportWithoutRecord]


class CoverageReportAnswer(TypedDict):
    data: CoverageReport
    meta: Meta


class CoverageReportWithoutRecord(TypedDict):
    dataset_id: str
    title: str


class CreatedKey(TypedDict):
    created_at: str
    expires_at: str | None
    is_valid: bool
    key: str
    key_id: str
    name: str
    plan: str
    previous_secret_valid_until: str | None
    revoked_at: str | None
    rotated_at: str | None
    scopes: list[Scope]


class CreatedKeyAnswer(TypedDict):
    data: CreatedKey
    meta: Meta


Croissant = TypedDict(
    "Croissant",
    {
        "@context": "dict[str, str | dict[str, str]]",
        "@type": "str",
        "citeAs": "str",
        "conditionsOfAccess": "str",
        "conformsTo": "str",
        "creator": "list[NamedOrganization]",
        "creditText": "str",
        "dateModified": "str",
        "datePublished": "str",
        "description": "str",
        "distribution": "list[CroissantFile]",
        "identifier": "str",
        "inLanguage": "str",
        "includedInDataCatalog": "NamedCatalog",
        "isBasedOn": "list[str]",
        "keywords": "list[str]",
        "license": "list[NamedWork]",
        "name": "str",
        "recordSet": "list[CroissantRecordSet]",
        "temporalCoverage": "NotRequired[str]",
        "url": "str",
        "version": "str",
    },
)


class CroissantExtract(TypedDict):
    column: str


CroissantField = TypedDict(
    "CroissantField",
    {
        "@id": "str",
        "@type": "str",
        "arrayShape": "NotRequired[str]",
        "dataType": "CroissantFieldDataType",
        "description": "str",
        "isArray": "NotRequired[bool]",
        "name": "str",
        "source": "CroissantSource",
    },
)


CroissantFile = TypedDict(
    "CroissantFile",
    {
        "@id": "str",
        "@type": "CroissantFileType",
        "contentSize": "NotRequired[str]",
        "contentUrl": "NotRequired[str]",
        "description": "str",
        "encodingFormat": "list[str]",
        "includes": "NotRequired[str]",
        "name": "str",
        "sha256": "NotRequired[str]",
    },
)


CroissantRecordSet = TypedDict(
    "CroissantRecordSet",
    {
        "@id": "str",
        "@type": "str",
        "description": "str",
        "field": "list[CroissantField]",
        "key": "list[CroissantReference]",
        "name": "str",
    },
)


CroissantReference = TypedDict(
    "CroissantReference",
    {
        "@id": "str",
    },
)


class CroissantSource(TypedDict):
    extract: CroissantExtract
    fileObject: NotRequired[CroissantReference]
    fileSet: NotRequired[CroissantReference]


class Dataset(TypedDict):
    cadence_days: int | None
    columns: list[DatasetColumn]
    contract_version: str | None
    credit: str
    dataset_id: str
    expected: list[DatasetExpected]
    family: str
    findings: list[SourceFinding]
    freshness: Freshness
    grain: str | None
    history: list[DatasetHistory]
    homepage: str
    is_sample: bool
    late_since: str | None
    licence: str
    not_covered: list[str]
    partition_by: list[str]
    partitions: list[DatasetPartition]
    primary_key: list[str]
    published_at: str
    publisher: str
    quarantined: dict[str, int]
    quarantined_rows: int
    rows: int
    rules: list[DatasetRule]
    schema_version: str
    serves: list[str]
    sort_by: list[str]
    source_date: str | None
    title: str | None
    validation_status: ValidationStatus
    warnings: dict[str, int]
    words: list[KnownWords]


class DatasetAnswer(TypedDict):
    data: Dataset
    meta: Meta


class DatasetChange(TypedDict):
    changed_parts: list[DatasetChangeChangedPart]
    dataset_id: str
    parts: DatasetChangeParts
    rows_after: int | None
    rows_before: int | None


class DatasetChangeChangedPart(TypedDict):
    change: DatasetChangeChangedPartChange
    partition: dict[str, str]
    path: str
    rows_after: int | None
    rows_before: int | None
    sha256_after: str | None
    sha256_before: str | None
    task_id: str


class DatasetChangeParts(TypedDict):
    added: int
    changed: int
    removed: int
    unchanged: int


class DatasetColumn(TypedDict):
    decimals: int | None
    description: str
    digits: int | None
    maximum: float | None
    meaning: str
    minimum: float | None
    name: str
    nullable: bool
    type: DatasetColumnType
    unit: str | None
    values: list[str]


class DatasetCoverage(TypedDict):
    dataset_id: str
    findings: list[SourceFinding]
    freshness: Freshness
    geography_types: list[DatasetCoverageGeographyType]
    grain: str | None
    homepage: str
    is_sample: bool
    is_stale: bool
    licence: str
    lists: list[DatasetCoverageList]
    not_covered: list[str]
    outcomes: NotRequired[dict[str, int]]
    partitions: list[DatasetPartition]
    published_at: str
    publisher: str
    quarantined: dict[str, int]
    quarantined_rows: int
    reach: Reach
    reach_by_layout: DatasetCoverageReachByLayout
    rows: int
    schema_version: str
    source_date: str | None
    source_rows: list[DatasetCoverageSourceRow]
    source_versions: list[DatasetCoverageSourceVersion]
    state: DatasetCoverageState
    title: str | None
    validation_status: ValidationStatus
    vintages: list[Vintage]
    warnings: dict[str, int]
    words: list[KnownWords]


class DatasetCoverageGeographyType(TypedDict):
    count: int
    geography_type: str


class DatasetCoverageList(TypedDict):
    """Contents, gaps and reach of one list in a dataset."""
    first_date: str | None
    freshness: Freshness | None
    gaps: list[str]
    kinds: list[str]
    last_date: str | None
    list: str
    name: str
    reach: Reach
    records: int
    state: str


class DatasetCoverageReachByLayout(TypedDict):
    """Population covered by lists, grouped by the evidence for their layout."""
    documented: ReachOfLists
    seen: ReachOfLists


class DatasetCoverageSourceRow(TypedDict):
    left_out: dict[str, int]
    merged: int
    quarantined: int
    read: int
    records: int
    source_id: str


class DatasetCoverageSourceVersion(TypedDict):
    source_id: str
    source_version: str


class DatasetExpected(TypedDict):
    late_from: str
    source_id: str


class DatasetHistory(TypedDict):
    published_at: str
    quarantined_rows: int
    release_id: str
    rows: int


class DatasetLine(TypedDict):
    columns: int | None
    dataset_id: str
    family: str
    freshness: Freshness
    grain: str | None
    homepage: str
    late_since: str | None
    licence: str
    parts: int
    publisher: str
    quarantined_rows: int
    rows: int
    size_bytes: int
    source_date: str | None
    title: str | None


class DatasetPartition(TypedDict):
    built_at: str | None
    evidence: list[DatasetPartitionEvidence]
    is_stale: bool
    late_since: str | None
    layout_evidence: DatasetPartitionLayoutEvidence | None
    notes: list[str]
    partition: dict[str, str]
    quarantined_rows: int
    rows: int
    source_date: str | None
    stale_reason: str | None


class DatasetPartitionEvidence(TypedDict):
    kind: DatasetPartitionEvidenceKind
    seen: str
    source_id: str


class DatasetRule(TypedDict):
    code: str
    columns: list[str]
    description: str
    rule: DatasetRuleRule
    severity: DatasetRuleSeverity


class Datasets(TypedDict):
    datasets: list[DatasetLine]


class DatasetsAnswer(TypedDict):
    data: Datasets
    meta: Meta


DcatAgent = TypedDict(
    "DcatAgent",
    {
        "@type": "str",
        "name": "str",
    },
)


DcatChecksum = TypedDict(
    "DcatChecksum",
    {
        "@type": "str",
        "algorithm": "str",
        "checksumValue": "str",
    },
)


DcatContact = TypedDict(
    "DcatContact",
    {
        "@type": "str",
        "fn": "str",
        "hasEmail": "str",
    },
)


DcatDataset = TypedDict(
    "DcatDataset",
    {
        "@id": "str",
        "@type": "str",
        "accessRights": "str",
        "accrualPeriodicity": "str | None",
        "contactPoint": "list[DcatContact]",
        "describedBy": "DcatLink",
        "description": "str",
        "distribution": "list[DcatDistribution]",
        "identifier": "DcatIdentifier",
        "keyword": "list[str]",
        "landingPage": "DcatDocument",
        "language": "list[str]",
        "metadataDistribution": "list[DcatLink]",
        "modified": "str | None",
        "provenance": "list[str]",
        "publisher": "DcatOrganization",
        "relation": "list[str]",
        "rights": "list[str]",
        "temporal": "list[DcatPeriod]",
        "title": "str",
        "version": "str",
        "wasAttributedTo": "list[DcatAgent]",
    },
)


DcatDistribution = TypedDict(
    "DcatDistribution",
    {
        "@type": "str",
        "accessRights": "str",
        "accessURL": "str",
        "byteSize": "NotRequired[str]",
        "checksum": "NotRequired[DcatChecksum]",
        "description": "str",
        "downloadURL": "NotRequired[str]",
        "format": "str",
        "issued": "str",
        "license": "str",
        "mediaType": "str",
        "title": "str",
    },
)


DcatDocument = TypedDict(
    "DcatDocument",
    {
        "@type": "str",
        "accessURL": "str",
        "title": "str",
    },
)


DcatIdentifier = TypedDict(
    "DcatIdentifier",
    {
        "@type": "str",
        "notation": "str",
    },
)


DcatLink = TypedDict(
    "DcatLink",
    {
        "@type": "str",
        "downloadURL": "str",
        "mediaType": "str",
        "title": "str",
    },
)


DcatOrganization = TypedDict(
    "DcatOrganization",
    {
        "@type": "str",
        "name": "str",
    },
)


DcatPeriod = TypedDict(
    "DcatPeriod",
    {
        "@type": "str",
        "endDate": "str",
        "startDate": "str",
    },
)


DcatStandard = TypedDict(
    "DcatStandard",
    {
        "@type": "str",
        "title": "str",
    },
)


class Demographics(TypedDict):
    demographics: Metrics
    geography: Geography
    geography_provenance: Provenance | None
    provenance: Provenance
    vintage: Vintage


class DemographicsAnswer(TypedDict):
    data: Demographics
    meta: Meta


class DisciplinaryAction(TypedDict):
    action: str
    case_number: str | None
    effective_date: str | None
    end_date: str | None
    record_id: str


class Download(TypedDict):
    caveats: list[str]
    citation: str
    credit: str
    csv: str | None
    dataset_id: str
    homepage: str
    licence: str
    parts: list[DownloadPart]
    publisher: str
    release_id: str
    rows: int
    schema_version: str
    size_bytes: int


class DownloadAnswer(TypedDict):
    data: Download
    meta: Meta


class DownloadPart(TypedDict):
    parquet: str
    partition: dict[str, str]
    path: str
    rows: int
    sha256: str
    size_bytes: int


class FieldError(TypedDict):
    code: ProblemCode
    field: str
    message: str


class Filing(TypedDict):
    """A filing found by a search."""
    accepted_at: str | None
    accession_number: str
    act: str | None
    entities: list[FilingEntity]
    file_number: str | None
    filed_date: str
    film_number: str | None
    form: str
    form_description: str | None
    has_inline_xbrl: bool | None
    has_xbrl: bool | None
    index_url: str | None
    is_amendment: bool
    items: list[str]
    period_of_report: str | None
    primary_cik: str
    primary_document_description: str | None
    primary_document_url: str | None
    provenance: Provenance
    size_bytes: int | None
    text_url: str | None


class FilingEntity(TypedDict):
    """A party of a filing, from the source or from the release's data about the registrant."""
    cik: str
    name: str | None
    role: None
    sic: str | None
    state: str | None
    ticker: str | None


class FilingsAnswer(TypedDict):
    data: Filings
    meta: Meta


class FinancialComparison(TypedDict):
    companies: list[FinancialComparisonCompany]
    known_at: str | None
    metric: FinancialMetric
    period_type: PeriodType
    periods: list[FinancialComparisonPeriod]
    span: FinancialComparisonSpan | None
    unit: str


class FinancialComparisonAnswer(TypedDict):
    data: FinancialComparison
    meta: Meta


class FinancialComparisonCompany(TypedDict):
    cik: str
    name: str | None
    null_reason: str | None


class FinancialComparisonPeriod(TypedDict):
    fiscal_period: str
    fiscal_year: int
    values: list[ComparedValue]


class FinancialFrame(TypedDict):
    fiscal_year: int
    metric: FinancialMetric
    period_type: PeriodType
    span: FinancialComparisonSpan | None
    unit: str
    values: list[FinancialFrameValue]


class FinancialFrameAnswer(TypedDict):
    data: FinancialFrame
    meta: Meta


class FinancialFrameValue(TypedDict):
    accession_number: str
    cik: str
    evidence_url: str | None
    fiscal_period: FiscalPeriod | None
    is_ytd: bool
    name: str | None
    period_end: str
    period_start: str | None
    provenance: Provenance
    unit: FinancialUnit
    value: float


class FinancialSeries(TypedDict):
    metric: FinancialMetric
    null_reason: FinancialSeriesNullReason | None
    other_concepts: list[str]
    unit: str
    values: list[FinancialValue]


class FinancialValue(TypedDict):
    """The figure of a period, with its provenance."""
    accession_number: str
    as_of_date: str | None
    concept: str
    concept_changed: bool
    conflicts: list[str]
    evidence_url: str | None
    filed_date: str
    first_reported: ReportedValue | None
    fiscal_period: FiscalPeriod | None
    fiscal_year: int | None
    form: str
    history: NotRequired[list[ValueVersion]]
    is_amendment: bool
    is_restated: bool
    is_ytd: bool
    metric: FinancialMetric
    null_reason: None
    period_end: str | None
    period_start: str | None
    provenance: Provenance
    restatement_kind: RestatementKind | None
    unit: FinancialUnit
    value: float
    warnings: list[str]


class Financials(TypedDict):
    cik: str
    fiscal_year_from: int | None
    fiscal_year_to: int | None
    known_at: str | None
    name: str | None
    period_type: PeriodType
    series: list[FinancialSeries]
    span: FinancialComparisonSpan | None


class FinancialsAnswer(TypedDict):
    data: Financials
    meta: Meta


class Found(TypedDict):
    interpretations: list[FoundInterpretation]
    query: str
    results: list[FoundResult]


class FoundAnswer(TypedDict):
    data: Found
    meta: Meta


class FoundInterpretation(TypedDict):
    kind: str
    value: str


class FoundResult(TypedDict):
    id: str
    kind: FoundResultKind
    match: FoundResultMatch
    page: str
    path: str
    record_id: str | None
    subtitle: str
    title: str


class FoundResultMatch(TypedDict):
    score: float
    type: str


class Geography(TypedDict):
    """An area and its location."""
    id: str
    input_code: str
    internal_point: GeographyInternalPoint | None
    land_area_sqmi: float | None
    matched_by: GeographyMatchedBy
    name: str
    primary_county_basis: NotRequired[GeoGeographyPrimaryCountyBasis | None]
    primary_county_fips: str | None
    primary_county_land_share: NotRequired[float | None]
    primary_county_name: NotRequired[str | None]
    primary_state_code: str | None
    record_id: str | None
    type: GeographyType


class GeographyInternalPoint(TypedDict):
    lat: float
    lon: float


class InputChange(TypedDict):
    after: SourceFile | None
    before: SourceFile | None


class Invitation(TypedDict):
    expires_at: str
    key_expires_in_days: int | None
    limits: PlanLimits
    name: str
    plan: str
    scopes: list[Scope]


class InvitationAnswer(TypedDict):
    data: Invitation
    meta: Meta


class InvitationRequest(TypedDict):
    token: str


class Key(TypedDict):
    created_at: str
    expires_at: str | None
    is_valid: bool
    key_id: str
    name: str
    plan: str
    previous_secret_valid_until: str | None
    revoked_at: str | None
    rotated_at: str | None
    scopes: list[Scope]


class KeyAnswer(TypedDict):
    data: Key
    meta: Meta


class KeyList(TypedDict):
    keys: list[Key]


class KeyListAnswer(TypedDict):
    data: KeyList
    meta: Meta


class KeyUsage(TypedDict):
    failed: int
    last_request_at: str | None
    rate_limited: int
    refused: int
    requests: int
    since: str


class KnownWords(TypedDict):
    column: str
    commonest_unknown: list[KnownWordsCommonestUnknown]
    is_meaning_lost: bool
    known_share: float
    rows: int
    task_id: str
    unknown_rows: int


class KnownWordsCommonestUnknown(TypedDict):
    rows: int
    word: str


class License(TypedDict):
    """A license with its provenance."""
    address: LicenseAddress | None
    board: str
    bond: LicenseBond | None
    classifications: list[LicenseClassification]
    disciplinary_actions: list[DisciplinaryAction]
    effective_date: str | None
    evidence: LicenseEvidence
    expiration_date: str | None
    holder: LicenseHolder
    insurance: LicenseInsurance | None
    issue_date: str | None
    last_renewed_date: str | None
    license_class: str | None
    license_id: str
    number: str
    number_raw: str
    phone: str | None
    profession: LicenseProfession
    profession_basis: BusinessEntityTypeBasis | None
    profession_raw: str
    provenance: Provenance
    secondary_status_raw: str | None
    state: str
    status: LicenseStatus | None
    status_basis: StatusBasis
    status_raw: str | None
    suspended_date: str | None
    verify_url: str | None
    warnings: list[str]
    workers_comp: WorkersComp | None


class LicenseAddress(TypedDict):
    city: str | None
    county: str | None
    state: str | None
    zip: str | None


class LicenseBond(TypedDict):
    amount: float | None
    cancelled_date: str | None
    effective_date: str | None
    expiration_date: str | None
    surety: str | None


class LicenseClassification(TypedDict):
    """A class of work as a list writes it: `C-10=Electrical`, or the code alone."""
    code: str
    description: str | None


class LicenseHolder(TypedDict):
    business_name: str | None
    dba: str | None
    first: str | None
    last: str | None
    middle: str | None
    name: str
    principals: list[str]
    suffix: str | None
    type: PartyType | None


class LicenseInsurance(TypedDict):
    amount: float | None
    cancelled_date: str | None
    effective_date: str | None
    expiration_date: str | None
    insurer: str | None


class LicenseMatch(TypedDict):
    """A license with its search match."""
    address: LicenseAddress | None
    board: str
    bond: LicenseBond | None
    classifications: list[LicenseClassification]
    disciplinary_actions: list[DisciplinaryAction]
    effective_date: str | None
    evidence: LicenseEvidence
    expiration_date: str | None
    holder: LicenseHolder
    insurance: LicenseInsurance | None
    issue_date: str | None
    last_renewed_date: str | None
    license_class: str | None
    license_id: str
    match: NameMatch
    number: str
    number_raw: str
    phone: str | None
    profession: LicenseProfession
    profession_basis: BusinessEntityTypeBasis | None
    profession_raw: str
    provenance: Provenance
    secondary_status_raw: str | None
    state: str
    status: LicenseStatus | None
    status_basis: StatusBasis
    status_raw: str | None
    suspended_date: str | None
    verify_url: str | None
    warnings: list[str]
    workers_comp: WorkersComp | None


class LicensesAnswer(TypedDict):
    data: Licenses
    meta: Meta


class ListedSource(TypedDict):
    """Source of records in a list."""
    dataset_id: str
    schema_version: str
    source_date: str | None
    source_id: str | None
    source_mirror: str | None
    source_url: str | None
    source_version: str | None


class Me(TypedDict):
    key: Key | None
    limits: PlanLimits
    plan: str
    secret_valid_until: str | None
    usage: KeyUsage | None


class MeAnswer(TypedDict):
    data: Me
    meta: Meta


class Meta(TypedDict):
    coverage: NotRequired[MetaCoverage]
    datasets: list[MetaDataset]
    notices: list[Notice]
    page: NotRequired[Page]
    release: MetaRelease | None
    request_id: str


class MetaCoverage(TypedDict):
    geography_type: NotRequired[str]
    jurisdictions_searched: NotRequired[list[str]]
    scope: str
    states_searched: NotRequired[list[str]]


class MetaDataset(TypedDict):
    dataset_id: str
    freshness: Freshness
    published_at: str


class MetaRelease(TypedDict):
    channel: str
    release_id: str


class Metric(TypedDict):
    """One metric of an area, as answers show it."""
    bound: float | None
    bound_type: BoundType | None
    history: NotRequired[list[PastFigures]]
    key: MetricKey
    moe: float | None
    moe_approximate: float | None
    moe_status: MoeStatus
    null_reason: MetricNullReason | None
    provenance: NotRequired[Provenance]
    qualifier: str | None
    record_id: str | None
    source: Source | None
    unit: MetricUnit
    universe: str | None
    value: float | None
    warnings: list[str]


class MetricAreas(TypedDict):
    areas: list[MetricAreasArea]
    geography_type: GeographyType
    metric: MetricKey
    provenance: NotRequired[SourceTable]
    unit: MetricUnit
    universe: str | None
    vintage: Vintage


class MetricAreasAnswer(TypedDict):
    data: MetricAreas
    meta: Meta


class MetricAreasArea(TypedDict):
    bound: float | None
    bound_type: BoundType | None
    id: str
    moe: float | None
    moe_approximate: float | None
    moe_status: MoeStatus
    name: str
    null_reason: MetricNullReason | None
    provenance: NotRequired[RecordReferences]
    qualifier: str | None
    rank: int | None
    record_id: str | None
    state_code: str | None
    value: float | None


class NameMatch(TypedDict):
    """How a record matches a search by name."""
    score: float
    type: NameMatchType


NamedCatalog = TypedDict(
    "NamedCatalog",
    {
        "@type": "str",
        "name": "str",
        "url": "str",
    },
)


NamedOrganization = TypedDict(
    "NamedOrganization",
    {
        "@type": "str",
        "name": "str",
    },
)


NamedWork = TypedDict(
    "NamedWork",
    {
        "@type": "str",
        "name": "str",
        "url": "NotRequired[str]",
    },
)


class NearbyZip(TypedDict):
    basis: NearbyZipBasis
    city: str
    distance_mi: float
    lat: float
    lon: float
    provenance: Provenance
    state: str
    type: ZipType
    zip: str


class NearbyZipsAnswer(TypedDict):
    data: NearbyZips
    meta: Meta


class NewKeyRequest(TypedDict):
    expires_in_days: NotRequired[int | None]
    name: str
    plan: NotRequired[str | None]
    scopes: list[Scope]


class Notice(TypedDict):
    code: str
    message: str


class Page(TypedDict):
    count: int
    limit: int
    next_cursor: str | None
    total: int
    total_relation: PageTotalRelation


class PastFigures(TypedDict):
    """Figures of a metric in one vintage."""
    bound: float | None
    bound_type: BoundType | None
    moe: float | None
    moe_approximate: float | None
    moe_status: MoeStatus
    null_reason: MetricNullReason | None
    provenance: Provenance | None
    qualifier: str | None
    record_id: str | None
    value: float | None
    vintage: Vintage


class Permit(TypedDict):
    address: PermitAddress
    applied_date: str | None
    completed_date: str | None
    contractors: list[PermitContractor]
    description: str | None
    expires_date: str | None
    fees: float | None
    housing_units: float | None
    is_expired: bool | None
    issued_date: str | None
    job_value: float | None
    jurisdiction: PermitJurisdiction
    parcel: PermitParcel | None
    permit_id: str
    permit_number: str | None
    property_class: PermitPropertyClass | None
    property_class_raw: str | None
    property_id: str | None
    provenance: Provenance
    renewals: int | None
    source_url: str | None
    square_feet: float | None
    status: PermitStatus
    status_basis: BusinessEntityTypeBasis | None
    status_date: str | None
    status_detail: str | None
    status_raw: str | None
    stories: float | None
    sub_type_raw: str | None
    tags: list[PermitTags]
    tags_basis: PermitTagsBasis
    type: PermitType
    type_basis: BusinessEntityTypeBasis | None
    type_raw: str | None
    warnings: list[str]
    work_class: PermitWorkClass | None
    work_class_raw: str | None


class PermitAddress(TypedDict):
    city: str | None
    geocode_source: PermitAddressGeocodeSource | None
    lat: float | None
    line1: str | None
    line2: str | None
    lon: float | None
    normalized: str | None
    state: str | None
    zip: str | None


class PermitContractor(TypedDict):
    license_id: str | None
    license_number: str | None
    license_scheme: str | None
    link_confidence: PermitContractorLinkConfidence | None
    link_method: PermitContractorLinkMethod | None
    link_record_id: str | None
    name: str | None
    other_license_number: str | None
    other_license_scheme: str | None
    phone: str | None
    record_id: str
    role: PermitContactRole
    role_raw: str | None


class PermitJurisdiction(TypedDict):
    id: str
    name: str
    state: str


class PermitOfContractor(TypedDict):
    address: PermitAddress
    applied_date: str | None
    completed_date: str | None
    description: str | None
    expires_date: str | None
    fees: float | None
    housing_units: float | None
    is_expired: bool | None
    issued_date: str | None
    job_value: float | None
    jurisdiction: PermitJurisdiction
    parcel: PermitParcel | None
    permit_id: str
    permit_number: str | None
    property_class: PermitPropertyClass | None
    property_class_raw: str | None
    property_id: str | None
    provenance: Provenance
    renewals: int | None
    source_url: str | None
    square_feet: float | None
    status: PermitStatus
    status_basis: BusinessEntityTypeBasis | None
    status_date: str | None
    status_detail: str | None
    status_raw: str | None
    stories: float | None
    sub_type_raw: str | None
    tags: list[PermitTags]
    tags_basis: PermitTagsBasis
    type: PermitType
    type_basis: BusinessEntityTypeBasis | None
    type_raw: str | None
    warnings: list[str]
    work_class: PermitWorkClass | None
    work_class_raw: str | None


class PermitParcel(TypedDict):
    scheme: str | None
    value: str | None


class PermitSummary(TypedDict):
    by_jurisdiction: list[PermitSummaryByJurisdiction]
    by_status: dict[str, int]
    by_type: dict[str, int]
    count: int
    first_date: str | None
    implausible_values: int
    last_date: str | None
    total_job_value: float | None
    valued_count: int


class PermitSummaryByJurisdiction(TypedDict):
    count: int
    id: str


class PermitsAnswer(TypedDict):
    data: Permits
    meta: Meta


class PlanLimits(TypedDict):
    batch_items: int
    burst: int
    page_records: int
    requests_per_minute: int
    stream_sockets: int


class PlanList(TypedDict):
    plans: list[PlanListPlan]


class PlanListAnswer(TypedDict):
    data: PlanList
    meta: Meta


class PlanListPlan(TypedDict):
    is_for_keys: bool
    limits: PlanLimits
    plan: str


class Problem(TypedDict):
    """RFC 9457 problem details. `code` is stable; texts may change."""
    candidates: NotRequired[list[str]]
    code: ProblemCode
    detail: str
    errors: list[FieldError]
    instance: str
    request_id: str
    status: int
    title: str
    type: str


class Profile(TypedDict):
    geography: Geography
    geography_provenance: Provenance | None
    provenance: Provenance
    summary: Metrics
    vintage: Vintage


class ProfileAnswer(TypedDict):
    data: Profile
    meta: Meta


class Property(TypedDict):
    address: PropertyAddress | None
    lat: float | None
    lon: float | None
    match: PropertyMatch
    parcels: list[PropertyParcel]
    permit_summary: PermitSummary
    permits: list[Permit]
    property_id: str | None


class PropertyAddress(TypedDict):
    city: str | None
    line1: str
    normalized: str
    number: str | None
    postdirectional: str | None
    predirectional: str | None
    state: str | None
    street: str | None
    suffix: str | None
    zip: str | None


class PropertyAnswer(TypedDict):
    data: Property
    meta: Meta


class PropertyMatch(TypedDict):
    candidates: list[str]
    quality: PropertyMatchQuality


class PropertyParcel(TypedDict):
    scheme: str
    value: str


class Provenance(TypedDict):
    """Origin of a record."""
    dataset_id: str
    record_id: str
    schema_version: str
    source_date: str | None
    source_id: str | None
    source_mirror: str | None
    source_url: str | None
    source_version: str | None
    validation_status: ValidationStatus


class Reach(TypedDict):
    """Areas covered by the records, with their population by the Census Bureau's estimates, each person counted once. For `tax.state`, covers the states whose `coverage` is `full` and whose rates are found by boundaries or counties, or are the same in the entire state. States whose rates are found only by place names do not count."""
    areas: list[ReachArea]
    areas_without_estimate: int
    population: int | None
    population_share: float | None
    population_year: int | None


class ReachArea(TypedDict):
    geoid: str
    name: str | None
    population: int | None


class ReachOfLists(TypedDict):
    """Number of builds, and the population of their areas."""
    lists: int
    population: int | None
    population_share: float | None


class Receipt(TypedDict):
    checkpoint: str
    dataset: ReceiptDataset
    dataset_inclusion_proof: list[str]
    dataset_index: int
    format_version: Literal[1]
    log_inclusion_proof: list[str]
    log_index: int
    parts: list[ReceiptPart]
    record: ReceiptRecord | None
    record_id: str
    release: ReceiptRelease


class ReceiptAnswer(TypedDict):
    data: Receipt
    meta: Meta


class ReceiptDataset(TypedDict):
    """Description of the dataset as hashed in the release's tree."""
    dataset_id: str
    groups: list[ReceiptDatasetGroup]
    root: str


class ReceiptDatasetGroup(TypedDict):
    parts: str
    subjects_end_bytes: str


class ReceiptPart(TypedDict):
    inclusion_proof: list[str]
    index: int
    leaves: list[ReceiptPartLeave]
    part: ReceiptPartPart


class ReceiptPartLeave(TypedDict):
    inclusion_proof: list[str]
    index: int
    record_id: str
    record_sha256: str


class ReceiptPartPart(TypedDict):
    """Description of the part as hashed in the dataset's tree."""
    path: str
    records: str
    root: str
    sha256: str
    subjects_end: NotRequired[str]


class ReceiptRecordSourcePointer(TypedDict):
    length: str
    member: str | None
    offset: str
    snapshot: str
    source_id: str


class ReceiptRelease(TypedDict):
    """Description of the release as hashed in the log."""
    datasets: str
    manifest_sha256: str
    records_root: str
    release_id: str


class RecordEntry(TypedDict):
    causes: list[BuildCause]
    changes: list[RecordEntryChange]
    first: ReleaseName
    inputs: list[InputChange]
    is_present: bool
    last: ReleaseName
    releases: int


class RecordEntryChange(TypedDict):
    after: str | float | bool | list[str] | None
    before: str | float | bool | list[str] | None
    column: str


class RecordHistory(TypedDict):
    dataset_id: str
    entries: list[RecordEntry]
    is_complete: bool
    record_id: str


class RecordHistoryAnswer(TypedDict):
    data: RecordHistory
    meta: Meta


class RecordReference(TypedDict):
    """A record, with the key of its source."""
    record_id: str
    source: str
    validation_status: ValidationStatus


class Release(TypedDict):
    datasets: list[ReleaseDataset]
    is_current: bool
    is_sample: bool
    parts: int
    pubdata_version: str
    published_at: str
    release_id: str
    rows: int
    run_id: str
    size_bytes: int
    tasks: list[ReleaseTask]


class ReleaseAnswer(TypedDict):
    data: Release
    meta: Meta


class ReleaseDataset(TypedDict):
    dataset_id: str
    notes: list[str]
    parts: list[ReleaseDatasetPart]
    quarantined: dict[str, int]
    quarantined_rows: int
    rows: int
    schema_version: str
    size_bytes: int
    validation_status: ValidationStatus
    warnings: dict[str, int]


class ReleaseDatasetPart(TypedDict):
    partition: dict[str, str]
    path: str
    rows: int
    sha256: str
    size_bytes: int
    task_id: str


class ReleaseName(TypedDict):
    published_at: str
    release_id: str


class ReleaseTask(TypedDict):
    built_at: str
    code_version: str
    contracts_hash: str
    declaration_hash: str
    input_hash: str
    inputs: list[SourceFile]
    licence: str
    pipeline_id: str
    publisher: str
    task_id: str


class Releases(TypedDict):
    channel: str
    releases: list[ChannelMove]


class ReleasesAnswer(TypedDict):
    data: Releases
    meta: Meta


class Replay(TypedDict):
    """Sent with `include=replay`: the result of rebuilding the record from its bytes, with the declarations and contracts of its release."""
    differences: list[ReplayDifference]
    notes: list[str]
    reason: str | None
    verdict: ReplayVerdict | None


class ReplayDifference(TypedDict):
    column: str | None
    detail: str | None


class ReportCount(TypedDict):
    count: int
    first_filed: str | None
    last_filed: str | None


class ReportedValue(TypedDict):
    """The value as first reported; null unless the figure was restated."""
    accession_number: str | None
    concept: str | None
    evidence_url: str | None
    filed_date: str | None
    form: str | None
    record_id: str
    value: float


class Reports(TypedDict):
    cik: str
    filings: list[ReportsFiling]
    name: str | None


class ReportsAnswer(TypedDict):
    data: Reports
    meta: Meta


class ReportsFiling(TypedDict):
    """A periodic report of a registrant."""
    accepted_at: str | None
    accession_number: str
    evidence_url: str | None
    file_number: str | None
    filed_date: str
    film_number: str | None
    form: str
    has_inline_xbrl: bool | None
    has_xbrl: bool | None
    is_amendment: bool
    period_of_report: str | None
    primary_document_url: str | None
    provenance: Provenance
    size_bytes: int | None


class RotationRequest(TypedDict):
    overlap_minutes: NotRequired[int | None]


class SaleItem(TypedDict):
    category: NotRequired[SaleItemCategory | None]
    discount: NotRequired[float | None]
    id: NotRequired[str | None]
    quantity: NotRequired[float | None]
    taxable: NotRequired[bool | None]
    unit_price: float


class School(TypedDict):
    address: SchoolAddress
    county_fips: str | None
    distance_mi: float
    district: SchoolDistrict
    grades: SchoolGrades
    is_charter: bool | None
    is_virtual: bool | None
    lat: float
    level: GeoSchoolLevel | None
    lon: float
    name: str
    provenance: Provenance
    school_id: str
    status: GeoSchoolStatus
    status_effective_date: str | None
    status_updated: GeoSchoolStatus | None
    type: GeoSchoolType | None
    virtual_status: GeoSchoolVirtualStatus | None


class SchoolAddress(TypedDict):
    city: str | None
    state: str | None
    street: str | None
    zip: str | None


class SchoolDistrict(TypedDict):
    id: str
    name: str


class SchoolGrades(TypedDict):
    high: str | None
    low: str | None
    offered: list[str]


class Schools(TypedDict):
    geography: Geography
    geography_provenance: Provenance | None
    origin: SchoolsOrigin
    radius_mi: float
    school_year: str | None
    schools: list[School]


class SchoolsAnswer(TypedDict):
    data: Schools
    meta: Meta


class SchoolsOrigin(TypedDict):
    basis: SchoolsOriginBasis
    lat: float
    lon: float


class SnapshotReport(TypedDict):
    datasets: list[str]
    fetched_at: str
    file: SnapshotReportFile
    licence: str | None
    mirror: str | None
    obtained: ChainSourceSnapshotObtained
    publisher: str | None
    redirected_through: list[str]
    releases: list[SnapshotReportRelease]
    sha256: str
    size_bytes: int
    source_date: str
    source_id: str
    source_version: str
    tasks: list[str]
    url: str


class SnapshotReportAnswer(TypedDict):
    data: SnapshotReport
    meta: Meta


SnapshotReportFile = TypedDict(
    "SnapshotReportFile",
    {
        "for": "SnapshotReportFileFor",
        "is_here": "bool",
    },
)


class SnapshotReportRelease(TypedDict):
    published_at: str
    release_id: str


class Source(TypedDict):
    """Survey table and variables of a figure."""
    derived: bool
    moe_variable: str | None
    table_id: str
    variables: list[str]


class SourceBytes(TypedDict):
    """Sent with `include=bytes`: the publisher's bytes, as far as they may be shown."""
    cells: list[SourceBytesCell]
    excerpt: SourceBytesExcerpt | None
    header: SourceBytesHeader | None
    reason: str | None
    sha256: str | None
    shown: SourceBytesShown


class SourceBytesCell(TypedDict):
    column: str | None
    end: int | None
    is_used: bool
    is_withheld: bool
    length: int
    offset: int
    read_as: str | None
    start: int | None
    text: str | None


class SourceBytesExcerpt(TypedDict):
    """The bytes as text, including the surrounding text for a document. `start` and `end` delimit the characters (Unicode code points) that belong to the bytes themselves. `offset` and `length` locate the text in the file or archive member."""
    end: int
    length: int
    offset: int
    start: int
    text: str


class SourceBytesHeader(TypedDict):
    """The line that names the file's columns; null if the file has no such line or it is not shown."""
    length: int
    offset: int
    text: str


class SourceFile(TypedDict):
    """Publisher's file that a build used as input."""
    fetched_at: str
    mirror: str | None
    obtained: ChainSourceSnapshotObtained
    sha256: str
    size_bytes: int
    source_date: str
    source_id: str
    source_version: str
    url: str


class SourceFinding(TypedDict):
    code: str
    detail: str
    source_id: str


class StateCounties(TypedDict):
    counties: list[StateCountiesCounty]
    provenance: NotRequired[SourceTable]
    state_code: str
    vintage: Vintage


class StateCountiesAnswer(TypedDict):
    data: StateCounties
    meta: Meta


class StateCountiesCounty(TypedDict):
    geography: Geography
    metrics: ChosenFigures
    provenance: NotRequired[RecordReferences]


class StatementLine(TypedDict):
    """One line; without a value, the fields that describe its report are null."""
    accession_number: str | None
    concept: str | None
    evidence_url: str | None
    filed_date: str | None
    first_reported: ReportedValue | None
    form: str | None
    is_derived: Literal[False]
    is_restated: bool
    is_ytd: bool
    key: str
    label: str
    null_reason: StatementLineNullReason | None
    period_start: str | None
    record_id: str | None
    restatement_kind: RestatementKind | None
    unit: FinancialUnit
    value: float | None
    warnings: list[str]


class Statements(TypedDict):
    cik: str
    currency: StatementsCurrency
    fiscal_year_end: str | None
    known_at: str | None
    name: str | None
    null_reason: str | None
    period_type: PeriodType
    statements: list[StatementsStatement]


class StatementsAnswer(TypedDict):
    data: Statements
    meta: Meta


class StatementsStatement(TypedDict):
    """One statement for a period; its report is the newest report among its lines."""
    accession_number: str | None
    evidence_url: str | None
    filed_date: str | None
    fiscal_period: FiscalPeriod
    fiscal_year: int
    form: str | None
    is_restated: bool
    lines: list[StatementLine]
    period_end: str | None
    period_start: str | None
    provenance: Provenance
    statement: SecStatementLineStatement


class StatusReport(TypedDict):
    program: StatusReportProgram
    release: StatusReportRelease
    runs: list[StatusReportRun]
    tasks: list[StatusReportTask]


class StatusReportAnswer(TypedDict):
    data: StatusReport
    meta: Meta


class StatusReportProgram(TypedDict):
    build: str
    pubdata_version: str
    started_at: str


class StatusReportRelease(TypedDict):
    channel: str
    is_sample: bool
    pubdata_version: str
    published_at: str
    release_id: str
    run_id: str


class StatusReportRun(TypedDict):
    channel: str
    ended_at: str
    error: str | None
    exit_code: int
    outcome: str
    release_id: str | None
    run_id: str
    started_at: str


class StatusReportTask(TypedDict):
    built_at: str | None
    findings: list[StatusReportTaskFinding]
    freshness: Freshness | None
    is_published: bool
    is_stale: bool
    late_since: str | None
    outcome: str | None
    quarantined_rows: int | None
    reason: str | None
    rows: int | None
    run_id: str | None
    task_id: str


class StatusReportTaskFinding(TypedDict):
    code: str
    detail: str
    source_id: str


class TaxAddress(TypedDict):
    """Address on one line or in parts. It requires a ZIP code, or a city and a state."""
    address: NotRequired[str | None]
    city: NotRequired[str | None]
    county_fips: NotRequired[str | None]
    state: NotRequired[str | None]
    street: NotRequired[str | None]
    unincorporated: NotRequired[bool | None]
    zip: NotRequired[str | None]


class TaxBatchAddress(TypedDict):
    address: NotRequired[str | None]
    city: NotRequired[str | None]
    county_fips: NotRequired[str | None]
    id: NotRequired[str | None]
    state: NotRequired[str | None]
    street: NotRequired[str | None]
    unincorporated: NotRequired[bool | None]
    zip: NotRequired[str | None]


class TaxBatchAnswer(TypedDict):
    data: TaxBatch
    meta: Meta


class TaxBatchItem(TypedDict):
    """Answer to one item of a batch."""
    error: Problem | None
    found: bool
    index: int
    input: dict[str, str | float | bool | None] | str | float | bool | None
    notices: list[Notice]
    result: TaxRate | None


class TaxBatchRequest(TypedDict):
    addresses: list[TaxBatchAddress | str]
    date: NotRequired[str | None]


class TaxCalculation(TypedDict):
    breakdown: list[TaxPart]
    coverage: TaxCoverage
    date: str
    known_tax_amount: float
    line_items: list[TaxCalculationLineItem]
    match: TaxMatch
    order_total: float | None
    provenance: list[Provenance]
    rate: float | None
    rules: list[TaxRule]
    shipping: TaxCalculationShipping
    sourcing: SourcingPlace
    sourcing_basis: TaxSourcing
    sums: list[TaxCalculationSum]
    tax_amount: float | None
    taxable_amount: float | None
    unknown: list[TaxCalculationUnknown]


class TaxCalculationAnswer(TypedDict):
    data: TaxCalculation
    meta: Meta


class TaxCalculationLineItem(TypedDict):
    """Tax on a line or on the delivery."""
    breakdown: list[TaxPart]
    category: TaxCategory | None
    id: str | None
    known_tax_amount: float
    rate: float | None
    tax_amount: float | None
    taxable_amount: float


TaxCalculationRequest = TypedDict(
    "TaxCalculationRequest",
    {
        "amount": "NotRequired[float | None]",
        "date": "NotRequired[str | None]",
        "exemption": "NotRequired[TaxCalculationRequestExemption | None]",
        "from": "NotRequired[TaxAddress | str]",
        "line_items": "NotRequired[list[SaleItem] | None]",
        "prices_include_tax": "NotRequired[bool | None]",
        "rounding": "NotRequired[TaxCalculationRequestRounding | None]",
        "shipping": "NotRequired[float | None]",
        "shipping_taxable": "NotRequired[bool | None]",
        "to": "TaxAddress | str",
    },
)


class TaxCalculationShipping(TypedDict):
    """Tax on a line or on the delivery."""
    amount: float
    breakdown: list[TaxPart]
    known_tax_amount: float
    rate: float | None
    tax_amount: float | None
    taxable: bool | None
    taxable_amount: float
    taxable_basis: TaxCalculationShippingTaxableBasis


class TaxCalculationSum(TypedDict):
    known_order_total: float
    known_tax_amount: float
    shipping_taxable: bool


class TaxCalculationUnknown(TypedDict):
    amount: float
    category: str
    code: str
    id: str | None
    index: int | None
    part: TaxCalculationUnknownPart
    reason: str
    type: JurisdictionType


class TaxComponent(TypedDict):
    code: str
    effective_from: str | None
    effective_to: str | None
    exempt_by: str | None
    fips: str | None
    name: str
    null_reason: str | None
    rate: float | None
    raw_type: str | None
    rule: str | None
    type: JurisdictionType


class TaxCoverage(TypedDict):
    level: TaxCoverageLevel
    rates_as_of: str | None


class TaxMatch(TypedDict):
    alternatives: list[TaxMatchAlternative]
    is_ambiguous: bool
    level: TaxMatchLevel


class TaxMatchAlternative(TypedDict):
    combined_rate: float | None
    components: list[TaxComponent]
    known_rate: float


class TaxPart(TypedDict):
    """Tax that one jurisdiction levies on goods of one category."""
    category: TaxCategory
    code: str
    name: str
    null_reason: str | None
    rate: float | None
    tax_amount: float | None
    taxable_amount: float
    type: JurisdictionType


class TaxRate(TypedDict):
    category: TaxCategory
    city_rate: float | None
    combined_rate: float | None
    components: list[TaxComponent]
    county_rate: float | None
    coverage: TaxCoverage
    date: str
    effective_date: str | None
    freight_taxable: bool | None
    known_rate: float | None
    location: TaxRateLocation
    match: TaxMatch
    provenance: list[Provenance]
    rules: list[TaxRule]
    sourcing: SourcingPlace
    sourcing_basis: TaxSourcing
    special_rate: float | None
    state_rate: float | None


class TaxRateAnswer(TypedDict):
    data: TaxRate
    meta: Meta


class TaxRateLocation(TypedDict):
    county_fips: str | None
    normalized: str
    place_fips: str | None
    state: str
    zip: str | None
    zip4: str | None


TaxRule = TypedDict(
    "TaxRule",
    {
        "citation": "str | None",
        "class": "TaxTaxabilityClass",
        "evidence": "str | None",
        "level": "TaxTaxabilityLevel",
        "note": "str | None",
        "null_reason": "str | None",
        "rate": "float | None",
        "record_id": "str | None",
        "taxable": "TaxTaxabilityTaxable | None",
        "threshold": "float | None",
        "threshold_kind": "TaxTaxabilityThresholdKind | None",
        "url": "str | None",
        "valid_from": "str | None",
        "valid_to": "str | None",
    },
)


class TaxSourcing(TypedDict):
    """The state's rule on which place decides the rate of a sale within the state."""
    citation: str | None
    rule: str | None
    state_rule: TaxStateSourcing | None
    url: str | None


class UsageReport(TypedDict):
    keys: list[UsageReportKey]
    since: str


class UsageReportAnswer(TypedDict):
    data: UsageReport
    meta: Meta


class UsageReportKey(TypedDict):
    failed: int
    key_id: str
    last_request_at: str | None
    name: str
    plan: str
    rate_limited: int
    refused: int
    requests: int


class ValueVersion(TypedDict):
    """One report of a value, with the period as that report states it."""
    accession_number: str | None
    change: SecFinancialValueChange | None
    concept: str | None
    conflicts: list[str]
    evidence_url: str | None
    filed_date: str | None
    form: str | None
    period_end: str | None
    period_start: str | None
    record_id: str
    supersedes: bool
    value: float


class Verification(TypedDict):
    also_stated: list[VerificationAlsoStated]
    checked_sources: list[VerificationCheckedSource]
    licenses: list[License]
    name_match: VerificationNameMatch | None
    query: VerificationQuery
    result: VerificationResult
    self_reported: list[License]
    verified: bool
    verified_as_of: str | None


class VerificationAlsoStated(TypedDict):
    license_id: str
    profession: LicenseProfession
    profession_raw: str
    same_as: str


class VerificationAnswer(TypedDict):
    data: Verification
    meta: Meta


class VerificationCheckedSource(TypedDict):
    """A list that was searched."""
    newest_license_date: str | None
    records_set_aside: int
    scope: str
    source_date: str | None
    source_id: str


class VerificationQuery(TypedDict):
    number_normalized: str
    profession: str | None
    state: str


class Vintage(TypedDict):
    """A five-year survey, named after its last year."""
    period: str
    survey: str
    year: int


class WorkersComp(TypedDict):
    coverage: LicenseWorkersCompCoverage | None
    expiration_date: str | None
    insurer: str | None


class Zip(TypedDict):
    """With `fields`, only the requested optional fields are present."""
    city: NotRequired[str]
    coordinate_accuracy: NotRequired[str | None]
    counties: NotRequired[list[ZipCountyPart]]
    county: NotRequired[ZipCounty | None]
    demographics: NotRequired[ZipDemographics | None]
    input: str
    land_area_sqmi: NotRequired[float | None]
    lat: NotRequired[float | None]
    lon: NotRequired[float | None]
    military_region: NotRequired[str | None]
    other_cities: NotRequired[list[str]]
    provenance: list[Provenance]
    sales_tax: NotRequired[ZipSalesTax | None]
    sales_tax_null_reason: NotRequired[ZipSalesTaxNullReason | None]
    state: NotRequired[str]
    state_fips: NotRequired[str | None]
    state_name: NotRequired[str | None]
    timezone: NotRequired[str | None]
    timezone_basis: NotRequired[ZipTimezoneBasis | None]
    timezone_null_reason: NotRequired[ZipTimezoneNullReason | None]
    type: NotRequired[ZipType]
    type_raw: NotRequired[str | None]
    water_area_sqmi: NotRequired[float | None]
    zcta: NotRequired[ZipZcta]
    zip: str


class ZipAnswer(TypedDict):
    data: Zip
    meta: Meta


class ZipBatchAnswer(TypedDict):
    data: ZipBatch
    meta: Meta


class ZipBatchItem(TypedDict):
    """Answer to one item of a batch."""
    error: Problem | None
    found: bool
    index: int
    input: str
    notices: list[Notice]
    result: Zip | None


class ZipBatchRequest(TypedDict):
    fields: NotRequired[list[ZipField]]
    zips: list[str]


class ZipCounty(TypedDict):
    fips: str
    name: str | None


class ZipCountyPart(TypedDict):
    basis: ZipCountyBasis
    fips: str
    name: str | None
    share: float | None


class ZipSalesTax(TypedDict):
    """Lowest and highest current combined rate in the ZIP code; null if local rates are not covered."""
    as_of: str
    coverage: ZipSalesTaxCoverage
    max_rate: float
    min_rate: float


class ZipZcta(TypedDict):
    """ZIP Code Tabulation Area that represents the ZIP code."""
    code: str | None
    match: ZipZctaMatch
