//! Implements the checks of `docs/SPECIFICATION.md` that need more than one answer: recomputation,
//! counts, streams, limits and damage.

mod figures;
mod records;
mod stream;

use std::collections::BTreeSet;

use pubdata_core::declared::DeclarationFiles;
use pubdata_store::{Keys, NewInvitation, Plans, Scope};
use pubdata_testing::files_below;
use serde_json::json;

use super::Desk;
use super::checks::Reply;
use super::page::ApiRequest;

/// Runs the test with a name; the error is the failed expectation.
pub async fn run(name: &str, desk: &Desk) -> Result<(), String> {
    match name {
        "only_computations_are_posted" => only_computations_are_posted(desk).await,
        "one_key_opens_every_family" => one_key_opens_every_family(desk).await,
        "every_area_of_the_survey_has_its_figures" => {
            figures::every_area_of_the_survey_has_its_figures(desk).await
        }
        "every_value_is_in_the_archive_of_facts" => {
            figures::every_value_is_in_the_archive_of_facts(desk).await
        }
        "every_record_has_provenance" => records::every_record_has_provenance(desk).await,
        "significance_is_the_test_of_the_bureau" => {
            figures::significance_is_the_test_of_the_bureau(desk).await
        }
        "schools_come_nearest_first" => figures::schools_come_nearest_first(desk).await,
        "stream_sends_filings" => stream::stream_sends_filings(desk).await,
        "invitation_makes_a_key" => invitation_makes_a_key(desk).await,
        "problems_have_one_form" => problems_have_one_form(desk).await,
        "requests_beyond_the_plan_are_refused" => requests_beyond_the_plan_are_refused(desk).await,
        "damaged_part_is_a_server_error" => damaged_part_is_a_server_error(desk).await,
        "all_paths_begin_with_v1" => all_paths_begin_with_v1(desk).await,
        _ => panic!("there is no test `{name}`"),
    }
}

/// Fails with both values if they differ.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, came: T, expected: T) -> Result<(), String> {
    if came == expected {
        Ok(())
    } else {
        Err(format!(
            "{what}\n    expected: {expected:?}\n    came:     {came:?}"
        ))
    }
}

async fn ok(desk: &Desk, path: &str) -> Result<Reply, String> {
    let reply = desk.get(path).await;
    same(&format!("GET {path}: status"), reply.status, 200)?;
    Ok(reply)
}

async fn operations(desk: &Desk) -> Result<Vec<(String, String)>, String> {
    let document = ok(desk, "/v1/openapi.json").await?;
    let paths = document.body["paths"].as_object().expect("paths").iter();
    Ok(paths
        .flat_map(|(path, methods)| {
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(|method| (method.to_uppercase(), path.clone()))
        })
        .collect())
}

async fn only_computations_are_posted(desk: &Desk) -> Result<(), String> {
    // These answers are about the caller's own keys.
    let is_about_keys = |path: &str| {
        ["/v1/admin/", "/v1/invitations/", "/v1/me/"]
            .iter()
            .any(|start| path.starts_with(start))
    };
    let others = operations(desk)
        .await?
        .into_iter()
        .filter(|(method, path)| method != "GET" && !is_about_keys(path));
    let others: BTreeSet<String> = others
        .map(|(method, path)| format!("{method} {path}"))
        .collect();
    let posted = [
        "POST /v1/geo-demographics/locations/compare",
        "POST /v1/tax/batch",
        "POST /v1/tax/calculate",
        "POST /v1/zip/batch",
    ];
    same(
        "methods other than GET",
        others,
        posted.map(str::to_owned).into(),
    )
}

async fn all_paths_begin_with_v1(desk: &Desk) -> Result<(), String> {
    let others: Vec<String> = operations(desk)
        .await?
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| !path.starts_with("/v1/"))
        .collect();
    same(
        "paths of the OpenAPI document that do not begin with /v1",
        others,
        Vec::new(),
    )
}

async fn one_key_opens_every_family(desk: &Desk) -> Result<(), String> {
    for path in [
        "/v1/business/FL-A23000000520",
        "/v1/license/verify?number=21907&state=TX",
        "/v1/filings/search?ticker=AAPL",
        "/v1/permits/search?zip=78739",
        "/v1/zip/90210",
        "/v1/tax/rate?city=Dallas&state=TX&date=2026-09-01",
        "/v1/geo-demographics/locations/90210",
        "/v1/sec/companies/320193",
    ] {
        for (name, value) in [("X-API-Key", "{key}"), ("Authorization", "Bearer {key}")] {
            let requested = |value: &str| ApiRequest {
                headers: vec![(name.to_owned(), value.to_owned())],
                ..ApiRequest::get(path)
            };
            same(
                &format!("GET {path} with {name}: status"),
                desk.ask(&requested(value)).await.status,
                200,
            )?;
            let wrong = desk
                .ask(&requested(&value.replace("{key}", "pd_wrong")))
                .await;
            same(
                &format!("GET {path} with a wrong {name}"),
                (wrong.status, &wrong.body["code"]),
                (401, &json!("invalid_api_key")),
            )?;
        }
    }
    Ok(())
}

/// An operator's link becomes the holder's own key with the offered scopes, which `/v1/me`
/// describes.
async fn invitation_makes_a_key(desk: &Desk) -> Result<(), String> {
    let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
    let now = jiff::Timestamp::now();
    let new = NewInvitation {
        name: "Ada".to_owned(),
        scopes: vec![Scope::General],
        plan: "standard".to_owned(),
        expires_at: now + std::time::Duration::from_secs(3_600),
        key_expires_in_days: None,
    };
    let invitation = Keys::open(&desk.served.home)
        .invite(new, &plans, now)
        .unwrap();
    let redeem = ApiRequest {
        method: "POST".to_owned(),
        headers: vec![("Authorization".to_owned(), "none".to_owned())],
        body: Some(json!({"token": invitation.token}).to_string()),
        ..ApiRequest::get("/v1/invitations/redeem")
    };
    let made = desk.ask(&redeem).await.body;
    let key = made["data"]["key"].as_str().unwrap_or_default();
    let requested = |path: &str| ApiRequest {
        headers: vec![("Authorization".to_owned(), format!("Bearer {key}"))],
        ..ApiRequest::get(path)
    };
    same(
        "a request with the key",
        desk.ask(&requested("/v1/zip/90210")).await.status,
        200,
    )?;
    let me = desk.ask(&requested("/v1/me")).await.body;
    same(
        "the key's scopes and plan",
        (&me["data"]["key"]["scopes"], &me["data"]["plan"]),
        (&json!(["general"]), &json!("standard")),
    )?;
    same(
        "the invitation a second time",
        desk.ask(&redeem).await.status,
        404,
    )
}

/// Members of every error of a request. An error of the stream has no status, and its `type` is
/// that of the message.
const PROBLEM: [&str; 8] = [
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "code",
    "request_id",
    "errors",
];

/// Errors of every family, of batch items and of unknown routes have the same members, and name the
/// request.
async fn problems_have_one_form(desk: &Desk) -> Result<(), String> {
    let mut problems = Vec::new();
    for path in [
        "/v1/business/search",
        "/v1/business/FL-0",
        "/v1/license/verify",
        "/v1/filings/search?ticker=AAPL&limit=0",
        "/v1/financials/9999999999",
        "/v1/permits/search?tags=moon",
        "/v1/contractors/TX-tdlr-ba-0",
        "/v1/zip/00000",
        "/v1/zip/1",
        "/v1/tax/rate",
        "/v1/geo-demographics/locations/00000",
        "/v1/sec/companies/9999999999",
        "/v1/nothing",
    ] {
        let reply = desk.get(path).await;
        same(
            &format!("GET {path}: content-type"),
            reply.header("content-type"),
            "application/problem+json",
        )?;
        same(
            &format!("GET {path}: status"),
            reply.body["status"].as_u64(),
            Some(u64::from(reply.status)),
        )?;
        same(
            &format!("GET {path}: request_id"),
            reply.body["request_id"].as_str(),
            Some(reply.header("x-request-id")),
        )?;
        problems.push((path, reply.body));
    }
    for (path, body) in [
        ("/v1/zip/batch", json!({"zips": ["00000"]})),
        ("/v1/tax/batch", json!({"addresses": [{"zip": "00000"}]})),
    ] {
        let reply = desk.post(path, &body).await;
        same(&format!("POST {path}: status"), reply.status, 200)?;
        let error = reply.body["data"][0]["error"].clone();
        same(
            &format!("POST {path}: request_id of the item"),
            error["request_id"].as_str(),
            Some(reply.header("x-request-id")),
        )?;
        problems.push((path, error));
    }
    for (path, problem) in problems {
        let members: BTreeSet<&str> = problem
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let missing: Vec<&str> = PROBLEM
            .into_iter()
            .filter(|name| !members.contains(name))
            .collect();
        same(
            &format!("{path}: members that {problem} lacks"),
            missing,
            Vec::new(),
        )?;
        let is_path = problem["instance"]
            .as_str()
            .is_some_and(|instance| path.starts_with(instance));
        same(
            &format!("{path}: instance {} is the path", problem["instance"]),
            is_path,
            true,
        )?;
    }
    Ok(())
}

/// The plan `free` allows 20 requests at once; the next one is refused, while another plan still
/// works.
async fn requests_beyond_the_plan_are_refused(desk: &Desk) -> Result<(), String> {
    let (free, standard) = (
        desk.key(&[Scope::General], "free"),
        desk.key(&[Scope::General], "standard"),
    );
    let requested = |key: &str| ApiRequest {
        headers: vec![("Authorization".to_owned(), format!("Bearer {key}"))],
        ..ApiRequest::get("/v1/zip/90210?fields=city")
    };
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(desk.ask(&requested(&free)).await.status);
    }
    same("the burst of the plan `free`", statuses, vec![200; 20])?;
    let refused = desk.ask(&requested(&free)).await;
    same(
        "the 21st request",
        (refused.status, &refused.body["code"]),
        (429, &json!("rate_limited")),
    )?;
    same(
        "Retry-After is a number of seconds",
        refused.header("retry-after").parse::<u32>().is_ok(),
        true,
    )?;
    let other = desk.ask(&requested(&standard)).await;
    same(
        "another plan",
        (
            other.status,
            other.header("x-ratelimit-limit"),
            refused.header("x-ratelimit-limit"),
        ),
        (200, "100", "20"),
    )
}

/// A part that was altered on disk is not shown.
async fn damaged_part_is_a_server_error(desk: &Desk) -> Result<(), String> {
    let releases = desk.served.home.root().join("releases");
    let is_of_schools = |file: &std::path::Path| {
        file.parent()
            .is_some_and(|folder| folder.ends_with("geo.school"))
    };
    let parts: Vec<_> = files_below(&releases)
        .into_iter()
        .filter(|file| is_of_schools(file))
        .collect();
    same("there are parts of schools", parts.is_empty(), false)?;
    for part in &parts {
        // The file may be shared with other homes.
        std::fs::remove_file(part).unwrap();
        std::fs::write(part, "damaged").unwrap();
    }
    let reply = desk.get("/v1/provenance/geo.school:069037000001").await;
    same(
        "status and code",
        (reply.status, &reply.body["code"]),
        (500, &json!("internal_error")),
    )?;
    let missing: Vec<&str> = PROBLEM
        .into_iter()
        .filter(|name| reply.body.get(name).is_none())
        .collect();
    same("members that the error lacks", missing, Vec::new())?;
    same(
        "content-type",
        reply.header("content-type"),
        "application/problem+json",
    )
}

#[test]
fn different_values_are_reported_with_both() {
    assert_eq!(
        same("a", 1, 2),
        Err("a\n    expected: 2\n    came:     1".to_owned())
    );
}
