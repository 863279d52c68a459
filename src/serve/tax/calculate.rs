//! Answers `POST /v1/tax/calculate` with the tax on a sale by line, jurisdiction and class of
//! goods. Notices report what the calculation does not model.

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::RELEASE_PARAMETERS;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::tax::calculated::{Calculated, TaxCalculation};
use crate::tax::dates::date_of;
use crate::tax::goods::{Category, SHIPPING, unread_notice};
use crate::tax::invoice::Invoice;
use crate::tax::lookup::{RULE_NOT_READ, Terms, look_up};
use crate::tax::rate::describe;
use crate::tax::request::{Origin, TaxCalculationRequest};
use crate::tax::sale::{Basis, Outcome};
use crate::tax::table::{STATES, TaxTables};
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "POST",
    path: "/v1/tax/calculate",
    operation_id: "calculateTax",
    summary: "Sales tax of a sale",
    access: Access::Scope(Scope::General),
    parameters: RELEASE_PARAMETERS,
    body: Some(Data::for_type::<TaxCalculationRequest>()),
    data: Data::for_type::<TaxCalculation<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(calculate),
};

/// Answers `POST /v1/tax/calculate`.
pub fn calculate(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let request = TaxCalculationRequest::read(call)?;
    let invoice = Invoice::from_request(&request);
    let TaxCalculationRequest {
        to: destination,
        from: origin,
        date,
        ..
    } = request;
    let day = date_of(date.as_deref(), call.today(), TaxCalculationRequest::date)?;
    let state = origin.as_ref().map(Origin::state);
    let seller = origin
        .and_then(Origin::place)
        .filter(|place| place.state == destination.state && is_origin_sourced(call, place.state));
    let terms = Terms {
        date: day,
        is_date_given: date.is_some(),
        origin: state,
        category: Category::General,
        is_at_origin: seller.is_some(),
    };
    let found = look_up(call, seller.unwrap_or(destination), &terms, "date")?;
    let Some(candidate) = found.candidates.first() else {
        let message = format!(
            "sales tax of {} is not covered; /v1/coverage lists the covered states",
            found.location.state
        );
        return Err(Problem::of_field(Code::CoverageUnavailable, "to", message));
    };
    let calculated = Calculated {
        sale: Outcome::compute(candidate, &invoice)?,
        found: &found,
        candidate,
        invoice: &invoice,
    };
    json.value(&calculated.shown(&call.release.manifest, &terms));
    let mut meta = describe(&found);
    calculated.add_notices(call, &mut meta);
    Ok(meta)
}

/// Returns true if the seller's place decides the entire tax on a sale within the state.
fn is_origin_sourced(call: &Call<'_>, state: &str) -> bool {
    let rules = TaxTables::from_release(call.release).rules.as_ref();
    rules.and_then(|rules| rules.columns.sourcing.get(rules.columns.state.find(state)?))
        == Some("origin")
}

impl Calculated<'_, '_> {
    fn add_notices(&self, call: &Call<'_>, meta: &mut Meta) {
        let (invoice, state) = (self.invoice, self.found.location.state);
        let has_food_drug = invoice
            .lines
            .iter()
            .any(|line| line.category == Some(Category::FoodDrug));
        let differ = self
            .found
            .search
            .and_then(|search| search.rules_of_goods().food_drug_notice())
            .filter(|_| has_food_drug);
        if let Some(message) = differ {
            meta.notice("FOOD_DRUG_DIFFER", message);
        }
        if invoice.shipping != 0 && self.sale.delivery.basis == Basis::Unknown {
            let message = format!(
                "It is not known whether {state} taxes this delivery: `sums` has the tax with and without it. Set `shipping_taxable` to decide."
            );
            meta.notice("FREIGHT_RULE_UNKNOWN", message);
        }
        if !self.sale.is_known() {
            meta.notice(
                "TAX_PARTLY_UNKNOWN",
                "`unknown` lists parts of the tax that are not known: `tax_amount` is null, and `known_tax_amount` is the sum of the known parts.",
            );
        }
        if invoice.is_exempt {
            meta.notice(
                "EXEMPTION_NOT_VERIFIED",
                "The exemption is accepted as claimed; the seller needs the certificate.",
            );
        }
        if let Some(cap) = call
            .contracts()
            .get(STATES)
            .and_then(|contract| contract.value("state", state)?.note("cap"))
        {
            meta.notice(
                "CAPS_NOT_MODELLED",
                format!("In {state} {cap}: the cap is not applied."),
            );
        }
        let is_used = |rule: &&crate::tax::table::taxability::Rule<'_>| {
            invoice.shipping != 0 || rule.class() != SHIPPING
        };
        if let Some(message) = unread_notice(self.sale.rules.iter().filter(is_used).copied()) {
            meta.notice(RULE_NOT_READ, message);
        }
        if let Some(cap) = self
            .sale
            .cap
            .filter(|_| self.sale.items.iter().any(|item| item.local.is_some()))
        {
            let message = format!(
                "Local taxes of {state} apply to the first {} dollars of an item: each piece of a line counts as an item. Send goods sold in bulk, or as parts of one working unit, as one line with one piece.",
                cap / 100
            );
            meta.notice("CAP_APPLIED", message);
        }
        meta.notice(
            "HOLIDAYS_NOT_MODELLED",
            "Sales tax holidays are not applied.",
        );
        meta.notice("NOT_TAX_ADVICE", "Computed from published rates; it is not tax advice, and does not determine whether the seller must collect the tax.");
        if self.is_delivery_mixed() {
            meta.notice("DELIVERY_NOT_DIVIDED", "Some of the goods are not taxed, but the whole delivery charge is. Some states let the seller tax only the part of the charge that belongs to taxed goods.");
        }
    }

    /// Returns true if the state taxes a delivery charge that also covers untaxed goods.
    fn is_delivery_mixed(&self) -> bool {
        let delivery = self.sale.items.len() - 1;
        let is_untaxed = |(index, line): (usize, &crate::tax::invoice::Line)| {
            line.amount != 0 && !self.sale.is_taxed(index)
        };
        self.sale.delivery.basis == Basis::State
            && self.sale.is_taxed(delivery)
            && self.invoice.lines.iter().enumerate().any(is_untaxed)
    }
}
