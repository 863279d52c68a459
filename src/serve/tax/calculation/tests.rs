//! Checks the tax on a sale against figures worked out independently, and random sales against the
//! agreement's rounding rule.

use crate::tax::calculation::{Item, Rounding, Sale, calculate, rounded};
use proptest::prelude::*;

/// Flags for the state and its local jurisdictions; true means local.
const LOCAL: [bool; 9] = [false, true, true, true, true, true, true, true, true];

fn sale<'a>(classes: &'a [Vec<i64>], items: &'a [Item], rounding: Rounding) -> Sale<'a> {
    Sale {
        classes,
        is_local: &LOCAL,
        items,
        rounding,
        prices_include_tax: false,
    }
}

fn taxes(sale: &Sale<'_>) -> Vec<i64> {
    calculate(sale).iter().map(|taxed| taxed.tax).collect()
}

#[test]
fn combined_rate_is_rounded_instead_of_each_jurisdiction() {
    // Minneapolis in 2019: 6.875 + 0.15 + 0.5 + 0.5 percent of 9.99 is 0.8017…
    let rates = [vec![68_750, 1_500, 5_000, 5_000]];
    let taxed = calculate(&sale(
        &rates,
        &[Item {
            amount: 999,
            class: Some(0),
            local: None,
        }],
        Rounding::Line,
    ));
    assert_eq!(taxed[0].tax, 80);
    assert_eq!(taxed[0].parts, [69, 1, 5, 5]);
    // Two jurisdictions with 0.4 cents each levy one cent together. Rounded separately, each would
    // levy nothing.
    let taxed = calculate(&sale(
        &[vec![4_000, 4_000]],
        &[Item {
            amount: 100,
            class: Some(0),
            local: None,
        }],
        Rounding::Line,
    ));
    assert_eq!((taxed[0].tax, taxed[0].parts.as_slice()), (1, &[1, 0][..]));
}

#[test]
fn line_and_invoice_differ_by_what_is_rounded() {
    // 7 percent of 0.07 is 0.0049: no tax on each of ten lines, but five cents on the invoice.
    let items = vec![
        Item {
            amount: 7,
            class: Some(0),
            local: None
        };
        10
    ];
    let rates = [vec![50_000, 20_000]];
    assert_eq!(
        taxes(&sale(&rates, &items, Rounding::Line))
            .iter()
            .sum::<i64>(),
        0
    );
    let taxed = calculate(&sale(&rates, &items, Rounding::Invoice));
    let part = |part: usize| taxed.iter().map(|taxed| taxed.parts[part]).sum::<i64>();
    assert_eq!(
        (
            taxed.iter().map(|taxed| taxed.tax).sum::<i64>(),
            part(0),
            part(1)
        ),
        (5, 4, 1)
    );
}

#[test]
fn half_a_cent_goes_up_and_for_a_refund_down() {
    // 5 percent of 0.10 is half a cent.
    assert_eq!(
        taxes(&sale(
            &[vec![50_000]],
            &[
                Item {
                    amount: 10,
                    class: Some(0),
                    local: None
                },
                Item {
                    amount: -10,
                    class: Some(0),
                    local: None
                }
            ],
            Rounding::Line
        )),
        [1, -1]
    );
    assert_eq!(rounded(-15, 10), -2);
    assert_eq!(rounded(14, 10), 1);
}

#[test]
fn capped_local_tax_is_rounded_together_with_the_state_tax() {
    // Orange County, Florida, in 2026: 6 percent of 6,000.05 is 360.003, and 0.5 percent of the
    // first 5,000 is 25.
    for rounding in [Rounding::Line, Rounding::Invoice] {
        let item = Item {
            amount: 600_005,
            class: Some(0),
            local: Some(500_000),
        };
        let taxed = calculate(&sale(&[vec![60_000, 5_000]], &[item], rounding));
        assert_eq!(
            (taxed[0].taxable, taxed[0].tax, taxed[0].parts.as_slice()),
            (600_005, 38_500, &[36_000, 2_500][..])
        );
    }
}

#[test]
fn price_including_tax_is_split_into_taxable_amount_and_tax() {
    let (rates, items) = (
        [vec![60_000, 10_000]],
        [Item {
            amount: 10_700,
            class: Some(0),
            local: None,
        }],
    );
    let taxed = calculate(&Sale {
        prices_include_tax: true,
        ..sale(&rates, &items, Rounding::Line)
    });
    assert_eq!(
        (taxed[0].taxable, taxed[0].tax, taxed[0].parts.as_slice()),
        (10_000, 700, &[600, 100][..])
    );
}

#[test]
fn what_is_not_taxed_has_no_tax() {
    for rounding in [Rounding::Line, Rounding::Invoice] {
        let taxed = calculate(&sale(
            &[vec![60_000]],
            &[Item {
                amount: 10_000,
                class: None,
                local: None,
            }],
            rounding,
        ));
        assert_eq!(
            (taxed[0].taxable, taxed[0].tax, taxed[0].parts.len()),
            (0, 0, 0)
        );
    }
}

fn rounding() -> impl Strategy<Value = Rounding> {
    prop_oneof![Just(Rounding::Line), Just(Rounding::Invoice)]
}

/// General rates and food rates for the same jurisdictions.
fn classes() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let rate = || prop_oneof![Just(0i64), 0i64..200_000, Just(68_750), Just(1_500)];
    (0usize..8)
        .prop_flat_map(move |count| prop::collection::vec(prop::collection::vec(rate(), count), 2))
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let amount = prop_oneof![
        -2_000i64..2_000,
        -100_000_000_000_000i64..100_000_000_000_000
    ];
    let item = (
        amount,
        prop_oneof![Just(None), Just(Some(0usize)), Just(Some(1))],
    )
        .prop_map(|(amount, class)| Item {
            amount,
            class,
            local: None,
        });
    prop::collection::vec(item, 0..12)
}

/// Applies the agreement's rule: carry to the third decimal place, and round up if the third
/// decimal is greater than four.
fn by_the_agreement(amount: i64, combined: i64) -> i64 {
    let thousandths = i128::from(amount.abs()) * i128::from(combined) / 100_000;
    let cents = (thousandths / 10) as i64 + i64::from(thousandths % 10 > 4);
    cents * amount.signum()
}

proptest! {
    #[test]
    fn parts_add_up_and_are_less_than_a_cent_off(classes in classes(), items in items(), rounding in rounding(), including: bool) {
        let sale = Sale { classes: &classes, is_local: &LOCAL, items: &items, rounding, prices_include_tax: including };
        let taxed = calculate(&sale);
        for (item, taxed) in items.iter().zip(&taxed) {
            prop_assert_eq!(taxed.parts.iter().sum::<i64>(), taxed.tax);
            let charged = if including { taxed.taxable + taxed.tax } else { taxed.taxable };
            prop_assert_eq!(charged, if item.class.is_some() { item.amount } else { 0 });
            let Some(class) = item.class else { continue };
            let combined: i64 = classes[class].iter().sum();
            for (part, rate) in taxed.parts.iter().zip(&classes[class]) {
                let whole = if including { 1_000_000 + i128::from(combined) } else { 1_000_000 };
                let off = i128::from(*part) * whole - i128::from(item.amount) * i128::from(*rate);
                prop_assert!(off.abs() < whole, "a jurisdiction of {rate} gets {part} of {item:?}");
                prop_assert!(*rate != 0 || *part == 0, "a rate of zero levies no tax");
            }
            if rounding == Rounding::Line && !including {
                prop_assert_eq!(taxed.tax, by_the_agreement(item.amount, combined));
            }
        }
    }

    #[test]
    fn invoice_total_is_rounded_once(classes in classes(), items in items()) {
        let taxed = calculate(&sale(&classes, &items, Rounding::Invoice));
        let exact: i128 = items.iter().filter_map(|item| item.class.map(|class| i128::from(item.amount) * i128::from(classes[class].iter().sum::<i64>()))).sum();
        prop_assert_eq!(taxed.iter().map(|taxed| taxed.tax).sum::<i64>(), rounded(exact, 1_000_000));
        // Each jurisdiction's share of a class is also off by less than a cent.
        for (class, rates) in classes.iter().enumerate() {
            for (part, rate) in rates.iter().enumerate() {
                let of_class = || items.iter().zip(&taxed).filter(|(item, _)| item.class == Some(class));
                let exact: i128 = of_class().map(|(item, _)| i128::from(item.amount) * i128::from(*rate)).sum();
                let sum: i64 = of_class().map(|(_, taxed)| taxed.parts[part]).sum();
                prop_assert!((i128::from(sum) * 1_000_000 - exact).abs() < 1_000_000);
            }
        }
    }

    #[test]
    fn refund_cancels_its_sale(classes in classes(), items in items(), rounding in rounding(), including: bool) {
        let refund: Vec<Item> = items.iter().map(|item| Item { amount: -item.amount, ..*item }).collect();
        let of = |items: &[Item]| calculate(&Sale { classes: &classes, is_local: &LOCAL, items, rounding, prices_include_tax: including });
        for (sold, refunded) in of(&items).iter().zip(of(&refund)) {
            prop_assert_eq!(sold.tax, -refunded.tax);
            prop_assert_eq!(sold.taxable, -refunded.taxable);
            prop_assert!(sold.parts.iter().zip(&refunded.parts).all(|(sold, refunded)| *sold == -refunded));
        }
        // On one invoice, the sale and its refund cancel.
        let both: Vec<Item> = items.iter().chain(&refund).copied().collect();
        prop_assert_eq!(of(&both).iter().map(|taxed| taxed.tax).sum::<i64>(), 0);
    }

    #[test]
    fn added_tax_is_recovered_from_the_total_price_to_within_a_cent(rates in prop::collection::vec(0i64..200_000, 1..6), amount in -10_000_000i64..10_000_000) {
        let classes = [rates];
        let added = calculate(&sale(&classes, &[Item { amount, class: Some(0), local: None }], Rounding::Line))[0].tax;
        let items = [Item { amount: amount + added, class: Some(0), local: None }];
        let taken = calculate(&Sale { prices_include_tax: true, ..sale(&classes, &items, Rounding::Line) });
        prop_assert!((taken[0].tax - added).abs() <= 1);
        prop_assert_eq!(taken[0].taxable + taken[0].tax, amount + added);
    }
}
