//! Checks which registrants a search finds, the kind of match and the order.

use crate::sec::names::{Named, Names};

/// Name, former names, and rank in the ticker list.
const REGISTRANTS: [(&str, &[&str], Option<u32>); 19] = [
    ("Apple Inc.", &["APPLE COMPUTER INC", "APPLE INC"], Some(1)),
    ("APPLE HOSPITALITY REIT, INC.", &[], Some(40)),
    ("Apple Box Co", &[], None),
    ("Green Apple Partners LP", &[], None),
    ("APPLE CORP", &[], None),
    ("BANK OF AMERICA CORP /DE/", &["NATIONSBANK CORP"], Some(9)),
    ("America First Bank Trust", &[], None),
    ("Meta Platforms, Inc.", &["Facebook Inc"], Some(5)),
    ("Facebook Employees Fund LLC", &[], None),
    ("AT&T INC.", &["SBC COMMUNICATIONS INC"], Some(12)),
    ("MCDONALDS CORP", &[], Some(20)),
    ("COCA COLA CO", &[], Some(14)),
    ("COCA COLA CONSOLIDATED, INC.", &[], Some(33)),
    ("ADVANCED MICRO DEVICES INC", &[], Some(15)),
    ("Micro Imaging Technology, Inc.", &[], None),
    ("JPMORGAN CHASE & CO", &["J P MORGAN CHASE & CO"], Some(8)),
    ("PROCTER & GAMBLE Co", &[], Some(16)),
    ("Alphabet Inc.", &["Google Inc"], Some(3)),
    ("HOME DEPOT, INC.", &[], Some(17)),
];

fn names() -> Names {
    Names::new(
        REGISTRANTS
            .iter()
            .map(|(name, former_names, listing)| Named {
                name,
                former_names: former_names.to_vec(),
                listing: *listing,
            }),
    )
    .unwrap()
}

fn name_of(row: u32) -> &'static str {
    REGISTRANTS[row as usize].0
}

fn search(names: &Names, text: &str) -> Vec<(&'static str, &'static str)> {
    let (found, is_cut) = names.search(text, 50, name_of);
    assert!(!is_cut);
    found
        .iter()
        .map(|found| (REGISTRANTS[found.row as usize].0, found.matched.name()))
        .collect()
}

#[test]
fn better_matches_and_listed_registrants_come_first() {
    let names = names();
    assert_eq!(
        search(&names, "apple"),
        [
            ("Apple Inc.", "name_without_suffix"),
            ("APPLE CORP", "name_without_suffix"),
            ("APPLE HOSPITALITY REIT, INC.", "name_prefix"),
            ("Apple Box Co", "name_prefix"),
            ("Green Apple Partners LP", "word_prefix"),
        ]
    );
    assert_eq!(
        search(&names, "Apple, Inc")[..2],
        [
            ("Apple Inc.", "name"),
            ("APPLE CORP", "name_without_suffix")
        ]
    );
    assert_eq!(
        search(&names, "apple corporation")[..2],
        [
            ("APPLE CORP", "name"),
            ("Apple Inc.", "name_without_suffix")
        ]
    );
    assert_eq!(
        search(&names, "facebook"),
        [
            ("Meta Platforms, Inc.", "former_name"),
            ("Facebook Employees Fund LLC", "name_prefix")
        ]
    );
    assert_eq!(
        search(&names, "faceb"),
        [
            ("Facebook Employees Fund LLC", "name_prefix"),
            ("Meta Platforms, Inc.", "former_name")
        ]
    );
}

#[test]
fn case_punctuation_and_legal_forms_do_not_matter() {
    let names = names();
    for (text, expected) in [
        ("at&t", "AT&T INC."),
        ("AT and T", "AT&T INC."),
        ("mcdonald's", "MCDONALDS CORP"),
        ("The Coca-Cola Company", "COCA COLA CO"),
        ("the home depot", "HOME DEPOT, INC."),
        ("bank of america", "BANK OF AMERICA CORP /DE/"),
        ("procter and gamble", "PROCTER & GAMBLE Co"),
        ("JPMorgan Chase & Co.", "JPMORGAN CHASE & CO"),
        ("j.p. morgan chase", "JPMORGAN CHASE & CO"),
        ("google", "Alphabet Inc."),
    ] {
        assert_eq!(
            search(&names, text).first().map(|(name, _)| *name),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn names_are_found_while_they_are_being_typed() {
    let names = names();
    let whole = "Coca Cola Company";
    for length in 1..=whole.len() {
        let found = search(&names, &whole[..length]);
        assert!(
            found.iter().any(|(name, _)| *name == "COCA COLA CO"),
            "{}: {found:?}",
            &whole[..length]
        );
    }
    assert_eq!(search(&names, "apple in")[0], ("Apple Inc.", "name_prefix"));
}

#[test]
fn words_are_found_in_any_order() {
    let names = names();
    assert_eq!(
        search(&names, "micro devices"),
        [("ADVANCED MICRO DEVICES INC", "word_prefix")]
    );
    assert_eq!(
        search(&names, "devices advanced"),
        [("ADVANCED MICRO DEVICES INC", "word_prefix")]
    );
    assert_eq!(
        search(&names, "america bank"),
        [
            ("BANK OF AMERICA CORP /DE/", "word_prefix"),
            ("America First Bank Trust", "word_prefix")
        ]
    );
    assert_eq!(
        search(&names, "micro"),
        [
            ("Micro Imaging Technology, Inc.", "name_prefix"),
            ("ADVANCED MICRO DEVICES INC", "word_prefix")
        ]
    );
    assert_eq!(search(&names, "zzz"), []);
    assert_eq!(search(&names, " .,"), []);
}

#[test]
fn first_results_are_in_the_order_of_all_results() {
    let names = names();
    let (all, _) = names.search("a", 50, name_of);
    for count in 1..all.len() {
        assert_eq!(names.search("a", count, name_of).0[..count], all[..count]);
    }
}

#[test]
fn one_slip_is_forgiven_where_nothing_fits_as_it_is_written() {
    let names = names();
    assert_eq!(
        search(&names, "mcdonlads"),
        [("MCDONALDS CORP", "misspelled")]
    );
    assert_eq!(
        search(&names, "facebok")[0],
        ("Facebook Employees Fund LLC", "misspelled")
    );
}
