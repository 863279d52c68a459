//! Runs a server at a real address that alters the answers of another one.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use pubdata_serve::Api;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::serve::Served;

/// Alters an answer: takes path and query, status and bytes; returns status and bytes.
pub type Lie = Arc<dyn Fn(&str, u16, Vec<u8>) -> (u16, Vec<u8>) + Send + Sync>;

struct State {
    served: Served,
    asks: Box<dyn Fn(&str) -> String + Send + Sync>,
    lie: Lie,
}

pub struct Liar {
    url: String,
    state: Arc<Mutex<State>>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Liar {
    /// Starts without alterations.
    pub async fn new(served: Served) -> Self {
        let state = Arc::new(Mutex::new(State {
            served,
            asks: Box::new(str::to_owned),
            lie: Arc::new(|_, status, bytes| (status, bytes)),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answering = Arc::clone(&state);
        let router =
            Router::new().fallback(move |request: Request| answer(Arc::clone(&answering), request));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state, server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn key(&self) -> String {
        self.state.lock().unwrap().served.key.clone()
    }

    /// Manifest of the server's release.
    pub fn manifest(&self) -> serde_json::Value {
        self.state.lock().unwrap().served.place.manifest()
    }

    pub fn asks(&self, asks: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.state.lock().unwrap().asks = Box::new(asks);
    }

    pub fn lies(&self, lie: impl Fn(&str, u16, Vec<u8>) -> (u16, Vec<u8>) + Send + Sync + 'static) {
        self.state.lock().unwrap().lie = Arc::new(lie);
    }

    /// Alters the texts of the answers below a path.
    pub fn changes(
        &self,
        below: &'static str,
        change: impl Fn(String) -> String + Send + Sync + 'static,
    ) {
        self.lies(move |path, status, bytes| {
            let is_meant = path.starts_with(below) && status == 200;
            (
                status,
                if is_meant {
                    change(String::from_utf8(bytes).unwrap()).into_bytes()
                } else {
                    bytes
                },
            )
        });
    }

    /// Replaces a text in the answers below a path.
    pub fn replaces(&self, below: &'static str, old: &'static str, new: &'static str) {
        self.changes(below, move |text| {
            assert!(text.contains(old), "no {old}: {text}");
            text.replacen(old, new, 1)
        });
    }
}

async fn answer(state: Arc<Mutex<State>>, mut request: Request) -> Response {
    let target = request.uri().path_and_query().unwrap().to_string();
    let (router, lie): (Api, Lie) = {
        let state = state.lock().unwrap();
        *request.uri_mut() = (state.asks)(&target).parse().unwrap();
        (state.served.router.clone(), Arc::clone(&state.lie))
    };
    let (mut parts, body) = router.oneshot(request).await.unwrap().into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap().to_vec();
    let (status, bytes) = lie(&target, parts.status.as_u16(), bytes);
    parts.status = StatusCode::from_u16(status).unwrap();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::TRANSFER_ENCODING);
    Response::from_parts(parts, Body::from(bytes))
}
