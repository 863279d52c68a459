//! Checks that filings with several registrants are found by day and form, newest first, each once.

use std::collections::BTreeMap;

use arrow::array::Date32Array;

use crate::release::dictionary::DictionaryColumn;
use crate::sec::filing_dates::{FilingDateColumns, FilingDates, FilingFilter};

fn dates() -> FilingDates {
    let part = |filings: &[(u64, &str, i32)]| {
        let mut forms = DictionaryColumn::default();
        filings
            .iter()
            .for_each(|(_, form, _)| forms.push(Some(form)).unwrap());
        FilingDateColumns {
            accession_numbers: filings.iter().map(|(number, ..)| *number).collect(),
            forms,
            filed_dates: Date32Array::from_iter_values(filings.iter().map(|(.., day)| *day)),
        }
    };
    let (mut dates, mut by_day) = (FilingDates::default(), BTreeMap::new());
    // Filing 7 belongs to two registrants, in two buckets, under two forms.
    dates
        .add(
            &part(&[(1, "10-K", 10), (7, "SC 13D/A", 20), (9, "8-K", 20)]),
            &mut by_day,
        )
        .unwrap();
    dates
        .add(&part(&[(7, "SC TO-T/A", 20), (8, "10-K", 30)]), &mut by_day)
        .unwrap();
    dates.buckets = vec!["000".to_owned(), "001".to_owned()];
    dates.sorted(by_day)
}

#[test]
fn filings_are_found_newest_first_and_once() {
    let dates = dates();
    let found = |from, to, forms: &[&str]| {
        let filter = FilingFilter {
            from,
            to,
            forms: forms.iter().map(|form| (*form).to_owned()).collect(),
        };
        let rows = dates
            .find(&filter)
            .map(|places| places.map(|place| dates.row(place)).collect::<Vec<_>>());
        rows.collect::<Vec<_>>()
    };
    let (eight, nine, seven, one) = (
        vec![("001", 1)],
        vec![("000", 2)],
        vec![("000", 1), ("001", 0)],
        vec![("000", 0)],
    );
    assert_eq!(
        found(None, None, &[]),
        [eight.clone(), nine.clone(), seven.clone(), one.clone()]
    );
    assert_eq!(found(Some(11), Some(29), &[]), [nine, seven.clone()]);
    assert_eq!(found(Some(20), Some(20), &["SC TO-T/A"]), [seven]);
    assert_eq!(found(None, None, &["10-K"]), [eight, one]);
    assert!(
        found(None, None, &["10-Q"]).is_empty()
            && found(Some(31), None, &[]).is_empty()
            && found(None, Some(9), &[]).is_empty()
    );
    assert!(dates.has_form("8-K") && !dates.has_form("10-Q"));
}
