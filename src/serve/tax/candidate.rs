//! Looks up the rates that a set of jurisdictions charges on a day, individually and combined.

use crate::tax::goods::{Category, Goods, NO_RULE, StateRules};
use crate::tax::search::{Hit, Search};
use crate::tax::table::boundaries::Jurisdictions;
use crate::tax::table::rates::{Class as TaxClass, Rates};
use crate::tax::table::taxability::{Level, Rule, Says};
use pubdata_core::canonical::state;

/// One set of jurisdictions in which a place may lie.
#[derive(Debug, Default)]
pub struct Candidate<'a> {
    pub components: Vec<Component<'a>>,
    /// Boundary record of the set, or `None` if the jurisdictions were found by name or only the
    /// state taxes sales.
    pub hit: Option<Hit<'a>>,
    /// Jurisdictions without a published rate for the day.
    pub missing: Vec<String>,
    /// Distance from the city that names a place without a ZIP code. 0 is the city itself.
    pub rank: u8,
}

/// Rate of one jurisdiction.
#[derive(Debug)]
pub struct Component<'a> {
    pub class: TaxClass,
    pub code: String,
    pub fips: Option<String>,
    pub name: String,
    pub type_raw: Option<&'a str>,
    pub general: Known<'a>,
    /// Rate for food and drugs in millionths, or `None` if the publisher states no such rate.
    pub food_drug: Option<i64>,
    /// Rules for what the state taxes.
    pub rules: StateRules<'a>,
    /// First and last day, in days since 1970-01-01.
    pub from: Option<i32>,
    pub to: Option<i32>,
    /// Row of the rate, or `None` if the rate comes from the state's own record.
    pub row: Option<(&'a Rates, usize)>,
}

/// Reason code for a jurisdiction that taxes sales but whose record states no rate.
const NOT_ESTABLISHED: &str = "not_established";

/// A rate in millionths, or the reason why it is not known.
pub type Known<'a> = Result<i64, &'a str>;

/// The rate of a component for some goods, and the rule that decided it.
#[derive(Debug, Clone, Copy)]
pub struct Rated<'a> {
    pub rate: Known<'a>,
    pub rule: Option<Rule<'a>>,
}

impl<'a> Component<'a> {
    /// Returns the rate for some goods. A class of goods without a rule has no rate; the general
    /// rate never replaces it.
    ///
    /// A publisher's file may contain a rate for food. This rate applies if it differs from the
    /// general rate. If both rates are equal, the file may not distinguish food.
    pub fn rate(&self, goods: Goods) -> Rated<'a> {
        let level = if self.class == TaxClass::State {
            Level::State
        } else {
            Level::Local
        };
        if goods.category == Category::General {
            // A rule for general goods at this level limits the amount of an item to which the rate
            // applies.
            let rule = self
                .rules
                .rule(goods.category.class(), level)
                .filter(|rule| rule.cap().is_some());
            return Rated {
                rate: self.general,
                rule,
            };
        }
        let own = self
            .food_drug
            .filter(|own| goods.category.is_food() && Ok(*own) != self.general);
        let rule = self.rules.rule(goods.category.class(), level);
        let rate = match rule.map(|rule| rule.says(goods.price)) {
            None => own.ok_or(NO_RULE),
            Some(Says::Exempt) => Ok(0),
            Some(Says::Rate(rate)) if matches!(self.class, TaxClass::State | TaxClass::Local) => {
                Ok(rate)
            }
            // The rule states the sum of all local taxes, whereas a file may state each local tax.
            Some(Says::Rate(_)) => self
                .food_drug
                .filter(|_| goods.category.is_food())
                .ok_or("local_rate_not_divided"),
            Some(Says::General) => own.map_or(self.general, Ok),
            Some(Says::Unknown(reason)) => own.ok_or(reason),
        };
        Rated { rate, rule }
    }

    /// Returns the citation that exempts some goods from the component's tax.
    pub fn exempt_by(&self, goods: Goods) -> Option<String> {
        let rule = self
            .rate(goods)
            .rule
            .filter(|rule| rule.says(goods.price) == Says::Exempt)?;
        Some(rule.url().map_or_else(
            || rule.citation().to_owned(),
            |url| format!("{}: {url}", rule.citation()),
        ))
    }
}

impl<'a> Candidate<'a> {
    /// Looks up the rates of a set of jurisdictions.
    pub fn new(search: &Search<'a>, set: &Jurisdictions, hit: Option<Hit<'a>>) -> Self {
        let mut candidate = Self {
            hit,
            ..Self::default()
        };
        if set.has_state_tax {
            match state_component(search) {
                Some(component) => candidate.components.push(component),
                None => candidate.missing.push(search.state_code.to_owned()),
            }
        }
        for (class, code) in set.local() {
            match local_component(search, set, class, code) {
                Some(component) => candidate.components.push(component),
                None => {
                    candidate.missing.push(format!("{} {code}", class.name()));
                    candidate.add_unknown(search, class, code, "no_rate_published");
                }
            }
        }
        candidate.move_minimum_to_state(search);
        candidate
    }

    /// Returns the combined rate, which is unknown if the rate of any component is unknown.
    pub fn combined(&self, goods: Goods) -> Known<'a> {
        self.components
            .iter()
            .map(|component| component.rate(goods).rate)
            .sum()
    }

    /// Returns the sum of the known rates, in millionths.
    pub fn known(&self, goods: Goods) -> i64 {
        self.components
            .iter()
            .filter_map(|component| component.rate(goods).rate.ok())
            .sum()
    }

    /// Returns the combined rate of a class of jurisdictions, which is unknown if any rate in the
    /// class is unknown.
    pub fn of_class(&self, class: TaxClass, goods: Goods) -> Known<'a> {
        self.components
            .iter()
            .filter(|component| component.class == class)
            .map(|component| component.rate(goods).rate)
            .sum()
    }

    /// Returns true if all jurisdictions of a class that tax sales are known. Unknown local taxes
    /// may belong to any class except the state.
    pub fn knows(&self, class: TaxClass) -> bool {
        let is_unknown = |component: &Component<'_>| {
            component.class == TaxClass::Local && component.general.is_err()
        };
        class == TaxClass::State
            || self
                .components
                .iter()
                .any(|component| component.class == class)
            || !self.components.iter().any(is_unknown)
    }

    /// Adds taxes whose general rate is not known.
    pub fn add_unknown(
        &mut self,
        search: &Search<'a>,
        class: TaxClass,
        code: &str,
        reason: &'static str,
    ) {
        let name = match class {
            TaxClass::Local => format!("Local taxes of {}", search.state_name()),
            TaxClass::Special => format!("Special districts of {}", search.state_name()),
            _ => format!("{} {code}", class.name()),
        };
        let rules = search.rules_of_goods();
        self.components.push(Component {
            class,
            code: code.to_owned(),
            fips: None,
            name,
            type_raw: None,
            general: Err(reason),
            food_drug: None,
            rules,
            from: None,
            to: None,
            row: None,
        });
    }

    /// Returns the first day on which all components apply, in days since 1970-01-01.
    pub fn effective_day(&self) -> Option<i32> {
        self.components
            .iter()
            .filter_map(|component| component.from)
            .chain(self.hit.map(|hit| hit.days().0))
            .max()
    }

    /// Moves the state's published minimum rate (Nevada) from the county to the state. In the
    /// published file, the state's row is zero and the counties' rates include the minimum.
    fn move_minimum_to_state(&mut self, search: &Search<'_>) {
        let Some(minimum) = search.rule_rate().filter(|minimum| *minimum > 0) else {
            return;
        };
        let is_zero = |component: &Component<'_>| {
            component.class == TaxClass::State
                && component.row.is_some()
                && component.general == Ok(0)
        };
        let (Some(state), Some(county)) = (
            self.components.iter().position(is_zero),
            self.components.iter().position(|component| {
                component.class == TaxClass::County
                    && component.general.is_ok_and(|general| general >= minimum)
            }),
        ) else {
            return;
        };
        self.components[state].general = Ok(minimum);
        self.components[county].general = self.components[county]
            .general
            .map(|general| general - minimum);
    }
}

fn state_component<'a>(search: &Search<'a>) -> Option<Component<'a>> {
    let rows = search.state.rates.iter().flat_map(|rates| {
        rates
            .of_class(TaxClass::State)
            .filter(|row| rates.is_on(*row, search.day))
            .map(move |row| (rates, row))
    });
    if let Some((rates, row)) = rows.max_by_key(|(rates, row)| rates.begin(*row)) {
        return component(search, rates, row);
    }
    let has_started = search.rule_day().is_none_or(|day| day <= search.day);
    let general = search.rule_rate().filter(|_| has_started)?;
    Some(Component {
        class: TaxClass::State,
        code: state_fips(search).to_owned(),
        fips: state::fips(search.state_code).map(str::to_owned),
        name: search.state_name().to_owned(),
        type_raw: None,
        general: Ok(general),
        food_drug: None,
        rules: search.rules_of_goods(),
        from: search.rule_day(),
        to: None,
        row: None,
    })
}

fn state_fips(search: &Search<'_>) -> &'static str {
    state::fips(search.state_code).unwrap_or(search.state_code)
}

/// Returns the rate row of a local jurisdiction. Districts may have another type code in the rates
/// than in the boundaries; a row with an equal code is preferred.
fn local_component<'a>(
    search: &Search<'a>,
    set: &Jurisdictions,
    class: TaxClass,
    code: &str,
) -> Option<Component<'a>> {
    let rows = search.state.rates.iter().flat_map(|rates| {
        rates
            .on(class, code, search.day)
            .map(move |row| (rates, row))
    });
    let is_same_type = |rates: &Rates, row: usize| {
        set.special
            .iter()
            .any(|(type_raw, known)| known == code && rates.types_raw.get(row) == Some(type_raw))
    };
    let (rates, row) =
        rows.max_by_key(|(rates, row)| (is_same_type(rates, *row), rates.begin(*row)))?;
    component(search, rates, row)
}

fn component<'a>(search: &Search<'a>, rates: &'a Rates, row: usize) -> Option<Component<'a>> {
    let (class, code) = (rates.class(row), rates.codes.at(row));
    let state_fips = rates.state_fips.at(row);
    let is_digits =
        |count: usize| code.len() == count && code.bytes().all(|byte| byte.is_ascii_digit());
    let fips = match class {
        TaxClass::State => Some(state_fips.to_owned()),
        TaxClass::County => is_digits(3).then(|| format!("{state_fips}{code}")),
        TaxClass::City => is_digits(5).then(|| format!("{state_fips}{code}")),
        TaxClass::Special | TaxClass::Local => None,
    };
    let named = || match class {
        TaxClass::State => search.state_name().to_owned(),
        TaxClass::County => format!("County {code}"),
        TaxClass::City => format!("City {code}"),
        TaxClass::Special | TaxClass::Local => format!("Special district {code}"),
    };
    let name = rates.names.get(row).map_or_else(named, str::to_owned);
    let general = rates.general(row, search.is_interstate);
    if general.is_none() && class == TaxClass::State {
        return None;
    }
    Some(Component {
        class,
        code: code.to_owned(),
        fips: fips.filter(|fips| !fips.is_empty()),
        name,
        type_raw: rates.types_raw.get(row),
        general: general.ok_or(NOT_ESTABLISHED),
        food_drug: rates.food_drug(row, search.is_interstate),
        rules: search.rules_of_goods(),
        from: Some(rates.begin(row)),
        to: rates.end(row),
        row: Some((rates, row)),
    })
}
