use super::openapi::check;
use crate::serve::records::world;

#[tokio::test]
async fn answers_are_what_the_document_says() {
    let world = world().await;
    let api = world.ok("/v1/openapi.json").await;
    let paths = [
        ("/v1/business/search", "/v1/business/search?name=acme"),
        ("/v1/business/search", "/v1/business/search?name=rose%20society"),
        ("/v1/business/{entity_id}", "/v1/business/FL-A05"),
        ("/v1/business/{entity_id}", "/v1/business/NY-123"),
        ("/v1/license/verify", "/v1/license/verify?number=1094&state=TX&name=smith"),
        ("/v1/license/verify", "/v1/license/verify?number=nothing&state=TX"),
        ("/v1/license/verify", "/v1/license/verify?number=SERVPG*892PL&state=WA"),
        ("/v1/license/search", "/v1/license/search?name=smith"),
        ("/v1/permits/search", "/v1/permits/search?jurisdiction=us-tx-austin"),
        ("/v1/permits/search", "/v1/permits/search?jurisdiction=us-il-chicago&q=pool"),
        ("/v1/contractors/{license}", "/v1/contractors/TX-tdlr-el-1094"),
        ("/v1/contractors/{license}", "/v1/contractors/TX-tdlr-el-3001"),
        ("/v1/properties/{address}", "/v1/properties/us-il-chicago:100-n-elm-st-chicago"),
        ("/v1/properties", "/v1/properties?address=618%20W%20Elmira%20St%2078701"),
        ("/v1/coverage", "/v1/coverage"),
        ("/v1/provenance/{record_id}", "/v1/provenance/permit.contact:us-tx-austin:2024-001%20BP:1"),
        ("/v1/provenance/{record_id}", "/v1/provenance/business.entity:FL-A05"),
    ];
    for (pattern, path) in paths {
        let schema = &api["paths"][pattern]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        check(&api, schema, &world.ok(path).await, path);
    }
    let problem = world.get("/v1/contractors/1094?state=TX").await.json();
    check(&api, &api["components"]["schemas"]["Problem"], &problem, "problem");
}

#[tokio::test]
async fn a_release_without_these_families_says_so() {
    let world = crate::serve::World::new().await;
    for path in [
        "business/search?name=acme",
        "business/FL-1",
        "license/verify?number=1&state=TX",
        "license/search?name=smith",
        "permits/search?zip=78701",
        "contractors/TX-1",
        "properties/1%20Main%20St%2078701",
    ] {
        assert_eq!(world.get(&format!("/v1/{path}")).await.problem(), (404, "coverage_unavailable".to_owned()), "{path}");
    }
}
