use crate::serve::http::answers::OF_REGISTRANTS;
use serde_json::{Value, json};

use super::{draft, publish, restated_and_stated_twice, world};
use crate::serve::{World, collect_record_ids, notices};

const KIMBERLY: &str = "/v1/sec/companies/0000055785/financials";

fn values(answer: &Value) -> &Vec<Value> {
    answer["data"]["series"][0]["values"].as_array().unwrap()
}

#[tokio::test]
async fn restated_figure_carries_the_first_reported_value() {
    let world = world().await;
    let answer = world.ok(&format!("{KIMBERLY}?metric=revenue")).await;
    let [of_2023, of_2024] = values(&answer).as_slice() else {
        panic!("{answer}")
    };
    let evidence = "https://www.sec.gov/Archives/edgar/data/55785/000162828026007567/0001628280-26-007567-index.htm";
    let expected = json!({
        "metric": "revenue", "fiscal_year": 2023, "fiscal_period": "FY", "period_start": "2023-01-01", "period_end": "2023-12-31", "as_of_date": null,
        "value": 17_146_000_000_u64, "unit": "USD", "is_ytd": false, "concept": "us-gaap:Revenues", "form": "10-K", "filed_date": "2026-02-12",
        "accession_number": "0001628280-26-007567", "evidence_url": evidence, "is_amendment": false, "is_restated": true, "restatement_kind": "value",
        "concept_changed": false,
        "first_reported": {
            "value": 20_431_000_000_u64, "concept": "us-gaap:Revenues", "form": "10-K", "filed_date": "2024-02-08", "accession_number": "0000055785-24-000018",
            "evidence_url": "https://www.sec.gov/Archives/edgar/data/55785/000005578524000018/0000055785-24-000018-index.htm",
            "record_id": "sec.financial_value:0000055785:revenue:2023-01-01..2023-12-31:0000055785-24-000018"
        },
        "conflicts": [], "null_reason": null, "warnings": [],
        "provenance": {
            "dataset_id": "sec.financial_value", "source_id": "test.places_file", "source_url": "https://publisher.example/places.txt", "source_version": "2025",
            "source_date": "2025-09-01", "source_mirror": null, "schema_version": world.contracts["sec.financial_value"].version, "validation_status": "passed",
            "record_id": "sec.financial_value:0000055785:revenue:2023-01-01..2023-12-31:0001628280-26-007567"
        }
    });
    assert_eq!(of_2023, &expected);
    let of_2024 =
        ["value", "is_restated", "first_reported", "conflicts"].map(|name| of_2024[name].clone());
    assert_eq!(
        of_2024,
        [
            json!(20_058_000_000_u64),
            json!(false),
            Value::Null,
            json!(["us-gaap:SalesRevenueNet=1"])
        ],
        "a rounded figure is not restated"
    );
    let head = [
        "cik",
        "name",
        "period_type",
        "fiscal_year_from",
        "fiscal_year_to",
    ]
    .map(|name| answer["data"][name].clone());
    assert_eq!(
        head,
        [
            json!("0000055785"),
            json!("KIMBERLY CLARK CORP"),
            json!("annual"),
            json!(2023),
            json!(2024)
        ]
    );
    assert_eq!(notices(&answer), ["VALUES_AS_FILED", "FISCAL_PERIODS"]);
}

#[tokio::test]
async fn figure_restated_under_another_concept_names_it() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    draft.tables.extend(restated_and_stated_twice());
    publish(&world, draft).await;
    let at = async |known_at: &str| {
        let answer = world
            .ok(&format!(
                "/v1/sec/companies/789019/financials?metric=revenue{known_at}"
            ))
            .await;
        let reported = |value: &Value| {
            (
                value["value"].clone(),
                value["is_restated"].clone(),
                value["restatement_kind"].clone(),
                value["first_reported"].clone(),
            )
        };
        values(&answer).iter().map(reported).collect::<Vec<_>>()
    };
    let [of_2016, of_2017] = at("").await.try_into().unwrap();
    let restated = |value: u64| (json!(value), json!(true), json!("concept"));
    assert_eq!((of_2016.0, of_2016.1, of_2016.2), restated(91_154_000_000));
    assert_eq!((of_2017.0, of_2017.1, of_2017.2), restated(96_571_000_000));
    let first = |first: &Value| {
        ["value", "concept", "filed_date", "accession_number"].map(|name| first[name].clone())
    };
    assert_eq!(
        first(&of_2016.3),
        [
            json!(85_320_000_000_u64),
            json!("us-gaap:SalesRevenueNet"),
            json!("2016-07-28"),
            json!("0001193125-16-662209")
        ]
    );
    assert_eq!(
        first(&of_2017.3),
        [
            json!(89_950_000_000_u64),
            json!("us-gaap:SalesRevenueNet"),
            json!("2017-08-02"),
            json!("0001564590-17-014900")
        ]
    );
    let before = |value: u64| (json!(value), json!(false), Value::Null, Value::Null);
    assert_eq!(
        at("&known_at=2018-08-02").await,
        [before(85_320_000_000), before(89_950_000_000)]
    );
}

#[tokio::test]
async fn period_with_conflicting_end_dates_lists_each_report() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    draft.tables.extend(restated_and_stated_twice());
    publish(&world, draft).await;
    let answer = world
        .ok("/v1/sec/companies/886982/financials?metric=total_assets&include=history")
        .await;
    let [of_2008] = values(&answer).as_slice() else {
        panic!("{answer}")
    };
    assert_eq!(
        (&of_2008["period_end"], &of_2008["warnings"]),
        (&json!("2008-11-30"), &json!(["period_end_differs"]))
    );
    let history = of_2008["history"].as_array().unwrap();
    assert_eq!(
        history
            .iter()
            .map(|version| version["period_end"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["2008-11-28", "2008-11-30"]
    );
    let notice = answer["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|notice| notice["code"] == "PERIOD_END_DIFFERS")
        .unwrap();
    let said = notice["message"].as_str().unwrap();
    assert!(
        said.contains("2008-11-28 (0000950123-10-018464), then 2008-11-30 (0000950123-11-020067)"),
        "{said}"
    );
    let before = world
        .ok("/v1/sec/companies/886982/financials?metric=total_assets&known_at=2010-12-31")
        .await;
    assert!(!notices(&before).contains(&"PERIOD_END_DIFFERS"));
}

#[tokio::test]
async fn known_at_answers_with_the_knowledge_of_that_day() {
    let world = world().await;
    let at = async |day: &str| {
        let answer = world
            .ok(&format!("{KIMBERLY}?metric=revenue&known_at={day}"))
            .await;
        values(&answer)
            .iter()
            .map(|value| {
                (
                    value["value"].as_u64().unwrap(),
                    value["is_restated"].as_bool().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(at("2024-02-08").await, [(20_431_000_000, false)]);
    assert_eq!(
        at("2025-02-11").await,
        [(20_431_000_000, false), (20_058_123_456, false)]
    );
    assert_eq!(
        at("2026-02-11").await,
        [(20_431_000_000, false), (20_058_000_000, false)]
    );
    assert_eq!(
        at("2026-02-12").await,
        [(17_146_000_000, true), (20_058_000_000, false)]
    );
    let before = world
        .ok(&format!("{KIMBERLY}?metric=revenue&known_at=2024-02-07"))
        .await;
    assert_eq!(
        before["data"]["series"][0],
        json!({"metric": "revenue", "unit": "USD", "values": [], "other_concepts": [], "null_reason": "not_known_yet"})
    );
}

#[tokio::test]
async fn history_lists_every_report() {
    let world = world().await;
    let answer = world
        .ok(&format!(
            "{KIMBERLY}?metric=revenue&include=history&fiscal_year_to=2023"
        ))
        .await;
    let history: Vec<(u64, &str)> = values(&answer)[0]["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| {
            (
                version["value"].as_u64().unwrap(),
                version["change"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        history,
        [
            (20_431_000_000, "first"),
            (20_431_000_000, "equal"),
            (17_146_000_000, "value")
        ]
    );
    assert_eq!(values(&answer).len(), 1);
}

#[tokio::test]
async fn missing_value_has_a_reason() {
    let world = world().await;
    let reason =
        async |path: &str| world.ok(path).await["data"]["series"][0]["null_reason"].clone();
    assert_eq!(
        reason(&format!("{KIMBERLY}?metric=total_liabilities")).await,
        "not_tagged"
    );
    assert_eq!(
        reason(&format!("{KIMBERLY}?metric=revenue&fiscal_year_from=2030")).await,
        "not_in_range"
    );
    assert_eq!(
        reason(&format!("{KIMBERLY}?metric=net_income")).await,
        "no_xbrl_facts"
    );
    assert_eq!(
        reason("/v1/sec/companies/9900193/financials").await,
        "foreign_filer"
    );
    assert_eq!(
        world.ok("/v1/sec/companies/9900193/financials").await["data"]["series"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    assert_eq!(
        world.get("/v1/sec/companies/1/financials").await.problem(),
        (404, "not_found".to_owned())
    );
}

#[tokio::test]
async fn invalid_question_names_the_valid_values() {
    let world = world().await;
    let detail = async |query: &str| {
        let answer = world.get(&format!("{KIMBERLY}?{query}")).await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_parameter".to_owned()),
            "{query}"
        );
        answer.json()["detail"].as_str().unwrap().to_owned()
    };
    assert!(
        detail("metric=revenues")
            .await
            .contains("did you mean `revenue`?")
    );
    assert!(detail("metric=revenue,revenue").await.contains("twice"));
    assert!(
        detail("fiscal_year_from=2024&fiscal_year_to=2023")
            .await
            .contains("after")
    );
    assert!(detail("period=monthly").await.contains("annual"));
    assert!(
        detail("known_at=yesterday")
            .await
            .contains("expected a date")
    );
}

#[tokio::test]
async fn quarters_and_years_to_date_are_distinguished() {
    let world = world().await;
    let answer = world.ok("/v1/sec/companies/320193/financials?metric=operating_cash_flow,eps_diluted&period=quarterly").await;
    let quarters: Vec<(&str, bool)> = values(&answer)
        .iter()
        .map(|value| {
            (
                value["fiscal_period"].as_str().unwrap(),
                value["is_ytd"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(quarters, [("Q1", false), ("Q2", true)]);
    assert!(notices(&answer).contains(&"NO_FOURTH_QUARTER"));
    let annual = world
        .ok("/v1/sec/companies/320193/financials?metric=eps_diluted")
        .await;
    assert_eq!(
        (&values(&annual)[0]["value"], &values(&annual)[0]["unit"]),
        (&json!(6.13), &json!("USD/shares"))
    );
}

#[tokio::test]
async fn span_selects_quarters_or_years_to_date() {
    let world = world().await;
    let path = "/v1/sec/companies/320193/financials?metric=operating_cash_flow&period=quarterly";
    let of = async |span: &str| {
        let answer = world.ok(&format!("{path}{span}")).await;
        assert_eq!(
            answer["data"]["span"]
                .as_str()
                .map(|span| format!("&span={span}"))
                .unwrap_or_default(),
            span
        );
        values(&answer)
            .iter()
            .map(|value| value["fiscal_period"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (
            of("").await,
            of("&span=quarter").await,
            of("&span=ytd").await
        ),
        (
            vec!["Q1".to_owned(), "Q2".to_owned()],
            vec!["Q1".to_owned()],
            vec!["Q1".to_owned(), "Q2".to_owned()]
        )
    );

    let compare =
        "/v1/sec/financials/compare?metric=operating_cash_flow&period=quarterly&ciks=320193,55785";
    let of = async |span: &str| {
        let answer = world.ok(&format!("{compare}&span={span}")).await;
        let of_apple = |period: &Value| {
            (
                period["fiscal_period"].clone(),
                period["values"][0]["value"].clone(),
                period["values"][0]["null_reason"].clone(),
            )
        };
        answer["data"]["periods"]
            .as_array()
            .unwrap()
            .iter()
            .map(of_apple)
            .collect::<Vec<_>>()
    };
    let (first, second) = (json!(39_895_000_000_u64), json!(62_585_000_000_u64));
    assert_eq!(
        of("ytd").await,
        [
            (json!("Q1"), first.clone(), Value::Null),
            (json!("Q2"), second, Value::Null)
        ]
    );
    assert_eq!(
        of("quarter").await,
        [
            (json!("Q1"), first, Value::Null),
            (json!("Q2"), Value::Null, json!("not_in_span"))
        ]
    );

    let frame = "/v1/sec/financials/frames/operating_cash_flow?fiscal_year=2024&period=quarterly";
    for (span, count) in [("", 2), ("&span=quarter", 1), ("&span=ytd", 2)] {
        assert_eq!(
            world.ok(&format!("{frame}{span}")).await["meta"]["page"]["total"],
            count,
            "{span}"
        );
    }
    for path in [
        "/v1/sec/companies/320193/financials?span=ytd",
        "/v1/sec/financials/compare?metric=revenue&ciks=320193,55785&span=ytd",
    ] {
        let wrong = world.get(path).await;
        assert_eq!(
            (wrong.problem(), wrong.json()["detail"].clone()),
            (
                (400, "invalid_parameter".to_owned()),
                json!("`span` needs `period=quarterly`")
            )
        );
    }
}

#[tokio::test]
async fn series_without_figures_of_the_span_is_explained() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    let first_quarter = |row: &Value| row["series"] == "quarterly" && row["fiscal_period"] == "Q1";
    draft
        .tables
        .iter_mut()
        .for_each(|table| table.rows.retain(|row| !first_quarter(row)));
    publish(&world, draft).await;
    let answer = world.ok("/v1/sec/companies/320193/financials?metric=operating_cash_flow&period=quarterly&span=quarter").await;
    let series = &answer["data"]["series"][0];
    assert_eq!(
        (&series["values"], &series["null_reason"]),
        (&json!([]), &json!("not_in_span"))
    );
}

#[tokio::test]
async fn metrics_is_an_alias_and_a_single_fiscal_year_a_range() {
    let world = world().await;
    for (one, other) in [
        (format!("{KIMBERLY}?metric=revenue"), format!("{KIMBERLY}?metrics=revenue")),
        (format!("{KIMBERLY}?metric=revenue&fiscal_year_from=2023&fiscal_year_to=2023"), format!("{KIMBERLY}?metric=revenue&fiscal_year=2023")),
        ("/v1/sec/financials/compare?metric=revenue&ciks=320193,55785".to_owned(), "/v1/sec/financials/compare?metrics=revenue&ciks=320193,55785".to_owned()),
        (
            "/v1/sec/financials/compare?metric=revenue&ciks=320193,55785&fiscal_year_from=2024&fiscal_year_to=2024".to_owned(),
            "/v1/sec/financials/compare?metric=revenue&ciks=320193,55785&fiscal_year=2024".to_owned(),
        ),
        ("/v1/financials/320193?fiscal_year_from=2022&fiscal_year_to=2022".to_owned(), "/v1/financials/320193?fiscal_year=2022".to_owned()),
    ] {
        assert_eq!(world.ok(&one).await["data"], world.ok(&other).await["data"], "{other}");
    }
    for (query, detail) in [
        (
            "metric=revenue&metrics=revenue",
            "give `metric` or `metrics`, not both",
        ),
        (
            "fiscal_year=2023&fiscal_year_to=2023",
            "give `fiscal_year`, or `fiscal_year_from` and `fiscal_year_to`, not both",
        ),
        (
            "metrics=revenues",
            "`metrics`: `revenues` is not valid; did you mean `revenue`?",
        ),
    ] {
        let wrong = world.get(&format!("{KIMBERLY}?{query}")).await;
        assert_eq!(
            (wrong.problem(), wrong.json()["detail"].clone()),
            ((400, "invalid_parameter".to_owned()), json!(detail))
        );
    }
}

#[tokio::test]
async fn balance_has_no_first_day_and_the_answer_explains_it() {
    let world = World::empty(|_| {}).await;
    let mut draft = draft();
    draft.tables.extend(restated_and_stated_twice());
    publish(&world, draft).await;
    for path in [
        "/v1/sec/companies/886982/financials?metric=total_assets",
        "/v1/sec/financials/compare?metric=total_assets&ciks=886982,320193",
        "/v1/sec/financials/frames/total_assets?fiscal_year=2008",
        "/v1/financials/320193?statement=balance",
    ] {
        let answer = world.ok(path).await;
        assert_eq!(
            notices(&answer)
                .iter()
                .filter(|code| **code == "INSTANT_HAS_NO_START")
                .count(),
            1,
            "{path}"
        );
    }
    for path in [
        "/v1/sec/companies/789019/financials?metric=revenue",
        "/v1/financials/320193?statement=income",
    ] {
        assert!(
            !notices(&world.ok(path).await).contains(&"INSTANT_HAS_NO_START"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn record_explains_how_its_fiscal_year_is_derived() {
    let world = world().await;
    let record =
        "sec.financial_value:0000320193:revenue:2023-10-01..2024-09-28:0000320193-24-000001";
    let chain = world.ok(&format!("/v1/provenance/{record}")).await["data"].take();
    let derived: Vec<(&str, bool)> = chain["derivations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|derived| {
            (
                derived["column"].as_str().unwrap(),
                derived["rule"]
                    .as_str()
                    .unwrap()
                    .contains("in the source is"),
            )
        })
        .collect();
    assert_eq!(derived, [("fiscal_year", true), ("fiscal_period", true)]);
    assert_eq!(
        chain["record"]["columns"]["value"],
        json!(391_035_000_000_u64),
        "a figure is a number"
    );
    let filing = world
        .ok("/v1/provenance/sec.filing:0000320193:0000320193-24-000123")
        .await;
    assert_eq!(filing["data"]["derivations"], json!([]));
}

#[tokio::test]
async fn companies_are_aligned_by_fiscal_period() {
    let world = world().await;
    let path = "/v1/sec/financials/compare?metric=revenue";
    let answer = world.ok(&format!("{path}&tickers=AAPL,NVDA,KMB")).await;
    let periods: Vec<(i64, Vec<Option<u64>>)> = answer["data"]["periods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|period| {
            (
                period["fiscal_year"].as_i64().unwrap(),
                period["values"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|value| value["value"].as_u64())
                    .collect(),
            )
        })
        .collect();
    let millions = |value: u64| Some(value * 1_000_000);
    assert_eq!(
        periods,
        [
            (2023, vec![millions(383_285), None, millions(17_146)]),
            (
                2024,
                vec![millions(391_035), millions(60_922), millions(20_058)]
            )
        ]
    );
    let absent = json!({
        "cik": "0001045810", "name": "NVIDIA CORP", "metric": "revenue", "fiscal_year": 2023, "fiscal_period": "FY", "period_start": null, "period_end": null,
        "as_of_date": null, "value": null, "unit": "USD", "is_ytd": null, "concept": null, "form": null, "filed_date": null, "accession_number": null,
        "evidence_url": null, "is_amendment": null, "is_restated": null, "restatement_kind": null, "concept_changed": null, "first_reported": null,
        "conflicts": [], "null_reason": "period_not_reported", "warnings": [], "provenance": null
    });
    let values = &answer["data"]["periods"][0]["values"];
    assert_eq!(values[1], absent);
    let members = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        members(&values[0]),
        members(&absent),
        "a missing period has the members of a reported one"
    );
    assert_eq!(
        world.ok(&format!("{path}&ciks=320193,1045810,55785")).await["data"],
        answer["data"]
    );
    let wrong = async |query: &str| {
        world
            .get(&format!("/v1/sec/financials/compare?{query}"))
            .await
            .problem()
    };
    for (query, code) in [
        ("ciks=320193,55785", "missing_parameter"),
        ("metric=revenue", "missing_parameter"),
        ("metric=revenue&ciks=320193", "invalid_parameter"),
        ("metric=revenue&ciks=320193,0000320193", "invalid_parameter"),
        (
            "metric=revenue&ciks=320193,55785&tickers=AAPL,KMB",
            "invalid_parameter",
        ),
    ] {
        assert_eq!(wrong(query).await, (400, code.to_owned()), "{query}");
    }
    assert_eq!(
        wrong("metric=revenue&tickers=AAPL,ZZZZ").await,
        (404, "not_found".to_owned())
    );
    assert_eq!(
        wrong("metric=revenue&ciks=320193,1").await,
        (404, "not_found".to_owned())
    );
}

#[tokio::test]
async fn statements_have_the_declared_lines() {
    let declared: toml::Value =
        toml::from_str(include_str!("../../../../pipelines/sec/financials.toml")).unwrap();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    let expected = |statement: &str| -> Vec<(String, String)> {
        let lines = declared["settings"]["statements"][statement]
            .as_array()
            .unwrap();
        lines
            .iter()
            .map(|line| (text(&line["line"]), text(&line["label"])))
            .collect()
    };
    let answer = world().await.ok("/v1/financials/320193?limit=40").await;
    let mut seen = std::collections::BTreeSet::new();
    for statement in answer["data"]["statements"].as_array().unwrap() {
        let name = statement["statement"].as_str().unwrap();
        let cell = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        let shown: Vec<_> = statement["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| (cell(line, "key"), cell(line, "label")))
            .collect();
        assert_eq!(shown, expected(name), "{name}");
        seen.insert(name);
    }
    assert!(seen.len() >= 2, "{seen:?}");
}

#[tokio::test]
async fn statements_are_grouped_by_period_and_paged() {
    let world = world().await;
    let path = "/v1/financials/320193";
    let first = world.ok(path).await;
    let shown = |answer: &Value| -> Vec<(String, i64)> {
        let statements = answer["data"]["statements"].as_array().unwrap();
        statements
            .iter()
            .map(|statement| {
                (
                    statement["statement"].as_str().unwrap().to_owned(),
                    statement["fiscal_year"].as_i64().unwrap(),
                )
            })
            .collect()
    };
    let of = |statement: &str, year: i64| (statement.to_owned(), year);
    assert_eq!(
        shown(&first),
        [
            of("income", 2024),
            of("balance", 2024),
            of("balance", 2023),
            of("income", 2022),
            of("balance", 2022),
            of("balance", 2021)
        ]
    );
    assert_eq!(
        (
            &first["meta"]["page"]["count"],
            &first["meta"]["page"]["total"]
        ),
        (&json!(4), &json!(6))
    );
    let cursor = first["meta"]["page"]["next_cursor"].as_str().unwrap();
    assert_eq!(
        shown(&world.ok(&format!("{path}?cursor={cursor}")).await),
        [of("balance", 2020), of("balance", 2019)]
    );

    let lines = first["data"]["statements"][0]["lines"].as_array().unwrap();
    let line = |key: &str| lines.iter().find(|line| line["key"] == key).unwrap();
    assert_eq!(
        (
            lines.len(),
            &line("net_income")["value"],
            &line("net_income")["is_derived"]
        ),
        (16, &json!(93_736_000_000_u64), &json!(false))
    );
    assert_eq!(
        (&line("revenue")["value"], &line("revenue")["null_reason"]),
        (&Value::Null, &json!("not_reported"))
    );
    let restated = world
        .ok(&format!("{path}?statement=income&fiscal_year_to=2022"))
        .await;
    assert_eq!(restated["data"]["statements"][0]["is_restated"], true);
    let net_income = restated["data"]["statements"][0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["key"] == "net_income")
        .unwrap();
    assert_eq!(
        (
            &net_income["first_reported"]["value"],
            &net_income["first_reported"]["filed_date"]
        ),
        (&json!(5), &json!("2022-10-28"))
    );
    assert_eq!(
        (&net_income["value"], &net_income["restatement_kind"]),
        (&json!(1_000_000), &json!("value"))
    );
    let quarterly = world.ok(&format!("{path}?period=quarterly")).await;
    assert_eq!(
        quarterly["data"]["statements"][0]["lines"][0]["is_ytd"],
        true
    );
    let without = world.ok("/v1/financials/9900193").await;
    assert_eq!(
        (
            &without["data"]["statements"],
            &without["data"]["null_reason"]
        ),
        (&json!([]), &json!("foreign_filer"))
    );
    assert_eq!(
        world.get("/v1/financials/1").await.problem(),
        (404, "not_found".to_owned())
    );
}

#[tokio::test]
async fn statements_show_the_knowledge_of_a_day() {
    let world = world().await;
    let at = async |day: &str| {
        world
            .ok(&format!(
                "/v1/financials/320193?statement=income&limit=40&known_at={day}"
            ))
            .await
    };
    let before = at("2022-10-27").await;
    assert_eq!(
        (
            &before["data"]["statements"],
            &before["data"]["null_reason"]
        ),
        (&json!([]), &json!("not_known_yet"))
    );
    let then = at("2024-10-31").await;
    assert_eq!(
        (
            &then["data"]["known_at"],
            then["data"]["statements"].as_array().unwrap().len()
        ),
        (&json!("2024-10-31"), 1)
    );
    let statement = &then["data"]["statements"][0];
    let of = |statement: &Value| {
        let line = statement["lines"]
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["key"] == "net_income")
            .unwrap()
            .clone();
        ["value", "accession_number", "is_restated", "first_reported"]
            .map(|name| line[name].clone())
    };
    assert_eq!(
        (&statement["filed_date"], &statement["is_restated"]),
        (&json!("2022-10-28"), &json!(false))
    );
    assert_eq!(
        of(statement),
        [
            json!(5),
            json!("0000320193-22-000108"),
            json!(false),
            Value::Null
        ]
    );
    let now = at("2024-11-01").await;
    assert_eq!(now["data"]["statements"].as_array().unwrap().len(), 2);
    assert_eq!(
        of(&now["data"]["statements"][1])[..3],
        [json!(1_000_000), json!("0000320193-24-000123"), json!(true)]
    );
}

#[tokio::test]
async fn coverage_counts_a_dataset_once_for_all_its_files() {
    let world = world().await;
    let answer = world.ok("/v1/coverage").await;
    let entry = |dataset_id: &str| {
        answer["data"]["datasets"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["dataset_id"] == dataset_id)
            .unwrap()
            .clone()
    };
    let values = entry("sec.financial_value");
    assert_eq!(
        (
            values["partitions"].as_array().unwrap().len(),
            &values["rows"]
        ),
        (1, &json!(13))
    );
    assert_eq!(values["partitions"][0]["partition"], json!({}));
    assert_eq!(
        entry("sec.archive_member")["outcomes"],
        json!({"foreign_filer": 1, "published": 1})
    );
    assert_eq!(
        world.ok("/v1/geo-demographics/coverage").await["data"]["datasets"],
        json!([])
    );
}

#[tokio::test]
async fn every_record_leads_to_its_bytes() {
    let world = world().await;
    let mut ids = Vec::new();
    for path in OF_REGISTRANTS {
        collect_record_ids(&world.ok(path).await, &mut ids);
    }
    ids.sort();
    ids.dedup();
    assert!(ids.len() > 20);
    for id in ids {
        assert_eq!(
            world
                .ok(&format!("/v1/provenance/{}", id.replace(':', "%3A")))
                .await["data"]["record"]["record_id"],
            id.as_str()
        );
    }
}

#[tokio::test]
async fn missing_scopes_and_datasets_are_reported() {
    use pubdata_store::Scope;
    let world = world().await;
    let only = world.create_key(&[Scope::Geo], "unlimited").key;
    for path in ["/v1/sec/companies/320193", "/v1/filings/search?form=10-K"] {
        let request = axum::http::Request::get(path)
            .header("x-api-key", &only)
            .body(axum::body::Body::empty())
            .unwrap();
        assert_eq!(
            world.send(request).await.problem(),
            (403, "insufficient_permission".to_owned()),
            "{path}"
        );
    }
    let empty = World::empty(|_| {}).await;
    let mut draft = draft();
    draft
        .tables
        .retain(|table| table.dataset_id == "sec.archive_member");
    publish(&empty, draft).await;
    for path in [
        "/v1/sec/companies/search?q=a",
        "/v1/sec/companies/320193",
        "/v1/sec/companies/320193/filings",
        "/v1/sec/companies/320193/financials",
        "/v1/sec/financials/compare?metric=revenue&tickers=AAPL,KMB",
        "/v1/filings/search?form=10-K",
        "/v1/financials/320193",
    ] {
        assert_eq!(
            empty.get(path).await.problem(),
            (404, "coverage_unavailable".to_owned()),
            "{path}"
        );
    }
}
