//! Answers `POST /v1/tax/calculate`: the tax of a sale by line, jurisdiction and class of goods. What is not modelled is said in notices.

use super::body_address::{ADDRESS, location_of};
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::OF_RELEASE;
use crate::serve::http::problem::{Code, Problem, Result};
use crate::serve::json::Json;
use crate::serve::tax::calculation::{Item, Sale, Taxed, calculate as taxes_of};
use crate::serve::tax::candidate::{Candidate, Category};
use crate::serve::tax::dates::date_of;
use crate::serve::tax::fields::Fields;
use crate::serve::tax::invoice::{CLASSES, Invoice};
use crate::serve::tax::lookup::{Found, Terms, look_up};
use crate::serve::tax::rate::describe;
use crate::serve::tax::table::STATES;
use crate::serve::tax::write::{write_cents, write_rate};
use crate::store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/tax/calculate",
    operation_id: "calculateTax",
    summary: "Sales tax of a sale",
    access: Access::Scope(Scope::General),
    parameters: OF_RELEASE,
    body: Some("TaxCalculationRequest"),
    data: "TaxCalculation",
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
    let to = body.object("to", &ADDRESS)?.ok_or_else(|| body.missing("to"))?;
    let from = body.object("from", &ADDRESS)?;
    let invoice = Invoice::read(&body)?;
    let location = location_of(call, &to)?;
    let origin = from.map(|from| origin_of(call, &from)).transpose()?;
    let date = body.text("date", 10)?;
    let terms = Terms { date: date_of(date.as_deref(), call.today(), "date")?, is_date_given: date.is_some(), origin, category: Category::General };
    let found = look_up(call, location, &terms, "date")?;
    let Some(candidate) = found.candidates.first() else {
        let message = format!("sales tax of {} is not covered; /v1/coverage lists what is", found.location.state);
        return Err(Problem::of_field(Code::CoverageUnavailable, "to", message));
    };
    let answer = Answer::of(&found, candidate, &invoice);
    answer.write(json, &found, candidate, &invoice, &call.release.manifest, &terms);
    let mut meta = describe(&found);
    add_notices(call, &mut meta, &found, candidate, &invoice);
    if answer.is_delivery_mixed() {
        meta.notice("DELIVERY_NOT_DIVIDED", "Some of the goods bear no tax; the charge for the delivery of all is taxed whole. Some states let the seller tax only the part that is of taxed goods.");
    }
    Ok(meta)
}

/// The state that a sale comes from: only the state counts.
fn origin_of(call: &Call<'_>, fields: &Fields<'_>) -> Result<&'static str> {
    let names_only_state = fields.has("state") && !fields.has("zip") && !fields.has("address");
    if names_only_state {
        let state = fields.text("state", 200)?;
        return crate::serve::tax::rate::origin_of(state.as_deref(), &format!("{}state", fields.place()))?.ok_or_else(|| fields.missing("state"));
    }
    location_of(call, fields).map(|location| location.state)
}

/// Whether an item bears a tax; `classes` are the rates of each class.
fn is_taxed(classes: &[Vec<i64>], item: Item) -> bool {
    item.amount != 0 && item.class.is_some_and(|class| classes[class].iter().any(|rate| *rate != 0))
}

/// The tax of a sale, and of what it is made.
struct Answer {
    items: Vec<Item>,
    taxed: Vec<Taxed>,
    classes: Vec<Vec<i64>>,
    is_shipping_taxed: bool,
    shipping_basis: &'static str,
}

impl Answer {
    fn of(found: &Found<'_>, candidate: &Candidate<'_>, invoice: &Invoice) -> Self {
        let classes: Vec<Vec<i64>> = CLASSES.map(|category| candidate.components.iter().map(|component| component.rate(category)).collect()).into();
        let (is_taxable, shipping_basis) = match (invoice.shipping_taxable, found.freight_taxable()) {
            (Some(is_taxable), _) => (is_taxable, "request"),
            // What states tax is the delivery of goods that are taxed.
            (None, Some(is_taxable)) => (is_taxable && invoice.lines.iter().any(|line| is_taxed(&classes, line.item)), "state"),
            (None, None) => (false, "unknown"),
        };
        let is_shipping_taxed = is_taxable && !invoice.is_exempt;
        let shipping = Item { amount: invoice.shipping, class: is_shipping_taxed.then_some(0) };
        let items: Vec<Item> = invoice.lines.iter().map(|line| line.item).chain([shipping]).collect();
        let taxed = taxes_of(&Sale { classes: &classes, items: &items, rounding: invoice.rounding, prices_include_tax: invoice.prices_include_tax });
        Self { items, taxed, classes, is_shipping_taxed, shipping_basis }
    }

    /// Whether a charge is taxed by the state's rule that is also for goods that are not.
    fn is_delivery_mixed(&self) -> bool {
        let Some((shipping, lines)) = self.items.split_last() else { return false };
        self.is_shipping_taxed
            && self.shipping_basis == "state"
            && shipping.amount != 0
            && lines.iter().any(|item| item.amount != 0 && !is_taxed(&self.classes, *item))
    }

    fn write(&self, json: &mut Json, found: &Found<'_>, candidate: &Candidate<'_>, invoice: &Invoice, manifest: &crate::store::Manifest, terms: &Terms<'_>) {
        let tax: i64 = self.taxed.iter().map(|taxed| taxed.tax).sum();
        let charged: i64 = self.items.iter().map(|item| item.amount).sum();
        let taxable: i64 = self.taxed.iter().map(|taxed| taxed.taxable).sum();
        let (shipping, lines) = (self.items.len() - 1, 0..self.items.len() - 1);
        json.object(|json| {
            write_cents(json.key("taxable_amount"), taxable);
            write_cents(json.key("tax_amount"), tax);
            write_cents(json.key("order_total"), if invoice.prices_include_tax { charged } else { charged + tax });
            match self.effective_rate(taxable) {
                Some(rate) => write_rate(json.key("rate"), rate),
                None => json.key("rate").null(),
            }
            json.key("date").text(&terms.date.to_string());
            json.key("breakdown").array(|json| self.write_breakdown(json, candidate));
            json.key("line_items").array(|json| {
                for index in lines.filter(|_| invoice.has_lines) {
                    json.object(|json| {
                        json.key("id").optional_text(invoice.lines[index].id.as_deref());
                        self.write_item(json, candidate, index);
                    });
                }
            });
            json.key("shipping").object(|json| {
                write_cents(json.key("amount"), invoice.shipping);
                json.key("taxable").flag(self.is_shipping_taxed);
                json.key("taxable_basis").text(self.shipping_basis);
                self.write_item(json, candidate, shipping);
            });
            found.write_match(json.key("match"), terms.category);
            found.write_coverage(json.key("coverage"));
            found.write_provenance(json.key("provenance"), manifest);
        });
    }

    /// The combined rate of the classes, weighed by what is taxed of each, in millionths.
    fn effective_rate(&self, taxable: i64) -> Option<i64> {
        let weighed = self.items.iter().zip(&self.taxed).filter_map(|(item, taxed)| Some(i128::from(taxed.taxable) * i128::from(self.combined(item.class?))));
        let sum: i128 = weighed.sum();
        (taxable != 0).then(|| crate::serve::tax::calculation::rounded(sum * i128::from(taxable.signum()), i128::from(taxable.abs())))
    }

    fn combined(&self, class: usize) -> i64 {
        self.classes[class].iter().sum()
    }

    /// Each jurisdiction's tax by class of goods, as far as the sale has the class.
    fn write_breakdown(&self, json: &mut Json, candidate: &Candidate<'_>) {
        for (class, category) in CLASSES.into_iter().enumerate() {
            let of_class = || self.items.iter().zip(&self.taxed).filter(|(item, _)| item.class == Some(class) && item.amount != 0).map(|(_, taxed)| taxed);
            if of_class().next().is_none() {
                continue;
            }
            let taxable: i64 = of_class().map(|taxed| taxed.taxable).sum();
            for part in 0..candidate.components.len() {
                let tax = of_class().map(|taxed| taxed.parts[part]).sum();
                write_part(json, candidate, part, category, (taxable, tax));
            }
        }
    }

    fn write_item(&self, json: &mut Json, candidate: &Candidate<'_>, index: usize) {
        let (item, taxed) = (self.items[index], &self.taxed[index]);
        write_cents(json.key("taxable_amount"), taxed.taxable);
        write_rate(json.key("rate"), item.class.map_or(0, |class| self.combined(class)));
        write_cents(json.key("tax_amount"), taxed.tax);
        json.key("breakdown").array(|json| {
            let Some(class) = item.class else { return };
            taxed.parts.iter().enumerate().for_each(|(part, tax)| write_part(json, candidate, part, CLASSES[class], (taxed.taxable, *tax)));
        });
    }
}

fn write_part(json: &mut Json, candidate: &Candidate<'_>, part: usize, category: Category, (taxable, tax): (i64, i64)) {
    let component = &candidate.components[part];
    json.object(|json| {
        json.key("type").text(component.class.name());
        json.key("code").text(&component.code);
        json.key("name").text(&component.name);
        json.key("category").text(category.name());
        write_rate(json.key("rate"), component.rate(category));
        write_cents(json.key("taxable_amount"), taxable);
        write_cents(json.key("tax_amount"), tax);
    });
}

fn add_notices(call: &Call<'_>, meta: &mut Meta, found: &Found<'_>, candidate: &Candidate<'_>, invoice: &Invoice) {
    let has_food = invoice.lines.iter().any(|line| line.item.class == Some(1));
    meta.notices.extend(candidate.food_notice().filter(|_| has_food));
    if invoice.shipping != 0 && invoice.shipping_taxable.is_none() && found.freight_taxable().is_none() {
        let message = format!("Whether {} taxes delivery charges is not known here: they are not taxed. `shipping_taxable` decides.", found.location.state);
        meta.notice("FREIGHT_RULE_UNKNOWN", message);
    }
    if invoice.is_exempt {
        meta.notice("EXEMPTION_NOT_VERIFIED", "The exemption is taken as claimed; the seller needs the certificate.");
    }
    if let Some(cap) = call.contracts().get(STATES).and_then(|contract| contract.value("state", found.location.state)?.note("cap")) {
        meta.notice("CAPS_NOT_MODELLED", format!("In {} {cap}: the cap is not applied.", found.location.state));
    }
    meta.notice("HOLIDAYS_NOT_MODELLED", "Sales tax holidays are not applied.");
    meta.notice("NOT_TAX_ADVICE", "Computed from published rates; it is no tax advice, and does not say whether the seller must collect the tax.");
}
