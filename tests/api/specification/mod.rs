//! Tests `docs/SPECIFICATION.md`: each statement of the interface specification, against a server
//! on the fixtures' release.

mod checks;
mod named;
mod page;

use axum::body::Body;
use axum::http::Request;
use pubdata_core::declared::DeclarationFiles;
use pubdata_store::{Keys, NewKey, Plans, Scope};
use pubdata_testing::project;
use serde_json::Value;
use tower::ServiceExt;

use crate::serve::{Served, read};
use checks::{Reply, check};
use page::{ApiRequest, Statement, Step};

/// A server, and the keys for the statements.
struct Desk {
    served: Served,
}

impl Desk {
    /// A key with some scopes and a plan.
    fn key(&self, scopes: &[Scope], plan: &str) -> String {
        let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
        let new = NewKey {
            name: "specification".to_owned(),
            scopes: scopes.to_vec(),
            plan: plan.to_owned(),
            expires_at: None,
        };
        Keys::open(&self.served.home)
            .create(new, &plans, jiff::Timestamp::now())
            .unwrap()
            .key
    }

    /// Value of a header, in which `{key}` is a key with all scopes and `{key:geo}` one with that
    /// scope alone.
    fn header_value(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once("{key") else {
            return text.to_owned();
        };
        let (scope, after) = rest.split_once('}').expect("a closed placeholder");
        let key = match scope.strip_prefix(':') {
            None => self.served.key.clone(),
            Some(name) => self.key(&[name.parse().unwrap()], "unlimited"),
        };
        format!("{before}{key}{after}")
    }

    /// Sends a request as the specification says: the geographic and financials APIs get
    /// `X-API-Key`, the others a Bearer token.
    async fn ask(&self, requested: &ApiRequest) -> Reply {
        let mut request = Request::builder()
            .method(requested.method.as_str())
            .uri(&requested.path);
        let names_a_key = requested.headers.iter().any(|(name, _)| {
            ["x-api-key", "authorization"].contains(&name.to_lowercase().as_str())
        });
        let takes_x_api_key = ["/v1/geo-demographics/", "/v1/sec/"]
            .iter()
            .any(|start| requested.path.starts_with(start));
        request = match (names_a_key, takes_x_api_key) {
            (true, _) => request,
            (false, true) => request.header("X-API-Key", &self.served.key),
            (false, false) => {
                request.header("Authorization", format!("Bearer {}", self.served.key))
            }
        };
        for (name, value) in requested
            .headers
            .iter()
            .filter(|(_, value)| value != "none")
        {
            request = request.header(name, self.header_value(value));
        }
        if requested.body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        let body = requested.body.clone().map_or_else(Body::empty, Body::from);
        let answer = read(
            self.served
                .router
                .clone()
                .oneshot(request.body(body).unwrap())
                .await
                .unwrap(),
        )
        .await;
        Reply {
            status: answer.status.as_u16(),
            body: serde_json::from_slice(&answer.bytes).unwrap_or(Value::Null),
            headers: answer.headers,
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.ask(&ApiRequest::get(path)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Reply {
        let requested = ApiRequest {
            method: "POST".to_owned(),
            body: Some(body.to_string()),
            ..ApiRequest::get(path)
        };
        self.ask(&requested).await
    }

    /// Failed checks of a statement, each with its request.
    async fn failures(&self, statement: &Statement) -> Vec<String> {
        let (mut failures, mut requested, mut reply) = (Vec::new(), String::new(), None);
        for step in &statement.steps {
            let result = match step {
                Step::Ask(request) => {
                    requested = request.to_string();
                    reply = Some(self.ask(request).await);
                    continue;
                }
                Step::NotJudged(_) => continue,
                Step::Check(line) => check(
                    reply
                        .as_ref()
                        .expect("checked when the page was read: a request comes first"),
                    line,
                ),
                Step::Bytes { file, text } => {
                    page::has_bytes(&project("fixtures").join(file), text)
                }
                Step::Test(name) => Box::pin(named::run(name, self))
                    .await
                    .map_err(|failure| format!("test {name}: {failure}")),
            };
            if let Err(failure) = result {
                let requested = if matches!(step, Step::Check(_)) {
                    format!("{requested}\n    ")
                } else {
                    String::new()
                };
                failures.push(format!(
                    "{} {}\n    {requested}{failure}",
                    statement.number, statement.text
                ));
            }
        }
        failures
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_is_met() {
    let statements = page::read();
    let desk = Desk {
        served: Served::new().await,
    };
    let (mut failures, mut failed) = (Vec::new(), Vec::new());
    for statement in &statements {
        let found = desk.failures(statement).await;
        failed.extend((!found.is_empty()).then_some(statement.number.as_str()));
        failures.extend(found);
    }
    let open = statements
        .iter()
        .filter(|statement| statement.is_not_judged())
        .count();
    let met = statements.len() - failed.len() - open;
    assert!(
        failures.is_empty(),
        "{met} of {} statements are met, {open} cannot be judged here; not met: {}\n\n{}",
        statements.len(),
        failed.join(", "),
        failures.join("\n\n")
    );
}
