use axum::body::Body;
use axum::http::Request;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::error::ErrorKind;
use pubdata_store::{Keys, NewKey, Plans, Scope};

use crate::serve::World;

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

fn plans() -> Plans {
    Plans::load(&DeclarationFiles::built_in()).unwrap()
}

#[tokio::test]
async fn both_key_headers_are_accepted_but_not_two_different_keys() {
    let world = World::new().await;
    let other = world.create_key(&[Scope::Geo], "unlimited").key;
    let ask = async |headers: &[(&str, &str)]| {
        let mut request = Request::get(PROFILE);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let key = world.key.as_str();
    let bearer = format!("Bearer {key}");
    assert_eq!(ask(&[("x-api-key", key)]).await.status, 200);
    assert_eq!(ask(&[("authorization", &bearer)]).await.status, 200);
    assert_eq!(
        ask(&[("authorization", &format!("bearer {key}"))])
            .await
            .status,
        200
    );
    assert_eq!(
        ask(&[("authorization", &bearer), ("x-api-key", key)])
            .await
            .status,
        200
    );
    assert_eq!(
        ask(&[("authorization", &bearer), ("x-api-key", &other)])
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    let missing = ask(&[]).await;
    assert_eq!(
        (missing.problem(), missing.header("www-authenticate")),
        ((401, "missing_api_key".to_owned()), "Bearer")
    );
    for wrong in ["pd_wrong", "", &key[..40]] {
        let answer = ask(&[("x-api-key", wrong)]).await;
        assert_eq!(
            (answer.problem(), answer.header("www-authenticate")),
            ((401, "invalid_api_key".to_owned()), "Bearer"),
            "{wrong}"
        );
    }
    assert_eq!(
        ask(&[("authorization", "Basic dTpw")]).await.problem(),
        (401, "invalid_api_key".to_owned())
    );
}

#[tokio::test]
async fn scope_decides_and_open_endpoints_need_no_key() {
    let world = World::new().await;
    let sec = world.create_key(&[Scope::Sec], "unlimited").key;
    let with = |path: &str, key: &str| {
        world.send(
            Request::get(path)
                .header("x-api-key", key)
                .body(Body::empty())
                .unwrap(),
        )
    };
    assert_eq!(
        with(PROFILE, &sec).await.problem(),
        (403, "insufficient_permission".to_owned())
    );
    assert_eq!(
        with("/v1/provenance/geo.geography:90210", &sec)
            .await
            .problem(),
        (403, "insufficient_permission".to_owned())
    );
    for path in [
        "/v1/coverage",
        "/v1/geo-demographics/coverage",
        "/v1/plans",
        "/v1/me",
        "/v1/openapi.json",
        "/docs",
        "/healthz",
        "/readyz",
        "/metrics",
    ] {
        let answer = world
            .send(Request::get(path).body(Body::empty()).unwrap())
            .await;
        assert_eq!(answer.status, 200, "{path}");
    }
}

#[tokio::test]
async fn new_and_revoked_keys_take_effect_without_restart() {
    let world = World::new().await;
    let created = world.create_key(&[Scope::Geo], "unlimited");
    let ask = async || {
        world
            .send(
                Request::get(PROFILE)
                    .header("x-api-key", &created.key)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    assert_eq!(ask().await.status, 200);
    Keys::open(&world.home)
        .revoke(&created.entry.id, world.now())
        .unwrap();
    world.set_clock("2026-01-15T12:00:00.249Z");
    assert_eq!(
        ask().await.status,
        200,
        "a valid key stays accepted for less than a quarter of a second"
    );
    // A clock that is set back accepts no cached key.
    for later in ["2026-01-15T12:00:00.25Z", "2026-01-15T11:00:00Z"] {
        world.set_clock(later);
        let answer = ask().await;
        assert_eq!(answer.problem(), (401, "invalid_api_key".to_owned()));
        assert_eq!(answer.json()["detail"], "the API key was revoked");
        assert_eq!(
            world.get(PROFILE).await.status,
            200,
            "other keys stay valid"
        );
    }
    let made = world.create_key(&[Scope::Geo], "unlimited");
    let answer = world
        .send(
            Request::get(PROFILE)
                .header("x-api-key", &made.key)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(answer.status, 200, "a new key is looked up at once");
}

#[tokio::test]
async fn key_expires_at_its_instant() {
    let world = World::new().await;
    let new = NewKey {
        name: "short".to_owned(),
        scopes: vec![Scope::Geo],
        plan: "unlimited".to_owned(),
        expires_at: Some("2026-01-15T12:30:00Z".parse().unwrap()),
    };
    let key = Keys::open(&world.home)
        .create(new, &plans(), world.now())
        .unwrap()
        .key;
    let ask = async || {
        world
            .send(
                Request::get(PROFILE)
                    .header("x-api-key", &key)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    world.set_clock("2026-01-15T12:29:59Z");
    assert_eq!(ask().await.status, 200);
    world.set_clock("2026-01-15T12:30:00Z");
    assert_eq!(ask().await.json()["detail"], "the API key has expired");
}

#[tokio::test]
async fn keys_file_holds_digests_only_and_belongs_to_its_owner() {
    let world = World::empty(|_| {}).await;
    let path = world.home.keys_file();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        !text.contains(&world.key) && !text.contains("pd_"),
        "{text}"
    );
    assert_eq!((world.key.len(), &world.key[..3]), (46, "pd_"));
    assert!(
        world.key[3..]
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    );
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions())
            & 0o777,
        0o600
    );
    let keys = Keys::open(&world.home).list().unwrap();
    assert_eq!(
        (
            keys.len(),
            keys[0].name.as_str(),
            keys[0].plan.as_str(),
            keys[0].scopes.len()
        ),
        (1, "test", "unlimited", 5)
    );
    assert_eq!(keys[0].created_at, "2026-01-15T12:00:00Z");
}

#[test]
fn invalid_key_options_list_the_possible_values() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::open(&pubdata_store::Home::open(folder.path()).unwrap());
    let wish = |scopes: Vec<Scope>, plan: &str, name: &str| NewKey {
        name: name.to_owned(),
        scopes,
        plan: plan.to_owned(),
        expires_at: None,
    };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let error = keys
        .create(wish(vec![Scope::Geo], "gold", "a"), &plans(), now)
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str(), error.hint_text()),
        (
            ErrorKind::Config,
            "plan `gold` does not exist",
            Some("plans: free, professional, standard, unlimited")
        )
    );
    let error = keys
        .create(wish(vec![Scope::Geo], "anonymous", "a"), &plans(), now)
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Config,
            "plan `anonymous` is for requests without a key"
        )
    );
    let error = "geography".parse::<Scope>().unwrap_err();
    assert_eq!(
        (error.kind(), error.hint_text()),
        (
            ErrorKind::Config,
            Some("scopes: general, geo, sec, stream, admin")
        )
    );
    assert_eq!(
        keys.create(wish(Vec::new(), "free", "a"), &plans(), now)
            .unwrap_err()
            .kind(),
        ErrorKind::Config
    );
    assert_eq!(
        keys.create(wish(vec![Scope::Geo], "free", " "), &plans(), now)
            .unwrap_err()
            .kind(),
        ErrorKind::Config
    );
    let error = keys
        .create(wish(vec![Scope::Geo], "free", "ada\u{9b}2J"), &plans(), now)
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            ErrorKind::Config,
            "the name of a key must not have control characters: `ada\\u{9b}2J`"
        )
    );
    assert_eq!(
        keys.revoke("k1", now).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert_eq!(keys.list().unwrap(), Vec::new());
}

#[test]
fn keys_made_at_the_same_time_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let home = pubdata_store::Home::open(folder.path()).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (keys, plans) = (Keys::open(&home), plans());
            let new = NewKey {
                name: number.to_string(),
                scopes: vec![Scope::Geo],
                plan: "free".to_owned(),
                expires_at: None,
            };
            scope.spawn(move || {
                keys.create(new, &plans, jiff::Timestamp::UNIX_EPOCH)
                    .unwrap()
            });
        }
    });
    assert_eq!(Keys::open(&home).list().unwrap().len(), 8);
}

#[test]
fn plans_file_is_checked() {
    let with = |text: &str| {
        Plans::load(&DeclarationFiles::built_in().with(&[("schemas/_plans.toml", text)]))
            .unwrap_err()
            .to_string()
    };
    assert!(with("[anonymous]\nrequests_per_minute = 0\nburst = 1\n").contains("a limit of 0"));
    assert!(
        with("[free]\nrequests_per_minute = 1\nburst = 1\n")
            .contains("there is no plan `anonymous`")
    );
    assert!(with("[anonymous]\nrequests = 1\n").contains("schemas/_plans.toml:2"));
}
