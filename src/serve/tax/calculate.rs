//! Answers `POST /v1/tax/calculate`: the tax of a sale by line, jurisdiction and class of goods. What is not modelled is said in notices.

use super::body_address::Place;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_RELEASE;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::tax::calculation::{Taxed, rounded};
use crate::tax::candidate::Candidate;
use crate::tax::dates::date_of;
use crate::tax::fields::Fields;
use crate::tax::figures::{write_cents, write_known};
use crate::tax::goods::{CLASSES, Category, SHIPPING, unread_notice};
use crate::tax::invoice::Invoice;
use crate::tax::location::Location;
use crate::tax::lookup::{Found, RULE_NOT_READ, Terms, look_up};
use crate::tax::rate::describe;
use crate::tax::sale::{Basis, Bearing, Outcome};
use crate::tax::table::rates::Class as TaxClass;
use crate::tax::table::{STATES, TaxTables};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/tax/calculate",
    operation_id: "calculateTax",
    summary: "Sales tax of a sale",
    access: Access::Scope(Scope::General),
    parameters: OF_RELEASE,
    body: Some("TaxCalculationRequest"),
    data: Data::Written("TaxCalculation"),
    validity: Validity::Release,
    handler: Handler::Memory(calculate),
};

const FIELDS: [&str; 10] = ["to", "from", "date", "amount", "line_items", "shipping", "shipping_taxable", "rounding", "prices_include_tax", "exemption"];

/// Answers `POST /v1/tax/calculate`.
///
/// # Errors
/// `invalid_json`, when the body is no JSON object; `unknown_parameter`, `missing_parameter` or `invalid_parameter`, naming the field;
/// `not_found`, when the place is not known; `coverage_unavailable`, when the release has no tax data, or none of the state.
pub fn calculate(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let body = Fields::of_body(call.body, &FIELDS)?;
    let to = Place::of_field(&body, "to")?.ok_or_else(|| body.missing("to"))?;
    let from = Place::of_field(&body, "from")?;
    let invoice = Invoice::read(&body)?;
    let destination = to.locate(call)?;
    let origin = from.map(|from| Origin::read(call, &from)).transpose()?;
    let date = body.text("date", 10)?;
    let day = date_of(date.as_deref(), call.today(), "date")?;
    let state = origin.as_ref().map(Origin::state);
    let seller = origin.and_then(Origin::place).filter(|place| place.state == destination.state && is_origin_sourced(call, place.state));
    let terms = Terms { date: day, is_date_given: date.is_some(), origin: state, category: Category::General, is_at_origin: seller.is_some() };
    let found = look_up(call, seller.unwrap_or(destination), &terms, "date")?;
    let Some(candidate) = found.candidates.first() else {
        let message = format!("sales tax of {} is not covered; /v1/coverage lists what is", found.location.state);
        return Err(Problem::of_field(Code::CoverageUnavailable, "to", message));
    };
    let answer = Answer { sale: Outcome::of(candidate, &invoice)?, found: &found, candidate, invoice: &invoice };
    answer.write(json, &call.release.manifest, &terms);
    let mut meta = describe(&found);
    answer.add_notices(call, &mut meta);
    Ok(meta)
}

/// Whether the whole tax of a sale within the state is that of the seller's place.
fn is_origin_sourced(call: &Call<'_>, state: &str) -> bool {
    let rules = TaxTables::of(call.release).rules.as_ref();
    rules.and_then(|rules| rules.sourcings.get(rules.states.find(state)?)) == Some("origin")
}

/// Where a sale comes from.
enum Origin {
    State(&'static str),
    Place(Box<Location>),
}

impl Origin {
    fn read(call: &Call<'_>, place: &Place<'_>) -> Result<Self> {
        let names_only_state = |fields: &&Fields<'_>| fields.has("state") && !["zip", "address", "city"].iter().any(|field| fields.has(field));
        let parts = match place {
            Place::Text { .. } => None,
            Place::Parts(fields) => Some(fields),
        };
        if let Some(fields) = parts.filter(names_only_state) {
            let state = fields.text("state", 200)?;
            let state = crate::tax::rate::origin_of(state.as_deref(), &format!("{}state", fields.place()))?;
            return state.map(Self::State).ok_or_else(|| fields.missing("state"));
        }
        place.locate(call).map(|location| Self::Place(Box::new(location)))
    }

    fn state(&self) -> &'static str {
        match self {
            Self::State(state) => state,
            Self::Place(location) => location.state,
        }
    }

    fn place(self) -> Option<Location> {
        match self {
            Self::State(_) => None,
            Self::Place(location) => Some(*location),
        }
    }
}

/// The answer about a sale.
struct Answer<'s, 'a> {
    sale: Outcome<'a>,
    found: &'s Found<'a>,
    candidate: &'s Candidate<'a>,
    invoice: &'s Invoice,
}

impl Answer<'_, '_> {
    fn write(&self, json: &mut Json, manifest: &pubdata_store::Manifest, terms: &Terms<'_>) {
        let tax = self.sale.known_tax();
        let charged: i64 = self.invoice.lines.iter().map(|line| line.amount).sum::<i64>() + self.invoice.shipping;
        let taxable: i64 = self.sale.taxed.iter().map(|taxed| taxed.taxable).sum();
        let lines = self.invoice.lines.len();
        let is_known = self.sale.is_known();
        json.object(|json| {
            write_money(json.key("taxable_amount"), Some(taxable).filter(|_| self.sale.sums.is_none()));
            write_money(json.key("tax_amount"), Some(tax).filter(|_| is_known));
            write_cents(json.key("known_tax_amount"), tax);
            write_money(json.key("order_total"), Some(if self.invoice.prices_include_tax { charged } else { charged + tax }).filter(|_| is_known));
            write_known(json.key("rate"), self.effective_rate(taxable).filter(|_| is_known));
            json.key("date").text(&terms.date.to_string());
            json.key("sums").array(|json| self.write_sums(json, charged));
            json.key("unknown").array(|json| self.write_unknown(json));
            json.key("breakdown").array(|json| self.write_breakdown(json));
            json.key("line_items").array(|json| {
                for index in (0..lines).filter(|_| self.invoice.has_lines) {
                    json.object(|json| {
                        json.key("id").optional_text(self.invoice.lines[index].id.as_deref());
                        json.key("category").optional_text(self.invoice.lines[index].category.map(Category::name));
                        self.write_item(json, index);
                    });
                }
            });
            json.key("shipping").object(|json| {
                write_cents(json.key("amount"), self.invoice.shipping);
                json.key("taxable").optional_flag(self.sale.delivery.is_taxed);
                json.key("taxable_basis").text(self.sale.delivery.basis.name());
                self.write_item(json, lines);
            });
            self.found.write_match(json.key("match"), terms.category);
            self.found.write_sourcing(json);
            self.found.write_coverage(json.key("coverage"));
            let sold = |class: &str| self.invoice.lines.iter().any(|line| line.category.is_some_and(|category| category.class() == class));
            let classes: Vec<&str> = CLASSES.into_iter().filter(|class| if *class == SHIPPING { self.invoice.shipping != 0 } else { sold(class) }).collect();
            self.found.write_rules(json.key("rules"), &classes);
            self.found.write_provenance(json.key("provenance"), manifest, &self.sale.rules);
        });
    }

    /// Both sums where it is not known whether the delivery is taxed.
    fn write_sums(&self, json: &mut Json, charged: i64) {
        for (tax, is_taxed) in self.sale.sums.into_iter().flatten().zip([false, true]) {
            json.object(|json| {
                json.key("shipping_taxable").flag(is_taxed);
                write_cents(json.key("known_tax_amount"), tax);
                write_cents(json.key("known_order_total"), if self.invoice.prices_include_tax { charged } else { charged + tax });
            });
        }
    }

    /// Which parts of which items are not known, and what of the sale depends on them.
    fn write_unknown(&self, json: &mut Json) {
        for index in (0..self.sale.items.len()).filter(|index| !self.sale.is_item_known(*index)) {
            let Some(bearing) = self.sale.bearing(index) else { continue };
            for (component, reason) in self.candidate.components.iter().zip(&bearing.rates).filter_map(|(component, rate)| Some((component, rate.err()?))) {
                json.object(|json| {
                    let line = self.invoice.lines.get(index);
                    json.key("part").text(if line.is_some() { "line_items" } else { SHIPPING });
                    json.key("index").optional_integer(line.and_then(|_| i64::try_from(index).ok()));
                    json.key("id").optional_text(line.and_then(|line| line.id.as_deref()));
                    json.key("category").text(if line.is_some() { bearing.category.name() } else { SHIPPING });
                    write_cents(json.key("amount"), self.sale.items[index].amount);
                    json.key("type").text(component.class.name());
                    json.key("code").text(&component.code);
                    json.key("reason").text(reason);
                });
            }
        }
    }

    /// The combined rate of the classes, weighed by what is taxed of each, in millionths.
    fn effective_rate(&self, taxable: i64) -> Option<i64> {
        let sum: i128 = (0..self.sale.items.len()).map(|item| self.weighed(item)).sum();
        (taxable != 0).then(|| rounded(sum * i128::from(taxable.signum()), i128::from(taxable.abs())))
    }

    /// The unrounded tax of an item, in millionths of a cent.
    fn weighed(&self, item: usize) -> i128 {
        let rates = self.sale.bearing(item).map_or(&[][..], |bearing| &bearing.rates);
        rates.iter().enumerate().map(|(part, rate)| i128::from(self.base(item, part)) * i128::from(rate.unwrap_or(0))).sum()
    }

    /// What of an item a component's tax is on.
    fn base(&self, item: usize, part: usize) -> i64 {
        let is_local = self.candidate.components[part].class != TaxClass::State;
        self.sale.items[item].local.filter(|_| is_local).unwrap_or(self.sale.taxed[item].taxable)
    }

    /// Each jurisdiction's tax by class of goods, as far as the sale has the class.
    fn write_breakdown(&self, json: &mut Json) {
        for (class, bearing) in self.sale.classes.iter().enumerate() {
            let items: Vec<usize> =
                (0..self.sale.items.len()).filter(|item| self.sale.items[*item].class == Some(class) && self.sale.items[*item].amount != 0).collect();
            for part in (0..self.candidate.components.len()).filter(|_| !items.is_empty()) {
                let taxable = items.iter().map(|item| self.base(*item, part)).sum();
                let tax = items.iter().map(|item| self.sale.taxed[*item].parts[part]).sum();
                self.write_part(json, bearing, part, (taxable, tax));
            }
        }
    }

    fn write_item(&self, json: &mut Json, index: usize) {
        let (taxed, bearing): (&Taxed, _) = (&self.sale.taxed[index], self.sale.bearing(index));
        let is_known = self.sale.is_item_known(index);
        write_cents(json.key("taxable_amount"), taxed.taxable);
        let of_cap = self.sale.items[index].local.map(|_| rounded(self.weighed(index) * i128::from(taxed.taxable.signum()), i128::from(taxed.taxable.abs())));
        write_known(json.key("rate"), bearing.map_or(Some(0), |bearing| bearing.combined().ok().map(|rate| of_cap.unwrap_or(rate))));
        write_money(json.key("tax_amount"), Some(taxed.tax).filter(|_| is_known));
        write_cents(json.key("known_tax_amount"), taxed.tax);
        json.key("breakdown").array(|json| {
            let Some(bearing) = bearing else { return };
            taxed.parts.iter().enumerate().for_each(|(part, tax)| self.write_part(json, bearing, part, (self.base(index, part), *tax)));
        });
    }

    fn write_part(&self, json: &mut Json, bearing: &Bearing<'_>, part: usize, (taxable, tax): (i64, i64)) {
        let (component, rate) = (&self.candidate.components[part], bearing.rates[part]);
        json.object(|json| {
            json.key("type").text(component.class.name());
            json.key("code").text(&component.code);
            json.key("name").text(&component.name);
            json.key("category").text(bearing.category.name());
            write_known(json.key("rate"), rate.ok());
            json.key("null_reason").optional_text(rate.err());
            write_cents(json.key("taxable_amount"), taxable);
            write_money(json.key("tax_amount"), rate.ok().map(|_| tax));
        });
    }

    fn add_notices(&self, call: &Call<'_>, meta: &mut Meta) {
        let (invoice, state) = (self.invoice, self.found.location.state);
        let has_food_drug = invoice.lines.iter().any(|line| line.category == Some(Category::FoodDrug));
        let differ = self.found.search.and_then(|search| search.rules_of_goods().food_drug_notice()).filter(|_| has_food_drug);
        if let Some(message) = differ {
            meta.notice("FOOD_DRUG_DIFFER", message);
        }
        if invoice.shipping != 0 && self.sale.delivery.basis == Basis::Unknown {
            let message = format!("Whether {state} taxes this delivery is not known here: `sums` has the tax with it and without. `shipping_taxable` decides.");
            meta.notice("FREIGHT_RULE_UNKNOWN", message);
        }
        if !self.sale.is_known() {
            meta.notice(
                "TAX_PARTLY_UNKNOWN",
                "Parts of the tax are not known, as `unknown` says: `tax_amount` is null, and `known_tax_amount` is the sum of the others.",
            );
        }
        if invoice.is_exempt {
            meta.notice("EXEMPTION_NOT_VERIFIED", "The exemption is taken as claimed; the seller needs the certificate.");
        }
        if let Some(cap) = call.contracts().get(STATES).and_then(|contract| contract.value("state", state)?.note("cap")) {
            meta.notice("CAPS_NOT_MODELLED", format!("In {state} {cap}: the cap is not applied."));
        }
        let is_used = |rule: &&crate::tax::table::taxability::Rule<'_>| invoice.shipping != 0 || rule.class() != SHIPPING;
        if let Some(message) = unread_notice(self.sale.rules.iter().filter(is_used).copied()) {
            meta.notice(RULE_NOT_READ, message);
        }
        if let Some(cap) = self.sale.cap.filter(|_| self.sale.items.iter().any(|item| item.local.is_some())) {
            let message = format!(
                "Local taxes of {state} are on the first {} dollars of an item: each piece of a line is taken as an item. What is sold in bulk, or as parts of one working unit, is one item and one line.",
                cap / 100
            );
            meta.notice("CAP_APPLIED", message);
        }
        meta.notice("HOLIDAYS_NOT_MODELLED", "Sales tax holidays are not applied.");
        meta.notice("NOT_TAX_ADVICE", "Computed from published rates; it is no tax advice, and does not say whether the seller must collect the tax.");
        if self.is_delivery_mixed() {
            meta.notice("DELIVERY_NOT_DIVIDED", "Some of the goods bear no tax; the charge for the delivery of all is taxed whole. Some states let the seller tax only the part that is of taxed goods.");
        }
    }

    /// Whether a charge is taxed by the state's rule that is also for goods that are not.
    fn is_delivery_mixed(&self) -> bool {
        let delivery = self.sale.items.len() - 1;
        let is_untaxed = |(index, line): (usize, &crate::tax::invoice::Line)| line.amount != 0 && !self.sale.is_taxed(index);
        self.sale.delivery.basis == Basis::State && self.sale.is_taxed(delivery) && self.invoice.lines.iter().enumerate().any(is_untaxed)
    }
}

fn write_money(json: &mut Json, cents: Option<i64>) {
    match cents {
        Some(cents) => write_cents(json, cents),
        None => json.null(),
    }
}
