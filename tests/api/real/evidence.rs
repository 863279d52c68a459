//! Checks the declared evidence for layouts against the files in the collection and the notes of
//! their keepers.

use std::collections::{BTreeMap, BTreeSet};

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::{Declarations, EvidenceKind};
use regex::Regex;

use pubdata_testing::shared_data;

/// A stored file that shows the layout of each source, except sources known from documentation
/// alone.
const HELD: &[(&str, &str)] = &[
    ("business.fl_cordata", "general/business/20230929c.txt"),
    ("business.fl_daily", "general/business/20230929c.txt"),
    (
        "business.ia_sos",
        "general/business/ia_active_business_entities.excerpt.csv",
    ),
    (
        "business.ny_dos",
        "general/business/ny_active_corporations.excerpt.csv",
    ),
    (
        "census.acs5_profile_county",
        "census/acs/ACSDP5Y2022.DP03-Data.csv",
    ),
    (
        "census.acs5_subject_county",
        "census/acs/ACSST5Y2023.S1901-Data.csv",
    ),
    (
        "census.acs5_subject_zcta",
        "census/acs/ACSST5Y2023.S1501-Data.zcta_sample_600.csv",
    ),
    (
        "census.acs5_table",
        "census/acs/reconstructed_dat/acsdt5y2023-b01003.dat",
    ),
    ("census.county_code", "general/tax/national.txt"),
    (
        "census.gazetteer_county",
        "census/gazetteer/2025_Gaz_counties_national.txt",
    ),
    (
        "census.gazetteer_zcta",
        "census/gazetteer/2025_Gaz_zcta_national.txt",
    ),
    ("census.place_code", "general/tax/PLACElist.txt"),
    (
        "census.zcta_county",
        "census/relationship/zcta5_county_rel_2020_extract.csv",
    ),
    ("geonames.postal", "general/zip/US.txt"),
    (
        "hrsa.zip_zcta",
        "general/zip/ZIPCodetoZCTACrosswalk2022UDS.xlsx",
    ),
    ("license.ca_cslb", "general/license/MasterLicenseData.csv"),
    (
        "license.ct_elicense",
        "general/license/ct_state_licenses.excerpt.csv",
    ),
    (
        "license.nyc_dcwp",
        "general/license/Legally_Operating_Businesses.csv",
    ),
    ("license.tx_tdlr", "general/license/ltcosmos.csv"),
    ("license.tx_tdlr_barber", "general/license/ltbarbers.csv"),
    (
        "license.wa_lni",
        "general/license/wa_lni_contractor_general.excerpt.csv",
    ),
    (
        "license.wa_lni_bond",
        "general/license/wa_lni_contractor_bond.excerpt.csv",
    ),
    (
        "license.wa_lni_insurance",
        "general/license/wa_lni_contractor_insurance.excerpt.csv",
    ),
    (
        "license.wa_lni_principal",
        "general/license/wa_lni_contractor_principal.excerpt.csv",
    ),
    (
        "nces.ccd_directory",
        "nces/ccd_sch_029_2526_w_0a_050626.head45.csv",
    ),
    (
        "nces.edge_geocode",
        "nces/EDGE_GEOCODE_PUBLICSCH_2425.head4.TXT",
    ),
    (
        "permit.austin",
        "general/permits/austin_3syk-w9eu.excerpt.csv",
    ),
    (
        "permit.chicago",
        "general/permits/chicago_Building_Permits.csv",
    ),
    (
        "permit.la_before_2020",
        "general/permits/la_yv23-pmwf.excerpt.csv",
    ),
    (
        "permit.nashville",
        "general/permits/nashville_building_permits.csv",
    ),
    (
        "permit.nola",
        "general/permits/nola_blds_72f9-bi28.excerpt.csv",
    ),
    (
        "permit.nyc_bis",
        "general/permits/nyc_dob_permit_issuance_2024_subset.csv",
    ),
    (
        "permit.nyc_now",
        "general/permits/nyc_now_rbx6-tga4.excerpt.csv",
    ),
    (
        "permit.seattle",
        "general/permits/seattle_permits_cleaned_20251106.csv",
    ),
    (
        "permit.seattle_before_2018",
        "general/permits/seattle_mags-97de.excerpt.csv",
    ),
    ("permit.sf", "general/permits/sf_Building_Permits.csv"),
    ("sec.company_tickers", "sec/tickers/company_tickers.json"),
    (
        "sec.company_tickers_exchange",
        "sec/tickers/company_tickers_exchange.json",
    ),
    (
        "sec.company_tickers_mf",
        "sec/tickers/company_tickers_mf.json",
    ),
    ("sec.companyfacts", "sec/companyfacts/CIK0001045810.json"),
    (
        "sec.companyfacts_api",
        "sec/companyfacts/CIK0001045810.json",
    ),
    (
        "sec.current_filings",
        "general/feeds/getcurrent_2024-03-17.atom",
    ),
    (
        "sec.dei_dated",
        "sec/taxonomy/dei-2014-01-31/dei-2014-01-31.xsd",
    ),
    ("sec.srt", "sec/taxonomy/srt-2024/elts/srt-2024.xsd"),
    ("sec.submissions", "sec/submissions/CIK0001766140.json"),
    ("sec.submissions_api", "sec/submissions/CIK0001766140.json"),
    (
        "sec.us_gaap_dated",
        "sec/taxonomy/us-gaap-2011-01-31/elts/us-gaap-2011-01-31.xsd",
    ),
    ("sec.xbrl_feed", "sec/feeds/usgaap.rss.xml"),
    ("sec.xbrl_index", "sec/feeds/xbrl.idx"),
    (
        "tax.california_rate",
        "general/tax/CA_CDTFA_rates_excerpt.csv",
    ),
    ("tax.sst_boundary", "general/tax/MNB2026Q2FEB18-sample.csv"),
    ("tax.sst_rate", "general/tax/MNR2026Q2FEB18.csv"),
    ("tax.texas_rate", "general/tax/TX_taxrates_excerpt.txt"),
];

/// Public programs whose tests or samples contain records of a source that is not stored here, with
/// the file.
const PUBLIC: &[(&str, &str)] = &[
    (
        "permit.albuquerque",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_albuquerque.py",
    ),
    (
        "permit.anaheim",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_anaheim.py",
    ),
    (
        "permit.aurora_co",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_aurora.py",
    ),
    (
        "permit.nj",
        "savitz25/contractor-trust-hub data/samples/nj_con_002b/permits_sample.csv",
    ),
    (
        "permit.norfolk",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_norfolk.py",
    ),
    (
        "permit.pittsburgh",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_pittsburgh.py",
    ),
    (
        "permit.san_diego",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_san_diego.py",
    ),
    (
        "permit.scottsdale",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_scottsdale.py",
    ),
    (
        "permit.sf_plumbing",
        "SpellarBot/open-data-catalog socrata/a6aw-rudh.md",
    ),
    (
        "permit.virginia_beach",
        "harlanljones/urban-signal apps/api/tests/unit/test_producers_virginia_beach.py",
    ),
];

/// Words that keepers use for incomplete files.
const PARTIAL: &str =
    r"(?i)excerpt|extract|sample|subset|first [\d,]+ |part of|rows 1-|head\d+|\blines of\b";

#[test]
fn every_layout_beyond_documentation_is_shown_by_a_stored_file() {
    let (declarations, _) = Declarations::check(DeclarationFiles::built_in());
    let sources = || {
        declarations
            .pipelines
            .values()
            .flat_map(|declaration| &declaration.sources)
            .filter(|source| !source.url.starts_with("bundled:"))
    };
    let kinds: BTreeMap<&str, EvidenceKind> = sources()
        .map(|source| (source.source_id.as_str(), source.evidence.kind))
        .collect();
    let seen: BTreeSet<&str> = kinds
        .iter()
        .filter(|(_, kind)| **kind != EvidenceKind::Documented)
        .map(|(source_id, _)| *source_id)
        .collect();
    let named = |list: &[(&'static str, &'static str)]| {
        list.iter()
            .map(|(source_id, _)| *source_id)
            .collect::<BTreeSet<_>>()
    };
    let (held, public) = (named(HELD), named(PUBLIC));
    // The remaining sources have records in a mirror of their own pipeline.
    let in_mirrors: BTreeSet<&str> = seen
        .iter()
        .copied()
        .filter(|source_id| !held.contains(source_id) && !public.contains(source_id))
        .collect();
    assert_eq!(
        seen,
        &(&held | &public) | &in_mirrors,
        "each source named here is declared as seen"
    );
    assert!(
        in_mirrors
            .iter()
            .chain(&public)
            .all(|source_id| kinds[source_id] == EvidenceKind::Excerpt),
        "records are an incomplete file"
    );
    let Some(root) = shared_data("") else { return };
    for source_id in in_mirrors {
        let (owner, _) = declarations.source(source_id).unwrap();
        let mirror = root.join("found").join(&owner.pipeline_id);
        assert!(
            mirror.join(".pubdata-mirror").is_file(),
            "{source_id}: no stored or named file shows it; there is no {}",
            mirror.display()
        );
    }
    let partial = Regex::new(PARTIAL).unwrap();
    for (source_id, file) in HELD {
        assert!(root.join(file).is_file(), "{source_id}: there is no {file}");
        let (folder, _) = file.split_once('/').unwrap();
        let kept = std::fs::read_to_string(root.join(folder).join("SOURCES.md")).unwrap();
        let name = file.rsplit('/').next().unwrap();
        let reported: Vec<&str> = kept
            .lines()
            .filter(|line| line.starts_with('|') && line.contains(name))
            .collect();
        let is_whole = !reported.is_empty() && !reported.iter().any(|line| partial.is_match(line));
        assert!(
            is_whole || kinds[source_id] == EvidenceKind::Excerpt,
            "{source_id}: its declared evidence is a file, but {file} is {reported:?}"
        );
    }
}
