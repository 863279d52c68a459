//! What is bought, as far as states tax it differently, and the rules of a state on it.

use std::collections::BTreeSet;

use crate::json::{Json, Trim};
use crate::tax::figures::write_known;
use crate::tax::table::taxability::{Level, Price, Rule, Taxability};

/// What is bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    General,
    /// Food and medicine in one word, as rate files have them: it is answered as food.
    FoodDrug,
    Grocery,
    PreparedFood,
    PrescriptionDrug,
    OtcDrug,
    Clothing,
}

/// The words of requests.
pub const CATEGORIES: &[&str] = &["general", "food_drug", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing"];

/// The classes of rules, in the order of answers.
pub const CLASSES: [&str; 7] = ["general", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing", "shipping"];

/// The class of what delivers goods.
pub const SHIPPING: &str = "shipping";

impl Category {
    /// Reads the word; general goods when there is none.
    pub fn of(word: Option<&str>) -> Self {
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

    /// The class of rules that it is of.
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

    /// Whether the rates for food in publishers' files are of it.
    pub fn is_food(self) -> bool {
        matches!(self, Self::FoodDrug | Self::Grocery)
    }
}

/// What is bought, at which price where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goods {
    pub category: Category,
    pub price: Option<Price>,
}

impl From<Category> for Goods {
    fn from(category: Category) -> Self {
        Self { category, price: None }
    }
}

/// The rules of one state on a day.
#[derive(Debug, Clone, Copy)]
pub struct StateRules<'a> {
    pub table: Option<&'a Taxability>,
    pub state: &'a str,
    pub day: i32,
}

impl<'a> StateRules<'a> {
    /// The rule on a class at a level; none where no rule of the day is published here.
    pub fn rule(&self, class: &str, level: Level) -> Option<Rule<'a>> {
        self.table?.rule(self.state, class, level, self.day)
    }

    /// Whether delivery charges for taxed goods are taxed; none where that is not known, or depends on more than the goods.
    pub fn is_delivery_taxed(&self) -> Option<bool> {
        match self.rule(SHIPPING, Level::State)?.taxable()? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }

    /// What to know of a word that stands for food and medicine.
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
        let all = [("food for home", "grocery"), ("medicine on a prescription", "prescription_drug"), ("other medicine", "otc_drug")]
            .map(|(name, class)| (name, words(class)));
        let is_alike = all.iter().all(|(_, words)| words.is_some() && words.as_ref().map(|words| &words.0) == all[0].1.as_ref().map(|words| &words.0));
        let said = all.map(|(name, words)| match words {
            Some((tax, citation)) => format!("{name} bears {tax} ({citation})"),
            None => format!("of {name} it is not known here"),
        });
        (!is_alike).then(|| {
            let said = said.join("; ");
            format!(
                "Food and medicine are taxed differently: {said}. The answer is that for food; `grocery`, `prescription_drug` and `otc_drug` tell them apart."
            )
        })
    }

    /// Writes the rules on some classes, one by one; a class without one is null with the reason.
    pub fn write(&self, json: &mut Json, classes: &[&str]) {
        json.array(|json| {
            for class in classes {
                let rules = Level::ALL.map(|level| (level, self.rule(class, level)));
                for (level, rule) in rules.into_iter().filter(|(level, rule)| *level == Level::State || rule.is_some()) {
                    json.object(|json| write_rule(json, class, level, rule));
                }
            }
        });
    }
}

fn write_rule(json: &mut Json, class: &str, level: Level, rule: Option<Rule<'_>>) {
    json.key("class").text(class);
    json.key("level").text(level.name());
    json.key("taxable").optional_text(rule.and_then(|rule| rule.taxable()));
    write_known(json.key("rate"), rule.and_then(|rule| rule.rate()));
    json.key("null_reason").optional_text(rule.map_or(Some(NO_RULE), |rule| rule.null_reason()));
    let threshold = rule.and_then(|rule| rule.threshold());
    match threshold {
        Some((cents, _)) => json.key("threshold").decimal(cents, 2, Trim::Keep),
        None => json.key("threshold").null(),
    }
    json.key("threshold_kind").optional_text(threshold.map(|(_, kind)| kind));
    json.key("citation").optional_text(rule.map(|rule| rule.citation()));
    json.key("url").optional_text(rule.and_then(|rule| rule.url()));
    json.key("evidence").optional_text(rule.map(|rule| rule.evidence()));
    json.key("note").optional_text(rule.and_then(|rule| rule.note()));
    let (first, last) = rule.map_or((None, None), |rule| rule.days());
    json.key("valid_from").optional_day(first);
    json.key("valid_to").optional_day(last);
    json.key("record_id").optional_text(rule.map(|rule| rule.record_id()));
}

/// What to know of rules that decided a figure and whose text was not read; none where all were.
pub fn unread_notice<'a>(rules: impl IntoIterator<Item = Rule<'a>>) -> Option<String> {
    let unread: BTreeSet<String> = rules.into_iter().filter(Rule::is_unread).map(|rule| format!("{} ({})", rule.citation(), rule.record_id())).collect();
    (!unread.is_empty()).then(|| {
        let cited = unread.into_iter().collect::<Vec<_>>().join("; ");
        format!("A rule that the answer rests on is told by its citation alone, whose text was not read: {cited}.")
    })
}

/// Why there is no rate where no rule of the day is published here.
pub const NO_RULE: &str = "no_rule_published";

/// Millionths as a percentage: 1225 is `0.1225`.
pub fn percent(rate: i64) -> String {
    let text = format!("{}.{:04}", rate / 10_000, rate % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
