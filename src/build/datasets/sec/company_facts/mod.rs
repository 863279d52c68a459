//! Turns a member of companyfacts.zip into the facts about the wanted concepts, each with its byte
//! range.
//!
//! Two decoders read the same format. The strict decoder accepts any JSON layout. The fast decoder
//! accepts only the SEC's compact layout, checks every byte, and gives up on anything unexpected.
//! If the fast decoder accepts a member, the strict decoder returns the same facts.

mod concept_filter;
mod scan;
mod strict;

pub use concept_filter::ConceptFilter;

use super::fact::CompanyFacts;
use pubdata_core::error::{Error, Result};

/// The decoder that read a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoder {
    Fast,
    Strict,
}

impl Decoder {
    /// Returns the decoder's published name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Strict => "strict",
        }
    }
}

/// Reads one member: `{cik, entityName, facts: {taxonomy: {concept: {label, description, units:
/// {unit: [fact]}}}}}`.
///
/// Lists a wanted fact as malformed if it does not follow the format. Facts about other concepts
/// are counted, and checked only for being JSON.
///
/// # Errors
/// Fails if the member is not JSON, has an unexpected structure, repeats a key, or is larger than 4
/// GiB.
///
/// # Source
/// SEC, "EDGAR Application Programming Interfaces", data.sec.gov/api/xbrl/companyfacts, and the
/// content of its files (2024-11 to 2026-07).
pub fn parse(member: &[u8], filter: &ConceptFilter) -> Result<(CompanyFacts, Decoder)> {
    if u32::try_from(member.len()).is_err() {
        return Err(Error::format(format!(
            "{} bytes are too many for one member",
            member.len()
        )));
    }
    match scan::read(member, filter) {
        Some(facts) => Ok((facts, Decoder::Fast)),
        None => Ok((strict::read(member, filter)?, Decoder::Strict)),
    }
}

/// Returns each decoder's result for a member.
#[cfg(fuzzing)]
pub fn by_both(
    member: &[u8],
    filter: &ConceptFilter,
) -> (Option<CompanyFacts>, Result<CompanyFacts>) {
    (scan::read(member, filter), strict::read(member, filter))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::super::fact::{Amount, CompanyFacts, Fact, FilingPeriod, Form, Unit};
    use super::{ConceptFilter, Decoder, parse, scan, strict};
    use crate::normalise::Day;

    const MEMBER: &str = concat!(
        r#"{"cik":9999999991,"entityName":"A \"quoted\" n\u00e4me, INC.","facts":{"dei":{"#,
        r#""EntityCommonStockSharesOutstanding":{"label":"Shares","description":"Braces } and ] and \\ and \u00a0.","units":{"shares":["#,
        r#"{"end":"2020-10-16","val":17001802000,"accn":"0000320193-20-000096","fy":2020,"fp":"FY","form":"10-K","filed":"2020-10-30","frame":"CY2020Q3I"}]}},"#,
        r#""Unwanted":{"label":null,"description":null,"units":{"USD":[{"end":"2020-12-31","val":-0.5e+3,"accn":"0000320193-21-000010","fy":null,"fp":null,"form":"DEF 14A","filed":"2021-01-05"},"#,
        r#"{"start":"2020-01-01","end":"2020-12-31","val":1E2,"accn":"0000320193-21-000010","fy":2020,"fp":"Q4","form":"8-K","filed":"2021-01-05","frame":"CY2020"}],"#,
        r#""EUR":[{"end":"2020-12-31","val":0,"accn":"0000320193-21-000010","fy":2020,"fp":"Q1","form":"10-Q","filed":"2021-01-05"}]}}},"#,
        r#""us-gaap":{"EarningsPerShareDiluted":{"label":"EPS","description":"Zinsen für 1 Aktie.","units":{"USD/shares":["#,
        r#"{"start":"2019-09-29","end":"2020-09-26","val":3.28,"accn":"0000320193-20-000096","fy":2020,"fp":"FY","form":"10-K","filed":"2020-10-30","frame":"CY2020"},"#,
        r#"{"start":"2020-06-28","end":"2020-09-26","val":-6e-06,"accn":"0000320193-20-000096","fy":null,"fp":null,"form":"10-KT/A","filed":"2020-10-30","frame":"CY2020Q3"}],"#,
        r#""pure":[{"end":"2020-09-26","val":8,"accn":"0000320193-20-000096","fy":2020,"fp":"H1","form":"6-K","filed":"2020-10-30"}]}}}}}"#
    );

    fn concepts() -> ConceptFilter {
        ConceptFilter::new([
            "us-gaap:Assets",
            "us-gaap:EarningsPerShareDiluted",
            "dei:EntityCommonStockSharesOutstanding",
        ])
        .unwrap()
    }

    fn day(text: &str) -> Day {
        Day::from_iso(text.as_bytes()).unwrap()
    }

    /// Builds a member with one concept, `us-gaap:Assets`, and these facts about it in USD.
    fn assets(facts: &str) -> String {
        format!(
            r#"{{"cik":1,"entityName":"A","facts":{{"us-gaap":{{"Assets":{{"label":null,"description":null,"units":{{"USD":[{facts}]}}}}}}}}}}"#
        )
    }

    fn fact_with_value(val: &str) -> String {
        format!(
            r#"{{"end":"2020-12-31","val":{val},"accn":"0000320193-21-000010","fy":2020,"fp":"FY","form":"10-K","filed":"2021-01-05"}}"#
        )
    }

    /// Inserts white space after every punctuation mark outside strings.
    fn with_white_space(member: &str, is_kept: impl Fn(char) -> bool, white_space: &str) -> String {
        let (mut spaced, mut is_string, mut is_escaped) = (String::new(), false, false);
        for character in member.chars() {
            if is_string || is_kept(character) {
                spaced.push(character);
            }
            if !is_string && matches!(character, '{' | '[' | ',' | ':' | ']' | '}') {
                spaced.push_str(white_space);
            }
            is_string ^= character == '"' && !is_escaped;
            is_escaped = is_string && character == '\\' && !is_escaped;
        }
        spaced
    }

    #[test]
    fn member_is_parsed_into_its_wanted_facts() {
        let (found, decoder) = parse(MEMBER.as_bytes(), &concepts()).unwrap();
        assert_eq!(decoder, Decoder::Fast);
        assert_eq!(
            (found.cik, found.entity_name.as_str(), found.facts_total),
            (9_999_999_991, "A \"quoted\" näme, INC.", 7)
        );
        assert_eq!(found.taxonomies, ["dei", "us-gaap"]);
        assert!(found.malformed.is_empty() && found.unknown_keys.is_empty());
        let texts: Vec<&str> = found
            .facts
            .iter()
            .map(|fact| &MEMBER[fact.offset as usize..(fact.offset + fact.length) as usize])
            .collect();
        assert!(
            texts.iter().all(|text| text.starts_with('{')
                && text.ends_with('}')
                && text.matches('{').count() == 1),
            "{texts:#?}"
        );
        let values: Vec<(u16, Unit, i128, Form)> = found
            .facts
            .iter()
            .map(|fact| (fact.concept, fact.unit, fact.value.0, fact.form))
            .collect();
        assert_eq!(
            values,
            [
                (2, Unit::Shares, 170_018_020_000_000_000_000, Form::TenK),
                (1, Unit::UsdPerShare, 32_800_000_000, Form::TenK),
                (1, Unit::UsdPerShare, -60_000, Form::TenKTA),
                (1, Unit::Other, 80_000_000_000, Form::Other),
            ]
        );
        let expected = Fact {
            concept: 1,
            unit: Unit::UsdPerShare,
            start: Some(day("2019-09-29")),
            end: day("2020-09-26"),
            value: Amount(32_800_000_000),
            accession: "0000320193-20-000096".parse().unwrap(),
            form: Form::TenK,
            filed: day("2020-10-30"),
            fy: Some(2020),
            fp: Some(FilingPeriod::Fy),
            offset: found.facts[1].offset,
            length: u32::try_from(r#"{"start":"2019-09-29","end":"2020-09-26","val":3.28,"accn":"0000320193-20-000096","fy":2020,"fp":"FY","form":"10-K","filed":"2020-10-30","frame":"CY2020"}"#.len()).unwrap(),
        };
        assert_eq!(found.facts[1], expected);
        assert_eq!(
            (
                found.facts[2].fy,
                found.facts[2].fp,
                found.facts[3].fy,
                found.facts[3].fp
            ),
            (None, None, Some(2020), None)
        );
        assert_eq!(strict::read(MEMBER.as_bytes(), &concepts()).unwrap(), found);
    }

    #[test]
    fn white_space_and_padded_numbers_change_places_only() {
        let without_places = |mut facts: CompanyFacts| {
            facts
                .facts
                .iter_mut()
                .for_each(|fact| (fact.offset, fact.length) = (0, 0));
            facts
        };
        let compact = without_places(strict::read(MEMBER.as_bytes(), &concepts()).unwrap());
        for white_space in [" ", "\n  ", "\r\n\t"] {
            let (spaced, decoder) = parse(
                with_white_space(MEMBER, |_| true, white_space).as_bytes(),
                &concepts(),
            )
            .unwrap();
            assert_eq!(
                (without_places(spaced), decoder),
                (compact.clone(), Decoder::Strict)
            );
        }
        let padded = MEMBER.replace(r#""cik":9999999991"#, r#""cik":"9999999991""#);
        let (padded, decoder) = parse(padded.as_bytes(), &concepts()).unwrap();
        assert_eq!((without_places(padded), decoder), (compact, Decoder::Fast));
        assert_eq!(
            parse(
                assets("")
                    .replace(r#""cik":1"#, r#""cik":"0000000001""#)
                    .as_bytes(),
                &concepts()
            )
            .unwrap()
            .0
            .cik,
            1
        );
    }

    #[test]
    fn amounts_are_exact_or_refused() {
        let unscaled =
            |literal: &str| Amount::from_literal(literal.as_bytes()).map(|amount| amount.0);
        for (literal, expected) in [
            ("0", 0),
            ("-0.000", 0),
            ("0e99999999999999999999", 0),
            ("1", 10_000_000_000),
            ("-15.15", -151_500_000_000),
            ("6e-06", 60_000),
            ("1.5E+3", 15_000_000_000_000),
            ("1.50000000000000000000", 15_000_000_000),
            ("0.0000000001", 1),
            ("1e-10", 1),
            ("1000e-13", 1),
            ("9007199254740993", 90_071_992_547_409_930_000_000_000),
            ("999999999999999999", 9_999_999_999_999_999_990_000_000_000),
            (
                "-999999999999999999.9999999999",
                -9_999_999_999_999_999_999_999_999_999,
            ),
        ] {
            assert_eq!(unscaled(literal), Ok(expected), "{literal}");
        }
        for literal in [
            "0.00000000001",
            "1e-11",
            "6e-99999999999999999999",
            "3.141592653589793",
        ] {
            assert_eq!(
                unscaled(literal),
                Err("has more than ten digits after the point"),
                "{literal}"
            );
        }
        for literal in [
            "1000000000000000000",
            "1e18",
            "1e99999999999999999999",
            "1234567890123456789.5",
        ] {
            assert_eq!(
                unscaled(literal),
                Err("has more than 18 digits before the point"),
                "{literal}"
            );
        }
        for literal in [
            "", "-", ".5", "1.", "1e", "1e+", "--1", "+1", "1.2.3", "0x10", "null", "\"5\"",
            "Infinity", "1 ",
        ] {
            assert_eq!(unscaled(literal), Err("is not a number"), "{literal}");
        }
    }

    #[test]
    fn unreadable_fact_is_listed_and_the_others_are_kept() {
        let good = fact_with_value("1");
        for (bad, detail) in [
            (fact_with_value("\"5\""), "`val` is not a number"),
            (fact_with_value("null"), "`val` is not a number"),
            (fact_with_value("[1]"), "`val` is not a number"),
            (
                fact_with_value("0.12345678901"),
                "`val` has more than ten digits after the point",
            ),
            (
                fact_with_value("1e30"),
                "`val` has more than 18 digits before the point",
            ),
            (good.replace("\"val\":1,", ""), "no `val`"),
            (
                good.replace("2020-12-31", "2020-12-32"),
                "`end` \"2020-12-32\" is no day",
            ),
            (
                good.replace("\"2020-12-31\"", "20201231"),
                "`end` is no text: 20201231",
            ),
            (
                good.replace("\"end\"", "\"start\":null,\"end\""),
                "`start` is no text: null",
            ),
            (
                good.replace("000010", "00001O"),
                "`accn` \"0000320193-21-00001O\" is no accession number",
            ),
            (good.replace("\"10-K\"", "null"), "`form` is no text: null"),
            (good.replace("\"filed\"", "\"field\""), "no `filed`"),
            (
                good.replace("\"fy\":2020", "\"val\":2"),
                "`val` occurs twice",
            ),
            ("7".to_owned(), "a fact, an object"),
        ] {
            let member = assets(&format!("{good},{bad},{good}"));
            let (found, decoder) = parse(member.as_bytes(), &concepts()).unwrap();
            assert_eq!(
                (found.facts.len(), found.facts_total, decoder),
                (2, 3, Decoder::Strict),
                "{bad}"
            );
            let [malformed] = found.malformed.as_slice() else {
                panic!("{bad}: {:?}", found.malformed)
            };
            assert!(
                malformed.detail.contains(detail),
                "{bad}: {}",
                malformed.detail
            );
            assert_eq!(
                &member[malformed.offset as usize..][..malformed.length as usize],
                bad
            );
        }
    }

    #[test]
    fn what_the_format_does_not_have_is_named() {
        let shuffled = r#"{"form":"10-K\/A","decimals":-6,"filed":"2021-01-05","fp":"FY","accn":"0000320193-21-000010","fy":"2020","val":1,"end":"2020-12-31"}"#;
        let member = assets(shuffled)
            .replace("\"label\":null", "\"balance\":{\"a\":[]}")
            .replace("\"cik\"", "\"ticker\":\"A\",\"cik\"");
        let (found, decoder) = parse(member.as_bytes(), &concepts()).unwrap();
        assert_eq!(decoder, Decoder::Strict);
        assert_eq!(
            (found.facts[0].form, found.facts[0].fy, found.facts[0].fp),
            (Form::TenKA, None, Some(FilingPeriod::Fy))
        );
        assert_eq!(
            found.unknown_keys.into_iter().collect::<Vec<_>>(),
            ["concept.balance", "fact.decimals", "member.ticker"]
        );
    }

    #[test]
    fn members_of_another_structure_are_refused() {
        let good = assets(&fact_with_value("1"));
        for (member, reason) in [
            (String::new(), "EOF"),
            ("{}".to_owned(), "no `cik`"),
            ("[]".to_owned(), "expected the member, an object"),
            (format!("{good}{good}"), "trailing characters"),
            (format!("\u{feff}{good}"), "expected value"),
            (good[..good.len() - 1].to_owned(), "EOF"),
            (good.replace("\"facts\":{", "\"fact\":{"), "no `facts`"),
            (good.replace("\"units\":{", "\"unit\":{"), "no `units`"),
            (good.replace("\"cik\":1", "\"cik\":0"), "a CIK"),
            (good.replace("\"cik\":1", "\"cik\":1.0"), "a CIK"),
            (
                good.replace("\"cik\":1", "\"cik\":1,\"c\\u0069k\":1"),
                "`cik` occurs twice in the member",
            ),
            (
                good.replace("\"label\":null", "\"label\":null,\"label\":null"),
                "`label` occurs twice in a concept",
            ),
            (
                good.replace("\"USD\":", "\"USD\":[],\"USD\":"),
                "`USD` occurs twice in `units`",
            ),
            (
                good.replace("\"Assets\":", "\"Assets\":{\"units\":{}},\"Assets\":"),
                "`Assets` occurs twice in a taxonomy",
            ),
            (
                good.replace(
                    "\"Assets\":",
                    "\"Other\":{\"units\":{}},\"Other\":{\"units\":{}},\"Assets\":",
                ),
                "`Other` occurs twice in a taxonomy",
            ),
            (
                good.replace("\"us-gaap\":", "\"us-gaap\":{},\"us-gaap\":"),
                "`us-gaap` occurs twice in `facts`",
            ),
            (
                good.replace("\"Assets\"", "\"Unwanted\"")
                    .replace("\"val\":1", "\"val\":1."),
                "invalid number",
            ),
            (
                good.replace("\"Assets\"", "\"Unwanted\"")
                    .replace("\"val\":1", "\"val\":01"),
                "invalid number",
            ),
        ] {
            assert_eq!(scan::read(member.as_bytes(), &concepts()), None, "{member}");
            let error = parse(member.as_bytes(), &concepts())
                .map(|_| ())
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{member}: {error}");
        }
        let not_text = [good.as_bytes(), b"\xFF"].concat();
        assert!(
            parse(&not_text, &concepts())
                .unwrap_err()
                .to_string()
                .contains("not UTF-8")
        );
    }

    #[test]
    fn wanted_concepts_are_named_once_with_their_taxonomy() {
        assert!(
            ConceptFilter::new(["Revenues"])
                .unwrap_err()
                .to_string()
                .contains("`Revenues` is no concept")
        );
        assert!(
            ConceptFilter::new(["us-gaap:A", "dei:A", "us-gaap:A"])
                .unwrap_err()
                .to_string()
                .contains("`us-gaap:A` is listed twice")
        );
    }

    /// Asserts that the strict decoder returns the same facts if the fast decoder accepts a member.
    #[track_caller]
    fn assert_fast_is_strict(member: &[u8], filter: &ConceptFilter) -> Option<Decoder> {
        let strictly = strict::read(member, filter);
        if let Some(fast) = scan::read(member, filter) {
            assert_eq!(
                Some(&fast),
                strictly.as_ref().ok(),
                "{:?}: {}",
                strictly.as_ref().err(),
                String::from_utf8_lossy(member)
            );
            return Some(Decoder::Fast);
        }
        strictly.is_ok().then_some(Decoder::Strict)
    }

    #[derive(Debug, Clone)]
    enum Change {
        Replace(prop::sample::Index, u8),
        Insert(prop::sample::Index, Vec<u8>),
        Remove(prop::sample::Index, usize),
        Repeat(prop::sample::Index, usize),
        Cut(prop::sample::Index),
    }

    fn change() -> impl Strategy<Value = Change> {
        let byte = || prop_oneof![3 => prop::sample::select(b"{}[]\",:\\-+.0123456789eEuntl /\n\x00\x1f\x7f\x80\xc3\xa4".to_vec()), 1 => any::<u8>()];
        prop_oneof![
            6 => (any::<prop::sample::Index>(), byte()).prop_map(|(place, byte)| Change::Replace(place, byte)),
            3 => (any::<prop::sample::Index>(), prop::collection::vec(byte(), 1..4)).prop_map(|(place, bytes)| Change::Insert(place, bytes)),
            3 => (any::<prop::sample::Index>(), 1_usize..40).prop_map(|(place, length)| Change::Remove(place, length)),
            2 => (any::<prop::sample::Index>(), 1_usize..300).prop_map(|(place, length)| Change::Repeat(place, length)),
            1 => any::<prop::sample::Index>().prop_map(Change::Cut),
        ]
    }

    fn apply(change: &Change, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let until = |from: usize, length: usize, bytes: &[u8]| (from + length).min(bytes.len());
        match change {
            Change::Replace(place, byte) => {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            Change::Insert(place, inserted) => {
                let place = place.index(bytes.len());
                bytes.splice(place..place, inserted.iter().copied());
            }
            Change::Remove(place, length) => {
                let from = place.index(bytes.len());
                bytes.drain(from..until(from, *length, bytes));
            }
            Change::Repeat(place, length) => {
                let from = place.index(bytes.len());
                let repeated = bytes[from..until(from, *length, bytes)].to_vec();
                bytes.splice(from..from, repeated);
            }
            Change::Cut(place) => bytes.truncate(place.index(bytes.len())),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn fast_decoder_agrees_with_strict_on_damaged_members_or_declines(changes in prop::collection::vec(change(), 1..4)) {
            let mut member = MEMBER.as_bytes().to_vec();
            for change in &changes {
                apply(change, &mut member);
            }
            assert_fast_is_strict(&member, &concepts());
        }

        #[test]
        fn amount_equals_the_decimal_number_as_written(unscaled in -9_999_999_999_999_999_999_999_999_999_i128..=9_999_999_999_999_999_999_999_999_999, shift in 0_usize..20) {
            let digits = format!("{:030}", unscaled.abs());
            let (whole, fraction) = digits.split_at(20);
            let sign = if unscaled < 0 { "-" } else { "" };
            let plain = format!("{sign}{whole}.{fraction}");
            prop_assert_eq!(Amount::from_literal(plain.as_bytes()), Ok(Amount(unscaled)));
            let (before, after) = digits.split_at(digits.len() - shift);
            let shifted = format!("{sign}{before}.{after}0e{}", i64::try_from(shift).unwrap() - 10);
            prop_assert_eq!(Amount::from_literal(shifted.as_bytes()), Ok(Amount(unscaled)));
        }
    }

    /// Tries every punctuation mark at every position, to show that the fast decoder notices a
    /// change in any byte.
    #[test]
    fn every_single_change_of_a_member_is_read_alike_or_given_up() {
        let mut member = MEMBER.as_bytes().to_vec();
        for place in 0..member.len() {
            let kept = member[place];
            for byte in *b"\"\\{}[],:.-0a9 \n\x00\xff" {
                member[place] = byte;
                assert_fast_is_strict(&member, &concepts());
            }
            member[place] = kept;
            assert_fast_is_strict(&member[..place], &concepts());
        }
    }

    fn json_files_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                json_files_below(&path, found);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push(path);
            }
        }
    }

    /// Reads the agency's own members, both as they are and without white space, which is the
    /// archive's layout.
    #[test]
    fn both_decoders_read_real_members_alike() {
        let root = std::env::var_os("PUBDATA_SHARED_DATA").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
            PathBuf::from,
        );
        let mut files = Vec::new();
        for folder in [
            "companyfacts",
            "companyfacts_older",
            "companyfacts_reduced",
            "companyfacts_reduced18",
        ]
        .map(|name| root.join("sec").join(name))
        {
            if folder.is_dir() {
                json_files_below(&folder, &mut files);
            }
        }
        if files.is_empty() {
            eprintln!(
                "skipped: no members below {}; PUBDATA_SHARED_DATA names a folder of real agency files",
                root.display()
            );
            return;
        }
        let concepts = [
            "us-gaap:Assets",
            "us-gaap:Revenues",
            "us-gaap:NetIncomeLoss",
            "us-gaap:EarningsPerShareDiluted",
            "dei:EntityCommonStockSharesOutstanding",
        ];
        let filter = ConceptFilter::new(concepts).unwrap();
        let (mut read_fast, mut facts) = (0, 0);
        for file in files {
            let member = std::fs::read_to_string(&file).unwrap();
            let compact =
                with_white_space(&member, |character| !character.is_ascii_whitespace(), "");
            let decoder = assert_fast_is_strict(member.as_bytes(), &filter);
            if file
                .parent()
                .is_some_and(|folder| folder.ends_with("companyfacts"))
            {
                assert!(decoder.is_some(), "{}", file.display());
                assert_eq!(
                    assert_fast_is_strict(compact.as_bytes(), &filter),
                    Some(Decoder::Fast),
                    "{}",
                    file.display()
                );
                let found = scan::read(compact.as_bytes(), &filter).unwrap();
                assert!(
                    found.malformed.is_empty() && found.facts_total > 500,
                    "{}",
                    file.display()
                );
                (read_fast, facts) = (read_fast + 1, facts + found.facts.len());
            }
        }
        assert!(
            read_fast >= 9 && facts > 5_000,
            "{read_fast} members, {facts} facts"
        );
    }
}
