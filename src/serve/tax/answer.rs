//! Builds the answer for a rate, and the parts that answers for sales share with it. An unknown
//! rate is null, never zero.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::release::provenance::Provenance;
use crate::tax::candidate::{Candidate, Component};
use crate::tax::figures::rate;
use crate::tax::goods::{CLASSES, Category, Goods, TaxRule};
use crate::tax::lookup::{Found, Terms};
use crate::tax::search::Level;
use crate::tax::table::rates::Class as TaxClass;
use crate::tax::table::taxability::Rule;
use pubdata_store::Manifest;

#[derive(Serialize, JsonSchema)]
pub struct TaxRate<'a> {
    /// Sum of the components, as a fraction from 0 to 1: 0.0725 is 7.25 percent; null if a
    /// component is not known.
    combined_rate: Option<Decimal>,
    /// Sum of the known components, as a fraction from 0 to 1: 0.0725 is 7.25 percent; null if
    /// nothing is known about the state.
    known_rate: Option<Decimal>,
    /// Rate of the state, as a fraction from 0 to 1: 0.0725 is 7.25 percent; null if it is not
    /// known.
    state_rate: Option<Decimal>,
    /// Rate of the county, as a fraction from 0 to 1: 0.01 is 1 percent; 0 if no county taxes sales
    /// there, null if the rate is not known.
    county_rate: Option<Decimal>,
    /// Rate of the city, as a fraction from 0 to 1: 0.01 is 1 percent; 0 if no city taxes sales
    /// there, null if the rate is not known.
    city_rate: Option<Decimal>,
    /// Sum of the rates of special districts, as a fraction from 0 to 1: 0.01 is 1 percent; 0 if no
    /// district taxes sales there, null if the sum is not known.
    special_rate: Option<Decimal>,
    /// Class of goods that the rates apply to.
    category: Category,
    /// Day of the sale; the rates are those of this day.
    #[schemars(with = "Date")]
    date: jiff::civil::Date,
    /// Jurisdictions that tax sales at the place, with their rates.
    components: Vec<TaxComponent<'a>>,
    /// The place as it was looked up.
    location: TaxRateLocation<'a>,
    /// How the place was matched to tax jurisdictions.
    #[serde(rename = "match")]
    place_match: TaxMatch<'a>,
    /// Place whose rate this is: the destination of the sale or its origin.
    sourcing: SourcingPlace,
    /// The state's rule on which place decides the rate of a sale within the state.
    sourcing_basis: TaxSourcing<'a>,
    /// True if the state's rule taxes the delivery of taxed goods; null if this is not known or
    /// depends on the terms.
    freight_taxable: Option<bool>,
    /// First day on which all components apply.
    effective_date: Option<Date>,
    /// How completely the state's rates are known.
    coverage: TaxCoverage,
    /// The state's rules on the day, by class of goods and level of government.
    rules: Vec<TaxRule<'a>>,
    /// Records behind the answer: the state's record, the boundary's record, one record for each
    /// rate, and the rules that decided a rate.
    provenance: Vec<Provenance<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct TaxComponent<'a> {
    /// Class of the jurisdiction; `local` is the sum of all local taxes of a state whose local
    /// rates are not covered.
    #[serde(rename = "type")]
    class: TaxClass,
    /// Code of the jurisdiction as published; `local` or `special` for taxes that are not known
    /// individually.
    code: &'a str,
    /// FIPS code with the state's digits; null if the published code is not a FIPS code.
    fips: Option<&'a str>,
    /// Name of the jurisdiction.
    name: &'a str,
    /// Rate as a fraction from 0 to 1: 0.06875 is 6.875 percent; null if the rate is not known.
    rate: Option<Decimal>,
    /// Why the rate is not known: the reason of a rule, `no_rule_published`,
    /// `local_rates_not_covered`, `city_not_listed`, `local_rate_not_divided`,
    /// `district_boundaries_not_published` or `no_rate_published`.
    null_reason: Option<&'a str>,
    /// Statute or regulation, with its URL, that exempts the category; null if no rule exempts it.
    exempt_by: Option<String>,
    /// Record of the rule that decided the rate; null for general goods.
    rule: Option<&'a str>,
    /// First day of the rate; null if it is not known.
    effective_from: Option<Date>,
    /// Last day of the rate; null if it has no end.
    effective_to: Option<Date>,
    /// Type code as published; null if the rate is not from a rate file.
    raw_type: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct TaxRateLocation<'a> {
    /// Address, normalised for comparison but not validated.
    normalized: String,
    /// Five-digit ZIP code; null if the request has none.
    zip: Option<&'a str>,
    /// Four-digit ZIP+4 extension; null if the request has none.
    zip4: Option<&'a str>,
    /// Two-letter postal code of the state.
    state: &'static str,
    /// County that taxes sales at the place; null if no county does or the county is not certain.
    county_fips: Option<&'a str>,
    /// City that taxes sales at the place; null if no city does or the city is not certain.
    place_fips: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
pub struct TaxMatch<'a> {
    /// How the place was matched, from the most to the least exact: an address range, a ZIP+4 code,
    /// a five-digit ZIP code, a ZIP code whose parts agree, the lowest rate in a ZIP code, a place
    /// name, a county, or only the state.
    level: Level,
    /// True if parts of the place have different rates.
    is_ambiguous: bool,
    /// Other rates that the place may have; empty if it is not ambiguous.
    alternatives: Vec<TaxMatchAlternative<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct TaxMatchAlternative<'a> {
    /// Sum of the components, as a fraction from 0 to 1: 0.0725 is 7.25 percent; null if a
    /// component is not known.
    combined_rate: Option<Decimal>,
    /// Sum of the known components, as a fraction from 0 to 1: 0.0725 is 7.25 percent.
    known_rate: Decimal,
    /// Jurisdictions that tax sales at this alternative, with their rates.
    components: Vec<TaxComponent<'a>>,
}

/// Place that decides a rate: the seller's or the buyer's.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourcingPlace {
    Destination,
    Origin,
}

/// The state's rule on which place decides the rate of a sale within the state.
#[derive(Serialize, JsonSchema)]
pub struct TaxSourcing<'a> {
    #[schemars(extend("$field" = "tax.state/sourcing"))]
    state_rule: Option<&'a str>,
    #[schemars(extend("$field" = "tax.state/sourcing_rule"))]
    rule: Option<&'a str>,
    #[schemars(extend("$field" = "tax.state/sourcing_citation"))]
    citation: Option<&'a str>,
    #[schemars(extend("$field" = "tax.state/sourcing_page"))]
    url: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
pub struct TaxCoverage {
    /// Coverage of the state on the day. `full`: all rates and their boundaries. `partial`: rates
    /// by place name, without some districts, or from an expired file, as a notice reports.
    /// `state_only`: the state's own rate. `none`: nothing.
    #[schemars(extend("enum" = ["full", "partial", "state_only", "none"]))]
    level: &'static str,
    /// Last day of the quarter that the state's newest rate file covers; null if no such file
    /// contains its rates.
    rates_as_of: Option<Date>,
}

impl<'a> Component<'a> {
    fn shown(&self, category: Category) -> TaxComponent<'_> {
        let rated = self.rate(category.into());
        TaxComponent {
            class: self.class,
            code: &self.code,
            fips: self.fips.as_deref(),
            name: &self.name,
            rate: rated.rate.ok().map(rate),
            null_reason: rated.rate.err(),
            exempt_by: self.exempt_by(category.into()),
            rule: rated.rule.map(|rule| rule.record_id()),
            effective_from: self.from.map(Date),
            effective_to: self.to.map(Date),
            raw_type: self.type_raw,
        }
    }

    /// Returns the provenance of the rate's row, or `None` if the rate comes from the state's own
    /// record.
    pub fn provenance(&self, manifest: &'a Manifest) -> Option<Provenance<'a>> {
        self.row
            .map(|(rates, row)| rates.provenance.for_row(manifest, row))
    }
}

impl Candidate<'_> {
    fn shown(&self, category: Category) -> Vec<TaxComponent<'_>> {
        self.components
            .iter()
            .map(|component| component.shown(category))
            .collect()
    }
}

impl<'a> Found<'a> {
    /// Builds the answer for a rate.
    pub fn shown<'r>(&'r self, manifest: &'r Manifest, terms: &Terms<'_>) -> TaxRate<'r> {
        let category = terms.category;
        let first = self.candidates.first();
        let goods = Goods::from(category);
        let of_class = |class: TaxClass| {
            first
                .filter(|candidate| candidate.knows(class))
                .and_then(|candidate| candidate.of_class(class, goods).ok())
                .map(rate)
        };
        TaxRate {
            combined_rate: first
                .and_then(|candidate| candidate.combined(goods).ok())
                .map(rate),
            known_rate: first.map(|candidate| rate(candidate.known(goods))),
            state_rate: of_class(TaxClass::State),
            county_rate: of_class(TaxClass::County),
            city_rate: of_class(TaxClass::City),
            special_rate: of_class(TaxClass::Special),
            category,
            date: terms.date,
            components: first
                .map(|candidate| candidate.shown(category))
                .unwrap_or_default(),
            location: self.shown_location(),
            place_match: self.place_match(category),
            sourcing: self.sourcing(),
            sourcing_basis: self.sourcing_basis(),
            freight_taxable: self.freight_taxable(),
            effective_date: first
                .and_then(|first| {
                    first
                        .effective_day()
                        .or(self.search.and_then(|search| search.rule_day()))
                })
                .map(Date),
            coverage: self.coverage(),
            rules: self.shown_rules(&CLASSES),
            provenance: self.provenance(manifest, &self.rules(category)),
        }
    }

    /// Returns the state's rules for some classes of goods.
    pub fn shown_rules(&self, classes: &[&'static str]) -> Vec<TaxRule<'a>> {
        self.search
            .map(|search| search.rules_of_goods().shown(classes))
            .unwrap_or_default()
    }

    /// Returns which place was looked up.
    pub fn sourcing(&self) -> SourcingPlace {
        if self.is_at_origin {
            SourcingPlace::Origin
        } else {
            SourcingPlace::Destination
        }
    }

    /// Returns the state's sourcing rule with its source.
    pub fn sourcing_basis(&self) -> TaxSourcing<'a> {
        let rules = self.search.map(|search| (search.rules, search.rule));
        TaxSourcing {
            state_rule: rules.and_then(|(rules, row)| rules.columns.sourcing.get(row)),
            rule: rules.and_then(|(rules, row)| rules.columns.sourcing_rule.get(row)),
            citation: rules.and_then(|(rules, row)| rules.columns.sourcing_citation.get(row)),
            url: rules.and_then(|(rules, row)| rules.columns.sourcing_page.get(row)),
        }
    }

    fn shown_location(&self) -> TaxRateLocation<'_> {
        let address = &self.location.address;
        let filled = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let fips = |class: TaxClass| {
            let components = self
                .candidates
                .first()
                .into_iter()
                .filter(|_| self.candidates.len() == 1)
                .flat_map(|candidate| &candidate.components);
            components
                .filter(|component| component.class == class)
                .find_map(|component| component.fips.as_deref())
        };
        TaxRateLocation {
            normalized: address.normalized(),
            zip: filled(&address.zip),
            zip4: filled(&address.zip4),
            state: self.location.state,
            county_fips: fips(TaxClass::County),
            place_fips: fips(TaxClass::City),
        }
    }

    /// Reports how the place was matched, with the other rates that may apply to the place.
    pub fn place_match(&self, category: Category) -> TaxMatch<'_> {
        let others = self
            .candidates
            .iter()
            .skip(1)
            .map(|candidate| TaxMatchAlternative {
                combined_rate: candidate.combined(category.into()).ok().map(rate),
                known_rate: rate(candidate.known(category.into())),
                components: candidate.shown(category),
            });
        TaxMatch {
            level: if self.candidates.is_empty() {
                Level::State
            } else {
                self.level
            },
            is_ambiguous: self.candidates.len() > 1,
            alternatives: others.collect(),
        }
    }

    pub fn coverage(&self) -> TaxCoverage {
        TaxCoverage {
            level: self.coverage,
            rates_as_of: self.rates_until.map(Date),
        }
    }

    /// Returns the records behind the answer: the state's record, the boundary's record, one record
    /// for each rate, and the rules that decided a rate.
    pub fn provenance<'r>(&self, manifest: &'r Manifest, rules: &[Rule<'r>]) -> Vec<Provenance<'r>>
    where
        'a: 'r,
    {
        let mut records: Vec<Provenance<'r>> = self
            .search
            .map(|search| search.rules.provenance.for_row(manifest, search.rule))
            .into_iter()
            .collect();
        let Some(first) = self.candidates.first() else {
            return records;
        };
        records.extend(first.hit.map(|hit| hit.provenance(manifest)));
        records.extend(
            first
                .components
                .iter()
                .filter_map(|component| component.provenance(manifest)),
        );
        let mut decided = Vec::new();
        for rule in rules {
            if !decided.contains(&rule.record_id()) {
                decided.push(rule.record_id());
                records.push(rule.provenance(manifest));
            }
        }
        records
    }
}
