//! Tests the endpoints of the scope `admin`, and that no other key may use them.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Request;
use pubdata_core::issue::SourceFinding;
use pubdata_store::{Keys, LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask, Scope, append_ledger};
use serde_json::{Value, json};

use super::World;

const PATHS: [&str; 3] = ["/v1/admin/keys", "/v1/admin/usage", "/v1/admin/status"];

/// A run with one task reused with a reason, and one blocked task that never published.
pub fn run(world: &World, run_id: &str) -> LedgerEntry {
    let task = |outcome: &str, reason: Option<&str>, findings: Vec<SourceFinding>| LedgerTask {
        outcome: outcome.to_owned(),
        reason: reason.map(str::to_owned),
        rows: 7,
        quarantined_rows: 1,
        findings,
        next_step: None,
        late_since: None,
        is_above_warning_level: false,
        is_optional: false,
        input_hash: None,
        duration_ms: 3,
    };
    let reason = format!(
        "every finding is in {}/runs/{run_id}/issues.jsonl",
        world.home.root().display()
    );
    let finding = SourceFinding::new("test.new_file", "new_column", "`NOTE` is new".to_owned());
    LedgerEntry {
        format_version: LEDGER_FORMAT_VERSION,
        run_id: run_id.to_owned(),
        started_at: "2026-01-11T01:00:00Z".to_owned(),
        ended_at: "2026-01-11T01:10:00Z".to_owned(),
        exit_code: 20,
        channel: "nightly".to_owned(),
        release_id: Some(world.release_id.clone()),
        outcome: "published".to_owned(),
        error: None,
        note: None,
        accepted: Vec::new(),
        fetched_bytes: None,
        disk: None,
        import: None,
        tasks: BTreeMap::from([
            ("test.places".to_owned(), task("fresh", None, Vec::new())),
            (
                "test.new".to_owned(),
                task("blocked", Some(&reason), vec![finding]),
            ),
        ]),
    }
}

async fn ask(world: &World, key: &str, path: &str) -> super::Answer {
    world
        .send(
            Request::get(path)
                .header("x-api-key", key)
                .body(Body::empty())
                .unwrap(),
        )
        .await
}

#[tokio::test]
async fn admin_answers_need_the_scope_and_are_never_cached() {
    let world = World::new().await;
    let admin = world.create_key(&[Scope::Admin], "unlimited").key;
    let others = world
        .create_key(
            &[Scope::General, Scope::Geo, Scope::Sec, Scope::Stream],
            "unlimited",
        )
        .key;
    for path in PATHS {
        assert_eq!(
            ask(&world, &others, path).await.problem(),
            (403, "insufficient_permission".to_owned()),
            "{path}"
        );
        assert_eq!(
            world
                .send(Request::get(path).body(Body::empty()).unwrap())
                .await
                .problem(),
            (401, "missing_api_key".to_owned()),
            "{path}"
        );
        let answer = ask(&world, &admin, path).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.header("cache-control"),
                answer.header("etag")
            ),
            (200, "no-store", ""),
            "{path}"
        );
        let changing = Request::post(path)
            .header("x-api-key", &others)
            .body(Body::empty())
            .unwrap();
        let refused = if path == "/v1/admin/keys" {
            (403, "insufficient_permission")
        } else {
            (405, "method_not_allowed")
        };
        assert_eq!(
            world.send(changing).await.problem(),
            (refused.0, refused.1.to_owned()),
            "{path} is not changed by other keys"
        );
    }
    assert_eq!(
        ask(&world, &admin, "/v1/geo-demographics/locations/90210")
            .await
            .problem(),
        (403, "insufficient_permission".to_owned())
    );
}

#[tokio::test]
async fn admin_keys_create_and_revoke_keys() {
    let world = World::new().await;
    let others = world
        .create_key(
            &[Scope::General, Scope::Geo, Scope::Sec, Scope::Stream],
            "unlimited",
        )
        .key;
    let wish =
        serde_json::json!({"name": "nightly", "scopes": ["geo", "geo"], "expires_in_days": 1});
    assert_eq!(
        world
            .post_as(&others, "/v1/admin/keys", &wish)
            .await
            .problem(),
        (403, "insufficient_permission".to_owned())
    );
    let made = world.post("/v1/admin/keys", &wish).await.json()["data"].take();
    assert_eq!(
        (&made["scopes"], &made["plan"], &made["expires_at"]),
        (
            &serde_json::json!(["geo"]),
            &"standard".into(),
            &"2026-01-16T12:00:00Z".into()
        )
    );
    let (key, key_id) = (
        made["key"].as_str().unwrap(),
        made["key_id"].as_str().unwrap(),
    );
    assert_eq!(
        ask(&world, key, "/v1/geo-demographics/locations/90210")
            .await
            .status,
        200
    );
    for (field, value) in [
        ("scopes", serde_json::json!(["all"])),
        ("plan", "none such".into()),
        ("plan", "anonymous".into()),
        ("expires_in_days", 0.into()),
        ("name", " ".into()),
        ("name", 5.into()),
        ("name", "\u{1b}]0;owned\u{7}\u{1b}[2J".into()),
        ("name", "ada\u{9b}2J".into()),
        ("name", "ada\u{202e}".into()),
        ("name", "ada\nid k1".into()),
    ] {
        let mut wrong = wish.clone();
        wrong[field] = value;
        assert_eq!(
            world.post("/v1/admin/keys", &wrong).await.problem(),
            (400, "invalid_parameter".to_owned()),
            "{wrong}"
        );
    }
    let revoked = world
        .post(
            &format!("/v1/admin/keys/{key_id}/revoke"),
            &serde_json::json!({}),
        )
        .await
        .json()["data"]
        .take();
    assert_eq!(
        (&revoked["key_id"], &revoked["is_valid"]),
        (&key_id.into(), &false.into())
    );
    world.set_clock("2026-01-15T12:00:01Z");
    assert_eq!(
        ask(&world, key, "/v1/geo-demographics/locations/90210")
            .await
            .problem(),
        (401, "invalid_api_key".to_owned())
    );
    assert_eq!(
        world
            .post(
                &format!("/v1/admin/keys/{key_id}/revoke"),
                &serde_json::json!({})
            )
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world
            .post(
                "/v1/admin/keys/k000000000000/revoke",
                &serde_json::json!({})
            )
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
}

#[tokio::test]
async fn key_list_contains_no_usable_secret() {
    let world = World::new().await;
    let created = world.create_key(&[Scope::Geo], "free");
    Keys::open(&world.home)
        .revoke(&created.entry.id, world.now())
        .unwrap();
    let answer = world.get("/v1/admin/keys").await;
    let text = String::from_utf8_lossy(&answer.bytes).into_owned();
    assert!(
        !text.contains(&created.entry.sha256.to_string())
            && !text.contains("pd_")
            && !text.contains("sha256"),
        "{text}"
    );
    let keys = &answer.json()["data"]["keys"];
    assert_eq!(
        keys[1],
        json!({
            "key_id": created.entry.id, "name": "other", "scopes": ["geo"], "plan": "free", "is_valid": false,
            "created_at": "2026-01-15T12:00:00Z", "expires_at": null, "revoked_at": "2026-01-15T12:00:00Z", "rotated_at": null,
            "previous_secret_valid_until": null
        })
    );
    assert_eq!(
        (&keys[0]["is_valid"], &keys[0]["scopes"]),
        (
            &json!(true),
            &json!(["general", "geo", "sec", "stream", "admin"])
        )
    );
}

#[tokio::test]
async fn usage_counts_the_requests_of_each_key() {
    let world = World::new().await;
    let free = world.create_key(&[Scope::Geo], "free");
    for path in [
        "/v1/geo-demographics/locations/90210",
        "/v1/geo-demographics/locations/1",
        "/v1/tax/rate?zip=10001",
    ] {
        ask(&world, &free.key, path).await;
    }
    for _ in 3..25 {
        ask(&world, &free.key, "/v1/coverage").await;
    }
    world
        .send(Request::get("/v1/coverage").body(Body::empty()).unwrap())
        .await;
    let report = world.ok("/v1/admin/usage").await["data"].clone();
    assert_eq!(report["since"], "2026-01-15T12:00:00Z");
    let other: &Value = &report["keys"][1];
    assert_eq!(
        *other,
        json!({
            "key_id": free.entry.id, "name": "other", "plan": "free", "requests": 25, "rate_limited": 5, "refused": 2, "failed": 0,
            "last_request_at": "2026-01-15T12:00:00Z"
        })
    );
    assert_eq!(
        (
            &report["keys"][0]["requests"],
            &report["keys"][0]["last_request_at"]
        ),
        (&json!(0), &Value::Null),
        "the current request is not finished"
    );
}

#[tokio::test]
async fn status_shows_unpublished_tasks_and_complete_reasons() {
    let world = World::new().await;
    let entry = run(&world, "run-2");
    append_ledger(
        &world.home,
        &LedgerEntry {
            run_id: "run-1".to_owned(),
            ..entry.clone()
        },
    )
    .unwrap();
    append_ledger(&world.home, &entry).unwrap();
    append_ledger(
        &world.home,
        &LedgerEntry {
            run_id: "import-1".to_owned(),
            outcome: "imported".to_owned(),
            tasks: BTreeMap::new(),
            ..entry.clone()
        },
    )
    .unwrap();
    let status = world.ok("/v1/admin/status").await["data"].clone();
    let tasks = status["tasks"].as_array().unwrap();
    let names: Vec<&str> = tasks
        .iter()
        .map(|task| task["task_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "test.metrics/vintage=2022",
            "test.metrics/vintage=2023",
            "test.new",
            "test.places"
        ]
    );
    assert_eq!(
        tasks[2],
        json!({
            "task_id": "test.new", "is_published": false, "freshness": null, "is_stale": false, "late_since": null, "built_at": null, "outcome": "blocked",
            "reason": entry.tasks["test.new"].reason, "run_id": "run-2", "rows": 7, "quarantined_rows": 1,
            "findings": [{"source_id": "test.new_file", "code": "new_column", "detail": "`NOTE` is new"}]
        })
    );
    assert!(
        tasks[2]["reason"]
            .as_str()
            .unwrap()
            .contains(world.home.root().to_str().unwrap()),
        "the folder is shown here"
    );
    assert_eq!(
        (
            &tasks[3]["is_published"],
            &tasks[3]["outcome"],
            &tasks[3]["freshness"]
        ),
        (&json!(true), &json!("fresh"), &json!("fresh"))
    );
    let runs: Vec<&str> = status["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(runs, ["run-2", "run-1"]);
    assert_eq!(status["release"]["release_id"], world.release_id.as_str());
    assert_eq!(
        status["program"]["pubdata_version"],
        env!("CARGO_PKG_VERSION")
    );
}
