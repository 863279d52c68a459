use serde_json::{Value, json};

use crate::serve::World;
use pubdata::declared::DeclarationFiles;
use pubdata::pipeline::Declarations;
use pubdata::serve::openapi_document;

#[tokio::test]
async fn answers_are_what_the_document_says() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    let paths = [
        ("/v1/geo-demographics/locations/{zcta}", "/v1/geo-demographics/locations/90210"),
        ("/v1/geo-demographics/locations/{zcta}", "/v1/geo-demographics/locations/96799"),
        ("/v1/geo-demographics/locations/{zcta}", "/v1/geo-demographics/locations/00663"),
        ("/v1/geo-demographics/locations/{zcta}", "/v1/geo-demographics/locations/10001"),
        ("/v1/geo-demographics/locations/{zcta}/demographics", "/v1/geo-demographics/locations/90210/demographics?history=true"),
        ("/v1/geo-demographics/locations/{zcta}/schools", "/v1/geo-demographics/locations/90210/schools?limit=5"),
        ("/v1/geo-demographics/counties/{fips}", "/v1/geo-demographics/counties/06037"),
        ("/v1/geo-demographics/coverage", "/v1/geo-demographics/coverage"),
        ("/v1/coverage", "/v1/coverage"),
        ("/v1/provenance/{record_id}", "/v1/provenance/geo.school:060000000000"),
    ];
    for (pattern, path) in paths {
        let schema = &api["paths"][pattern]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        check(&api, schema, &world.ok(path).await, path);
    }
    let compare = "/v1/geo-demographics/locations/compare";
    let answer = world.post(compare, &json!({"locations": ["90210", "10001"]})).await.json();
    check(&api, &api["paths"][compare]["post"]["responses"]["200"]["content"]["application/json"]["schema"], &answer, compare);
    let problem = world.get("/v1/geo-demographics/locations/1").await.json();
    check(&api, &api["paths"][compare]["post"]["responses"]["400"]["content"]["application/problem+json"]["schema"], &problem, "problem");
}

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

/// Checks a value against the part of JSON Schema that the document uses; any other word is an error of this function.
pub fn check(api: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        return check(api, api.pointer(reference.trim_start_matches('#')).unwrap(), value, place);
    }
    if let Some(variants) = schema["anyOf"].as_array() {
        let (null, others): (Vec<&Value>, Vec<&Value>) = variants.iter().partition(|variant| variant["type"] == "null");
        assert_eq!((null.len(), others.len()), (1, 1), "{place}: only a schema or null is understood");
        if !value.is_null() {
            check(api, others[0], value, place);
        }
        return;
    }
    let types: Vec<&str> =
        schema["type"].as_array().map_or_else(|| schema["type"].as_str().into_iter().collect(), |types| types.iter().filter_map(Value::as_str).collect());
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(types.contains(&found) || (found == "integer" && types.contains(&"number")), "{place}: {value} is not {types:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{place}: {value} is not one of {allowed:?}");
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{place}: {name} is missing");
        }
        for (name, value) in object {
            let inner = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
            assert!(inner.is_object() || schema["properties"].is_null(), "{place}: {name} is not declared");
            if inner.is_object() {
                check(api, inner, value, &format!("{place}/{name}"));
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(api, &schema["items"], item, &format!("{place}/{index}"));
    }
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
