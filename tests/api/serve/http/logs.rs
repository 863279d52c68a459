//! Tests the log: short entries for any request, and one entry for each problem of the keys file.

use std::io;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Method, Request};
use tower::ServiceExt;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use crate::serve::World;

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

/// Captures the log of this thread.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn listen(&self) -> DefaultGuard {
        tracing::subscriber::set_default(
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(self.clone())
                .finish(),
        )
    }

    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn long_paths_and_methods_are_cut_in_log_and_answer() {
    let world = World::new().await;
    let log = Log::default();
    let _listening = log.listen();
    let long = "x".repeat(40_000);
    for (method, path) in [
        ("GET", format!("/{long}")),
        (long.as_str(), "/v1/coverage".to_owned()),
        (&long, format!("/{}", "y".repeat(3_000))),
    ] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-api-key", &world.key)
            .body(Body::empty())
            .unwrap();
        let answer = crate::serve::read(world.router.clone().oneshot(request).await.unwrap()).await;
        assert!(
            answer.status.is_client_error() && answer.bytes.len() < 5_000,
            "{} bytes",
            answer.bytes.len()
        );
        let reported = log.take();
        assert!(
            reported.len() < 1_000 && reported.contains("pubdata::access"),
            "{} bytes: {reported:.300}",
            reported.len()
        );
    }
}

#[tokio::test]
async fn missing_or_damaged_keys_are_logged_once() {
    let world = World::new().await;
    let path = world.home.keys_file();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(world.get(PROFILE).await.status, 200);
    let log = Log::default();
    let _listening = log.listen();
    let errors = |log: &Log| {
        log.take()
            .lines()
            .filter(|line| line.contains("ERROR"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };

    // A quarter of a second later each time, when the file is checked again.
    world.set_clock("2026-01-15T12:00:00.25Z");
    std::fs::write(&path, "no keys").unwrap();
    for _ in 0..3 {
        assert_eq!(
            world.get(PROFILE).await.status,
            200,
            "known keys stay valid"
        );
    }
    let said = errors(&log);
    assert!(
        said.len() == 1 && said[0].contains("keys.json is not a keys file"),
        "{said:?}"
    );

    world.set_clock("2026-01-15T12:00:00.5Z");
    std::fs::remove_file(&path).unwrap();
    for _ in 0..3 {
        assert_eq!(
            world.get(PROFILE).await.problem(),
            (401, "invalid_api_key".to_owned())
        );
    }
    let said = errors(&log);
    assert!(
        said.len() == 1 && said[0].contains("keys.json is missing: every API key is refused"),
        "{said:?}"
    );

    std::fs::write(&path, text).unwrap();
    assert_eq!(world.get(PROFILE).await.status, 200);
    assert_eq!(errors(&log), Vec::<String>::new());
}
