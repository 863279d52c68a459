use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::serve::World;
use crate::serve::geo::draft;

const PROFILE: &str = "/v1/geo-demographics/locations/90210";
const COMPARE: &str = "/v1/geo-demographics/locations/compare";

#[tokio::test]
async fn problem_has_every_member_and_names_the_nearest_parameter() {
    let world = World::new().await;
    let answer = world
        .get_with(
            &format!("{PROFILE}/demographics?metrcs=population"),
            &[("x-request-id", "my-id.1")],
        )
        .await;
    let message = "there is no parameter `metrcs` here; did you mean `metric`?";
    let expected = json!({
        "type": "/problems/unknown_parameter", "title": "Unknown parameter", "status": 400, "detail": message, "instance": format!("{PROFILE}/demographics"),
        "code": "unknown_parameter", "request_id": "my-id.1", "errors": [{"field": "metrcs", "code": "unknown_parameter", "message": message}]
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test]
async fn every_wrong_parameter_is_refused_with_its_code() {
    let world = World::new().await;
    let cases = [
        ("locations/90210?vintage=abc", "invalid_parameter"),
        ("locations/90210?vintage=", "invalid_parameter"),
        ("locations/90210?vintage=+2023", "invalid_parameter"),
        (
            "locations/90210?vintage=2023&vintage=2023",
            "invalid_parameter",
        ),
        ("locations/90210?history=true", "unknown_parameter"),
        ("locations/90210?%FF=1", "invalid_parameter"),
        ("locations/90210?vintage=%zz", "invalid_parameter"),
        ("locations/90210?release=r1", "invalid_parameter"),
        ("locations/90210?as_of=2026-13-01", "invalid_parameter"),
        ("locations/90210?as_of=yesterday", "invalid_parameter"),
        (
            "locations/90210/demographics?metrics=popluation",
            "invalid_parameter",
        ),
        ("locations/90210/demographics?metrics=", "invalid_parameter"),
        (
            "locations/90210/demographics?metrics=population,population",
            "invalid_parameter",
        ),
        (
            "locations/90210/demographics?history=yes",
            "invalid_parameter",
        ),
        (
            "locations/90210/schools?radius_mi=0.05",
            "invalid_parameter",
        ),
        ("locations/90210/schools?radius_mi=101", "invalid_parameter"),
        ("locations/90210/schools?radius_mi=NaN", "invalid_parameter"),
        ("locations/90210/schools?limit=0", "invalid_parameter"),
        ("locations/90210/schools?limit=101", "invalid_parameter"),
        ("locations/90210/schools?grade=1", "invalid_parameter"),
        ("locations/90210/schools?level=best", "invalid_parameter"),
        ("locations/90210/schools?cursor=!!!", "invalid_cursor"),
        ("locations/90210/schools?rating=5", "unknown_parameter"),
        ("counties/6037", "invalid_parameter"),
        ("counties/99999", "not_found"),
        ("locations/00000/schools", "not_found"),
        ("locations", "route_not_found"),
        ("locations/compare", "method_not_allowed"),
    ];
    for (path, code) in cases {
        let (status, found) = world
            .get(&format!("/v1/geo-demographics/{path}"))
            .await
            .problem();
        assert_eq!(
            (found.as_str(), matches!(status, 400 | 404 | 405)),
            (code, true),
            "{path}"
        );
    }
    let both = format!("{PROFILE}?as_of=2026-01-12&release={}", world.release_id);
    assert_eq!(
        world.get(&both).await.problem(),
        (400, "invalid_parameter".to_owned())
    );
    let misspelt = world
        .get(&format!("{PROFILE}/demographics?metrics=popluation"))
        .await
        .json();
    assert_eq!(
        misspelt["detail"],
        "`metrics`: `popluation` is not valid; did you mean `population`?"
    );
}

#[tokio::test]
async fn every_wrong_body_is_refused_with_its_code() {
    let world = World::new().await;
    let cases = [
        (json!([]), "invalid_json"),
        (json!({}), "missing_parameter"),
        (json!({"locations": "90210"}), "invalid_parameter"),
        (json!({"locations": [90210, 10001]}), "invalid_parameter"),
        (json!({"locations": ["90210"]}), "invalid_parameter"),
        (
            json!({"locations": ["90210", "10001", "90210"]}),
            "invalid_parameter",
        ),
        (
            json!({"locations": (0..21).map(|number| format!("{number:05}")).collect::<Vec<_>>()}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "90210"]}),
            "invalid_parameter",
        ),
        (json!({"locations": ["90210", "1001"]}), "invalid_parameter"),
        (json!({"locations": ["90210", "90209"]}), "not_found"),
        (
            json!({"locations": ["90210", "10001"], "metrics": []}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "10001"], "metrics": ["income"]}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "10001"], "metrics": ["population", "population"]}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "10001"], "metrics": null}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "10001"], "vintage": "2023"}),
            "invalid_parameter",
        ),
        (
            json!({"locations": ["90210", "10001"], "vintage": 2019}),
            "coverage_unavailable",
        ),
        (
            json!({"locations": ["90210", "10001"], "metric": ["population"]}),
            "unknown_parameter",
        ),
    ];
    for (body, code) in cases {
        assert_eq!(world.post(COMPARE, &body).await.problem().1, code, "{body}");
    }
    let unknown = world.post(COMPARE, &json!({"location": []})).await.json();
    assert_eq!(
        unknown["detail"],
        "there is no field `location` here; did you mean `locations`?"
    );
}

#[tokio::test]
async fn bodies_that_are_too_large_or_of_another_type_are_400() {
    let world = World::new().await;
    let post = |content_type: &str, body: String| {
        let request = Request::post(COMPARE)
            .header("x-api-key", &world.key)
            .header("content-type", content_type);
        world.send(request.body(Body::from(body)).unwrap())
    };
    assert_eq!(
        post("text/plain", "{}".to_owned()).await.problem(),
        (400, "invalid_json".to_owned())
    );
    assert_eq!(
        post("application/json", "{".to_owned()).await.problem(),
        (400, "invalid_json".to_owned())
    );
    assert_eq!(
        post("application/json", format!("\"{}\"", "x".repeat(70_000)))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    let twice = post(
        "application/json",
        r#"{"locations":["90210","10001"],"locations":["90210","00627"]}"#.to_owned(),
    )
    .await;
    assert!(
        twice.json()["detail"]
            .as_str()
            .unwrap()
            .contains("the field `locations` occurs twice"),
        "{}",
        twice.json()
    );
    let large = post("application/json", " ".repeat(70_000)).await;
    assert_eq!(
        large.json()["detail"],
        "the body is larger than the limit of 65536 bytes: split the request"
    );
    assert_eq!(
        post(
            "application/json; charset=utf-8",
            r#"{"locations":["90210","10001"]}"#.to_owned()
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn unknown_routes_are_404_and_missing_methods_405() {
    let world = World::new().await;
    assert_eq!(
        world.get("/v1/geo-demographics/rankings").await.problem(),
        (404, "route_not_found".to_owned())
    );
    let delete = world
        .send(
            Request::delete(PROFILE)
                .header("x-api-key", &world.key)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(
        (delete.problem(), delete.header("allow")),
        ((405, "method_not_allowed".to_owned()), "GET, HEAD, OPTIONS")
    );
    for path in [
        "/healthz",
        "/readyz",
        "/v1/openapi.json",
        "/v1/asyncapi.json",
        "/v1/stream",
        "/v1/log/timestamp",
        "/problems/busy",
    ] {
        let delete = world
            .send(Request::delete(path).body(Body::empty()).unwrap())
            .await;
        assert_eq!(
            (delete.problem(), delete.header("allow")),
            ((405, "method_not_allowed".to_owned()), "GET,HEAD"),
            "{path}"
        );
    }
    assert_eq!(
        world
            .send(Request::delete("/v1/nothing").body(Body::empty()).unwrap())
            .await
            .problem(),
        (404, "route_not_found".to_owned())
    );
    assert_eq!(
        world
            .get("/v1/geo-demographics/locations/%FF")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn request_heads_that_are_too_large_are_400() {
    let world = World::new().await;
    assert_eq!(
        world
            .get(&format!("{PROFILE}?vintage={}", "9".repeat(5_000)))
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    let many: Vec<(String, String)> = (0..80)
        .map(|number| (format!("x-filler-{number}"), "1".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        world.get_with(PROFILE, &many).await.problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        world
            .get_with(PROFILE, &[("x-filler", &"1".repeat(20_000))])
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn request_that_accepts_no_json_is_400() {
    let world = World::new().await;
    assert_eq!(
        world
            .get_with(PROFILE, &[("accept", "text/html, application/json;q=0")])
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    for accept in ["*/*", "application/*;q=0.5", "text/html, application/json"] {
        assert_eq!(
            world.get_with(PROFILE, &[("accept", accept)]).await.status,
            200,
            "{accept}"
        );
    }
}

#[tokio::test]
async fn data_is_unavailable_before_the_first_release_and_health_reports() {
    let world = World::empty(|_| {}).await;
    assert_eq!(world.service.refresh().await.unwrap(), None);
    assert_eq!(
        world.get(PROFILE).await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        (
            world.get("/healthz").await.status.as_u16(),
            world.get("/readyz").await.status.as_u16()
        ),
        (200, 503)
    );
    world.publish(&draft(1.0)).await;
    world.service.refresh().await.unwrap();
    assert_eq!(
        (
            world.get(PROFILE).await.status.as_u16(),
            world.get("/readyz").await.status.as_u16()
        ),
        (200, 200)
    );
}

#[tokio::test]
async fn unreadable_release_is_not_reported_as_missing() {
    let world = World::empty(|_| {}).await;
    assert_eq!(
        world.get("/readyz").await.json()["status"],
        "no release yet"
    );
    let release_id = world.publish(&draft(1.0)).await;
    std::fs::write(
        world
            .folder
            .path()
            .join("releases")
            .join(release_id.as_str())
            .join("manifest.json"),
        "{",
    )
    .unwrap();
    assert!(world.service.refresh().await.is_err());
    let answer = world.get("/readyz").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["status"]),
        (503, &json!("the release cannot be read"))
    );
}

#[tokio::test]
async fn requests_wait_for_the_first_release_to_be_loaded() {
    let world = World::empty(|_| {}).await;
    world.publish(&draft(1.0)).await;
    assert_eq!(world.get("/readyz").await.status, 503);
    let (answer, loaded) = tokio::join!(world.get(PROFILE), world.service.refresh());
    assert!(loaded.unwrap().is_some());
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn release_without_a_dataset_names_what_is_missing() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft(1.0);
    draft.tables.retain(|table| {
        table.dataset_id != "geo.school" && table.dataset_id != "geo.county_metric"
    });
    world.publish(&draft).await;
    world.service.refresh().await.unwrap();
    assert_eq!(
        world.get(&format!("{PROFILE}/schools")).await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(
        world
            .get("/v1/geo-demographics/counties/06037")
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
    assert_eq!(world.get(PROFILE).await.status, 200);
}

/// A problem is short, however long the request: 4 kB of wrong names used to be answered with 700
/// kB.
#[tokio::test]
async fn problem_is_not_much_longer_than_its_message() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    let mut paths: Vec<String> = api["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(|path| path.replace("{zcta}", "90210").replace(['{', '}'], ""))
        .collect();
    paths.push("/v1/nothing".to_owned());
    let wrong = [
        "a&".repeat(1_900),
        "a=%01&".repeat(600),
        format!("limit={}", "%01".repeat(1_200)),
        format!("state={}", "x,".repeat(1_800)),
        "%ff&".repeat(900),
    ];
    for path in &paths {
        for query in &wrong {
            let answer = world.get(&format!("{path}?{query}")).await;
            assert!(
                answer.bytes.len() <= 16_384,
                "{path}?{query:.20}: {} bytes",
                answer.bytes.len()
            );
        }
        let answer = world.get(&format!("{path}/{}", "%01x".repeat(900))).await;
        assert!(
            answer.bytes.len() <= 16_384,
            "{path}/…: {} bytes",
            answer.bytes.len()
        );
    }
    for path in [
        "/v1/zip/batch",
        "/v1/tax/batch",
        "/v1/tax/calculate",
        "/v1/geo-demographics/locations/compare",
    ] {
        for body in [
            format!("{{\"{}\": 1}}", "\\u0001".repeat(9_000)),
            format!("{{\"zips\": [\"{}\"]}}", "y".repeat(60_000)),
            "[".repeat(60_000),
        ] {
            let answer = world.post_text(path, body.clone()).await;
            assert!(
                answer.bytes.len() <= 16_384,
                "{path} {body:.20}: {} bytes",
                answer.bytes.len()
            );
        }
    }
}
