//! Serves the fixtures' release at a real address, for programs that send requests as callers do.

use std::net::SocketAddr;

use axum::ServiceExt;
use axum::extract::Request;
use tokio::net::TcpListener;

use super::Served;
use super::examples::two_releases;

/// A listening server; ended when dropped.
pub struct Listening {
    pub served: Served,
    /// `http://127.0.0.1:12345`, which the server also knows as its address.
    pub url: String,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Listening {
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = Served::with(two_releases().await, |settings| {
            settings.public_url = Some(url.clone());
        })
        .await;
        let router = ServiceExt::<Request>::into_make_service_with_connect_info::<SocketAddr>(
            served.router.clone(),
        );
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            served,
            url,
            server,
        }
    }
}

/// Serves at a real address for the duration of the test.
pub async fn at_an_address(served: &Served) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = ServiceExt::<Request>::into_make_service_with_connect_info::<SocketAddr>(
        served.router.clone(),
    );
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}
