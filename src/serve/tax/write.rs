//! Writes rates, amounts and where they come from as JSON. A rate that is not known is null, never zero.

use crate::json::Json;
use crate::tax::candidate::{Candidate, Component};
use crate::tax::figures::write_known;
use crate::tax::goods::{CLASSES, Category, Goods};
use crate::tax::lookup::{Found, Terms};
use crate::tax::search::Level;
use crate::tax::table::rates::Class as TaxClass;
use crate::tax::table::taxability::Rule;
use pubdata_store::Manifest;

/// Writes the provenance object of a component's rate; false when the state's own record says it.
pub fn write_rate_stamp(component: &Component<'_>, json: &mut Json, manifest: &Manifest) -> bool {
    if let Some((rates, row)) = component.row {
        rates.provenance.write(json, manifest, row);
    }
    component.row.is_some()
}

impl Found<'_> {
    /// Writes the data of an answer about a rate.
    pub fn write_rate(&self, json: &mut Json, manifest: &Manifest, terms: &Terms<'_>) {
        let category = terms.category;
        let first = self.candidates.first();
        let goods = Goods::from(category);
        json.object(|json| {
            write_known(json.key("combined_rate"), first.and_then(|candidate| candidate.combined(goods).ok()));
            write_known(json.key("known_rate"), first.map(|candidate| candidate.known(goods)));
            for class in TaxClass::ALL {
                let rate = first.filter(|candidate| candidate.knows(class)).and_then(|candidate| candidate.of_class(class, goods).ok());
                write_known(json.key(class.rate_name()), rate);
            }
            json.key("category").text(category.name());
            json.key("date").text(&terms.date.to_string());
            write_components(json.key("components"), first, category);
            self.write_location(json.key("location"));
            self.write_match(json.key("match"), category);
            self.write_sourcing(json);
            json.key("freight_taxable").optional_flag(self.freight_taxable());
            json.key("effective_date").optional_day(first.and_then(|first| first.effective_day().or(self.search.and_then(|search| search.rule_day()))));
            self.write_coverage(json.key("coverage"));
            self.write_rules(json.key("rules"), &CLASSES);
            self.write_provenance(json.key("provenance"), manifest, &self.rules(category));
        });
    }

    /// Writes the state's rules on some classes of goods.
    pub fn write_rules(&self, json: &mut Json, classes: &[&str]) {
        match &self.search {
            Some(search) => search.rules_of_goods().write(json, classes),
            None => json.array(|_| {}),
        }
    }

    /// Writes whose place was looked up, and what the state's rule on that is.
    pub fn write_sourcing(&self, json: &mut Json) {
        let rules = self.search.map(|search| (search.rules, search.rule));
        json.key("sourcing").text(if self.is_at_origin { "origin" } else { "destination" });
        json.key("sourcing_basis").object(|json| {
            json.key("state_rule").optional_text(rules.and_then(|(rules, row)| rules.sourcings.get(row)));
            json.key("rule").optional_text(rules.and_then(|(rules, row)| rules.sourcing_rules.get(row)));
            json.key("citation").optional_text(rules.and_then(|(rules, row)| rules.sourcing_citations.get(row)));
            json.key("url").optional_text(rules.and_then(|(rules, row)| rules.sourcing_pages.get(row)));
        });
    }

    fn write_location(&self, json: &mut Json) {
        let address = &self.location.address;
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let fips = |class: TaxClass| {
            let components = self.candidates.first().into_iter().filter(|_| self.candidates.len() == 1).flat_map(|candidate| &candidate.components);
            components.filter(|component| component.class == class).find_map(|component| component.fips.as_deref())
        };
        json.object(|json| {
            json.key("normalized").text(&address.normalized());
            json.key("zip").optional_text(filled(&address.zip).as_deref());
            json.key("zip4").optional_text(filled(&address.zip4).as_deref());
            json.key("state").text(self.location.state);
            json.key("county_fips").optional_text(fips(TaxClass::County));
            json.key("place_fips").optional_text(fips(TaxClass::City));
        });
    }

    /// Writes how the place was matched, with the other rates that it may have.
    pub fn write_match(&self, json: &mut Json, category: Category) {
        json.object(|json| {
            json.key("level").text(if self.candidates.is_empty() { Level::State } else { self.level }.name());
            json.key("is_ambiguous").flag(self.candidates.len() > 1);
            json.key("alternatives").array(|json| {
                for candidate in self.candidates.iter().skip(1) {
                    json.object(|json| {
                        write_known(json.key("combined_rate"), candidate.combined(category.into()).ok());
                        write_known(json.key("known_rate"), Some(candidate.known(category.into())));
                        write_components(json.key("components"), Some(candidate), category);
                    });
                }
            });
        });
    }

    pub fn write_coverage(&self, json: &mut Json) {
        json.object(|json| {
            json.key("level").text(self.coverage);
            json.key("rates_as_of").optional_day(self.rates_until);
        });
    }

    /// Writes the records that the answer was made from: the state's, the boundary's, one for each rate, and the rules that decided a rate.
    pub fn write_provenance(&self, json: &mut Json, manifest: &Manifest, rules: &[Rule<'_>]) {
        json.array(|json| {
            if let Some(search) = &self.search {
                search.rules.provenance.write(json, manifest, search.rule);
            }
            let Some(first) = self.candidates.first() else { return };
            if let Some(hit) = first.hit {
                hit.write_provenance(json, manifest);
            }
            first.components.iter().for_each(|component| {
                write_rate_stamp(component, json, manifest);
            });
            let mut written = Vec::new();
            for rule in rules {
                if !written.contains(&rule.record_id()) {
                    written.push(rule.record_id());
                    rule.write_provenance(json, manifest);
                }
            }
        });
    }
}

fn write_components(json: &mut Json, candidate: Option<&Candidate<'_>>, category: Category) {
    json.array(|json| {
        for component in candidate.into_iter().flat_map(|candidate| &candidate.components) {
            json.object(|json| {
                json.key("type").text(component.class.name());
                json.key("code").text(&component.code);
                json.key("fips").optional_text(component.fips.as_deref());
                json.key("name").text(&component.name);
                let rated = component.rate(category.into());
                write_known(json.key("rate"), rated.rate.ok());
                json.key("null_reason").optional_text(rated.rate.err());
                json.key("exempt_by").optional_text(component.exempt_by(category.into()).as_deref());
                json.key("rule").optional_text(rated.rule.map(|rule| rule.record_id()));
                json.key("effective_from").optional_day(component.from);
                json.key("effective_to").optional_day(component.to);
                json.key("raw_type").optional_text(component.type_raw);
            });
        }
    });
}
