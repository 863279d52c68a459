//! Sends answers in pieces if they are too large for memory. Each piece is produced when the
//! connection polls for it, and counts as bytes in flight until the client has taken it. A slow
//! client therefore slows down the production. The time limit of a request ends when the first
//! piece is ready. After that, the connection closes if the client stops reading (`listen.rs`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{Stream, StreamExt, TryStreamExt};

use super::auth::Client;
use super::quota::{Quota, QuotaGuard, held};
use super::service::Service;
use pubdata_core::error::Result;

/// Approximate size of a piece.
pub const PIECE_BYTES: usize = 64 << 10;

/// Interval between two attempts to reserve bytes when other answers use the entire quota.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Marker for an answer that counts its bytes itself and is not compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// The body is complete.
    Whole,
    Streamed,
}

/// Builds a response whose body is produced piece by piece. `kept` lives until the last piece is
/// taken. The answer is aborted if a piece fails, or if a piece gets no quota within the time that
/// a client may read nothing. The connection then closes before the end of the body, so the client
/// sees an error.
pub fn in_pieces<K: Send + 'static>(
    service: &Service,
    client: &Client,
    kept: K,
    pieces: impl Stream<Item = Result<Vec<u8>>> + Send + 'static,
) -> Response {
    let (in_flight, client, patience) = (
        service.in_flight.clone(),
        client.id.clone(),
        service.settings.limits.write_time,
    );
    let counted = pieces
        .map_err(|error| io::Error::other(error.to_string()))
        .and_then(move |piece| {
            let (in_flight, client) = (in_flight.clone(), client.clone());
            async move {
                let share = room(&in_flight, &client, piece.len(), patience).await?;
                Ok::<Bytes, io::Error>(held(piece.into(), share))
            }
        });
    let reported = counted.inspect(move |piece| {
        let _until_the_end = &kept;
        if let Err(error) = piece {
            tracing::warn!("an answer was aborted: {error}");
        }
    });
    marked(
        Response::new(Body::from_stream(reported)),
        Counted::Streamed,
    )
}

/// Builds a response from a complete body whose quota was reserved before the body was built.
pub fn whole(bytes: Bytes, share: QuotaGuard) -> Response {
    marked(
        Response::new(Body::from(held(bytes, share))),
        Counted::Whole,
    )
}

fn marked(mut response: Response, counted: Counted) -> Response {
    response.extensions_mut().insert(counted);
    response
}

async fn room(
    in_flight: &Arc<Quota>,
    client: &str,
    amount: usize,
    patience: Duration,
) -> io::Result<QuotaGuard> {
    let looking = async {
        loop {
            match in_flight.take_more(client, amount) {
                Some(share) => return share,
                None => tokio::time::sleep(BETWEEN_LOOKS).await,
            }
        }
    };
    tokio::time::timeout(patience, looking)
        .await
        .map_err(|_| io::Error::other("other answers have too many bytes in flight"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::to_bytes;
    use axum::extract::Request;
    use futures_util::stream;
    use jiff::Timestamp;

    use super::*;
    use crate::http::middleware::guard;
    use crate::http::service::Payer;
    use crate::settings::{Limits, ServeSettings};
    use pubdata_core::contract::Contracts;
    use pubdata_store::Plans;

    fn service(folder: &tempfile::TempDir, limits: Limits) -> Arc<Service> {
        let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
        let settings = ServeSettings {
            limits,
            ..ServeSettings::new(folder.path().to_owned(), plans)
        };
        Arc::new(
            Service::new(
                settings,
                Contracts::new(),
                Arc::new(Timestamp::now),
                Vec::new(),
            )
            .unwrap(),
        )
    }

    fn ten(size_bytes: usize) -> impl Stream<Item = Result<Vec<u8>>> + Send + 'static {
        stream::iter((0..10).map(move |_| Ok(vec![b'a'; size_bytes])))
    }

    #[tokio::test]
    async fn unread_bytes_are_counted_and_production_pauses() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(&folder, Limits::default());
        let client = service.keys.anonymous("a");
        let mut body = in_pieces(&service, &client, (), ten(100))
            .into_body()
            .into_data_stream();
        assert_eq!(
            service.in_flight.taken(),
            0,
            "nothing is made before it is polled"
        );
        let first = body.next().await.unwrap().unwrap();
        assert_eq!((first.len(), service.in_flight.taken()), (100, 100));
        let second = body.next().await.unwrap().unwrap();
        assert_eq!(service.in_flight.taken(), 200);
        drop((first, second));
        assert_eq!(service.in_flight.taken(), 0);
        assert_eq!(body.count().await, 8);
    }

    #[tokio::test]
    async fn exhausted_quota_aborts_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(
            &folder,
            Limits {
                bytes_in_flight: 250,
                write_time: Duration::from_millis(1),
                ..Limits::default()
            },
        );
        let client = service.keys.anonymous("a");
        let mut body = in_pieces(&service, &client, (), ten(100))
            .into_body()
            .into_data_stream();
        let kept = [
            body.next().await.unwrap().unwrap(),
            body.next().await.unwrap().unwrap(),
        ];
        assert!(
            body.next()
                .await
                .unwrap()
                .unwrap_err()
                .to_string()
                .contains("too many bytes")
        );
        drop(kept);
        assert_eq!(service.in_flight.taken(), 0);
    }

    #[tokio::test]
    async fn request_timeout_does_not_abort_a_started_answer() {
        let folder = tempfile::tempdir().unwrap();
        let service = service(
            &folder,
            Limits {
                request_time: Duration::from_millis(5),
                ..Limits::default()
            },
        );
        let client = service.keys.anonymous("a");
        let slow = ten(10).then(|piece| async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            piece
        });
        let shared_service = service.clone();
        let request = Request::get("/").body(Body::empty()).unwrap();
        let response = guard(service, None, Payer::Caller, request, |_| async move {
            in_pieces(&shared_service, &client, (), slow)
        })
        .await;
        assert_eq!(
            to_bytes(response.into_body(), usize::MAX)
                .await
                .unwrap()
                .len(),
            100
        );
    }
}
