use serde_json::{Value, json};

use pubdata_testing::Place;

use super::world;
use crate::serve::notices;
use crate::serve::served::Served;

#[tokio::test]
async fn zip_code_is_answered_with_places_people_and_taxes() {
    let world = world().await;
    let answer = world.ok("/v1/zip/90210-1234").await;
    let data = &answer["data"];
    assert_eq!(
        (&data["input"], &data["zip"], &data["city"], &data["state"]),
        (
            &json!("90210-1234"),
            &json!("90210"),
            &json!("Beverly Hills"),
            &json!("CA")
        )
    );
    assert_eq!(
        (&data["county"], &data["zcta"]),
        (
            &json!({"fips": "06037", "name": null}),
            &json!({"code": "90210", "match": "same_code"})
        )
    );
    assert_eq!(
        (
            &data["land_area_sqmi"],
            &data["water_area_sqmi"],
            &data["timezone"]
        ),
        (&json!(8.19), &json!(0), &Value::Null)
    );
    assert_eq!(
        (
            &data["demographics"]["population"]["value"],
            &data["demographics"]["vintage"]["year"]
        ),
        (&json!(19_652), &json!(2023))
    );
    assert_eq!(
        (&data["sales_tax"], &data["sales_tax_null_reason"]),
        (&Value::Null, &json!("local_rates_not_covered")),
        "California is not in this release"
    );
    assert!(notices(&answer).contains(&"ZCTA_NOT_USPS_ZIP"));
    let records: Vec<&str> = data["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stamp| stamp["record_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        records,
        [
            "zip.zip:90210",
            "geo.geography:90210",
            "geo.zcta_metric:2023:90210:population"
        ]
    );

    let milwaukee = world.ok("/v1/zip/53202").await;
    assert_eq!(
        milwaukee["data"]["counties"],
        json!([{"fips": "55079", "name": "Milwaukee County", "share": 1, "basis": "land_area"}])
    );
    assert_eq!(
        milwaukee["data"]["sales_tax"],
        json!({"min_rate": 0.079, "max_rate": 0.079, "as_of": "2026-01-15", "coverage": "partial"})
    );
    let records: Vec<&str> = milwaukee["data"]["provenance"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stamp| stamp["record_id"].as_str().unwrap())
        .collect();
    assert_eq!(records[..2], ["zip.zip:53202", "zip.county:53202:55079"]);
    assert!(records.contains(&"tax.rate:WI:00:079:20240101"));
    let ranges = [
        ("05401", json!([0.06, 0.07])),
        ("98002", json!([0.077, 0.086])),
        ("97201", json!([0, 0])),
        ("06101", json!([0.0635, 0.0635])),
        ("75001", json!([0.0675, 0.0825])),
    ];
    for (zip, range) in ranges {
        let tax = &world.ok(&format!("/v1/zip/{zip}?fields=sales_tax")).await["data"]["sales_tax"];
        assert_eq!(json!([tax["min_rate"], tax["max_rate"]]), range, "{zip}");
    }
    for zip in ["55103", "70112", "80201", "07001", "09007"] {
        assert_eq!(
            world.ok(&format!("/v1/zip/{zip}")).await["data"]["sales_tax"],
            Value::Null,
            "{zip}: expired, not covered, or only the state's"
        );
    }
}

#[tokio::test]
async fn po_box_and_military_zip_codes_have_no_population() {
    let world = world().await;
    let military = &world.ok("/v1/zip/09007").await["data"];
    assert_eq!(
        (
            &military["type"],
            &military["county"],
            &military["demographics"],
            &military["land_area_sqmi"]
        ),
        (&json!("military"), &Value::Null, &Value::Null, &Value::Null)
    );
    // The source names 09001 `APO AA`; 090 to 098 are in Europe.
    let other = world.ok("/v1/zip/09001").await;
    assert_eq!(
        (
            &other["data"]["state"],
            &other["data"]["military_region"],
            notices(&other)
        ),
        (&json!("AA"), &json!("AE"), vec!["MILITARY_REGION_CONFLICT"])
    );
    let message = other["meta"]["notices"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("AA for 09001") && message.contains("to AE"),
        "{message}"
    );
    let agreed = world.ok("/v1/zip/09007").await;
    assert_eq!(
        (
            &agreed["data"]["state"],
            &agreed["data"]["military_region"],
            notices(&agreed)
        ),
        (&json!("AE"), &json!("AE"), vec![])
    );
    assert_eq!(
        world.ok("/v1/zip/10001").await["data"]["military_region"],
        Value::Null
    );
    assert_eq!(
        notices(&world.ok("/v1/zip/09001?fields=city").await),
        Vec::<&str>::new()
    );
    let batch = world
        .post(
            "/v1/zip/batch",
            &json!({"zips": ["09001", "09007", "09001"], "fields": ["state"]}),
        )
        .await
        .json();
    let codes = |item: &Value| {
        item["notices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|notice| notice["code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        batch["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(codes)
            .collect::<Vec<_>>(),
        [
            vec!["MILITARY_REGION_CONFLICT"],
            vec![],
            vec!["MILITARY_REGION_CONFLICT"]
        ]
    );
    // Callers may use either region.
    let taxed = async |state: &str| {
        world
            .ok(&format!("/v1/tax/rate?zip=09001&state={state}"))
            .await
    };
    for state in ["AE", "AA"] {
        assert_eq!(
            notices(&taxed(state).await),
            ["STATE_NOT_COVERED"],
            "{state}"
        );
    }
    assert!(notices(&taxed("AP").await).contains(&"ZIP_STATE_MISMATCH"));
    let boxes = world.ok("/v1/zip/80201").await;
    assert_eq!(
        (&boxes["data"]["zcta"], &boxes["data"]["demographics"]),
        (&json!({"code": null, "match": "none"}), &Value::Null)
    );
    assert!(!notices(&boxes).contains(&"ZCTA_NOT_USPS_ZIP"));
    for (zip, expected) in [
        ("1000", (400, "invalid_parameter")),
        ("100011234", (400, "invalid_parameter")),
        ("10001-12", (400, "invalid_parameter")),
        ("12345", (404, "not_found")),
    ] {
        let (status, code) = world.get(&format!("/v1/zip/{zip}")).await.problem();
        assert_eq!((status, code.as_str()), expected, "{zip}");
    }
    assert_eq!(
        world.get("/v1/zip/10001").await.header("cache-control"),
        "private, max-age=300",
        "the answer has today's taxes"
    );
    assert_eq!(
        world.get("/v1/zip/batch").await.problem(),
        (405, "method_not_allowed".to_owned())
    );
}

#[tokio::test]
async fn fields_trim_the_answer() {
    let world = world().await;
    let answer = world.ok("/v1/zip/10001?fields=city,other_cities").await;
    assert_eq!(
        answer["data"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["city", "input", "other_cities", "provenance", "zip"]
    );
    assert_eq!(answer["data"]["provenance"].as_array().unwrap().len(), 1);
    assert_eq!(
        world.get("/v1/zip/10001?fields=citty").await.problem(),
        (400, "invalid_parameter".to_owned())
    );
}

#[tokio::test]
async fn batch_keeps_order_and_duplicates_and_equals_single_calls() {
    let world = world().await;
    let zips = ["10001", "99999", "10001", "90210-0001", "x"];
    let answer = world
        .post(
            "/v1/zip/batch",
            &json!({"zips": zips, "fields": ["city", "demographics"]}),
        )
        .await
        .json();
    let items = answer["data"].as_array().unwrap();
    assert_eq!(
        items
            .iter()
            .map(|item| item["input"].as_str().unwrap())
            .collect::<Vec<_>>(),
        zips
    );
    assert_eq!(
        items
            .iter()
            .map(|item| item["error"]["code"].as_str().unwrap_or(""))
            .collect::<Vec<_>>(),
        ["", "not_found", "", "", "invalid_parameter"]
    );
    for index in [0, 3] {
        let single = world
            .ok(&format!("/v1/zip/{}?fields=city,demographics", zips[index]))
            .await;
        assert_eq!(
            (&items[index]["result"], &items[index]["notices"]),
            (&single["data"], &single["meta"]["notices"])
        );
    }
    assert_eq!(
        items
            .iter()
            .map(|item| item["index"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
    assert_eq!(
        (
            &items[1]["error"]["instance"],
            &items[1]["error"]["request_id"]
        ),
        (&json!("/v1/zip/batch"), &answer["meta"]["request_id"])
    );
    for (body, code) in [
        (json!({"zips": vec!["10001"; 101]}), "batch_too_large"),
        (json!({"zips": []}), "invalid_parameter"),
        (json!({"zips": [10001]}), "invalid_parameter"),
        (
            json!({"zips": ["10001"], "fields": ["citty"]}),
            "invalid_parameter",
        ),
        (json!({"zip": ["10001"]}), "unknown_parameter"),
        (json!({}), "missing_parameter"),
    ] {
        assert_eq!(
            world.post("/v1/zip/batch", &body).await.problem(),
            (400, code.to_owned()),
            "{body:.100}"
        );
    }
}

#[tokio::test]
async fn nearby_codes_are_sorted_paged_and_symmetric() {
    let world = world().await;
    let answer = world.ok("/v1/zip/10001/nearby?radius_mi=60").await;
    let found = |answer: &Value| -> Vec<(String, f64)> {
        answer["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                (
                    item["zip"].as_str().unwrap().to_owned(),
                    item["distance_mi"].as_f64().unwrap(),
                )
            })
            .collect()
    };
    assert_eq!(
        found(&answer),
        [("10002", 2.34), ("07001", 18.39), ("00501", 50.0)]
            .map(|(zip, distance)| (zip.to_owned(), distance))
    );
    assert_eq!(
        (
            &answer["data"][0]["basis"],
            &answer["meta"]["page"]["total"]
        ),
        (&json!("centroid"), &json!(3))
    );
    let with_itself = world
        .ok("/v1/zip/10001/nearby?radius_mi=2.5&include_self=true")
        .await;
    assert_eq!(
        found(&with_itself),
        [("10001".to_owned(), 0.0), ("10002".to_owned(), 2.34)]
    );
    for other in ["radius=5", "unit=km"] {
        assert_eq!(
            world
                .get(&format!("/v1/zip/10001/nearby?{other}"))
                .await
                .problem(),
            (400, "unknown_parameter".to_owned()),
            "each parameter has one name"
        );
    }
    assert_eq!(
        found(
            &world
                .ok("/v1/zip/10001/nearby?radius_mi=60&type=po_box_or_unique")
                .await
        )
        .len(),
        1
    );
    let first = world.ok("/v1/zip/10001/nearby?radius_mi=60&limit=2").await;
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    let second = world
        .ok(&format!(
            "/v1/zip/10001/nearby?radius_mi=60&limit=2&cursor={cursor}"
        ))
        .await;
    assert_eq!([found(&first), found(&second)].concat(), found(&answer));
    assert_eq!(second["meta"]["page"]["next_cursor"], Value::Null);
    assert_eq!(
        world
            .get(&format!(
                "/v1/zip/10002/nearby?radius_mi=60&limit=2&cursor={cursor}"
            ))
            .await
            .problem(),
        (400, "invalid_cursor".to_owned())
    );
    assert_eq!(
        world
            .get("/v1/zip/10001/nearby?radius_mi=101")
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    let back = world.ok("/v1/zip/00501/nearby?radius_mi=60").await;
    assert!(found(&back).contains(&("10001".to_owned(), 50.0)));
}

/// 35951 Albertville lies mostly in Marshall County, 01095; 01063 is Greene County.
#[tokio::test(flavor = "multi_thread")]
async fn county_outside_the_area_is_reported_and_not_answered() {
    let place = Place::with(&["zip", "census"]);
    place.edit_archive("zip/US.zip", |members| {
        let text = members.get_mut("US.txt").unwrap();
        *text = text.replace("\tMarshall\t095\t", "\tGreene\t063\t");
    });
    place.run(&[]);
    let served = Served::start(place).await;
    let conflict = served.ok("/v1/zip/35951").await;
    assert_eq!(conflict["data"]["county"]["fips"], "01095");
    let notice = conflict["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "COUNTY_CONFLICT")
        .unwrap();
    assert!(
        notice["message"]
            .as_str()
            .unwrap()
            .contains("tabulation area 35951 has no part"),
        "{notice}"
    );
    assert!(
        !conflict["data"]["counties"].to_string().contains("01063"),
        "{conflict}"
    );
    let other = served.ok("/v1/zip/90210").await;
    assert_eq!(
        (
            &other["data"]["county"]["fips"],
            notices(&other).contains(&"COUNTY_CONFLICT")
        ),
        (&json!("06037"), false)
    );
    assert!(!notices(&served.ok("/v1/zip/35951?fields=city").await).contains(&"COUNTY_CONFLICT"));
    // A post-office box of Beverly Hills has no area.
    assert!(
        notices(&served.ok("/v1/zip/90209?fields=demographics").await)
            .contains(&"ZIP_WITHOUT_ZCTA")
    );
    assert!(
        !notices(&served.ok("/v1/zip/90210?fields=demographics").await)
            .contains(&"ZIP_WITHOUT_ZCTA")
    );
}
