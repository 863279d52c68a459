//! Renders the sales tax for a place and for a sale, with each jurisdiction's share and rule.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use serde_json::{Value as Json, json};

use super::templates::context;
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::http::problem::{Code, Problem, Result};

pub const PAGES: &[Page] = &[Page {
    path: "/tax",
    make: |visit| tax(visit).boxed(),
}];

/// Category of untaxed goods: allowed for a line of a sale, but not for a rate.
const EXEMPT: &str = "exempt";

async fn tax(visit: &Visit<'_>) -> Result<Made> {
    let fields = [
        "zip", "state", "address", "category", "date", "amount", "shipping",
    ]
    .map(|name| (name, visit.parameter(name)));
    let entered: BTreeMap<&str, &str> = fields
        .iter()
        .map(|(name, value)| (*name, value.unwrap_or_default()))
        .collect();
    let [zip, state, address, category, date, amount, shipping] = fields.map(|(_, value)| value);
    let answers = async {
        if zip.is_none() && address.is_none() {
            return match fields.iter().any(|(_, value)| value.is_some()) {
                true => Err(Problem::of_field(
                    Code::MissingParameter,
                    "zip",
                    "enter a ZIP code or an address",
                )),
                false => Ok((Json::Null, Json::Null)),
            };
        }
        // An address already names its state.
        let (state, class) = (
            state.filter(|_| address.is_none()),
            category.filter(|category| *category != EXEMPT),
        );
        let query = [
            ("zip", zip),
            ("state", state),
            ("address", address),
            ("category", class),
            ("date", date),
        ];
        let rate = visit.ask(target("/v1/tax/rate", &query)).await?;
        let sale = match amount {
            Some(amount) => calculated(visit, &rate["data"], amount, shipping, category).await?,
            None => Json::Null,
        };
        Ok((rate, sale))
    };
    // A rejected request is explained next to the form, which keeps its input.
    let (rate, sale, refusal) = match answers.await {
        Ok((rate, sale)) => (rate, sale, None),
        Err(problem)
            if problem.code.status().is_client_error() && problem.code != Code::RateLimited =>
        {
            (Json::Null, Json::Null, Some(problem.detail))
        }
        Err(problem) => return Err(problem),
    };
    let (rate, sale) = (&rate["data"], &sale["data"]);
    let sold = class_of_rules(if category == Some(EXEMPT) {
        category
    } else {
        rate["category"].as_str()
    });
    let is_sold = |rule: &&Json| {
        rule["class"].as_str() == sold || (shipping.is_some() && rule["class"] == "shipping")
    };
    let (applied, others): (Vec<&Json>, Vec<&Json>) = rate["rules"]
        .as_array()
        .into_iter()
        .flatten()
        .partition(is_sold);
    let categories = &visit.pages.openapi["components"]["schemas"]["SaleItemCategory"]["enum"];
    Ok(Made::Page(
        "tax.html",
        context! { fields => entered, categories, rate, sale, applied, others, refusal },
    ))
}

/// Returns the class of rules that a category belongs to.
fn class_of_rules(category: Option<&str>) -> Option<&str> {
    if category == Some("food_drug") {
        Some("grocery")
    } else {
        category
    }
}

/// Calculates the tax on one item sold within the state to the place of a rate.
async fn calculated(
    visit: &Visit<'_>,
    rate: &Json,
    amount: &str,
    shipping: Option<&str>,
    category: Option<&str>,
) -> Result<Json> {
    let dollars = |field: &str, text: &str| {
        let wrong = || {
            Problem::of_field(
                Code::InvalidParameter,
                field,
                format!("`{text}` is not an amount in dollars, such as 49.95"),
            )
        };
        text.trim_start_matches('$')
            .replace(',', "")
            .parse::<serde_json::Number>()
            .map_err(|_| wrong())
    };
    let mut item = json!({ "id": "item", "quantity": 1, "unit_price": dollars("amount", amount)? });
    if let Some(category) = category {
        item["category"] = json!(category);
    }
    let location = &rate["location"];
    let mut to = json!({ "state": location["state"] });
    if let Some(zip) = location["zip"].as_str() {
        to["zip"] = json!(
            location["zip4"]
                .as_str()
                .map_or_else(|| zip.to_owned(), |zip4| format!("{zip}-{zip4}"))
        );
    }
    let mut body = json!({ "from": { "state": location["state"] }, "to": to, "line_items": [item], "date": rate["date"] });
    if let Some(address) = visit.parameter("address") {
        body["to"] = json!({ "address": address });
    }
    if let Some(shipping) = shipping {
        body["shipping"] = json!(dollars("shipping", shipping)?);
    }
    visit.ask_with("/v1/tax/calculate".to_owned(), &body).await
}
