use pubdata_serve::Pages;
use pubdata_store::Scope;

use super::{browse, cookies, send, text, token};
use crate::serve::World;

#[tokio::test]
async fn a_key_is_made_used_and_revoked() {
    let world = World::new().await;
    let page = browse(&world.router, "/keys", "").await;
    let (form_cookie, form_token) = (cookies(&page), token(&page));
    let entered = send(&world.router, "/keys", &form_cookie, &format!("token={form_token}&action=enter&key={}", world.key)).await;
    assert_eq!((entered.status.as_u16(), entered.header("location")), (303, "/keys"));
    let kept = entered.headers.get("set-cookie").unwrap().to_str().unwrap().to_owned();
    assert!(kept.contains("HttpOnly") && kept.contains("SameSite=Strict"), "{kept}");
    let all_cookies = format!("{form_cookie}; {}", cookies(&entered));
    let made =
        send(&world.router, "/keys", &all_cookies, &format!("token={form_token}&action=create&name=from+a+page&plan=standard&scope=geo&expires_in_days=30"))
            .await;
    let made_page = text(&made);
    let (_, rest) = made_page.split_once("id=\"new-key\">").unwrap();
    let key = rest.split('<').next().unwrap().to_owned();
    assert!(key.starts_with("pd_"), "{key}");
    let profile = "/v1/geo-demographics/locations/90210";
    let asked = |key: String| {
        let request = axum::http::Request::get(profile).header("x-api-key", key).body(axum::body::Body::empty()).unwrap();
        world.send(request)
    };
    assert_eq!(asked(key.clone()).await.status, 200);
    let keys = world.ok("/v1/admin/keys").await;
    let entry = keys["data"]["keys"].as_array().unwrap().iter().find(|entry| entry["name"] == "from a page").unwrap().clone();
    assert_eq!((&entry["scopes"], &entry["expires_at"]), (&serde_json::json!(["geo"]), &serde_json::json!("2026-02-14T12:00:00Z")));
    let revoke = format!("token={form_token}&action=revoke&key_id={}", entry["key_id"].as_str().unwrap());
    assert_eq!(send(&world.router, "/keys", &all_cookies, &revoke).await.status, 303);
    world.set_clock("2026-01-15T12:00:01Z");
    assert_eq!(asked(key).await.problem(), (401, "invalid_api_key".to_owned()));
    // The new secret is on no page but the one that made it.
    assert!(!text(&browse(&world.router, "/keys", &all_cookies).await).contains("pd_"));
}

#[tokio::test]
async fn a_form_without_its_token_changes_nothing() {
    let world = World::new().await;
    let page = browse(&world.router, "/keys", &format!("pubdata_key={}", world.key)).await;
    let (form_cookie, form_token) = (cookies(&page), token(&page));
    let keyed = format!("pubdata_key={}", world.key);
    let with_both = format!("{keyed}; {form_cookie}");
    let create = "action=create&name=forged&plan=standard&scope=admin";
    for (cookies, form) in [(&with_both, create.to_owned()), (&with_both, format!("{create}&token=00")), (&keyed, format!("{create}&token={form_token}"))] {
        let answer = send(&world.router, "/keys", cookies, &form).await;
        assert_eq!(answer.status, 403, "{form}");
    }
    let forged = axum::http::Request::post("/keys").header("cookie", &with_both).header("host", "localhost:8080").header("origin", "https://evil.example");
    let forged = forged.body(axum::body::Body::from(format!("{create}&token={form_token}"))).unwrap();
    assert_eq!(world.send(forged).await.status, 403);
    assert_eq!(world.ok("/v1/admin/keys").await["data"]["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_without_admin_sees_and_makes_no_keys() {
    let world = World::new().await;
    let key = world.create_key(&[Scope::Geo], "standard").key;
    let keyed = format!("pubdata_key={key}");
    let page = browse(&world.router, "/keys", &keyed).await;
    assert!(!text(&page).contains("All keys"));
    let form = format!("token={}&action=create&name=x&plan=standard&scope=admin", token(&page));
    assert_eq!(send(&world.router, "/keys", &format!("{keyed}; {}", cookies(&page)), &form).await.status, 403);
}

#[tokio::test]
async fn who_may_see_pages_is_a_setting() {
    let keyed = World::with(|settings| settings.pages = Pages::Keyed).await;
    let page = browse(&keyed.router, "/zip/90210", "").await;
    assert_eq!(page.status, 401);
    assert!(
        text(&page).contains("name=\"then\" value=\"&#x2f;zip&#x2f;90210\"") || text(&page).contains("name=\"then\" value=\"/zip/90210\""),
        "{}",
        text(&page)
    );
    assert_eq!(browse(&keyed.router, "/zip/90210", &format!("pubdata_key={}", keyed.key)).await.status, 200);
    let entered = send(&keyed.router, "/keys", &cookies(&page), &format!("token={}&action=enter&key={}&then=/zip/90210", token(&page), keyed.key)).await;
    assert_eq!((entered.status.as_u16(), entered.header("location")), (303, "/zip/90210"));
    let off = World::with(|settings| settings.pages = Pages::Off).await;
    for path in ["/", "/keys", "/assets/pages.css", "/docs"] {
        assert_eq!(off.get(path).await.status, 404, "{path}");
    }
    // A key that is no longer valid is forgotten, so that public pages can be read again.
    let public = World::new().await;
    let stale = browse(&public.router, "/zip/90210", "pubdata_key=pd_gone").await;
    assert_eq!(stale.status, 401);
    assert!(stale.headers.get_all("set-cookie").iter().any(|cookie| cookie.to_str().unwrap().starts_with("pubdata_key=; Path=/; Max-Age=0")));
}
