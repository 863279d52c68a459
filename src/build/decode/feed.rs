//! Splits an XML feed into entries, each a separate document, so that an entry that is not
//! well-formed does not affect the other entries.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::XmlDocument;
use pubdata_core::error::{Error, Result};

/// Maximum size of the part before a feed's first entry, which contains a title and a few links.
/// This part is parsed again with each entry.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// Element names in a feed: the elements that enclose its entries, from the root inwards, and the
/// entry element.
#[derive(Debug, Clone, Copy)]
pub struct FeedShape {
    pub around: &'static [&'static str],
    pub entry: &'static str,
}

/// A feed entry as a separate document with its enclosing elements.
#[derive(Debug)]
pub struct FeedElement<'c> {
    /// The part of the feed before the first entry, followed by the entry.
    parts: [&'c [u8]; 2],
    closing: Arc<str>,
    /// Offset of the entry's first byte in the feed, and its length in bytes.
    pub offset: u64,
    pub length: u64,
}

impl FeedElement<'_> {
    /// Returns the document's bytes. They are composed on demand, because the documents of all
    /// entries together can be a thousand times the size of the feed.
    pub fn document(&self) -> Vec<u8> {
        [self.parts[0], self.parts[1], self.closing.as_bytes()].concat()
    }
}

/// Splits a feed into entries. An entry without an end tag extends to the start of the next entry.
///
/// # Errors
/// `Format` if the document does not have the feed's shape: other elements enclose the entries, or
/// the document is not well-formed before the first entry.
pub fn feed_entries(content: &[u8], shape: FeedShape) -> Result<Vec<FeedElement<'_>>> {
    let closing: Arc<str> = shape
        .around
        .iter()
        .rev()
        .map(|name| format!("</{name}>"))
        .collect::<String>()
        .into();
    let ranges = ranges(content, shape.entry);
    let root_end = || {
        memmem::find(
            content,
            closing
                .as_bytes()
                .split_inclusive(|byte| *byte == b'>')
                .next()
                .unwrap_or_default(),
        )
        .unwrap_or(content.len())
    };
    let head = &content[..ranges.first().map_or_else(root_end, |range| range.start)];
    if head.len() > MAX_HEAD_BYTES {
        return Err(Error::format(format!(
            "{} bytes precede the first entry, more than any feed has",
            head.len()
        )));
    }
    check_head(&[head, closing.as_bytes()].concat(), shape)?;
    let entry = |range: Range<usize>| FeedElement {
        parts: [head, &content[range.clone()]],
        closing: closing.clone(),
        offset: range.start as u64,
        length: range.len() as u64,
    };
    Ok(ranges.into_iter().map(entry).collect())
}

/// Checks that a feed's document begins with the elements that enclose its entries.
fn check_head(document: &[u8], shape: FeedShape) -> Result<()> {
    let document = XmlDocument::new(document)?;
    let mut reader = document.reader();
    let mut expected = shape.around.iter();
    while let Some(piece) = reader.advance()? {
        if let super::XmlPiece::Start(element) = piece
            && shape
                .around
                .get(element.depth)
                .is_some_and(|name| *name == element.name)
        {
            expected.next();
        }
    }
    match expected.next() {
        None => Ok(()),
        Some(name) => Err(Error::format(format!(
            "is not a feed with <{}> in <{}>: <{name}> is missing",
            shape.entry,
            shape.around.join("><")
        ))),
    }
}

/// Returns the entries' byte ranges.
fn ranges(content: &[u8], name: &str) -> Vec<Range<usize>> {
    let (opening, closing) = (format!("<{name}"), format!("</{name}>"));
    let is_whole_name = |at: &usize| {
        content
            .get(at + opening.len())
            .is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))
    };
    let starts: Vec<usize> = memmem::find_iter(content, opening.as_bytes())
        .filter(is_whole_name)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([content.len()]);
    let range = |(start, next): (usize, usize)| match memmem::find(
        &content[start..next],
        closing.as_bytes(),
    ) {
        Some(at) => start..start + at + closing.len(),
        None => start..next,
    };
    starts.iter().copied().zip(ends).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: FeedShape = FeedShape {
        around: &["rss", "channel"],
        entry: "item",
    };

    #[test]
    fn what_stands_before_the_entries_is_short_and_kept_once() {
        let feed = |title: usize| {
            format!(
                "<rss><channel><title>{}</title>{}</channel></rss>",
                "x".repeat(title),
                "<item/>".repeat(20_000)
            )
        };
        let content = feed(8_000);
        let entries = feed_entries(content.as_bytes(), SHAPE).unwrap();
        assert_eq!(entries.len(), 20_000);
        assert!(
            entries
                .iter()
                .all(|entry| std::ptr::eq(entry.parts[0].as_ptr(), content.as_ptr())),
            "160 MB if each entry had its own"
        );
        assert!(
            String::from_utf8(entries[9].document())
                .unwrap()
                .ends_with("x</title><item/></channel></rss>")
        );
        let error = feed_entries(feed(9_000).as_bytes(), SHAPE)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("bytes precede the first entry, more than any feed has"),
            "{error}"
        );
    }
}
