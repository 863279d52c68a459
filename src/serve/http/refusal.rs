//! Adds a problem document to responses to malformed request heads. The HTTP library sends such
//! responses with only a status.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::problem::{Code, Problem};
use super::request_id::RequestId;

/// Stream that adds a body to such responses.
pub struct Explained<S> {
    stream: S,
    public_url: Arc<str>,
    /// Response that is being written, and the number of bytes already written.
    refusal: Vec<u8>,
    written: usize,
}

impl<S> Explained<S> {
    pub fn new(stream: S, public_url: Arc<str>) -> Self {
        Self {
            stream,
            public_url,
            refusal: Vec::new(),
            written: 0,
        }
    }
}

/// Returns the response with a body, or `None` if the bytes are anything else. Answers from
/// handlers never match, because they have an `X-Request-Id` header.
fn with_body(bytes: &[u8], public_url: &str) -> Option<Vec<u8>> {
    let head = bytes
        .strip_prefix(b"HTTP/1.1 4")
        .and_then(|_| std::str::from_utf8(bytes).ok())?;
    let (status, fields) = head.strip_suffix("\r\n\r\n")?.split_once("\r\n")?;
    let (fields, is_empty): (Vec<&str>, bool) = (
        fields
            .split("\r\n")
            .filter(|field| *field != "content-length: 0")
            .collect(),
        fields
            .split("\r\n")
            .any(|field| field == "content-length: 0"),
    );
    let is_bare = is_empty
        && fields
            .iter()
            .all(|field| field.starts_with("connection:") || field.starts_with("date:"));
    let detail = match status.split(' ').nth(1).filter(|_| is_bare)? {
        "400" => "the request line or a header is not HTTP/1.1",
        "414" => "the URL of the request is too long",
        "431" => "the request has too many or too large headers",
        _ => return None,
    };
    let id = RequestId::from_headers(&axum::http::HeaderMap::new()).0;
    let body = Problem::new(Code::InvalidParameter, detail).body(public_url, "", &id);
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\nx-request-id: {id}\r\ncontent-length: {}\r\n{fields}\r\n",
        body.len()
    );
    Some([head.into_bytes(), body].concat())
}

impl<S: AsyncRead + Unpin> AsyncRead for Explained<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Explained<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.refusal.is_empty() {
            match with_body(buffer, &self.public_url) {
                Some(refusal) => self.refusal = refusal,
                None => return Pin::new(&mut self.stream).poll_write(context, buffer),
            }
        }
        let Self {
            stream,
            refusal,
            written,
            ..
        } = &mut *self;
        while *written < refusal.len() {
            match ready!(Pin::new(&mut *stream).poll_write(context, &refusal[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => *written += count,
            }
        }
        (self.refusal, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(buffer.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            [slice] => self.poll_write(context, slice),
            _ => Pin::new(&mut self.stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::with_body;

    #[test]
    fn only_an_empty_rejection_gets_a_body() {
        let bare = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: Sun, 29 Nov 2026 00:00:00 GMT\r\n\r\n";
        let text =
            String::from_utf8(with_body(bare.as_bytes(), "https://data.example").unwrap()).unwrap();
        assert!(
            text.starts_with(
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
            ) && text.contains("\r\nconnection: close\r\n"),
            "{text}"
        );
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}\r\n", body.len())),
            "{text}"
        );
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&problem["status"], &problem["type"]),
            (
                &400.into(),
                &"https://data.example/problems/invalid_parameter".into()
            )
        );
        assert!(
            head.contains(&format!(
                "x-request-id: {}\r\n",
                problem["request_id"].as_str().unwrap()
            )),
            "{text}"
        );
        for other in [
            "HTTP/1.1 404 Not Found\r\nx-request-id: a\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 400",
            "{}",
        ] {
            assert_eq!(with_body(other.as_bytes(), ""), None, "{other}");
        }
    }
}
