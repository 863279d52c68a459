//! Checks documents: every element and fact must be where its pointer says.

use pubdata_build::datasets::fuzzing::{company_facts as by_both, filings_of_member, readable_entries};
use pubdata_build::decode::{FeedShape, XmlDocument, XmlPiece, feed_entries};

/// Reads any bytes as XML.
pub fn xml(bytes: &[u8]) {
    let Ok(document) = XmlDocument::new(bytes) else { return };
    let starts = walk(&document, bytes);
    // Every second element is read to its end with its content.
    let mut reader = document.reader();
    let (mut number, mut met) = (0, Vec::new());
    while let Ok(Some(piece)) = reader.advance() {
        let XmlPiece::Start(element) = piece else { continue };
        met.push(element.offset);
        number += 1;
        if number % 2 == 0 {
            let Ok(content) = reader.content() else { return };
            let (first, length) = (element.offset as usize, content.length as usize);
            let text = &bytes[first..first + length];
            assert!(text.starts_with(b"<") && text.ends_with(b">"), "an element goes from its first tag to its last");
            assert_eq!(reader.position(), element.offset + content.length);
            assert!(content.text.len() <= 4 * length, "a text is no longer than its characters");
        }
    }
    // Content that is read as text is not parsed further, so it may have invalid attributes.
    if let Some(starts) = starts {
        assert!(met.iter().all(|offset| starts.contains(offset)), "both ways meet the same elements");
    }
}

/// Walks a document; returns the offsets of its elements if it has an end.
fn walk(document: &XmlDocument<'_>, bytes: &[u8]) -> Option<Vec<u64>> {
    let mut reader = document.reader();
    let (mut depth, mut starts, mut position) = (0, Vec::new(), 0);
    while let Some(piece) = reader.advance().ok()? {
        match piece {
            XmlPiece::Start(element) => {
                assert_eq!(element.depth, depth);
                assert_eq!(bytes.get(element.offset as usize), Some(&b'<'), "an element begins where its pointer says");
                let _ = (element.attribute("", "r"), element.attribute_named("t"), element.is("", "c"));
                starts.push(element.offset);
                depth += 1;
            }
            XmlPiece::End(of) => {
                depth -= 1;
                assert_eq!(of, depth);
            }
        }
        assert!(reader.position() >= position && reader.position() <= bytes.len() as u64);
        position = reader.position();
    }
    Some(starts)
}

/// Reads any bytes as a feed of either form.
pub fn feed(bytes: &[u8]) {
    for shape in [FeedShape { around: &["feed"], entry: "entry" }, FeedShape { around: &["rss", "channel"], entry: "item" }] {
        let Ok(entries) = feed_entries(bytes, shape) else { continue };
        let mut end = 0;
        for entry in &entries {
            assert!(entry.offset >= end && entry.offset + entry.length <= bytes.len() as u64, "entries do not overlap");
            end = entry.offset + entry.length;
            assert!(bytes[entry.offset as usize..].starts_with(format!("<{}", shape.entry).as_bytes()));
            let content = entry.document();
            if let Ok(document) = XmlDocument::new(&content) {
                let mut reader = document.reader();
                while let Ok(Some(_)) = reader.advance() {}
            }
        }
    }
}

/// Reads a member of the SEC's archive of facts: if the fast decoder accepts it, the strict one
/// must return the same facts.
pub fn company_facts(member: &[u8]) {
    let wanted = ["us-gaap:Assets", "us-gaap:Revenues", "us-gaap:EarningsPerShareDiluted", "dei:EntityCommonStockSharesOutstanding"];
    let (fast, strict) = by_both(member, &wanted).expect("these are concepts");
    if let Some(fast) = fast {
        assert_eq!(fast, *strict.as_ref().expect("what the fast decoder accepts, the strict one does"));
    }
    let Ok(facts) = strict else { return };
    let malformed = facts.malformed.iter().map(|fact| (fact.offset, fact.length));
    for (offset, length) in facts.facts.iter().map(|fact| (fact.offset, fact.length)).chain(malformed) {
        let text = &member[offset as usize..(offset + length) as usize];
        assert!(serde_json::from_slice::<&serde_json::value::RawValue>(text).is_ok(), "a fact's pointer leads to JSON");
    }
    assert!(facts.facts.len() + facts.malformed.len() <= usize::try_from(facts.facts_total).unwrap_or(usize::MAX));
}

/// Reads one of the SEC's feeds: values of an entry must not be longer than those of any filing.
pub fn filings_feed(bytes: &[u8]) {
    for (entry, length) in readable_entries(bytes) {
        let names = entry.parties.iter().filter_map(|party| party.name.as_ref());
        assert!(names.chain([&entry.form]).all(|text| text.len() as u64 <= 2_000.min(2 * length) && !text.contains('\n')), "{entry:?}");
        assert!(entry.parties.len() <= 1_000 && entry.items.len() <= 1_000, "{entry:?}");
    }
}

/// Reads a member of the SEC's archive of submissions: a filing's pointer must lead to its
/// accession number or to the whole text.
pub fn submissions(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for (offset, length) in filings_of_member(text) {
        let place = &text[offset as usize..(offset + length) as usize];
        let is_accession =
            |place: &str| place.trim_matches('"').len() == 20 && place.trim_matches('"').bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        assert!(place.len() == text.len() || is_accession(place), "{place}");
    }
}
