//! Maps codes of reasons and warnings to sentences.

/// Codes of reasons and warnings, each with the sentence that a page shows.
const SENTENCES: [(&str, &str); 43] = [
    ("assets_below_equity", "Equity is larger than total assets."),
    (
        "balance_disagrees",
        "Liabilities and equity, as tagged, do not add up to the total.",
    ),
    (
        "both_controlled",
        "Both estimates are controlled: neither has a sampling error.",
    ),
    (
        "concept_conflict",
        "The report tags another concept of this line with another figure.",
    ),
    (
        "continuing_operations_only",
        "Continuing operations only; the report states discontinued operations separately.",
    ),
    (
        "cover_date_odd",
        "The share count is as of a day before the period's end or after the filing.",
    ),
    ("end_after_filed", "The period ends after the filing date."),
    (
        "filed_late",
        "Filed more than 400 days after the period's end.",
    ),
    (
        "filed_not_in_archive",
        "The report for this period was filed, but the SEC's archive of facts does not have its figures yet.",
    ),
    (
        "foreign_filer",
        "The company reports as a foreign private issuer; figures come from 10-K and 10-Q reports only.",
    ),
    (
        "fourth_quarter",
        "A fourth quarter, which has no separate report.",
    ),
    (
        "implied_shares_disagree",
        "Net income and earnings per share imply another number of shares than the report states.",
    ),
    (
        "last_resort_concept",
        "The report tags this concept instead of the usual ones for this line.",
    ),
    (
        "moe_not_fetched",
        "A margin of error is published, but was not fetched for this release.",
    ),
    (
        "multi_class",
        "The company counts its shares by class of stock; the SEC's archive of facts omits such counts.",
    ),
    (
        "net_income_disagrees",
        "Differs from profit less noncontrolling interest in the same report; it may belong to another line.",
    ),
    (
        "no_periodic_report",
        "The company has filed no such report.",
    ),
    (
        "no_published_moe",
        "At least one estimate has no published margin of error.",
    ),
    (
        "no_us_gaap_facts",
        "The company reports no figures under US accounting standards.",
    ),
    (
        "no_wanted_concept",
        "The company tags none of the concepts that this dataset uses.",
    ),
    (
        "no_xbrl_facts",
        "The SEC's archive of facts has no facts of the company.",
    ),
    (
        "not_a_10k_filer",
        "The company reports on Form 20-F or 40-F, or under international standards; figures come from 10-K and 10-Q reports only.",
    ),
    (
        "not_in_range",
        "The company has figures, but none in the requested fiscal years.",
    ),
    (
        "not_known_yet",
        "No report had been filed by the requested day.",
    ),
    ("not_tagged", "The company tags no concept of this line."),
    (
        "off_calendar",
        "The period does not lie on the company's fiscal calendar.",
    ),
    ("open_ended_median", "A bound is not an estimate."),
    (
        "other_concept",
        "The company tags this line with a concept that this dataset does not use.",
    ),
    (
        "other_unit",
        "The company states this line in another unit than US dollars.",
    ),
    (
        "part_of_revenue",
        "Revenue from contracts with customers only; excludes interest, premiums and other revenue.",
    ),
    (
        "period_end_differs",
        "Reports state the last day of this period up to a week apart.",
    ),
    (
        "period_start_differs",
        "Reports state the first day of this period a few days apart.",
    ),
    (
        "period_not_reported",
        "The company has not reported this period.",
    ),
    (
        "quarters_disagree",
        "The quarters do not add up to the year to date.",
    ),
    (
        "scale_suspect",
        "This figure seems to be in thousands or millions, although the report does not state that.",
    ),
    (
        "share_count_contradicted",
        "The only share count contradicts the report's weighted shares and earnings per share.",
    ),
    (
        "share_count_jump",
        "A hundred times more or fewer shares than before.",
    ),
    (
        "sign_disagrees",
        "Net income and earnings per share have opposite signs.",
    ),
    (
        "stamp_disagrees",
        "The SEC's stamp of the fiscal period contradicts the dates; the dates take precedence.",
    ),
    (
        "stated_in_parts",
        "The report states parts of this line but no total; this dataset does not add them up.",
    ),
    (
        "unclassified_period",
        "The company states this line only for periods that are neither a quarter nor a year.",
    ),
    (
        "value_not_available",
        "At least one estimate is not available.",
    ),
    (
        "with_noncontrolling_interest",
        "Includes the share of others in subsidiaries: the report tags no figure for the company's own shareholders.",
    ),
];

/// Returns the sentence for a code, or the code in words if it has no sentence.
pub fn sentence(code: &str) -> String {
    SENTENCES
        .iter()
        .find(|(known, _)| *known == code)
        .map_or_else(
            || super::words::words(code),
            |(_, sentence)| (*sentence).to_owned(),
        )
}

#[cfg(test)]
mod tests {
    use pubdata_core::declared::DeclarationFiles;
    use pubdata_core::pipeline::Declarations;

    use super::SENTENCES;
    use crate::http::parameters::allowed;

    #[test]
    fn every_reason_has_a_sentence() {
        let contracts = Declarations::load(DeclarationFiles::built_in())
            .unwrap()
            .contracts;
        let reasons = allowed(&contracts, "sec.financial_value", "null_reason");
        assert!(!reasons.is_empty());
        for reason in reasons {
            assert!(
                SENTENCES.iter().any(|(code, _)| *code == reason),
                "{reason}"
            );
        }
    }
}
