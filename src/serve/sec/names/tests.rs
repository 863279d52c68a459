//! Which registrants a search finds, by which kind of match, and in which order.

use crate::serve::sec::names::{Found, Match, Named, Names};

/// Name, former names, position in the list of tickers.
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
    Names::new(REGISTRANTS.iter().map(|(name, former_names, listing)| Named { name, former_names: former_names.to_vec(), listing: *listing }))
}

fn search(names: &Names, text: &str) -> Vec<(&'static str, &'static str)> {
    let (found, has_more) = names.search(text, std::iter::empty(), 50);
    assert!(!has_more);
    found.iter().map(|found| (REGISTRANTS[found.row as usize].0, found.matched.name())).collect()
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
    assert_eq!(search(&names, "Apple, Inc")[..2], [("Apple Inc.", "name"), ("APPLE CORP", "name_without_suffix")]);
    assert_eq!(search(&names, "apple corporation")[..2], [("APPLE CORP", "name"), ("Apple Inc.", "name_without_suffix")]);
    assert_eq!(search(&names, "facebook"), [("Meta Platforms, Inc.", "former_name"), ("Facebook Employees Fund LLC", "name_prefix")]);
    assert_eq!(search(&names, "faceb"), [("Facebook Employees Fund LLC", "name_prefix"), ("Meta Platforms, Inc.", "former_name")]);
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
        assert_eq!(search(&names, text).first().map(|(name, _)| *name), Some(expected), "{text}");
    }
}

#[test]
fn names_are_found_while_they_are_being_typed() {
    let names = names();
    let whole = "Coca Cola Company";
    for length in 1..=whole.len() {
        let found = search(&names, &whole[..length]);
        assert!(found.iter().any(|(name, _)| *name == "COCA COLA CO"), "{}: {found:?}", &whole[..length]);
    }
    assert_eq!(search(&names, "apple in")[0], ("Apple Inc.", "name_prefix"));
}

#[test]
fn words_are_found_in_any_order() {
    let names = names();
    assert_eq!(search(&names, "micro devices"), [("ADVANCED MICRO DEVICES INC", "word_prefix")]);
    assert_eq!(search(&names, "devices advanced"), [("ADVANCED MICRO DEVICES INC", "word_prefix")]);
    assert_eq!(search(&names, "america bank"), [("BANK OF AMERICA CORP /DE/", "word_prefix"), ("America First Bank Trust", "word_prefix")]);
    assert_eq!(search(&names, "micro"), [("Micro Imaging Technology, Inc.", "name_prefix"), ("ADVANCED MICRO DEVICES INC", "word_prefix")]);
    assert_eq!(search(&names, "zzz"), []);
    assert_eq!(search(&names, " .,"), []);
}

#[test]
fn a_search_stops_at_what_is_wanted_and_keeps_its_order() {
    let names = names();
    let (all, _) = names.search("a", std::iter::empty(), 50);
    for wanted in 1..all.len() {
        let (some, has_more) = names.search("a", std::iter::empty(), wanted);
        assert_eq!((some.as_slice(), has_more), (&all[..wanted], true));
    }
    let ticker = Found { row: 3, matched: Match::Ticker, former: None };
    assert_eq!(names.search("apple", [ticker].into_iter(), 50).0[0], ticker);
}
