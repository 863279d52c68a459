//! Takes an XML feed apart into entries, each a document of its own, so that one that is not
//! well-formed does not spoil the others.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::XmlDocument;
use pubdata_core::error::{Error, Result};

/// What stands before a feed's first entry is a title and a few links. It is read again with each
/// entry.
const MAX_HEAD_BYTES: usize = 8 << 10;

/// The elements of a feed: those around its entries, from the root inwards, and the entries'.
#[derive(Debug, Clone, Copy)]
pub struct FeedShape {
    pub around: &'static [&'static str],
    pub entry: &'static str,
}

/// An entry of a feed as a document of its own, with the elements around it: one that is not
/// well-formed does not spoil the others.
#[derive(Debug)]
pub struct FeedElement<'c> {
    /// What stands before the first entry, the entry, and the end tags of what is around it.
    parts: [&'c [u8]; 2],
    closing: Arc<str>,
    /// First byte in the feed, and the number of bytes.
    pub offset: u64,
    pub length: u64,
}

impl FeedElement<'_> {
    /// The bytes of the document. Made when they are asked for: those of all entries together can
    /// be a thousand times the feed.
    pub fn document(&self) -> Vec<u8> {
        [self.parts[0], self.parts[1], self.closing.as_bytes()].concat()
    }
}

/// Takes a feed apart. An entry without an end goes to the beginning of the next.
///
/// # Errors
/// `Format`, when the document is no such feed: other elements around the entries, or not
/// well-formed before the first.
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
            "{} bytes stand before the first entry, which no feed has",
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

/// Whether a feed's document begins with the elements that belong around its entries.
fn check_head(document: &[u8], shape: FeedShape) -> Result<()> {
    let document = XmlDocument::new(document)?;
    let mut reader = document.reader();
    let mut wanted = shape.around.iter();
    while let Some(piece) = reader.advance()? {
        if let super::XmlPiece::Start(element) = piece
            && shape
                .around
                .get(element.depth)
                .is_some_and(|name| *name == element.name)
        {
            wanted.next();
        }
    }
    match wanted.next() {
        None => Ok(()),
        Some(name) => Err(Error::format(format!(
            "is no feed with <{}> in <{}>: there is no <{name}>",
            shape.entry,
            shape.around.join("><")
        ))),
    }
}

/// Where the entries stand.
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
            error.contains("bytes stand before the first entry, which no feed has"),
            "{error}"
        );
    }
}
