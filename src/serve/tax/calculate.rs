//! Answers `POST /v1/tax/calculate`: the tax of a sale by line, jurisdiction and class of goods. What is not modelled is said in notices.

use super::body_address::Place;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::OF_RELEASE;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::tax::calculated::{Calculated, TaxCalculation};
use crate::tax::dates::date_of;
use crate::tax::fields::Fields;
use crate::tax::goods::{Category, SHIPPING, unread_notice};
use crate::tax::invoice::Invoice;
use crate::tax::location::Location;
use crate::tax::lookup::{RULE_NOT_READ, Terms, look_up};
use crate::tax::rate::describe;
use crate::tax::sale::{Basis, Outcome};
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
    data: Data::of::<TaxCalculation<'static>>(),
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
    let calculated = Calculated { sale: Outcome::of(candidate, &invoice)?, found: &found, candidate, invoice: &invoice };
    json.value(&calculated.shown(&call.release.manifest, &terms));
    let mut meta = describe(&found);
    calculated.add_notices(call, &mut meta);
    Ok(meta)
}

/// Whether the whole tax of a sale within the state is that of the seller's place.
fn is_origin_sourced(call: &Call<'_>, state: &str) -> bool {
    let rules = TaxTables::of(call.release).rules.as_ref();
    rules.and_then(|rules| rules.columns.sourcing.get(rules.columns.state.find(state)?)) == Some("origin")
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

impl Calculated<'_, '_> {
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
