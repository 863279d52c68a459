use serde_json::json;

use crate::serve::World;
use pubdata::declared::DeclarationFiles;
use pubdata::pipeline::Declarations;
use pubdata::serve::openapi_document;

#[tokio::test]
async fn document_takes_words_and_bounds_from_the_contracts() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    assert_eq!(api["openapi"], "3.1.0");
    let metric = &api["components"]["schemas"]["Metric"]["properties"];
    let keys = &world.contracts["geo.zcta_metric"].column("metric").unwrap().column_type.values;
    assert_eq!(metric["key"]["enum"], json!(keys));
    assert!(metric["null_reason"]["enum"].as_array().unwrap().contains(&json!("not_in_survey")));
    assert!(!api.to_string().contains("$column") && !api.to_string().contains("is not in the contracts"));
    let parameters = api["paths"]["/v1/geo-demographics/locations/{zcta}/schools"]["get"]["parameters"].as_array().unwrap();
    let radius = parameters.iter().find(|parameter| parameter["name"] == "radius_mi").unwrap();
    assert_eq!(radius["schema"], json!({"type": "number", "minimum": 0.1, "maximum": 100.0, "default": 5.0}));
    assert_eq!(api["paths"]["/v1/coverage"]["get"]["security"], json!([]));
}

#[tokio::test]
async fn every_reference_of_the_document_exists() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    let text = api.to_string();
    let references: Vec<&str> = text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(references.len() > 20);
    for reference in references {
        assert!(api.pointer(reference).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn docs_page_needs_no_other_host() {
    let world = World::new().await;
    let answer = world.get("/docs").await;
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    assert!(text.contains("/v1/openapi.json") && !text.contains("http://") && !text.contains("https://"));
    assert!(answer.header("content-security-policy").contains("connect-src 'self'"));
    assert_eq!(world.get("/").await.header("location"), "/docs");
}

#[tokio::test]
async fn metrics_count_by_route_and_not_by_path() {
    let world = World::new().await;
    world.ok("/v1/geo-demographics/locations/90210").await;
    world.get("/v1/geo-demographics/locations/1").await;
    let text = String::from_utf8(world.get("/metrics").await.bytes).unwrap();
    assert!(text.contains("pubdata_http_request_duration_seconds_count{route=\"/v1/geo-demographics/locations/{zcta}\",status=\"200\"} 1\n"), "{text}");
    assert!(text.contains(",status=\"400\"} 1\n"));
    assert!(text.contains(&format!("pubdata_release{{release_id=\"{}\"}} 1", world.release_id)));
    assert!(!text.contains("90210"));
    let apart = World::with(|settings| settings.metrics_bind = Some("127.0.0.1:1".parse().unwrap())).await;
    assert_eq!(apart.get("/metrics").await.problem(), (404, "route_not_found".to_owned()));
}

#[test]
fn api_document_names_every_endpoint_parameter_code_and_field() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/API.md")).unwrap();
    let contracts = Declarations::load(DeclarationFiles::built_in()).unwrap().contracts;
    let api = openapi_document(&contracts, None);
    let mut words: Vec<String> = Vec::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            words.push(format!("{} {path}", method.to_uppercase()));
            words.extend(
                operation["parameters"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|parameter| parameter["in"] == "query")
                    .map(|parameter| parameter["name"].as_str().unwrap().to_owned()),
            );
        }
    }
    words.extend(api["x-problems"].as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap().to_owned()));
    for schema in ["Metric", "ComparedMetric", "Geography"] {
        words.extend(api["components"]["schemas"][schema]["properties"].as_object().unwrap().keys().cloned());
    }
    words.extend(contracts["geo.zcta_metric"].column("metric").unwrap().column_type.values.iter().cloned());
    let missing: Vec<&String> = words.iter().filter(|word| !text.contains(&format!("`{word}")) && !text.contains(&format!("\"{word}\""))).collect();
    assert!(missing.is_empty(), "docs/API.md does not name {missing:?}");
}
