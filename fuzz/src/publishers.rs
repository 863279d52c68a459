//! Checks what publishers' servers send apart from files.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use pubdata_core::pipeline::Listing;
use pubdata_core::provenance::is_future_date;
use pubdata_fetch::fuzzing::{content_range, http_date, retry_after, unpack};
use pubdata_fetch::{is_html, is_within_reach, links, mirror_path, recorded_url};
use pubdata_store::{Home, Snapshots};

use crate::place;

const MAX_BYTES: u64 = 4 << 20;

/// Unpacks a body: one byte chooses the encoding and the size of its pieces, then the body follows.
pub fn packed(data: &[u8]) {
    let (how, body) = place::choice(data);
    let coding = ["gzip", "deflate", "br", "x-gzip"][usize::from(how & 3)];
    let home = Home::open(&place::folder().join("packed")).expect("a home can be made");
    let snapshots = Snapshots::open(&home).expect("snapshots can be opened");
    let unpacked = |pieces: &[&[u8]]| {
        let mut partial = snapshots.partial("a.list", "https://example.org/list").expect("a download can begin");
        partial.restart().expect("it restarts");
        let is_whole = unpack(coding, pieces, MAX_BYTES, &mut partial);
        assert!(partial.len() <= MAX_BYTES, "no more is written than the file may have");
        (is_whole, partial.len(), partial.digest())
    };
    let at_once = unpacked(&[body]);
    let pieces: Vec<&[u8]> = body.chunks(usize::from(how >> 2) + 1).collect();
    let in_pieces = unpacked(&pieces);
    if at_once.0 {
        assert_eq!(at_once, in_pieces, "how a body comes makes no difference");
    }
}

/// Reads a line as a header and as a URL, then a page of links.
pub fn answers(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (line, page) = text.split_once('\n').unwrap_or((&text, ""));
    let now = Timestamp::UNIX_EPOCH;
    let _ = retry_after(line, now);
    if let Some(date) = http_date(line) {
        let _ = date.to_string();
    }
    if let (Some(date), Ok(today)) = (http_date(line), "2026-11-20".parse::<Date>()) {
        let stated = date.to_zoned(TimeZone::UTC).date();
        assert_eq!(is_future_date(stated, today), stated > today.saturating_add(Span::new().days(1)), "a date counts until the day after");
    }
    let _ = content_range(line);
    let _ = is_html(data);
    if let Ok(path) = mirror_path(line) {
        let outside = std::path::Path::new(&path).components().any(|part| !matches!(part, std::path::Component::Normal(_)));
        assert!(!outside, "{path} leads out of the mirror");
    }
    if let Ok(recorded) = recorded_url(line) {
        assert_eq!(recorded_url(&recorded).ok().as_ref(), Some(&recorded), "what is recorded holds no secret");
    }
    let _ = is_within_reach("https://www2.census.gov/a", &["*.example.org".to_owned()], line);
    let found = links("https://example.org/list/index.html", page);
    assert!(found.iter().all(|link| link.starts_with("https://example.org/")), "links stay on their host");
    for pattern in [r"(?<state>[a-z]{2})r(?<year>\d{4})(?<month>[a-z]+|\d+)\.(?<extension>zip|csv)", r"(?<name>[a-z0-9]*)"] {
        let by = if pattern.len() > 20 { vec!["year".to_owned(), "month".to_owned()] } else { vec!["name".to_owned()] };
        let listing = Listing {
            pattern: pattern.to_owned(),
            per: if pattern.len() > 20 { vec!["state".to_owned()] } else { Vec::new() },
            newest_by: by,
            prefer: Default::default(),
            last: 2,
            only: Default::default(),
            otherwise: Vec::new(),
        };
        let newest = listing.newest(&found).expect("the pattern is valid");
        assert!(newest.iter().all(|listed| found.contains(&listed.link)));
        let mut turned = found.clone();
        turned.reverse();
        let _ = listing.newest(&turned).expect("the pattern is valid");
    }
}
