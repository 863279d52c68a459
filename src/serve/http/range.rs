//! Parses the `Range` header. A single range is served; for several ranges the entire file is sent,
//! as RFC 9110 allows.

use std::ops::Range;

use axum::http::{HeaderMap, header};

use super::problem::{Code, Problem, Result};

/// Returns the requested byte range of a file with this tag and size, or `None` for the entire
/// file.
///
/// # Errors
/// `invalid_parameter` if the range contains no byte of the file.
pub fn requested(headers: &HeaderMap, tag: &str, size_bytes: u64) -> Result<Option<Range<u64>>> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // `If-Range` names another version of the file, so the client needs the entire file.
    if text(header::IF_RANGE).is_some_and(|known| known != tag) {
        return Ok(None);
    }
    let Some((first, last)) = text(header::RANGE).and_then(one_range) else {
        return Ok(None);
    };
    let range = match (first, last) {
        (Some(first), last) => {
            first..last.map_or(size_bytes, |last| last.saturating_add(1).min(size_bytes))
        }
        (None, last) => size_bytes.saturating_sub(last.unwrap_or(0))..size_bytes,
    };
    if range.is_empty() {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            "Range",
            format!(
                "the file has {size_bytes} bytes and the range selects none of them; omit `Range` for the whole file"
            ),
        ));
    }
    Ok(Some(range))
}

/// Parses the first and last byte of `bytes=0-499` or `bytes=500-`. For a suffix such as
/// `bytes=-500`, the second number is the length.
fn one_range(text: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |digits: &str| match digits.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok().map(Some),
        _ => None,
    };
    let (first, last) = (number(first)?, number(last)?);
    let is_one = match (first, last) {
        (None, None) => false,
        (Some(first), Some(last)) => first <= last,
        _ => true,
    };
    is_one.then_some((first, last))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn parse(range: &str, if_range: Option<&str>) -> Result<Option<Range<u64>>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
        if let Some(tag) = if_range {
            headers.insert(header::IF_RANGE, HeaderValue::from_str(tag).unwrap());
        }
        requested(&headers, "\"a\"", 100)
    }

    #[test]
    fn one_range_of_a_file_is_found_and_everything_else_is_the_whole_file() {
        for (text, range) in [
            ("bytes=0-0", 0..1),
            ("bytes=10-19", 10..20),
            ("bytes=90-", 90..100),
            ("bytes=99-1000", 99..100),
            ("bytes=-7", 93..100),
            ("bytes=-1000", 0..100),
        ] {
            assert_eq!(parse(text, None), Ok(Some(range)), "{text}");
        }
        for text in [
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=5-4",
            "bytes=0-1,5-6",
            "lines=0-1",
            "bytes=+1-2",
            "bytes=99999999999999999999-",
        ] {
            assert_eq!(parse(text, None), Ok(None), "{text}");
        }
        for text in ["bytes=100-", "bytes=100-200", "bytes=-0"] {
            assert_eq!(
                parse(text, None).unwrap_err().errors[0].field,
                "Range",
                "{text}"
            );
        }
        assert_eq!(parse("bytes=0-0", Some("\"a\"")), Ok(Some(0..1)));
        assert_eq!(
            parse("bytes=0-0", Some("\"b\"")),
            Ok(None),
            "a range of another version of the file"
        );
        assert_eq!(parse("bytes=0-0", Some("W/\"a\"")), Ok(None));
    }
}
