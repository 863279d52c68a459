//! Decides which events a subscription receives. An event must match at least one value of every
//! given filter. Tickers are resolved again with each release.

use std::collections::HashSet;

use schemars::Schema;
use serde::Deserialize;

use crate::http::body::request;
use crate::http::problem::Problem;
use crate::sec::registrants::Registrants;
use crate::stream::item::Item;
use crate::stream::members::Members;
use pubdata_core::ids::Cik;

/// Maximum number of values in all filters of one subscription.
pub const MAX_VALUES: usize = 500;
/// Expected value of a string filter, for messages.
const TEXTS: &str = "an array of strings";

request! {
    /// A filing passes when it matches a value of every given filter; an empty filter accepts all
    /// filings.
    #[derive(Default)]
    #[schemars(rename = "Filters", transform = |schema: &mut Schema| drop(schema.remove("required")))]
    pub struct SentFilters {
        /// Form types; `10-K` does not include `10-K/A`.
        #[schemars(length(max = MAX_VALUES))]
        forms: Vec<String>,
        /// CIKs as strings or numbers.
        #[schemars(with = "Vec<String>", length(max = MAX_VALUES), extend("items" = {"type": ["string", "integer"]}))]
        ciks: Vec<Number>,
        /// Current tickers.
        #[schemars(length(max = MAX_VALUES))]
        tickers: Vec<String>,
        /// Items of current reports, such as `2.02`.
        #[schemars(length(max = MAX_VALUES))]
        items: Vec<String>,
        /// Role of a party in the filing: `filer`, `subject`, `filed_by`, `reporting`, `issuer`,
        /// `depositor`.
        #[schemars(length(max = MAX_VALUES))]
        entity_roles: Vec<String>,
    }
}

impl SentFilters {
    /// Reads the fields of `filters`.
    ///
    /// # Errors
    /// A filter is unknown, or its value is not a list of the expected type.
    pub fn read(mut members: Members) -> Result<Self, Problem> {
        members.has_only(Self::FIELDS)?;
        Ok(Self {
            forms: members.optional(Self::forms, TEXTS)?,
            ciks: members.optional(Self::ciks, "an array of CIKs")?,
            tickers: members.optional(Self::tickers, TEXTS)?,
            items: members.optional(Self::items, TEXTS)?,
            entity_roles: members.optional(Self::entity_roles, TEXTS)?,
        })
    }
}

/// CIK as a string or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Number {
    Text(String),
    Number(u64),
}

/// Checked filters of a subscription. An event must match every given filter.
#[derive(Debug, Default)]
pub struct Filter {
    forms: HashSet<String>,
    ciks: HashSet<u64>,
    tickers: Vec<String>,
    /// CIKs of the companies that have the tickers in the release.
    of_tickers: HashSet<u64>,
    items: HashSet<String>,
    roles: HashSet<String>,
}

impl Filter {
    /// Checks the filters.
    ///
    /// # Errors
    /// The invalid filter and the reason why it is invalid.
    pub fn read(sent: SentFilters) -> Result<Self, (&'static str, String)> {
        let count = sent.forms.len()
            + sent.ciks.len()
            + sent.tickers.len()
            + sent.items.len()
            + sent.entity_roles.len();
        if count > MAX_VALUES {
            return Err((
                "filters",
                format!(
                    "a subscription has at most {MAX_VALUES} values in its filters, not {count}"
                ),
            ));
        }
        let is_form = |text: &String| {
            (1..=20).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b" ./-".contains(&byte))
        };
        let is_ticker = |text: &String| {
            (1..=16).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"./-".contains(&byte))
        };
        let is_item = |text: &String| {
            text.len() <= 5
                && text
                    .split_once('.')
                    .is_some_and(|(a, b)| [a, b].iter().all(|part| part.parse::<u8>().is_ok()))
        };
        let is_role = |text: &String| (1..=40).contains(&text.len());
        let wrong =
            |field, list: &[String], is_right: &dyn Fn(&String) -> bool, form: &str| match list
                .iter()
                .find(|text| !is_right(text))
            {
                Some(text) => Err((
                    field,
                    format!(
                        "`{}` is not {form}",
                        text.chars().take(40).collect::<String>()
                    ),
                )),
                None => Ok(()),
            };
        wrong("forms", &sent.forms, &is_form, "a form type such as `8-K`")?;
        wrong(
            "tickers",
            &sent.tickers,
            &is_ticker,
            "a ticker such as `AAPL`",
        )?;
        wrong("items", &sent.items, &is_item, "an item such as `2.02`")?;
        wrong(
            "entity_roles",
            &sent.entity_roles,
            &is_role,
            "a role such as `issuer`",
        )?;
        let mut ciks = HashSet::new();
        for number in sent.ciks {
            let cik = match number {
                Number::Text(text) => text
                    .parse::<Cik>()
                    .map_err(|error| ("ciks", error.to_string()))?,
                Number::Number(number) => Cik::from_number(number)
                    .ok_or_else(|| ("ciks", format!("{number} is not a CIK")))?,
            };
            ciks.insert(cik.number());
        }
        Ok(Self {
            forms: sent
                .forms
                .iter()
                .map(|form| form.trim().to_ascii_uppercase())
                .collect(),
            ciks,
            tickers: sent.tickers,
            of_tickers: HashSet::new(),
            items: sent.items.into_iter().collect(),
            roles: sent
                .entity_roles
                .iter()
                .map(|role| role.trim().to_lowercase().replace([' ', '-'], "_"))
                .collect(),
        })
    }

    pub fn has_tickers(&self) -> bool {
        !self.tickers.is_empty()
    }

    /// Resolves the tickers with the current release, and returns the tickers that no company has.
    pub fn resolve(&mut self, registrants: Option<&Registrants>) -> Vec<String> {
        self.of_tickers.clear();
        let mut unknown = Vec::new();
        for ticker in &self.tickers {
            let before = self.of_tickers.len();
            let holders = registrants.into_iter().flat_map(|registrants| {
                registrants
                    .with_ticker(ticker)
                    .map(|row| registrants.cik(row).number())
            });
            let mut has_holder = false;
            for holder in holders {
                has_holder = true;
                self.of_tickers.insert(holder);
            }
            if !has_holder && self.of_tickers.len() == before {
                unknown.push(ticker.clone());
            }
        }
        unknown
    }

    /// Reports whether the subscription matches an event.
    pub fn matches(&self, item: &Item) -> bool {
        let any = |allowed: &HashSet<String>, has: &[String]| {
            allowed.is_empty() || has.iter().any(|value| allowed.contains(value))
        };
        let of = |allowed: &HashSet<u64>| item.ciks.iter().any(|cik| allowed.contains(cik));
        any(&self.forms, &item.forms)
            && (self.ciks.is_empty() || of(&self.ciks))
            && (self.tickers.is_empty() || of(&self.of_tickers))
            && any(&self.items, &item.items)
            && any(&self.roles, &item.roles)
    }
}
