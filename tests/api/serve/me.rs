//! Tests what holders of a key can read, change and end.

use axum::body::Body;
use axum::http::Request;
use pubdata_core::ids::Digest;
use pubdata_store::{Keys, Plans, Scope};
use serde_json::{Value, json};

use super::invitations::{invite, post};
use super::pages::browse;
use super::{Answer, World};

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

async fn ask(world: &World, key: &str, path: &str) -> Answer {
    world
        .send(
            Request::get(path)
                .header("x-api-key", key)
                .body(Body::empty())
                .unwrap(),
        )
        .await
}

async fn me(world: &World, key: &str) -> Value {
    let answer = ask(world, key, "/v1/me").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("cache-control")),
        (200, "no-store")
    );
    answer.json()["data"].take()
}

#[tokio::test]
async fn holder_sees_scopes_plan_limits_and_usage_but_no_secret() {
    let world = World::new().await;
    let free = world.create_key(&[Scope::Geo], "free");
    for path in [
        PROFILE,
        "/v1/geo-demographics/locations/1",
        "/v1/tax/rate?zip=10001",
    ] {
        ask(&world, &free.key, path).await;
    }
    let answer = ask(&world, &free.key, "/v1/me").await;
    let text = String::from_utf8_lossy(&answer.bytes).into_owned();
    assert!(
        !text.contains("pd_") && !text.contains(&free.entry.sha256.to_string()),
        "{text}"
    );
    // The limits of `free` in schemas/_plans.toml.
    let expected = json!({
        "key": {
            "key_id": free.entry.id, "name": "other", "scopes": ["geo"], "plan": "free", "is_valid": true, "created_at": "2026-01-15T12:00:00Z",
            "expires_at": null, "revoked_at": null, "rotated_at": null, "previous_secret_valid_until": null
        },
        "secret_valid_until": null,
        "plan": "free",
        "limits": {"requests_per_minute": 60, "burst": 20, "stream_sockets": 2, "batch_items": 100, "page_records": 100},
        "usage": {
            "since": "2026-01-15T12:00:00Z", "requests": 3, "rate_limited": 0, "refused": 2, "failed": 0, "last_request_at": "2026-01-15T12:00:00Z"
        }
    });
    assert_eq!(answer.json()["data"], expected);
    assert_eq!(
        ask(&world, "pd_wrong", "/v1/me").await.problem(),
        (401, "invalid_api_key".to_owned())
    );
}

#[tokio::test]
async fn without_a_key_the_limits_of_the_address_are_reported() {
    let world = World::new().await;
    let answer = world
        .send(Request::get("/v1/me").body(Body::empty()).unwrap())
        .await;
    let expected = json!({
        "key": null, "secret_valid_until": null, "plan": "anonymous", "usage": null,
        "limits": {"requests_per_minute": 120, "burst": 60, "stream_sockets": 10, "batch_items": 100, "page_records": 100}
    });
    assert_eq!(answer.json()["data"], expected);
    for path in ["/v1/me/rotate", "/v1/me/revoke"] {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(Body::from("{}"))
            .unwrap();
        assert_eq!(
            world.send(request).await.problem(),
            (401, "missing_api_key".to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn plans_are_those_declared_by_the_operator() {
    let text = "[anonymous]\nrequests_per_minute = 7\nburst = 3\n[gold]\nrequests_per_minute = 5\nburst = 9\nstream_sockets = 1\n[unlimited]\nrequests_per_minute = 900\nburst = 900\n";
    let world = World::with(|settings| settings.plans = Plans::parse(text).unwrap()).await;
    let plans = world.ok("/v1/plans").await["data"]["plans"].take();
    let shown: Vec<(&str, bool, u64, u64, u64)> = plans
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| {
            let limit = |name: &str| plan["limits"][name].as_u64().unwrap();
            let (name, is_for_keys) = (
                plan["plan"].as_str().unwrap(),
                plan["is_for_keys"].as_bool().unwrap(),
            );
            (
                name,
                is_for_keys,
                limit("requests_per_minute"),
                limit("burst"),
                limit("stream_sockets"),
            )
        })
        .collect();
    // The default is five sockets.
    assert_eq!(
        shown,
        [
            ("anonymous", false, 7, 3, 5),
            ("gold", true, 5, 9, 1),
            ("unlimited", true, 900, 900, 5)
        ]
    );
}

#[tokio::test]
async fn replaced_secret_is_accepted_for_its_time_without_write_access() {
    let world = World::new().await;
    let created = world.create_key(&[Scope::Geo], "standard");
    let rotated = world
        .post_as(
            &created.key,
            "/v1/me/rotate",
            &json!({"overlap_minutes": 30}),
        )
        .await
        .json()["data"]
        .take();
    let new = rotated["key"].as_str().unwrap().to_owned();
    assert!(new.starts_with("pd_") && new != created.key);
    assert_eq!(
        (&rotated["key_id"], &rotated["scopes"], &rotated["plan"]),
        (
            &json!(created.entry.id),
            &json!(["geo"]),
            &json!("standard")
        )
    );
    assert_eq!(
        (
            &rotated["rotated_at"],
            &rotated["previous_secret_valid_until"]
        ),
        (
            &json!("2026-01-15T12:00:00Z"),
            &json!("2026-01-15T12:30:00Z")
        )
    );
    for key in [&created.key, &new] {
        assert_eq!(ask(&world, key, PROFILE).await.status, 200);
    }
    assert_eq!(
        me(&world, &created.key).await["secret_valid_until"],
        "2026-01-15T12:30:00Z"
    );
    assert_eq!(me(&world, &new).await["secret_valid_until"], Value::Null);
    for path in ["/v1/me/rotate", "/v1/me/revoke"] {
        assert_eq!(
            world
                .post_as(&created.key, path, &json!({}))
                .await
                .problem(),
            (403, "insufficient_permission".to_owned()),
            "{path}"
        );
    }
    world.set_clock("2026-01-15T12:30:00Z");
    let refused = ask(&world, &created.key, PROFILE).await;
    assert_eq!(
        (refused.problem(), &refused.json()["detail"]),
        (
            (401, "invalid_api_key".to_owned()),
            &json!("the secret of this API key was replaced by a new one")
        )
    );
    assert_eq!(ask(&world, &new, PROFILE).await.status, 200);
    let text = std::fs::read_to_string(world.home.keys_file()).unwrap();
    assert!(!text.contains(&new) && !text.contains("pd_"), "{text}");
}

#[tokio::test]
async fn leaked_secret_ends_at_once_and_rotation_keeps_two_at_most() {
    let world = World::new().await;
    let first = world.create_key(&[Scope::Geo], "standard").key;
    let rotate = async |key: &str, body: &Value| {
        world.post_as(key, "/v1/me/rotate", body).await.json()["data"]["key"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let second = rotate(&first, &json!({"overlap_minutes": 0})).await;
    world.set_clock("2026-01-15T12:00:01Z");
    assert_eq!(
        ask(&world, &first, PROFILE).await.problem(),
        (401, "invalid_api_key".to_owned())
    );
    let third = rotate(&second, &json!({})).await;
    assert_eq!(
        ask(&world, &second, PROFILE).await.status,
        200,
        "an hour by default"
    );
    let fourth = rotate(&third, &json!({"overlap_minutes": null})).await;
    world.set_clock("2026-01-15T12:00:02Z");
    assert_eq!(
        ask(&world, &second, PROFILE).await.problem(),
        (401, "invalid_api_key".to_owned()),
        "two secrets at most"
    );
    assert_eq!(
        (
            ask(&world, &third, PROFILE).await.status.as_u16(),
            ask(&world, &fourth, PROFILE).await.status.as_u16()
        ),
        (200, 200)
    );
    for wrong in [
        json!({"overlap_minutes": -1}),
        json!({"overlap_minutes": 1441}),
        json!({"overlap_minutes": "1"}),
    ] {
        assert_eq!(
            world
                .post_as(&fourth, "/v1/me/rotate", &wrong)
                .await
                .problem(),
            (400, "invalid_parameter".to_owned()),
            "{wrong}"
        );
    }
    let scopes = json!({"overlap_minutes": 1, "scopes": ["admin"]});
    assert_eq!(
        world
            .post_as(&fourth, "/v1/me/rotate", &scopes)
            .await
            .problem(),
        (400, "unknown_parameter".to_owned())
    );
}

#[tokio::test]
async fn both_secrets_of_a_key_share_one_bucket() {
    let world = World::new().await;
    let old = world.create_key(&[Scope::Geo], "free").key;
    let new = world
        .post_as(&old, "/v1/me/rotate", &json!({}))
        .await
        .json()["data"]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut refused = 0;
    for number in 0..24 {
        refused += u64::from(
            ask(&world, if number % 2 == 0 { &old } else { &new }, PROFILE)
                .await
                .status
                == 429,
        );
    }
    // The burst is 20, and the rotation took one.
    assert_eq!(refused, 5);
}

#[test]
fn parallel_rotations_give_one_new_secret() {
    let folder = tempfile::tempdir().unwrap();
    let home = pubdata_store::Home::open(folder.path()).unwrap();
    let plans = Plans::load(&pubdata_core::declared::DeclarationFiles::built_in()).unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let new = pubdata_store::NewKey {
        name: "a".to_owned(),
        scopes: vec![Scope::Geo],
        plan: "free".to_owned(),
        expires_at: None,
    };
    let created = Keys::open(&home).create(new, &plans, now).unwrap();
    let rotated: Vec<_> = std::thread::scope(|scope| {
        let rotate = || Keys::open(&home).rotate(&created.entry.id, &created.entry.sha256, 60, now);
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(rotate)).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().unwrap().ok())
            .collect()
    });
    let keys = Keys::open(&home).list().unwrap();
    assert_eq!(
        (rotated.len(), keys.len(), keys[0].sha256),
        (1, 1, Digest::sha256(rotated[0].key.as_bytes()))
    );
}

#[tokio::test]
async fn holder_revokes_their_own_key_with_all_its_secrets_only() {
    let world = World::new().await;
    let (mine, other) = (
        world.create_key(&[Scope::Geo], "standard"),
        world.create_key(&[Scope::Geo], "standard").key,
    );
    let new = world
        .post_as(&mine.key, "/v1/me/rotate", &json!({}))
        .await
        .json()["data"]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    let revoked = world
        .post_as(&new, "/v1/me/revoke", &json!({}))
        .await
        .json()["data"]
        .take();
    assert_eq!(
        (
            &revoked["key_id"],
            &revoked["is_valid"],
            &revoked["previous_secret_valid_until"]
        ),
        (&json!(mine.entry.id), &json!(false), &Value::Null)
    );
    world.set_clock("2026-01-15T12:00:01Z");
    for key in [&mine.key, &new] {
        assert_eq!(
            ask(&world, key, "/v1/me").await.problem(),
            (401, "invalid_api_key".to_owned())
        );
    }
    assert_eq!(ask(&world, &other, PROFILE).await.status, 200);
}

#[tokio::test]
async fn keys_plans_and_invitations_work_before_the_first_release() {
    let world = World::empty(|_| {}).await;
    assert_eq!(world.service.refresh().await.unwrap(), None);
    let free = world.create_key(&[Scope::Geo], "free");
    let answer = ask(&world, &free.key, "/v1/me").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["meta"]["release"]),
        (200, &Value::Null)
    );
    assert_eq!(answer.json()["data"]["key"]["key_id"], free.entry.id);
    let plans = ask(&world, &free.key, "/v1/plans").await;
    assert!(
        plans.json()["data"]["plans"]
            .as_array()
            .unwrap()
            .iter()
            .any(|plan| plan["plan"] == "free"),
        "{}",
        plans.json()
    );
    let token = invite(&world).token;
    assert_eq!(
        post(&world, "/v1/invitations/show", &token).await.json()["data"]["plan"],
        "free"
    );
    let made = post(&world, "/v1/invitations/redeem", &token).await.json()["data"].take();
    assert_eq!(
        me(&world, made["key"].as_str().unwrap()).await["key"]["plan"],
        "free"
    );
    let admin = world.create_key(&[Scope::Admin], "free");
    for path in ["/v1/admin/keys", "/v1/admin/usage"] {
        assert_eq!(ask(&world, &admin.key, path).await.status, 200, "{path}");
    }
    assert_eq!(
        ask(&world, &free.key, PROFILE).await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        browse(&world.router, "/keys", &format!("pubdata_key={}", free.key))
            .await
            .status,
        200
    );
}
