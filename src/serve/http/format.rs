//! Chooses the format of an answer from the request: JSON, a CSV table of the records, or the same
//! JSON labelled as JSON-LD.

use axum::http::{HeaderMap, header};

use super::endpoint::{Endpoint, Handler};
use super::problem::{Code, Problem, Result};
use super::query::Query;
use super::response::{CSV, JSON_LD, PARQUET};

/// Format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    /// The same bytes as JSON, with the linked-data media type.
    LinkedData,
    /// CSV table of the records at this path in `data`.
    Csv(&'static str),
}

/// Reads the requested format from the parameter or, if the parameter is absent, from the header. A
/// format other than JSON is written into the query in both cases, so that both requests have the
/// same ETag.
///
/// # Errors
/// `invalid_parameter` if the header accepts no available format.
pub fn requested(endpoint: &Endpoint, headers: &HeaderMap, query: &mut Query) -> Result<Format> {
    let format_name = if endpoint.rows().is_some() {
        query.take("format")
    } else {
        None
    };
    let accepted = Accepted::from_headers(headers);
    let format = match (endpoint.rows(), format_name.as_deref()) {
        (Some(rows), Some("csv")) => Format::Csv(rows),
        (Some(_), Some(_)) => Format::Json,
        (Some(rows), None) if accepted.of_table.0 > 0.0 && accepted.of_table > accepted.of_json => {
            Format::Csv(rows)
        }
        _ if endpoint.is_linked_data()
            && accepted.of_linked_data.0 > 0.0
            && accepted.of_linked_data > accepted.of_json =>
        {
            Format::LinkedData
        }
        _ if accepted.of_json.0 > 0.0 => Format::Json,
        (rows, _) => {
            let other = match rows {
                Some(_) => format!(" or `{CSV}`"),
                None if matches!(endpoint.handler, Handler::Download { .. }) => {
                    format!(", `{CSV}` or `{PARQUET}`")
                }
                None if endpoint.is_linked_data() => format!(" or `{JSON_LD}`"),
                None => String::new(),
            };
            let message = format!(
                "the answer is `application/json`{other}, and the Accept header excludes that"
            );
            return Err(Problem::of_field(Code::InvalidParameter, "Accept", message));
        }
    };
    match format {
        Format::Csv(_) => query.set("format", "csv".to_owned()),
        Format::LinkedData => query.set("format", "linked_data".to_owned()),
        Format::Json => {}
    }
    Ok(format)
}

/// Writes the file format that the `Accept` header requests into the query of a download, unless a
/// parameter sets it.
pub fn choose_file(headers: &HeaderMap, query: &mut Query) {
    let Accepted {
        of_json,
        of_table,
        of_parquet,
        ..
    } = Accepted::from_headers(headers);
    let files = [(of_table, "csv"), (of_parquet, "parquet")];
    let best = files
        .into_iter()
        .filter(|(liked, _)| liked.0 > 0.0 && *liked > of_json)
        .max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
    if let Some((_, format)) = best.filter(|_| query.get("format").is_none()) {
        query.set("format", format.to_owned());
    }
}

/// Reports whether the client prefers HTML to JSON, as a browser does.
pub fn is_html_preferred(headers: &HeaderMap) -> bool {
    let accepted = Accepted::from_headers(headers);
    accepted.of_html.0 > accepted.of_json.0
}

/// Weight of each format, from 0 to 1, and how specifically the header names the format.
struct Accepted {
    of_json: (f32, u8),
    of_linked_data: (f32, u8),
    of_table: (f32, u8),
    of_parquet: (f32, u8),
    of_html: (f32, u8),
}

impl Accepted {
    /// Reads the weights from the headers. The most specific media range for a format decides (RFC
    /// 9110, section 12.5.1). Without a header, JSON has weight 1 and the other formats 0.
    fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let ranges: Vec<(String, f32)> = values
            .flat_map(|value| value.split(','))
            .map(weighed)
            .collect();
        if ranges.is_empty() {
            let none = (0.0, 0);
            return Self {
                of_json: (1.0, 0),
                of_linked_data: none,
                of_table: none,
                of_parquet: none,
                of_html: none,
            };
        }
        let of = |names: &[&[&str]]| {
            let closest = names
                .iter()
                .zip((1..=3_u8).rev())
                .find_map(|(names, closeness)| {
                    let weights = ranges
                        .iter()
                        .filter(|(range, _)| names.contains(&range.as_str()))
                        .map(|(_, weight)| *weight);
                    weights.reduce(f32::max).map(|weight| (weight, closeness))
                });
            closest.unwrap_or((0.0, 0))
        };
        Self {
            of_json: of(&[
                &["application/json", "application/problem+json"],
                &["application/*"],
                &["*/*"],
            ]),
            of_linked_data: of(&[&[JSON_LD], &["application/*"], &["*/*"]]),
            of_table: of(&[&[CSV], &["text/*"], &["*/*"]]),
            of_parquet: of(&[&[PARQUET], &["application/*"], &["*/*"]]),
            of_html: of(&[&["text/html"], &["text/*"], &["*/*"]]),
        }
    }
}

fn weighed(range: &str) -> (String, f32) {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts
        .find_map(|part| part.strip_prefix("q="))
        .map_or(1.0, |weight| weight.parse().unwrap_or(1.0));
    (media_type, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the weights of JSON and of a table.
    fn weights(accept: &'static str) -> (f32, f32) {
        let headers =
            HeaderMap::from_iter([(header::ACCEPT, axum::http::HeaderValue::from_static(accept))]);
        let accepted = Accepted::from_headers(&headers);
        (accepted.of_json.0, accepted.of_table.0)
    }

    #[test]
    fn html_is_preferred_only_with_the_highest_weight() {
        let is_html = |accept: &'static str| {
            is_html_preferred(&HeaderMap::from_iter([(
                header::ACCEPT,
                axum::http::HeaderValue::from_static(accept),
            )]))
        };
        for accept in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html",
            "text/*, application/json;q=0.5",
        ] {
            assert!(is_html(accept), "{accept}");
        }
        for accept in [
            "*/*",
            "text/html, */*",
            "text/html;q=0.8, */*",
            "application/json, text/html;q=0.9",
            "text/csv",
            "",
        ] {
            assert!(!is_html(accept), "{accept}");
        }
        assert!(!is_html_preferred(&HeaderMap::new()));
    }

    #[test]
    fn most_specific_media_range_decides_the_weight() {
        assert_eq!(weights("*/*"), (1.0, 1.0));
        assert_eq!(weights("text/csv"), (0.0, 1.0));
        assert_eq!(weights("text/csv;q=0.5, application/json"), (1.0, 0.5));
        assert_eq!(
            weights("TEXT/CSV ; header=present; q=0.9, */*;q=0.1"),
            (0.1, 0.9)
        );
        assert_eq!(weights("application/json;q=0, */*"), (0.0, 1.0));
        assert_eq!(weights("text/html"), (0.0, 0.0));
        assert_eq!(weights("text/*;q=0.4, application/*;q=0.3"), (0.3, 0.4));
    }
}
