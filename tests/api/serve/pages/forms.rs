use pubdata_serve::Pages;
use pubdata_store::Scope;

use super::{browse, cookies, send, text, token};
use crate::serve::World;

#[tokio::test]
async fn key_is_created_used_and_revoked_by_forms() {
    let world = World::new().await;
    let page = browse(&world.router, "/keys", "").await;
    let (form_cookie, form_token) = (cookies(&page), token(&page));
    let entered = send(
        &world.router,
        "/keys",
        &form_cookie,
        &format!("token={form_token}&action=enter&key={}", world.key),
    )
    .await;
    assert_eq!(
        (entered.status.as_u16(), entered.header("location")),
        (303, "/keys")
    );
    let kept = entered
        .headers
        .get("set-cookie")
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        kept.contains("HttpOnly") && kept.contains("SameSite=Strict"),
        "{kept}"
    );
    let all_cookies = format!("{form_cookie}; {}", cookies(&entered));
    let made =
        send(&world.router, "/keys", &all_cookies, &format!("token={form_token}&action=create&name=from+a+page&plan=standard&scope=geo&expires_in_days=30"))
            .await;
    let made_page = text(&made);
    let (_, rest) = made_page.split_once("id=\"new-key\">").unwrap();
    let key = rest.split('<').next().unwrap().to_owned();
    assert!(key.starts_with("pd_"), "{key}");
    let profile = "/v1/geo-demographics/locations/90210";
    let requested = |key: String| {
        let request = axum::http::Request::get(profile)
            .header("x-api-key", key)
            .body(axum::body::Body::empty())
            .unwrap();
        world.send(request)
    };
    assert_eq!(requested(key.clone()).await.status, 200);
    let keys = world.ok("/v1/admin/keys").await;
    let entry = keys["data"]["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "from a page")
        .unwrap()
        .clone();
    assert_eq!(
        (&entry["scopes"], &entry["expires_at"]),
        (
            &serde_json::json!(["geo"]),
            &serde_json::json!("2026-02-14T12:00:00Z")
        )
    );
    let revoke = format!(
        "token={form_token}&action=revoke&key_id={}",
        entry["key_id"].as_str().unwrap()
    );
    assert_eq!(
        send(&world.router, "/keys", &all_cookies, &revoke)
            .await
            .status,
        303
    );
    world.set_clock("2026-01-15T12:00:01Z");
    assert_eq!(
        requested(key).await.problem(),
        (401, "invalid_api_key".to_owned())
    );
    // Only the page that created the new secret shows it.
    assert!(!text(&browse(&world.router, "/keys", &all_cookies).await).contains("pd_"));
}

#[tokio::test]
async fn form_without_its_token_changes_nothing() {
    let world = World::new().await;
    let page = browse(
        &world.router,
        "/keys",
        &format!("pubdata_key={}", world.key),
    )
    .await;
    let (form_cookie, form_token) = (cookies(&page), token(&page));
    let keyed = format!("pubdata_key={}", world.key);
    let with_both = format!("{keyed}; {form_cookie}");
    let create = "action=create&name=forged&plan=standard&scope=admin";
    for (cookies, form) in [
        (&with_both, create.to_owned()),
        (&with_both, format!("{create}&token=00")),
        (&keyed, format!("{create}&token={form_token}")),
    ] {
        let answer = send(&world.router, "/keys", cookies, &form).await;
        assert_eq!(answer.status, 403, "{form}");
    }
    let forged = axum::http::Request::post("/keys")
        .header("cookie", &with_both)
        .header("host", "localhost:8080")
        .header("origin", "https://evil.example");
    let forged = forged
        .body(axum::body::Body::from(format!(
            "{create}&token={form_token}"
        )))
        .unwrap();
    assert_eq!(world.send(forged).await.status, 403);
    assert_eq!(
        world.ok("/v1/admin/keys").await["data"]["keys"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn key_without_admin_neither_lists_nor_creates_keys() {
    let world = World::new().await;
    let key = world.create_key(&[Scope::Geo], "standard").key;
    let keyed = format!("pubdata_key={key}");
    let page = browse(&world.router, "/keys", &keyed).await;
    assert!(!text(&page).contains("All keys"));
    let form = format!(
        "token={}&action=create&name=x&plan=standard&scope=admin",
        token(&page)
    );
    assert_eq!(
        send(
            &world.router,
            "/keys",
            &format!("{keyed}; {}", cookies(&page)),
            &form
        )
        .await
        .status,
        403
    );
}

#[tokio::test]
async fn access_to_pages_is_a_setting() {
    let keyed = World::with(|settings| settings.pages = Pages::Keyed).await;
    let page = browse(&keyed.router, "/zip/90210", "").await;
    assert_eq!(page.status, 401);
    assert!(
        text(&page).contains("name=\"then\" value=\"&#x2f;zip&#x2f;90210\"")
            || text(&page).contains("name=\"then\" value=\"/zip/90210\""),
        "{}",
        text(&page)
    );
    assert_eq!(
        browse(
            &keyed.router,
            "/zip/90210",
            &format!("pubdata_key={}", keyed.key)
        )
        .await
        .status,
        200
    );
    let entered = send(
        &keyed.router,
        "/keys",
        &cookies(&page),
        &format!(
            "token={}&action=enter&key={}&then=/zip/90210",
            token(&page),
            keyed.key
        ),
    )
    .await;
    assert_eq!(
        (entered.status.as_u16(), entered.header("location")),
        (303, "/zip/90210")
    );
    let off = World::with(|settings| settings.pages = Pages::Off).await;
    for path in ["/", "/keys", "/assets/pages.css", "/docs"] {
        assert_eq!(off.get(path).await.status, 404, "{path}");
    }
    // The browser forgets a key that is no longer valid, so that public pages can be read again.
    let public = World::new().await;
    let stale = browse(&public.router, "/zip/90210", "pubdata_key=pd_gone").await;
    assert_eq!(stale.status, 401);
    assert!(stale.headers.get_all("set-cookie").iter().any(|cookie| {
        cookie
            .to_str()
            .unwrap()
            .starts_with("pubdata_key=; Path=/; Max-Age=0")
    }));
}

#[tokio::test]
async fn holder_sees_replaces_and_revokes_their_key() {
    let world = World::new().await;
    let created = world.create_key(&[Scope::Geo], "free");
    let keyed = format!("pubdata_key={}", created.key);
    let page = browse(&world.router, "/keys", &keyed).await;
    let shown = text(&page);
    for words in [
        created.entry.id.as_str(),
        "60 requests a minute",
        "20 at once",
        "Create new secret",
        "Revoke my key",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(
        !shown.contains("pd_") && !shown.contains("Create a key"),
        "{shown}"
    );
    let (form_cookie, form_token) = (cookies(&page), token(&page));
    for form in [
        "action=rotate_mine",
        "action=revoke_mine",
        "action=rotate_mine&token=00",
    ] {
        assert_eq!(
            send(
                &world.router,
                "/keys",
                &format!("{keyed}; {form_cookie}"),
                form
            )
            .await
            .status,
            403,
            "{form}"
        );
    }
    let rotated = send(
        &world.router,
        "/keys",
        &format!("{keyed}; {form_cookie}"),
        &format!("token={form_token}&action=rotate_mine"),
    )
    .await;
    let rotated_page = text(&rotated);
    let new = rotated_page
        .split_once("id=\"new-key\">")
        .unwrap()
        .1
        .split('<')
        .next()
        .unwrap();
    assert!(
        rotated_page.contains("The old secret is accepted until 2026-01-15 13:00"),
        "{rotated_page}"
    );
    assert_eq!(
        (cookies(&rotated), rotated.header("cache-control")),
        (format!("pubdata_key={new}"), "no-store")
    );
    assert!(
        text(&browse(&world.router, "/keys", &keyed).await)
            .contains("signed in with an old secret")
    );
    let signed_in = format!("pubdata_key={new}; {form_cookie}");
    let at_once = send(
        &world.router,
        "/keys",
        &signed_in,
        &format!("token={form_token}&action=rotate_mine&at_once=1"),
    )
    .await;
    assert!(text(&at_once).contains("The old secret is no longer accepted"));
    world.set_clock("2026-01-15T12:00:01Z");
    for old in [&keyed, &signed_in] {
        assert_eq!(browse(&world.router, "/keys", old).await.status, 401);
    }
    let signed_in = format!("{}; {form_cookie}", cookies(&at_once));
    let revoked = send(
        &world.router,
        "/keys",
        &signed_in,
        &format!("token={form_token}&action=revoke_mine"),
    )
    .await;
    assert_eq!(
        (revoked.status.as_u16(), revoked.header("location")),
        (303, "/keys")
    );
    assert!(
        revoked
            .headers
            .get("set-cookie")
            .unwrap()
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    world.set_clock("2026-01-15T12:00:02Z");
    assert_eq!(browse(&world.router, "/keys", &signed_in).await.status, 401);
}

#[tokio::test]
async fn key_form_offers_plans_for_keys_and_the_limits_page_all() {
    let world = World::new().await;
    let page = text(
        &browse(
            &world.router,
            "/keys",
            &format!("pubdata_key={}", world.key),
        )
        .await,
    );
    assert!(
        page.contains("<option selected>standard</option>")
            && page.contains("<option>unlimited</option>")
            && !page.contains(">anonymous</option>"),
        "{page}"
    );
    let limits = text(&browse(&world.router, "/docs/limits", "").await);
    // The values of schemas/_plans.toml.
    for (plan, rate, burst, sockets) in [
        ("anonymous", "120", "60", "10"),
        ("free", "60", "20", "2"),
        ("professional", "6,000", "1,000", "50"),
    ] {
        let row = limits
            .split("<tr>")
            .find(|row| row.contains(&format!("<td>{plan}")))
            .unwrap_or_else(|| panic!("{plan}: {limits}"));
        let cells: Vec<&str> = row
            .split("class=\"number\">")
            .skip(1)
            .filter_map(|cell| cell.split('<').next())
            .collect();
        assert_eq!(cells[..3], [rate, burst, sockets], "{plan}");
    }
}

#[tokio::test]
async fn documentation_shows_how_a_browser_calls_the_api() {
    let world = World::new().await;
    for path in ["/docs", "/docs/getZip"] {
        assert!(
            text(&browse(&world.router, path, "").await)
                .contains("href=\"/docs/guides/authentication\""),
            "{path}"
        );
    }
    let guide = text(&browse(&world.router, "/docs/guides/authentication", "").await);
    let (_, from_browser) = guide.split_once("From a browser").unwrap();
    assert!(
        from_browser.contains("--cors-origin")
            && from_browser.contains("await fetch(")
            && !from_browser.contains("process.env"),
        "{from_browser}"
    );
}

/// A link cannot send a header with a key. The cookie does not authenticate scripts, other sites or
/// forms.
#[tokio::test(flavor = "multi_thread")]
async fn signed_in_browser_downloads_by_a_link() {
    let world = World::new().await;
    let path = format!(
        "/v1/releases/{}/datasets/geo.zcta_metric?format=csv",
        world.release_id
    );
    let ask = async |method: &str, cookie: &str, site: &str, mode: &str| {
        let request = axum::http::Request::builder()
            .method(method)
            .uri(&path)
            .header("cookie", cookie);
        let request = request
            .header("sec-fetch-site", site)
            .header("sec-fetch-mode", mode)
            .body(axum::body::Body::empty())
            .unwrap();
        world.send(request).await
    };
    let cookie = format!("pubdata_key={}", world.key);
    for site in ["same-origin", "none"] {
        let answer = ask("GET", &cookie, site, "navigate").await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (200, "text/csv; charset=utf-8; header=present"),
            "{site}"
        );
        assert!(
            answer.header("vary").contains("Cookie") && text(&answer).starts_with("record_id,"),
            "{site}"
        );
    }
    for (method, cookie, site, mode, status) in [
        ("GET", cookie.as_str(), "cross-site", "navigate", 401),
        ("GET", cookie.as_str(), "same-site", "navigate", 401),
        ("GET", cookie.as_str(), "same-origin", "cors", 401),
        ("GET", "", "same-origin", "navigate", 401),
        (
            "GET",
            "pubdata_key=pd_wrong",
            "same-origin",
            "navigate",
            401,
        ),
        ("POST", cookie.as_str(), "same-origin", "navigate", 405),
    ] {
        assert_eq!(
            ask(method, cookie, site, mode).await.status,
            status,
            "{method} {site} {mode}"
        );
    }
    let admin = axum::http::Request::post("/v1/admin/keys")
        .header("cookie", &cookie)
        .header("sec-fetch-site", "same-origin");
    let admin = admin
        .header("sec-fetch-mode", "navigate")
        .header("content-type", "application/json");
    assert_eq!(
        world
            .send(admin.body(axum::body::Body::from("{}")).unwrap())
            .await
            .status,
        401
    );
}
