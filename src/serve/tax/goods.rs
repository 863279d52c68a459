//! Classifies goods to the extent that states tax them differently, and finds a state's rules for
//! goods.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal, Fixed};
use crate::tax::figures::{dollars, rate};
use crate::tax::table::taxability::{Level, Price, Rule, Taxability};

/// Category of goods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaxCategory")]
pub enum Category {
    General,
    // Rate files combine food and medicine in one class. The answer for this class is the answer
    // for food.
    FoodDrug,
    Grocery,
    PreparedFood,
    PrescriptionDrug,
    OtcDrug,
    Clothing,
}

/// Names of the categories in requests.
pub const CATEGORIES: &[&str] = &[
    "general",
    "food_drug",
    "grocery",
    "prepared_food",
    "prescription_drug",
    "otc_drug",
    "clothing",
];

/// Classes of the rules, in the order in which answers list them.
pub const CLASSES: [&str; 7] = [
    "general",
    "grocery",
    "prepared_food",
    "prescription_drug",
    "otc_drug",
    "clothing",
    "shipping",
];

/// Rule class for the delivery of goods.
pub const SHIPPING: &str = "shipping";

impl Category {
    /// Parses the name of a category. Returns general goods if no name is given.
    pub fn parse(word: Option<&str>) -> Self {
        match word {
            Some("food_drug") => Self::FoodDrug,
            Some("grocery") => Self::Grocery,
            Some("prepared_food") => Self::PreparedFood,
            Some("prescription_drug") => Self::PrescriptionDrug,
            Some("otc_drug") => Self::OtcDrug,
            Some("clothing") => Self::Clothing,
            _ => Self::General,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::FoodDrug => "food_drug",
            other => other.class(),
        }
    }

    /// Returns the class whose rules apply.
    pub fn class(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::FoodDrug | Self::Grocery => "grocery",
            Self::PreparedFood => "prepared_food",
            Self::PrescriptionDrug => "prescription_drug",
            Self::OtcDrug => "otc_drug",
            Self::Clothing => "clothing",
        }
    }

    /// Returns true if the food rates in publishers' files apply.
    pub fn is_food(self) -> bool {
        matches!(self, Self::FoodDrug | Self::Grocery)
    }
}

/// Goods, with their price if the price is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goods {
    pub category: Category,
    pub price: Option<Price>,
}

impl From<Category> for Goods {
    fn from(category: Category) -> Self {
        Self {
            category,
            price: None,
        }
    }
}

/// Rules of one state on a day.
#[derive(Debug, Clone, Copy)]
pub struct StateRules<'a> {
    pub table: Option<&'a Taxability>,
    pub state: &'a str,
    pub day: i32,
}

impl<'a> StateRules<'a> {
    /// Returns the rule for a class at a level, or `None` if no rule is published for the day.
    pub fn rule(&self, class: &str, level: Level) -> Option<Rule<'a>> {
        self.table?.rule(self.state, class, level, self.day)
    }

    /// Returns whether delivery charges for taxed goods are taxed, or `None` if this is not known
    /// or depends on more than the goods.
    pub fn is_delivery_taxed(&self) -> Option<bool> {
        match self.rule(SHIPPING, Level::State)?.taxable()? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }

    /// Returns the notice for `food_drug`, a category that combines food and medicine.
    pub fn food_drug_notice(&self) -> Option<String> {
        let words = |class: &str| {
            let rule = self.rule(class, Level::State)?;
            let tax = match (rule.taxable(), rule.rate()) {
                (Some("no"), _) => "no tax".to_owned(),
                (_, Some(rate)) => format!("the state's rate of {} percent", percent(rate)),
                (Some("yes"), None) => "the state's general rate".to_owned(),
                _ => return None,
            };
            Some((tax, rule.citation()))
        };
        let all = [
            ("food for home", "grocery"),
            ("medicine on a prescription", "prescription_drug"),
            ("other medicine", "otc_drug"),
        ]
        .map(|(name, class)| (name, words(class)));
        let is_alike = all.iter().all(|(_, words)| {
            words.is_some()
                && words.as_ref().map(|words| &words.0) == all[0].1.as_ref().map(|words| &words.0)
        });
        let listed = all.map(|(name, words)| match words {
            Some((tax, citation)) => format!("{name} bears {tax} ({citation})"),
            None => format!("the tax on {name} is not known"),
        });
        (!is_alike).then(|| {
            let listed = listed.join("; ");
            format!(
                "Food and medicine are taxed differently: {listed}. The answer is for food; use `grocery`, `prescription_drug` or `otc_drug` for one of them."
            )
        })
    }

    /// Lists the rules for some classes. A class without a rule has null fields and the reason.
    pub fn shown(&self, classes: &[&'static str]) -> Vec<TaxRule<'a>> {
        let of_class =
            |class: &&'static str| Level::ALL.map(|level| (*class, level, self.rule(class, level)));
        let rules = classes
            .iter()
            .flat_map(of_class)
            .filter(|(_, level, rule)| *level == Level::State || rule.is_some());
        rules
            .map(|(class, level, rule)| TaxRule::new(class, level, rule))
            .collect()
    }
}

/// Rule from `tax.taxability`. A class without a rule has null fields and the reason.
#[derive(Serialize, JsonSchema)]
pub struct TaxRule<'a> {
    #[schemars(extend("$field" = "tax.taxability/class"))]
    class: &'static str,
    #[schemars(extend("$field" = "tax.taxability/level"))]
    level: &'static str,
    #[schemars(extend("$field" = "tax.taxability/taxable"))]
    taxable: Option<&'a str>,
    #[schemars(extend("$field" = "tax.taxability/rate"))]
    rate: Option<Decimal>,
    /// Reason for a null `rate`: `general_rate`, the condition on which it depends,
    /// `not_established`, or `no_rule_published`.
    null_reason: Option<&'a str>,
    #[schemars(extend("$field" = "tax.taxability/threshold"))]
    threshold: Option<Fixed>,
    #[schemars(extend("$field" = "tax.taxability/threshold_kind"))]
    threshold_kind: Option<&'a str>,
    /// Statute, regulation or department page that contains the rule.
    citation: Option<&'a str>,
    #[schemars(extend("$field" = "tax.taxability/url"))]
    url: Option<&'a str>,
    /// Kind of source that was read: `statute`, `regulation`, `department_page`, `matrix`, or
    /// `unread_statute`.
    evidence: Option<&'a str>,
    #[schemars(extend("$field" = "tax.taxability/note"))]
    note: Option<&'a str>,
    #[schemars(extend("$field" = "tax.taxability/valid_from"))]
    valid_from: Option<Date>,
    #[schemars(extend("$field" = "tax.taxability/valid_to"))]
    valid_to: Option<Date>,
    /// Record of the rule in `tax.taxability`, for `/v1/provenance/{record_id}`; null if there is
    /// no rule.
    record_id: Option<&'a str>,
}

impl<'a> TaxRule<'a> {
    fn new(class: &'static str, level: Level, rule: Option<Rule<'a>>) -> Self {
        let (threshold, threshold_kind) = rule.and_then(|rule| rule.threshold()).unzip();
        let (first, last) = rule.map_or((None, None), |rule| rule.days());
        Self {
            class,
            level: level.name(),
            taxable: rule.and_then(|rule| rule.taxable()),
            rate: rule.and_then(|rule| rule.rate()).map(rate),
            null_reason: rule.map_or(Some(NO_RULE), |rule| rule.null_reason()),
            threshold: threshold.map(dollars),
            threshold_kind,
            citation: rule.map(|rule| rule.citation()),
            url: rule.and_then(|rule| rule.url()),
            evidence: rule.map(|rule| rule.evidence()),
            note: rule.and_then(|rule| rule.note()),
            valid_from: first.map(Date),
            valid_to: last.map(Date),
            record_id: rule.map(|rule| rule.record_id()),
        }
    }
}

/// Returns the notice about rules that decided a figure although their text was not read, or `None`
/// if all texts were read.
pub fn unread_notice<'a>(rules: impl IntoIterator<Item = Rule<'a>>) -> Option<String> {
    let unread: BTreeSet<String> = rules
        .into_iter()
        .filter(Rule::is_unread)
        .map(|rule| format!("{} ({})", rule.citation(), rule.record_id()))
        .collect();
    (!unread.is_empty()).then(|| {
        let cited = unread.into_iter().collect::<Vec<_>>().join("; ");
        format!("The answer uses a rule whose cited text was not checked: {cited}.")
    })
}

/// Reason for a missing rate when no rule is published for the day.
pub const NO_RULE: &str = "no_rule_published";

/// Formats millionths as a percentage: 1225 is `0.1225`.
pub fn percent(rate: i64) -> String {
    let text = format!("{}.{:04}", rate / 10_000, rate % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
