//! Serves documents that are constant until the program restarts. The ETag and the compressed forms
//! of each document are computed only once.

use std::io::Write;
use std::sync::{Arc, LazyLock, OnceLock};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::etag;
use super::response::insert;
use pubdata_core::ids::Digest;

/// Brotli quality that compresses close to the smallest size in a few hundredths of a second.
const BROTLI_QUALITY: i32 = 7;
const BROTLI_WINDOW_BITS: i32 = 22;

/// Value that is computed at first use.
pub type BoxedLazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send + Sync>>;

/// Document with its compressed forms, which are computed at first use.
pub struct Document {
    content_type: &'static str,
    plain: Bytes,
    tag: String,
    brotli: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// Marker for an answer whose bytes are shared by all clients.
#[derive(Debug, Clone, Copy)]
pub struct Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

impl Document {
    /// Creates a document with an ETag derived from its bytes.
    pub fn new(content_type: &'static str, plain: Bytes) -> Self {
        let tag = format!(
            "\"{}\"",
            URL_SAFE_NO_PAD.encode(&Digest::sha256(&plain).as_bytes()[..16])
        );
        Self {
            content_type,
            plain,
            tag,
            brotli: OnceLock::new(),
            gzip: OnceLock::new(),
        }
    }

    /// Answers with the document in the best accepted content coding, or with 304 if the client
    /// already has it.
    pub async fn answer(self: &Arc<Self>, headers: &HeaderMap) -> Response {
        let mut response = Response::new(Body::empty());
        let response_headers = response.headers_mut();
        response_headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response_headers.insert(
            header::VARY,
            HeaderValue::from_static("Accept-Encoding, Origin"),
        );
        if let Some(tag) = etag::matching(headers, &self.tag) {
            insert(response_headers, header::ETAG, &tag);
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        insert(response_headers, header::ETAG, &self.tag);
        response_headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(self.content_type),
        );
        let mut bytes = self.plain.clone();
        if let Some(coding) = accepted(headers) {
            let document = self.clone();
            let packed = tokio::task::spawn_blocking(move || document.packed(coding)).await;
            if let Some(packed) = packed.ok().flatten() {
                response_headers.insert(
                    header::CONTENT_ENCODING,
                    HeaderValue::from_static(coding.name()),
                );
                bytes = packed;
            }
        }
        *response.body_mut() = Body::from(bytes);
        response.extensions_mut().insert(Shared);
        response
    }

    /// Returns the document in a content coding, or `None` if compression fails.
    fn packed(&self, coding: Coding) -> Option<Bytes> {
        let form = match coding {
            Coding::Brotli => self
                .brotli
                .get_or_init(|| with_brotli(&self.plain).unwrap_or_default().into()),
            Coding::Gzip => self
                .gzip
                .get_or_init(|| with_gzip(&self.plain).unwrap_or_default().into()),
        };
        (!form.is_empty()).then(|| form.clone())
    }
}

fn with_brotli(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW_BITS,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut packed, &parameters)?;
    Ok(packed)
}

fn with_gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns the content coding with the highest weight. Brotli wins a tie because it is smaller.
/// `None` means that the document is sent uncompressed.
fn accepted(headers: &HeaderMap) -> Option<Coding> {
    let texts = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let codings: Vec<(&str, f32)> = texts
        .flat_map(|text| text.split(','))
        .map(weighed)
        .collect();
    let weight = |name: &str| {
        let named = codings
            .iter()
            .find(|(coding, _)| coding.eq_ignore_ascii_case(name));
        named
            .or_else(|| codings.iter().find(|(coding, _)| *coding == "*"))
            .map_or(0.0, |(_, weight)| *weight)
    };
    let (brotli, gzip) = (weight("br"), weight("gzip"));
    let best = if gzip > brotli {
        (Coding::Gzip, gzip)
    } else {
        (Coding::Brotli, brotli)
    };
    (best.1 > 0.0).then_some(best.0)
}

fn weighed(item: &str) -> (&str, f32) {
    let (coding, parameters) = item.split_once(';').unwrap_or((item, ""));
    let weight = parameters
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("q="));
    (
        coding.trim(),
        weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)),
    )
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::{Coding, accepted};

    /// The rules follow RFC 9110, section 12.5.3.
    #[test]
    fn coding_with_the_highest_weight_is_used() {
        for (text, coding) in [
            ("br", Some(Coding::Brotli)),
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("GZIP", Some(Coding::Gzip)),
            ("br;q=0.5, gzip;q=0.8", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("br;q=0, *", Some(Coding::Gzip)),
            ("identity", None),
            ("br; q=0", None),
            ("zstd", None),
            ("", None),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(text))]);
            assert_eq!(accepted(&headers), coding, "{text}");
        }
        assert_eq!(accepted(&HeaderMap::new()), None);
    }
}
