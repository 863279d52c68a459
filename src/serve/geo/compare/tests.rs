//! Checks comparisons of estimates against figures from the Census Bureau's handbook, and exactly
//! at the significance limit.

#![expect(clippy::float_cmp, reason = "the figures are exact")]

use crate::geo::compare::{Comparison, Side, compare_estimates};

fn published(value: i64, moe: i64) -> Side<'static> {
    Side {
        value: Some(value * 10),
        moe: Some(moe * 10),
        moe_status: "published",
    }
}

fn controlled(value: i64) -> Side<'static> {
    Side {
        value: Some(value * 10),
        moe: None,
        moe_status: "controlled",
    }
}

fn outcome(a: Side<'_>, b: Side<'_>) -> (Option<i64>, Option<bool>, Option<&'static str>) {
    let Comparison {
        difference,
        significant_at_90,
        reason,
        ..
    } = compare_estimates(a, b);
    (difference, significant_at_90, reason)
}

#[test]
fn exactly_equal_to_the_limit_is_not_significant() {
    // 3² + 4² = 5²: the difference is exactly the margin of the difference.
    assert_eq!(
        outcome(published(105, 3), published(100, 4)),
        (Some(50), Some(false), None)
    );
    assert_eq!(
        outcome(published(100, 4), published(105, 3)),
        (Some(-50), Some(false), None)
    );
    // One tenth more is significant.
    let a = Side {
        value: Some(1_051),
        ..published(105, 3)
    };
    assert_eq!(outcome(a, published(100, 4)), (Some(51), Some(true), None));
    let tie = compare_estimates(published(105, 3), published(100, 4));
    assert_eq!((tie.z, tie.difference_moe), (Some(1.645), Some(50.0)));
}

#[test]
fn handbook_figures_give_the_handbook_margins() {
    // Fairfax County, never-married women (handbook, chapter 8): 135,173 ± 3,860 and 139,301 ±
    // 4,047.
    let change = compare_estimates(published(139_301, 4_047), published(135_173, 3_860));
    assert_eq!(
        (change.difference, change.significant_at_90),
        (Some(41_280), Some(false))
    );
    // The margin of the difference is sqrt(3,860² + 4,047²). In the handbook, 39,401,560 ± 99,234
    // has a standard error of 60,325.
    assert_eq!(change.difference_moe.unwrap().round(), 55_927.0);
    assert_eq!((99_234.0 / crate::geo::compare::Z_90).round(), 60_325.0);
    // Sum of 39,401,560 ± 99,234 and 33,385,649 ± 77,920: standard error 76,699. The difference has
    // the same standard error.
    let pair = compare_estimates(published(39_401_560, 99_234), published(33_385_649, 77_920));
    assert_eq!(
        (pair.difference_moe.unwrap() / 10.0 / crate::geo::compare::Z_90).round(),
        76_699.0
    );
    assert_eq!(
        (pair.difference, pair.significant_at_90),
        (Some(60_159_110), Some(true))
    );
}

#[test]
fn los_angeles_income_of_two_years_has_the_known_z() {
    // 87,760 ± 463 (2023) and 83,411 ± 439 (2022). The API itself never compares vintages, but the
    // formula is the same.
    let z = compare_estimates(published(87_760, 463), published(83_411, 439))
        .z
        .unwrap();
    assert_eq!((z * 10.0).round(), 112.0);
}

#[test]
fn controlled_estimates_have_no_sampling_error() {
    assert_eq!(
        outcome(controlled(110), published(100, 9)),
        (Some(100), Some(true), None)
    );
    assert_eq!(
        outcome(controlled(109), published(100, 9)),
        (Some(90), Some(false), None)
    );
    assert_eq!(
        outcome(controlled(110), controlled(100)),
        (Some(100), None, Some("both_controlled"))
    );
    let basis = |a, b| compare_estimates(a, b).margin_basis;
    assert_eq!(
        basis(controlled(110), published(100, 9)),
        Some("controlled")
    );
    assert_eq!(
        basis(published(100, 9), controlled(110)),
        Some("controlled")
    );
    assert_eq!(
        basis(published(100, 9), published(110, 9)),
        Some("published")
    );
    assert_eq!(basis(controlled(110), controlled(100)), None);
}

#[test]
fn inapplicable_significance_test_has_a_reason() {
    let open = Side {
        value: None,
        moe: None,
        moe_status: "open_ended",
    };
    let derived = Side {
        value: Some(451),
        moe: None,
        moe_status: "not_fetched",
    };
    let unpublished = Side {
        value: Some(451),
        moe: None,
        moe_status: "not_published",
    };
    let none = Side {
        value: None,
        moe: None,
        moe_status: "not_published",
    };
    assert_eq!(
        outcome(open, published(100, 4)),
        (None, None, Some("open_ended_median"))
    );
    assert_eq!(outcome(open, open), (None, None, Some("open_ended_median")));
    assert_eq!(
        outcome(
            derived,
            Side {
                value: Some(400),
                ..derived
            }
        ),
        (Some(51), None, Some("moe_not_fetched"))
    );
    assert_eq!(
        outcome(derived, controlled(40)),
        (Some(51), None, Some("moe_not_fetched"))
    );
    assert_eq!(
        outcome(unpublished, controlled(40)),
        (Some(51), None, Some("no_published_moe"))
    );
    assert_eq!(
        outcome(none, open),
        (None, None, Some("value_not_available"))
    );
}

#[test]
fn margins_of_zero_leave_no_z() {
    let equal = compare_estimates(published(5, 0), published(5, 0));
    assert_eq!((equal.z, equal.significant_at_90), (None, Some(false)));
    let different = compare_estimates(published(6, 0), published(5, 0));
    assert_eq!(
        (different.z, different.significant_at_90),
        (None, Some(true))
    );
}
