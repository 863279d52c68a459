//! Writes rates, amounts and where they come from as JSON. A rate that is not known is null, never zero.

use crate::serve::json::{Json, Trim};
use crate::serve::tax::candidate::{Candidate, Category, Component};
use crate::serve::tax::lookup::{Found, Terms};
use crate::serve::tax::search::Level;
use crate::serve::tax::table::rates::Class as TaxClass;
use crate::store::Manifest;

/// Decimals of a rate.
const RATE_SCALE: u8 = 6;

/// Writes a rate as a fraction.
pub fn write_rate(json: &mut Json, millionths: i64) {
    json.decimal(millionths, RATE_SCALE, Trim::Zeros);
}

/// Writes an amount of money.
pub fn write_cents(json: &mut Json, cents: i64) {
    json.decimal(cents, 2, Trim::Keep);
}

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
        let rate = |json: &mut Json, name: &str, of: &dyn Fn(&Candidate<'_>) -> i64| match first {
            Some(candidate) => write_rate(json.key(name), of(candidate)),
            None => json.key(name).null(),
        };
        json.object(|json| {
            rate(json, "combined_rate", &|candidate| candidate.combined(category));
            for class in TaxClass::ALL {
                // Where only the state's own rate is covered, what others levy is not known; nor what districts do that cannot be told.
                let lacks_districts = class == TaxClass::Special && self.search.is_some_and(|search| search.lacks_districts());
                if lacks_districts || (self.coverage == "state_only" && class != TaxClass::State) {
                    json.key(class.rate_name()).null();
                } else {
                    rate(json, class.rate_name(), &|candidate| candidate.of_class(class, category));
                }
            }
            json.key("category").text(category.name());
            json.key("date").text(&terms.date.to_string());
            write_components(json.key("components"), first, category);
            self.write_location(json.key("location"));
            self.write_match(json.key("match"), category);
            json.key("sourcing").text("destination");
            json.key("freight_taxable").optional_flag(self.freight_taxable());
            json.key("effective_date").optional_day(first.and_then(|first| first.effective_day().or(self.search.and_then(|search| search.rule_day()))));
            self.write_coverage(json.key("coverage"));
            self.write_provenance(json.key("provenance"), manifest);
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
                        write_rate(json.key("combined_rate"), candidate.combined(category));
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

    /// Writes the records that the answer was made from: the state's, the boundary's, and one for each rate.
    pub fn write_provenance(&self, json: &mut Json, manifest: &Manifest) {
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
                write_rate(json.key("rate"), component.rate(category));
                json.key("exempt_by").optional_text(component.exempt_by(category));
                json.key("effective_from").optional_day(component.from);
                json.key("effective_to").optional_day(component.to);
                json.key("raw_type").optional_text(component.type_raw);
            });
        }
    });
}
