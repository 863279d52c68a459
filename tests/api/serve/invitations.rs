//! Tests sign-up by invitation: what a link grants, how often, and how untrusted clients may attack
//! it.

use axum::body::Body;
use axum::http::Request;
use jiff::Timestamp;
use pubdata_serve::Pages;
use pubdata_store::{
    CreatedInvitation, Home, Keys, NewInvitation, Plans, Scope, SharedStore, change_keys, list_keys,
};
use serde_json::{Value, json};

use super::http::logs::Log;
use super::pages::{browse, cookies, send, text, token};
use super::{Answer, World};
use pubdata_core::ids::Digest;
use pubdata_testing::Place;

const SHOW: &str = "/v1/invitations/show";
const REDEEM: &str = "/v1/invitations/redeem";

fn wish(scopes: &[Scope], plan: &str) -> NewInvitation {
    let expires_at = "2026-01-22T12:00:00Z".parse().unwrap();
    NewInvitation {
        name: "Ann's notebook".to_owned(),
        scopes: scopes.to_vec(),
        plan: plan.to_owned(),
        expires_at,
        key_expires_in_days: Some(90),
    }
}

pub fn invite(world: &World) -> CreatedInvitation {
    Keys::open(&world.home)
        .invite(
            wish(&[Scope::Sec, Scope::Geo], "free"),
            &world.plans(),
            world.now(),
        )
        .unwrap()
}

/// Sends a token without a key.
pub async fn post(world: &World, path: &str, token: &str) -> Answer {
    let request = Request::post(path).header("content-type", "application/json");
    world
        .send(
            request
                .body(Body::from(json!({ "token": token }).to_string()))
                .unwrap(),
        )
        .await
}

fn count(world: &World) -> usize {
    Keys::open(&world.home).list().unwrap().len()
}

#[tokio::test]
async fn invitation_creates_one_key_with_the_offered_scopes() {
    let world = World::new().await;
    let token = invite(&world).token;
    let offered = post(&world, SHOW, &token).await;
    assert_eq!(offered.header("cache-control"), "no-store");
    let expected = json!({
        "name": "Ann's notebook", "scopes": ["geo", "sec"], "plan": "free", "expires_at": "2026-01-22T12:00:00Z", "key_expires_in_days": 90,
        "limits": {"requests_per_minute": 60, "burst": 20, "stream_sockets": 2, "batch_items": 100, "page_records": 100}
    });
    assert_eq!(offered.json()["data"], expected);
    let made = post(&world, REDEEM, &token).await.json()["data"].take();
    assert_eq!(
        (&made["name"], &made["scopes"], &made["plan"]),
        (
            &json!("Ann's notebook"),
            &json!(["geo", "sec"]),
            &json!("free")
        )
    );
    // Ninety days after the key is made.
    assert_eq!(made["expires_at"], "2026-04-15T12:00:00Z");
    let request = Request::get("/v1/geo-demographics/locations/90210")
        .header("x-api-key", made["key"].as_str().unwrap());
    assert_eq!(
        world
            .send(request.body(Body::empty()).unwrap())
            .await
            .status,
        200
    );
    for path in [SHOW, REDEEM] {
        let again = post(&world, path, &token).await;
        assert_eq!(again.problem(), (404, "not_found".to_owned()), "{path}");
        assert!(
            again.json()["detail"]
                .as_str()
                .unwrap()
                .contains("was used already"),
            "{path}"
        );
    }
    let invitation = Keys::open(&world.home).invitations().unwrap().remove(0);
    assert_eq!(
        (invitation.key_id.as_deref(), invitation.used_at.as_deref()),
        (made["key_id"].as_str(), Some("2026-01-15T12:00:00Z"))
    );
}

#[tokio::test]
async fn visitor_creates_a_key_by_a_link_if_pages_need_one() {
    let world = World::with(|settings| settings.pages = Pages::Keyed).await;
    let link = format!("/keys?invite={}", invite(&world).token);
    let page = browse(&world.router, &link, "").await;
    assert_eq!(page.status, 200);
    let shown = text(&page);
    assert!(
        shown.contains("geo, sec")
            && shown.contains("60 requests a minute")
            && shown.contains("90 days after it is created"),
        "{shown}"
    );
    assert_eq!(count(&world), 1, "viewing the page creates no key");
    let invited = link.split_once('=').unwrap().1;
    let made = send(
        &world.router,
        "/keys",
        &cookies(&page),
        &format!("token={}&action=redeem&invite={invited}", token(&page)),
    )
    .await;
    assert_eq!(
        (made.status.as_u16(), made.header("cache-control")),
        (200, "no-store")
    );
    let made_page = text(&made);
    let key = made_page
        .split_once("id=\"new-key\">")
        .unwrap()
        .1
        .split('<')
        .next()
        .unwrap();
    assert!(key.starts_with("pd_"), "{made_page}");
    // The browser is signed in, and no other page shows the key.
    let cookies = format!("{}; {}", cookies(&page), cookies(&made));
    assert!(cookies.contains(&format!("pubdata_key={key}")), "{cookies}");
    let dashboard = text(&browse(&world.router, "/keys", &cookies).await);
    assert!(
        dashboard.contains("Ann&#x27;s notebook") && !dashboard.contains("pd_"),
        "{dashboard}"
    );
    let again = browse(&world.router, &link, "").await;
    assert!(
        again.status == 404 && text(&again).contains("was used already"),
        "{}",
        text(&again)
    );
    // Other pages still need a key.
    assert_eq!(browse(&world.router, "/zip/90210", "").await.status, 401);
}

#[tokio::test]
async fn invitation_grants_no_more_than_its_operator_set() {
    let world = World::new().await;
    let keys = Keys::open(&world.home);
    let refused = |new: NewInvitation| {
        keys.invite(new, &world.plans(), world.now())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(wish(&[Scope::Geo, Scope::Admin], "free")),
        "an invitation must not grant the scope `admin`: anyone with the link can create the key"
    );
    assert_eq!(
        refused(wish(&[Scope::Geo], "anonymous")),
        "plan `anonymous` is for requests without a key"
    );
    assert_eq!(
        refused(wish(&[Scope::Geo], "gold")),
        "plan `gold` does not exist"
    );
    assert_eq!(
        refused(wish(&[], "free")),
        "a key without scopes opens nothing"
    );
    assert!(
        refused(NewInvitation {
            name: "ada\u{202e}".to_owned(),
            ..wish(&[Scope::Geo], "free")
        })
        .contains("must not have control characters")
    );
    let invited = invite(&world).token;
    let wider = json!({"token": invited, "scopes": ["admin"], "plan": "unlimited"});
    assert_eq!(
        world.post(REDEEM, &wider).await.problem(),
        (400, "unknown_parameter".to_owned())
    );
    let page = browse(&world.router, &format!("/keys?invite={invited}"), "").await;
    let form = format!(
        "token={}&action=redeem&invite={invited}&scope=admin&plan=unlimited&name=x&expires_in_days=1",
        token(&page)
    );
    assert_eq!(
        send(&world.router, "/keys", &cookies(&page), &form)
            .await
            .status,
        200
    );
    let made = keys.list().unwrap().pop().unwrap();
    assert_eq!(
        (made.scopes, made.plan.as_str(), made.name.as_str()),
        (vec![Scope::Geo, Scope::Sec], "free", "Ann's notebook")
    );
}

#[tokio::test]
async fn expired_or_revoked_invitation_creates_no_key() {
    let world = World::new().await;
    let (late, revoked) = (invite(&world), invite(&world));
    Keys::open(&world.home)
        .revoke_invitation(&revoked.entry.id, world.now())
        .unwrap();
    assert!(
        post(&world, REDEEM, &revoked.token).await.json()["detail"]
            .as_str()
            .unwrap()
            .contains("was revoked")
    );
    world.set_clock("2026-01-22T12:00:00Z");
    for path in [SHOW, REDEEM] {
        let answer = post(&world, path, &late.token).await;
        assert_eq!(answer.problem(), (404, "not_found".to_owned()));
        assert!(
            answer.json()["detail"]
                .as_str()
                .unwrap()
                .contains("has expired"),
            "{path}"
        );
    }
    assert_eq!(count(&world), 1);
    assert!(
        Keys::open(&world.home)
            .revoke_invitation(&late.entry.id, world.now())
            .is_err()
    );
}

#[tokio::test]
async fn guessed_tokens_find_nothing_and_cost_a_token_each() {
    let world = World::new().await;
    let invited = invite(&world);
    let digest = invited.entry.sha256.to_string();
    for wrong in [
        "",
        "pi_",
        &invited.entry.id,
        &digest,
        &invited.token[..45],
        "'; --",
        "pd_x",
    ] {
        assert_eq!(
            post(&world, REDEEM, wrong).await.problem(),
            (404, "not_found".to_owned()),
            "{wrong}"
        );
    }
    assert_eq!((invited.token.len(), &invited.token[..3]), (46, "pi_"));
    // The burst of an address without a key is 60.
    let mut refused = 0;
    for number in 7..70 {
        refused += usize::from(post(&world, SHOW, &format!("pi_{number}")).await.status == 429);
    }
    assert_eq!((refused, count(&world)), (10, 1));
    world.set_clock("2026-01-15T12:01:00Z");
    assert_eq!(post(&world, SHOW, &invited.token).await.status, 200);
}

#[tokio::test]
async fn form_of_another_site_uses_up_no_invitation() {
    let world = World::new().await;
    let invited = invite(&world).token;
    let page = browse(&world.router, &format!("/keys?invite={invited}"), "").await;
    let form_cookie = cookies(&page);
    let redeem = format!("action=redeem&invite={invited}");
    for (cookies, form) in [
        (form_cookie.as_str(), redeem.clone()),
        (&form_cookie, format!("{redeem}&token=00")),
        ("", format!("{redeem}&token={}", token(&page))),
    ] {
        assert_eq!(
            send(&world.router, "/keys", cookies, &form).await.status,
            403,
            "{form}"
        );
    }
    let forged = Request::post("/keys")
        .header("cookie", &form_cookie)
        .header("host", "localhost:8080")
        .header("origin", "https://evil.example");
    let forged = forged
        .body(Body::from(format!("{redeem}&token={}", token(&page))))
        .unwrap();
    assert_eq!(world.send(forged).await.status, 403);
    // A plain link or image with the address changes nothing either.
    browse(
        &world.router,
        &format!(
            "/keys?invite={invited}&action=redeem&token={}",
            token(&page)
        ),
        &form_cookie,
    )
    .await;
    assert_eq!(count(&world), 1);
    assert_eq!(post(&world, REDEEM, &invited).await.status, 200);
}

#[tokio::test]
async fn invitation_token_appears_in_no_file_log_or_foreign_address() {
    let world = World::new().await;
    let log = Log::default();
    let _listening = log.listen();
    let invited = invite(&world).token;
    let page = browse(&world.router, &format!("/keys?invite={invited}"), "").await;
    // The page contains no content of another site, sends the address to none, and is not cached.
    assert_eq!(
        (page.header("referrer-policy"), page.header("cache-control")),
        ("same-origin", "no-store")
    );
    assert!(
        page.header("content-security-policy")
            .starts_with("default-src 'self'")
            && !text(&page).contains("://"),
        "{}",
        text(&page)
    );
    let made = send(
        &world.router,
        "/keys",
        &cookies(&page),
        &format!("token={}&action=redeem&invite={invited}", token(&page)),
    )
    .await;
    let page = text(&made);
    let key = page
        .split_once("id=\"new-key\">")
        .unwrap()
        .1
        .split('<')
        .next()
        .unwrap();
    post(&world, SHOW, &invited).await;
    let logged = log.take();
    assert!(
        logged.contains("GET /keys")
            && logged.contains("POST /v1/invitations/show")
            && logged.contains("API key created from an invitation"),
        "{logged}"
    );
    let kept = std::fs::read_to_string(world.home.keys_file()).unwrap();
    for text in [&logged, &kept] {
        assert!(
            !text.contains(&invited)
                && !text.contains(key)
                && !text.contains("pi_")
                && !text.contains("pd_"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_redemptions_of_an_invitation_create_one_key() {
    let world = World::new().await;
    let invited = invite(&world).token;
    let requested =
        futures_util::future::join_all((0..12).map(|_| post(&world, REDEEM, &invited))).await;
    let made: Vec<&Answer> = requested
        .iter()
        .filter(|answer| answer.status == 200)
        .collect();
    assert_eq!((made.len(), count(&world)), (1, 2));
    assert!(
        requested
            .iter()
            .filter(|answer| answer.status != 200)
            .all(|answer| answer.problem() == (404, "not_found".to_owned()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_share_a_store_create_one_key() {
    let folders: Vec<tempfile::TempDir> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let store = SharedStore::at(&format!("file://{}", folders[0].path().display())).unwrap();
    let homes: Vec<Home> = folders[1..]
        .iter()
        .map(|folder| Home::open(folder.path()).unwrap())
        .collect();
    let plans = Plans::load(&pubdata_core::declared::DeclarationFiles::built_in()).unwrap();
    let now: Timestamp = "2026-01-15T12:00:00Z".parse().unwrap();
    let invited = change_keys(&homes[0], &store, |keys| {
        keys.invite(wish(&[Scope::Geo], "free"), &plans, now)
    })
    .await
    .unwrap();
    let token = Digest::sha256(invited.token.as_bytes());
    // Several processes of each home share a folder for changes.
    let (plans, store) = (std::sync::Arc::new(plans), std::sync::Arc::new(store));
    let requested = (0..12).map(|number| {
        let (home, store, plans) = (
            homes[number % homes.len()].clone(),
            store.clone(),
            plans.clone(),
        );
        tokio::spawn(async move {
            change_keys(&home, &store, |keys| keys.redeem(&token, &plans, now)).await
        })
    });
    let outcomes = futures_util::future::join_all(requested)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    let refusals: Vec<String> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err().map(ToString::to_string))
        .collect();
    assert!(
        refusals
            .iter()
            .all(|refusal| refusal == "the invitation was used already"),
        "{refusals:?}"
    );
    let (keys, invitations) = list_keys(&homes[0], &store).await.unwrap();
    assert_eq!(
        (
            outcomes.len() - refusals.len(),
            keys.len(),
            invitations[0].key_id.as_ref()
        ),
        (1, 1, Some(&keys[0].id))
    );
}

#[tokio::test]
async fn hundred_invitations_may_be_open_and_ended_ones_are_forgotten() {
    let world = World::new().await;
    let keys = Keys::open(&world.home);
    let first = invite(&world);
    (1..100).for_each(|_| drop(invite(&world)));
    let error = keys
        .invite(wish(&[Scope::Geo], "free"), &world.plans(), world.now())
        .unwrap_err();
    assert!(
        error.to_string().starts_with("100 invitations are open"),
        "{error}"
    );
    keys.revoke_invitation(&first.entry.id, world.now())
        .unwrap();
    invite(&world);
    assert_eq!(keys.invitations().unwrap().len(), 101);
    // All but the last expired more than 30 days ago.
    let new = NewInvitation {
        expires_at: "2026-04-01T00:00:00Z".parse().unwrap(),
        ..wish(&[Scope::Geo], "free")
    };
    keys.invite(new, &world.plans(), "2026-03-15T12:00:00Z".parse().unwrap())
        .unwrap();
    assert_eq!(keys.invitations().unwrap().len(), 1);
}

#[test]
fn command_prints_a_link_once_and_lists_and_revokes_invitations() {
    let place = Place::new();
    let invite = |arguments: &[&str], code: i32| {
        place
            .pubdata(
                &[
                    &["keys", "invite", "--name", "Ann", "--scopes", "geo,sec"],
                    arguments,
                ]
                .concat(),
            )
            .expect(code)
    };
    let made = invite(
        &[
            "--public-url",
            "https://data.example.org/",
            "--expires",
            "12h",
        ],
        0,
    );
    let invited = made
        .stdout
        .trim()
        .strip_prefix("https://data.example.org/keys?invite=")
        .unwrap_or_else(|| panic!("{made:?}"))
        .to_owned();
    assert!(
        invited.starts_with("pi_") && invited.len() == 46,
        "{invited}"
    );
    let keys = Keys::open(&Home::open(&place.home()).unwrap());
    let invitation = keys.invitations().unwrap().remove(0);
    let instant = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(
        instant(&invitation.expires_at)
            .duration_since(instant(&invitation.created_at))
            .as_hours(),
        12
    );
    assert_eq!(invitation.sha256, Digest::sha256(invited.as_bytes()));
    assert!(
        invite(&[], 0)
            .stdout
            .starts_with("http://127.0.0.1:8080/keys?invite=pi_")
    );
    for wrong in [
        ["--expires", "31d"],
        ["--expires", "0h"],
        ["--expires", "7"],
        ["--expires", "-1d"],
        ["--plan", "anonymous"],
    ] {
        invite(&wrong, 40);
    }
    assert!(
        place
            .pubdata(&["keys", "invite", "--name", "Ann", "--scopes", "admin"])
            .expect(40)
            .stderr
            .contains("must not grant the scope `admin`")
    );
    let listed = place.pubdata(&["keys", "list"]).expect(0).stdout;
    assert!(
        listed.contains(&invitation.id) && listed.contains("open") && !listed.contains("pi_"),
        "{listed}"
    );
    place.pubdata(&["keys", "revoke", &invitation.id]).expect(0);
    let listed: Value = place.pubdata(&["keys", "list", "--json"]).expect(0).json();
    assert!(
        listed["invitations"][0]["revoked_at"].is_string(),
        "{listed}"
    );
    place
        .pubdata(&["keys", "revoke", &invitation.id])
        .expect(40);
}
