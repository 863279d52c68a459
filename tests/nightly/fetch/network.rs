//! Checks TLS, proxies and HTTP/2 between the program and a publisher.

use std::collections::BTreeMap;

use axum::http::Version;
use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_fetch::{Fetcher, NoProgress, Outcome, ProxySettings};

use super::desk::{Desk, table};
use pubdata_testing::publisher::{Authority, Publisher, Reply, TunnelProxy};

const DATA: &str = "data.example.org";
const FILES: &str = "files.example.org";
const URL: &str = "https://data.example.org/table.dat";

#[tokio::test]
async fn configured_certificate_authority_is_trusted() {
    let mut desk = Desk::with_tls(&[DATA]).await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    assert_eq!(
        desk.fetch_new(&desk.request_url(URL)).await.sha256,
        Digest::sha256(&table(50))
    );

    let other = Authority::new().write(&desk.new_folder("other"));
    for ca_file in [None, Some(other)] {
        desk.settings.ca_file = ca_file;
        let error = desk.fail(&desk.request_url(URL)).await;
        let text = error.to_string();
        assert!(
            text.starts_with(&format!(
                "source `test.table`: {URL}: the server's certificate is not trusted: "
            )),
            "{text}"
        );
        assert!(error.hint_text().unwrap().contains("--ca"), "{error:?}");
        assert!(
            desk.clock.waits().is_empty(),
            "a certificate does not improve with a retry"
        );
    }
}

#[tokio::test]
async fn certificate_for_another_host_is_not_trusted() {
    let mut desk = Desk::with_tls(&[FILES]).await;
    desk.settings
        .resolve
        .insert(DATA.to_owned(), desk.publisher.address());
    let error = desk.fail(&desk.request_url(URL)).await;
    assert!(
        error
            .to_string()
            .contains("the server's certificate is not trusted: "),
        "{error}"
    );
    assert_eq!(desk.publisher.all_requests(), []);
}

#[tokio::test]
async fn unreadable_certificate_authorities_are_a_configuration_error() {
    let mut desk = Desk::new().await;
    let file = desk.folder.path().join("ca.pem");
    let mut check = |expected: &str| {
        desk.settings.ca_file = Some(file.clone());
        let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error.to_string().starts_with(&format!(
                "certificate authorities {}: {expected}",
                file.display()
            )),
            "{error}"
        );
    };
    check("cannot be read: ");
    std::fs::write(&file, "no certificate").unwrap();
    check("there is no certificate in it");
}

#[tokio::test]
async fn publishers_are_reached_through_a_proxy_that_resolves_their_names() {
    let mut desk = Desk::with_tls(&[DATA, FILES]).await;
    let proxy = TunnelProxy::start(std::mem::take(&mut desk.settings.resolve)).await;
    desk.settings.proxy = ProxySettings {
        https: Some(proxy.url()),
        except: None,
    };
    desk.publisher.route(
        "/table.dat",
        vec![Reply::page(302).header("Location", &format!("https://{FILES}/t"))],
    );
    desk.publisher.route(
        "/t",
        vec![
            Reply::file(table(50)),
            Reply::page(302).header("Location", "https://10.0.0.1/t"),
        ],
    );
    assert_eq!(
        desk.fetch_new(&desk.request_url(URL)).await.sha256,
        Digest::sha256(&table(50))
    );
    assert_eq!(
        proxy.requested(),
        ["data.example.org:443", "files.example.org:443"]
    );
    let error = desk.fail(&desk.request_url(URL)).await;
    assert!(
        error
            .to_string()
            .ends_with("which is this machine or in a private network"),
        "{error}"
    );
    assert!(
        !proxy
            .requested()
            .iter()
            .any(|requested| requested.starts_with("10.")),
        "{:?}",
        proxy.requested()
    );
}

#[tokio::test]
async fn proxy_is_not_used_for_exceptions_and_this_machine() {
    let mut desk = Desk::with_tls(&[DATA]).await;
    let proxy = TunnelProxy::start(BTreeMap::new()).await;
    desk.settings.proxy = ProxySettings {
        https: Some(proxy.url()),
        except: Some("example.org,other.example".to_owned()),
    };
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    desk.fetch_new(&desk.request_url(URL)).await;
    let plain = Publisher::start().await;
    plain.route("/table.dat", vec![Reply::file(table(51))]);
    desk.fetch_new(&desk.request_url(&plain.url("/table.dat")))
        .await;
    assert_eq!(proxy.requested(), Vec::<String>::new());

    desk.settings.proxy.except = None;
    let error = desk.fail(&desk.request_url(URL)).await;
    assert!(error.to_string().contains("no answer: "), "{error}");
    assert_eq!(proxy.requested(), ["data.example.org:443"; 3]);
}

#[tokio::test]
async fn invalid_proxy_address_is_refused_without_showing_its_password() {
    let mut desk = Desk::new().await;
    desk.settings.proxy.https = Some("http://user:s3cr3t@[".to_owned());
    let error = Fetcher::new(desk.settings.clone(), desk.snapshots())
        .map(drop)
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Config,
            "the proxy of HTTPS_PROXY is not an address"
        )
    );
    assert!(!format!("{error:?}").contains("s3cr3t"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_is_used_with_servers_that_offer_it() {
    let mut desk = Desk::new().await;
    let authority = Authority::new();
    let tls = axum_server::tls_rustls::RustlsConfig::from_config(
        authority.server(&[DATA], &["h2", "http/1.1"]),
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    desk.settings
        .resolve
        .insert(DATA.to_owned(), listener.local_addr().unwrap());
    desk.settings.ca_file = Some(authority.write(desk.folder.path()));
    let file = axum::routing::get(async |version: Version, headers: axum::http::HeaderMap| {
        assert_eq!(
            (version, headers["accept-encoding"].as_bytes()),
            (Version::HTTP_2, b"identity".as_slice())
        );
        ([("etag", "\"v1\"")], table(200_000))
    });
    let app = axum::Router::new().route("/table.dat", file);
    let server = tokio::spawn(
        axum_server::from_tcp_rustls(listener, tls)
            .unwrap()
            .serve(app.into_make_service()),
    );
    let fetcher = desk.fetcher();
    let request = desk.request_url(URL);
    let Outcome::New(snapshot) = fetcher.fetch(&request, &NoProgress).await.unwrap() else {
        panic!("it is new")
    };
    assert_eq!(
        (snapshot.sha256, snapshot.etag.as_deref()),
        (Digest::sha256(&table(200_000)), Some("\"v1\""))
    );
    server.abort();
}
