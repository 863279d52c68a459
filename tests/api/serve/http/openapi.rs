use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::serve::{Served, World};
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::openapi_document;
use pubdata_testing::{files_below, project};

#[tokio::test]
async fn document_takes_enums_and_bounds_from_the_contracts() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    assert_eq!(api["openapi"], "3.1.0");
    let schemas = &api["components"]["schemas"];
    let keys = &world.contracts["geo.zcta_metric"]
        .column("metric")
        .unwrap()
        .column_type
        .values;
    assert_eq!(
        schemas["Metric"]["properties"]["key"]["$ref"],
        "#/components/schemas/MetricKey"
    );
    assert_eq!(schemas["MetricKey"]["enum"], json!(keys));
    assert!(
        schemas["MetricNullReason"]["enum"]
            .as_array()
            .unwrap()
            .contains(&json!("not_in_survey"))
    );
    for word in ["$field", "$of_column"] {
        assert!(!api.to_string().contains(word), "{word}");
    }
    let parameters =
        api["paths"]["/v1/geo-demographics/locations/{zcta}/schools"]["get"]["parameters"]
            .as_array()
            .unwrap();
    let radius = parameters
        .iter()
        .find(|parameter| parameter["name"] == "radius_mi")
        .unwrap();
    assert_eq!(
        radius["schema"],
        json!({"type": "number", "minimum": 0.1, "maximum": 100.0, "default": 5.0})
    );
    assert_eq!(api["paths"]["/v1/coverage"]["get"]["security"], json!([]));
}

#[tokio::test]
async fn every_reference_of_the_document_exists() {
    let world = World::new().await;
    let api = world.ok("/v1/openapi.json").await;
    let text = api.to_string();
    let references: Vec<&str> = text
        .split("\"$ref\":\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(references.len() > 20);
    for reference in references {
        assert!(api.pointer(reference).is_some(), "{reference}");
    }
}

/// Finds objects and enums without a name, and names that no user would choose.
fn unnamed(at: &str, value: &Value, found: &mut Vec<String>) {
    let is_words = value["enum"].is_array() && value["type"] == "string";
    let is_component = at
        .rsplit_once('/')
        .is_some_and(|(above, _)| above == "/components/schemas");
    if (is_words || value["properties"].is_object() && value["type"] == "object") && !is_component {
        found.push(at.to_owned());
    }
    match value {
        Value::Object(members) => {
            members
                .iter()
                .filter(|(name, _)| !name.starts_with("example"))
                .for_each(|(name, member)| unnamed(&format!("{at}/{name}"), member, found));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| unnamed(&format!("{at}/{index}"), item, found)),
        _ => {}
    }
}

#[test]
fn every_object_and_enum_has_a_name() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let api = openapi_document(&contracts, None);
    let mut found = Vec::new();
    unnamed("", &api, &mut found);
    let names = api["components"]["schemas"].as_object().unwrap().keys();
    found.extend(
        names
            .filter(|name| {
                !name.starts_with(|letter: char| letter.is_ascii_uppercase())
                    || name.ends_with(|letter: char| letter.is_ascii_digit())
            })
            .cloned(),
    );
    assert_eq!(found, Vec::<String>::new());
    let inline = json!({"paths": {"a": [{"type": "string", "enum": ["x"]}]}, "components": {"schemas": {"A": {"type": "object", "properties": {"b": {"type": "object", "properties": {}}}}}}});
    unnamed("", &inline, &mut found);
    assert_eq!(found, ["/components/schemas/A/properties/b", "/paths/a/0"]);
}

#[test]
fn every_operation_is_explained_under_a_heading() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let api = openapi_document(&contracts, None);
    let tags: Vec<&Value> = api["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["name"])
        .collect();
    let operations: Vec<&Value> = api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values())
        .collect();
    for operation in &operations {
        let name = operation["operationId"].as_str().unwrap();
        assert!(tags.contains(&&operation["tags"][0]), "{name}");
        assert!(
            operation["description"].as_str().unwrap().contains("\n\n"),
            "docs/operations/{name}.md explains its purpose"
        );
        let shared = operation["responses"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(status, _)| !status.starts_with("20"));
        shared.for_each(|(status, response)| {
            assert!(response["$ref"].is_string(), "{name}: {status}");
        });
    }
    for path in files_below(&project("docs/operations")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            operations
                .iter()
                .any(|operation| operation["operationId"] == name),
            "{name} is not an operation"
        );
    }
}

#[tokio::test]
async fn metrics_count_by_route_and_not_by_path() {
    let world = World::new().await;
    world.ok("/v1/geo-demographics/locations/90210").await;
    world.get("/v1/geo-demographics/locations/1").await;
    let text = String::from_utf8(world.get("/metrics").await.bytes).unwrap();
    assert!(text.contains("pubdata_http_request_duration_seconds_count{route=\"/v1/geo-demographics/locations/{zcta}\",status=\"200\"} 1\n"), "{text}");
    assert!(text.contains(",status=\"400\"} 1\n"));
    assert!(text.contains(&format!(
        "pubdata_release{{release_id=\"{}\"}} 1",
        world.release_id
    )));
    assert!(!text.contains("90210"));
    let apart =
        World::with(|settings| settings.metrics_bind = Some("127.0.0.1:1".parse().unwrap())).await;
    assert_eq!(
        apart.get("/metrics").await.problem(),
        (404, "route_not_found".to_owned())
    );
}

#[test]
fn api_document_names_every_endpoint_parameter_code_and_field() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/API.md")).unwrap();
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
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
    words.extend(
        api["x-problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem["code"].as_str().unwrap().to_owned()),
    );
    for schema in ["Metric", "ComparedMetric", "Geography"] {
        words.extend(
            api["components"]["schemas"][schema]["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned(),
        );
    }
    words.extend(
        contracts["geo.zcta_metric"]
            .column("metric")
            .unwrap()
            .column_type
            .values
            .iter()
            .cloned(),
    );
    let missing: Vec<&String> = words
        .iter()
        .filter(|word| {
            !text.contains(&format!("`{word}")) && !text.contains(&format!("\"{word}\""))
        })
        .collect();
    assert!(missing.is_empty(), "docs/API.md does not name {missing:?}");
}

/// Properties of the document without a description.
fn undescribed(at: &str, value: &Value, found: &mut Vec<String>) {
    for (name, property) in value["properties"].as_object().into_iter().flatten() {
        if property["description"]
            .as_str()
            .is_none_or(|description| description.trim().is_empty())
        {
            found.push(format!("{at}/properties/{name}"));
        }
    }
    match value {
        Value::Object(members) => {
            members
                .iter()
                .filter(|(name, _)| !name.starts_with("example"))
                .for_each(|(name, member)| undescribed(&format!("{at}/{name}"), member, found));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| undescribed(&format!("{at}/{index}"), item, found)),
        _ => {}
    }
}

#[test]
fn every_property_of_the_document_has_a_description() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let api = openapi_document(&contracts, None);
    let mut found = Vec::new();
    undescribed("", &api, &mut found);
    assert_eq!(found, Vec::<String>::new());
    let silent = json!({"a": [{"properties": {"b": {"type": "string"}, "c": {"description": "Said."}, "d": {"description": " "}}}]});
    undescribed("", &silent, &mut found);
    assert_eq!(found, ["/a/0/properties/b", "/a/0/properties/d"]);
}

/// Numbers named as a share or rate whose description lacks a scale.
fn unscaled(at: &str, value: &Value, found: &mut Vec<String>) {
    let is_number = |property: &Value| {
        property["$ref"].is_string()
            || property["type"] == "number"
            || property["type"] == json!(["number", "null"])
    };
    for (name, property) in value["properties"].as_object().into_iter().flatten() {
        let is_part = name
            .split('_')
            .any(|word| ["share", "rate", "percent", "fraction"].contains(&word));
        let description = property["description"].as_str().unwrap_or_default();
        let has_scale = [
            "0 to 1 ", "0 to 1;", "0 to 1:", "0 to 1,", "0 to 1.", "0 to 100",
        ]
        .iter()
        .any(|scale| description.contains(scale));
        if is_part && is_number(property) && !has_scale {
            found.push(format!("{at}/{name}"));
        }
    }
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, member)| unscaled(&format!("{at}/{name}"), member, found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| unscaled(&format!("{at}/{index}"), item, found)),
        _ => {}
    }
}

#[test]
fn every_share_and_rate_states_its_scale() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let api = openapi_document(&contracts, None);
    let mut found = Vec::new();
    unscaled("", &api, &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert!(
        api["components"]["schemas"]["Metric"]["properties"]["unit"]["description"]
            .as_str()
            .unwrap()
            .contains("percent runs from 0 to 100")
    );
    let silent = json!({"properties": {"land_share": {"type": ["number", "null"], "description": "A part."}, "rate": {"type": "number", "description": "0 to 1."}, "shares": {"type": "number"}}});
    unscaled("", &silent, &mut found);
    assert_eq!(found, ["/land_share"]);
}

#[tokio::test]
async fn required_parameters_are_refused_when_absent() {
    let served = Served::new().await;
    let api = served.get("/v1/openapi.json").await.json();
    let requests: Value = serde_json::from_str(
        &std::fs::read_to_string(project("docs/examples/requests.json")).unwrap(),
    )
    .unwrap();
    let operations = api["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values());
    let mut checked = 0;
    for operation in operations {
        let (path, query) = requests[operation["operationId"].as_str().unwrap()]
            .as_str()
            .unwrap_or_default()
            .split_once('?')
            .unwrap_or_default();
        let of_query = operation["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|parameter| parameter["in"] == "query");
        for name in of_query
            .filter(|parameter| parameter["required"] == true)
            .map(|parameter| parameter["name"].as_str().unwrap())
        {
            let others: Vec<&str> = query
                .split('&')
                .filter(|pair| !pair.starts_with(&format!("{name}=")))
                .collect();
            assert_eq!(
                others.len() + 1,
                query.split('&').count(),
                "the example of {path} contains {name}"
            );
            let refused = served.get(&format!("{path}?{}", others.join("&"))).await;
            assert_eq!(
                (refused.problem(), &refused.json()["errors"][0]["field"]),
                ((400, "missing_parameter".to_owned()), &json!(name)),
                "{path}"
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 6);
}

/// Members of an example that its declaration requires.
fn required_of(example: &Value, required: &Value) -> Value {
    let is_required = |name: &str| {
        required
            .as_array()
            .is_some_and(|required| required.iter().any(|known| known == name))
    };
    let members = example.as_object().into_iter().flatten();
    members
        .filter(|(name, _)| is_required(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test]
async fn necessary_parameters_are_required_or_one_of_several() {
    let served = Served::new().await;
    let api = served.get("/v1/openapi.json").await.json();
    let read = |path: &str| {
        serde_json::from_str::<Value>(
            &std::fs::read_to_string(project("docs/examples").join(path)).unwrap_or_default(),
        )
        .unwrap_or_default()
    };
    let requests = read("requests.json");
    let (mut unmarked, mut alternatives) = (Vec::new(), Vec::new());
    for (template, methods) in api["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            // These would revoke the key of the test.
            if id.ends_with("MyKey") {
                continue;
            }
            let parameters = operation["parameters"].as_array().unwrap();
            let query = requests[id]
                .as_str()
                .unwrap_or_default()
                .split_once('?')
                .unwrap_or_default()
                .1;
            let is_required = |pair: &&str| {
                parameters.iter().any(|known| {
                    known["required"] == true
                        && Some(known["name"].as_str().unwrap()) == pair.split('=').next()
                })
            };
            let mut path = template.clone();
            for known in parameters.iter().filter(|known| known["in"] == "path") {
                let example =
                    utf8_percent_encode(known["example"].as_str().unwrap(), NON_ALPHANUMERIC)
                        .to_string();
                path = path.replace(
                    &format!("{{{}}}", known["name"].as_str().unwrap()),
                    &example,
                );
            }
            let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                .as_str()
                .map(|name| api.pointer(&name[1..]).unwrap());
            let body = schema.map(|schema| {
                required_of(&read(&format!("{id}.request.json")), &schema["required"])
            });
            let body = body.or_else(|| methods.get("get").is_none().then(|| json!({})));
            let answer = served
                .ask(
                    &format!(
                        "{path}?{}",
                        query
                            .split('&')
                            .filter(is_required)
                            .collect::<Vec<_>>()
                            .join("&")
                    ),
                    body.as_ref(),
                )
                .await;
            if answer.status != 400 {
                continue;
            }
            let problem = answer.json();
            let field = problem["errors"][0]["field"].as_str().unwrap();
            let of_query = parameters.iter().find(|known| known["name"] == field);
            let description = of_query
                .or(schema.and_then(|schema| schema["properties"].get(field)))
                .map_or(&Value::Null, |known| &known["description"]);
            let names = description
                .as_str()
                .and_then(|text| text.split_once("One of ")?.1.split_once(" is required"));
            match names.filter(|_| problem["code"] == "missing_parameter") {
                Some((names, _)) => alternatives.push(format!("{id}: {names}")),
                None => unmarked.push(format!("{id}: {problem}")),
            }
        }
    }
    assert!(unmarked.is_empty(), "{unmarked:#?}");
    let expected = [
        "searchBusinesses: `name`, `entity_number`, `agent`",
        "searchFilings: `ticker`, `cik`, `company`, `form`, `form_type`, `filed_from`, `filed_to`",
        "verifyLicense: `number`, `license_number`",
        "searchPermits: `address`, `zip`, `city`, `jurisdiction`, `lat`, `parcel`, `permit_number`",
        "searchCompanies: `name`, `q`, `ticker`, `cik`",
        "compareCompanies: `ciks`, `tickers`",
        "calculateTax: `amount`, `line_items`",
        "getTaxRate: `address`, `zip`, `city`",
    ];
    assert_eq!(alternatives, expected);
}

/// Descriptions of types that are used for unrelated columns.
const OF_ANYTHING: [&str; 7] = [
    "Free text as published, trimmed.",
    "A publisher's code, kept as text.",
    "Calendar date.",
    "US dollars.",
    "A quantity as published.",
    "Yes or no.",
    "A year; the column's name says which.",
];

/// Properties without a meaningful description: the generic one of a type, or fewer than four
/// words.
fn meaningless(at: &str, value: &Value, found: &mut Vec<String>) {
    for (name, property) in value["properties"].as_object().into_iter().flatten() {
        let description = property["description"].as_str().unwrap_or_default();
        if OF_ANYTHING.contains(&description) || description.split_whitespace().count() < 4 {
            found.push(format!("{at}/{name}: {description}"));
        }
    }
    match value {
        Value::Object(members) => {
            members
                .iter()
                .filter(|(name, _)| !name.starts_with("example"))
                .for_each(|(name, member)| meaningless(&format!("{at}/{name}"), member, found));
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| meaningless(&format!("{at}/{index}"), item, found)),
        _ => {}
    }
}

#[test]
fn every_property_has_a_meaningful_description() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let mut found = Vec::new();
    meaningless(
        "",
        &openapi_document(&contracts, None)["components"]["schemas"],
        &mut found,
    );
    for (dataset_id, contract) in &contracts {
        let columns = contract
            .columns
            .iter()
            .filter(|column| OF_ANYTHING.contains(&column.description.as_str()));
        found.extend(
            columns.map(|column| format!("{dataset_id}/{}: {}", column.name, column.description)),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
    meaningless(
        "",
        &json!({"a": [{"properties": {"b": {"description": "Unit."}, "c": {"description": "Free text as published, trimmed."}}}]}),
        &mut found,
    );
    assert_eq!(
        found,
        ["/a/0/b: Unit.", "/a/0/c: Free text as published, trimmed."]
    );
}

/// Error in the wording of a text: an unclosed quotation, two punctuation marks in a row, a pattern
/// in place of words.
fn miswritten(text: &str) -> Option<&'static str> {
    let has = |part: &str| text.contains(part);
    match () {
        () if !text.matches('`').count().is_multiple_of(2) => Some("a backtick is not closed"),
        () if ["?.", ".,", ",.", ";.", ":."]
            .iter()
            .any(|marks| has(marks))
            || has("..") && !has("...") =>
        {
            Some("two marks follow each other")
        }
        () if has("  ") || has(" ,") || has("( ") => Some("a space is in the wrong place"),
        () if has("(?") || has("^[") || has("{5}") => Some("a regular expression"),
        () => None,
    }
}

fn texts(value: &Value, found: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        match member {
            Value::String(text) if ["description", "summary", "title"].contains(&name.as_str()) => {
                found.push(text.clone());
            }
            _ if name.starts_with("example") => {}
            _ => texts(member, found),
        }
    }
    value
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|item| texts(item, found));
}

#[test]
fn document_texts_have_no_unclosed_quotes_or_stray_marks() {
    let contracts = Declarations::load(DeclarationFiles::built_in())
        .unwrap()
        .contracts;
    let mut found = Vec::new();
    texts(&openapi_document(&contracts, None), &mut found);
    assert!(found.len() > 1000, "{}", found.len());
    let wrong: Vec<_> = found
        .iter()
        .filter_map(|text| Some((miswritten(text)?, text)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for text in [
        "The `code",
        "Is it so?.",
        "Five digits, ^[0-9]{5}$",
        "One  two",
    ] {
        assert!(miswritten(text).is_some(), "{text}");
    }
}
