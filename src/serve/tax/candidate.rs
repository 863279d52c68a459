//! What a set of jurisdictions charges on a day: its rates, one by one and together.

use crate::canonical::state;
use crate::serve::http::meta::Notice;
use crate::serve::tax::search::{Hit, Search};
use crate::serve::tax::table::boundaries::Jurisdictions;
use crate::serve::tax::table::rates::{Class as TaxClass, Rates};

/// One set of jurisdictions that a place may lie in.
#[derive(Debug, Default)]
pub struct Candidate<'a> {
    pub components: Vec<Component<'a>>,
    /// The boundary record that says so; none where jurisdictions are found by name or tax the whole state.
    pub hit: Option<Hit<'a>>,
    /// Jurisdictions for which no rate is published for the day.
    pub missing: Vec<String>,
    /// How far it is from the city that a place without a ZIP code is named by: 0 is the city itself.
    pub rank: u8,
}

/// The rate of one jurisdiction.
#[derive(Debug)]
pub struct Component<'a> {
    pub class: TaxClass,
    pub code: String,
    pub fips: Option<String>,
    pub name: String,
    pub type_raw: Option<&'a str>,
    /// Millionths.
    pub general: i64,
    /// Millionths; none where the publisher states none.
    pub food_drug: Option<i64>,
    /// The statute by which food bears no tax, whatever the publisher's file repeats for it.
    pub food_exemption: Option<&'a str>,
    /// Days since 1970-01-01.
    pub from: Option<i32>,
    pub to: Option<i32>,
    /// The row that says so; none when it is the state's own.
    pub row: Option<(&'a Rates, usize)>,
}

/// What is bought, as far as rates differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    General,
    FoodDrug,
}

impl Category {
    /// Reads the word; general goods when there is none.
    pub fn of(word: Option<&str>) -> Self {
        if word == Some("food_drug") { Self::FoodDrug } else { Self::General }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::FoodDrug => "food_drug",
        }
    }
}

impl Component<'_> {
    /// The rate in millionths. Food and drugs without a rate of their own are general goods.
    pub fn rate(&self, category: Category) -> i64 {
        match category {
            Category::General => self.general,
            Category::FoodDrug if self.food_exemption.is_some() => 0,
            Category::FoodDrug => self.food_drug.unwrap_or(self.general),
        }
    }

    /// By what the component bears no tax on a category, where that is not in its rate.
    pub fn exempt_by(&self, category: Category) -> Option<&str> {
        self.food_exemption.filter(|_| category == Category::FoodDrug)
    }
}

impl<'a> Candidate<'a> {
    /// The jurisdictions of a set with their rates.
    pub fn of(search: &Search<'a>, set: &Jurisdictions, hit: Option<Hit<'a>>) -> Self {
        let mut candidate = Self { hit, ..Self::default() };
        if set.has_state_tax {
            match state_component(search) {
                Some(component) => candidate.components.push(component),
                None => candidate.missing.push(search.state_code.to_owned()),
            }
        }
        for (class, code) in set.local() {
            match local_component(search, set, class, code) {
                Some(component) => candidate.components.push(component),
                None => candidate.missing.push(format!("{} {code}", class.name())),
            }
        }
        candidate.move_minimum(search);
        candidate
    }

    /// The rates together, in millionths.
    pub fn combined(&self, category: Category) -> i64 {
        self.components.iter().map(|component| component.rate(category)).sum()
    }

    /// The rates of a class together, in millionths.
    pub fn of_class(&self, class: TaxClass, category: Category) -> i64 {
        self.components.iter().filter(|component| component.class == class).map(|component| component.rate(category)).sum()
    }

    /// What to know of the rate on food and drugs.
    pub fn food_notice(&self) -> Option<Notice> {
        let local = |message: &str, code| Some(Notice { code, message: message.to_owned() });
        if let Some(basis) = self.components.iter().find_map(|component| component.food_exemption) {
            return local(&format!("The rate is 0 by {basis}. The state's file repeats its general rates for food and drugs."), "FOOD_DRUG_EXEMPT");
        }
        if self.components.iter().any(|component| component.food_drug.is_none()) {
            return local("Not every jurisdiction publishes a rate on food and drugs: the general rate stands for it.", "FOOD_DRUG_RATE_UNKNOWN");
        }
        let is_repeated =
            |component: &Component<'_>| component.class == TaxClass::State && component.general > 0 && component.food_drug == Some(component.general);
        if self.components.iter().any(is_repeated) {
            return local("The state's file has its general rate for food and drugs too: it may not tell them apart.", "FOOD_DRUG_AS_GENERAL");
        }
        None
    }

    /// From when all of it holds, in days since 1970-01-01.
    pub fn effective_day(&self) -> Option<i32> {
        self.components.iter().filter_map(|component| component.from).chain(self.hit.map(|hit| hit.days().0)).max()
    }

    /// Where the state's row is zero and counties carry the state's published minimum (Nevada), the minimum is the state's and the county has what is above it.
    fn move_minimum(&mut self, search: &Search<'_>) {
        let Some(minimum) = search.rule_rate().filter(|minimum| *minimum > 0) else { return };
        let is_zero = |component: &Component<'_>| component.class == TaxClass::State && component.row.is_some() && component.general == 0;
        let (Some(state), Some(county)) = (
            self.components.iter().position(is_zero),
            self.components.iter().position(|component| component.class == TaxClass::County && component.general >= minimum),
        ) else {
            return;
        };
        self.components[state].general = minimum;
        self.components[county].general -= minimum;
    }
}

fn state_component<'a>(search: &Search<'a>) -> Option<Component<'a>> {
    let rows =
        search.state.rates.iter().flat_map(|rates| rates.of_class(TaxClass::State).filter(|row| rates.is_on(*row, search.day)).map(move |row| (rates, row)));
    if let Some((rates, row)) = rows.max_by_key(|(rates, row)| rates.begin(*row)) {
        return component(search, rates, row);
    }
    let has_begun = search.rule_day().is_none_or(|day| day <= search.day);
    let general = search.rule_rate().filter(|_| has_begun)?;
    Some(Component {
        class: TaxClass::State,
        code: state_fips(search).to_owned(),
        fips: state::fips(search.state_code).map(str::to_owned),
        name: search.state_name().to_owned(),
        type_raw: None,
        general,
        food_drug: None,
        food_exemption: search.food_exemption(),
        from: search.rule_day(),
        to: None,
        row: None,
    })
}

fn state_fips(search: &Search<'_>) -> &'static str {
    state::fips(search.state_code).unwrap_or(search.state_code)
}

/// The rate row of a local jurisdiction. Districts may have another type code in the rates than in the boundaries; the same one is preferred.
fn local_component<'a>(search: &Search<'a>, set: &Jurisdictions, class: TaxClass, code: &str) -> Option<Component<'a>> {
    let rows = search.state.rates.iter().flat_map(|rates| rates.on(class, code, search.day).map(move |row| (rates, row)));
    let is_same_type = |rates: &Rates, row: usize| set.special.iter().any(|(type_raw, known)| known == code && rates.types_raw.get(row) == Some(type_raw));
    let (rates, row) = rows.max_by_key(|(rates, row)| (is_same_type(rates, *row), rates.begin(*row)))?;
    component(search, rates, row)
}

fn component<'a>(search: &Search<'a>, rates: &'a Rates, row: usize) -> Option<Component<'a>> {
    let (class, code) = (rates.class(row), rates.codes.at(row));
    let state_fips = rates.state_fips.at(row);
    let is_digits = |count: usize| code.len() == count && code.bytes().all(|byte| byte.is_ascii_digit());
    let fips = match class {
        TaxClass::State => Some(state_fips.to_owned()),
        TaxClass::County => is_digits(3).then(|| format!("{state_fips}{code}")),
        TaxClass::City => is_digits(5).then(|| format!("{state_fips}{code}")),
        TaxClass::Special => None,
    };
    let named = || match class {
        TaxClass::State => search.state_name().to_owned(),
        TaxClass::County => format!("County {code}"),
        TaxClass::City => format!("City {code}"),
        TaxClass::Special => format!("Special district {code}"),
    };
    let name = rates.names.get(row).map_or_else(named, str::to_owned);
    Some(Component {
        class,
        code: code.to_owned(),
        fips: fips.filter(|fips| !fips.is_empty()),
        name,
        type_raw: rates.types_raw.get(row),
        general: rates.general(row, search.is_interstate)?,
        food_drug: rates.food_drug(row, search.is_interstate),
        food_exemption: search.food_exemption(),
        from: Some(rates.begin(row)),
        to: rates.end(row),
        row: Some((rates, row)),
    })
}
