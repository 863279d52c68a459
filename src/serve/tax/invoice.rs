//! Stores a sale from a request: goods sold, delivery and exemptions, in cents.

use super::request::{EXEMPT, ONE, SaleItem, TaxCalculationRequest};
use crate::tax::calculation::Rounding;
use crate::tax::goods::Category;
use crate::tax::table::taxability::Price;

/// A line of the request.
#[derive(Debug)]
pub struct Line {
    pub id: Option<String>,
    /// Amount charged after the discount, in cents, including the tax if prices include it. The
    /// amount is negative for a refund.
    pub amount: i64,
    /// Quantity in millionths of a piece.
    pub quantity: i64,
    /// Category of the goods, or `None` if the caller declares the line exempt.
    pub category: Option<Category>,
}

impl Line {
    fn new(item: &SaleItem, is_exempt: bool) -> Self {
        let is_taxable =
            item.taxable.unwrap_or(true) && !is_exempt && item.category != Some(EXEMPT);
        let category = is_taxable.then(|| Category::parse(item.category));
        Self {
            id: item.id.clone(),
            amount: item.extended() - item.discount.unwrap_or(0),
            quantity: item.quantity.unwrap_or(ONE),
            category,
        }
    }

    /// Returns the price of a piece. Returns `None` if prices include the tax, because the rules
    /// need the price without it.
    pub fn price(&self, prices_include_tax: bool) -> Option<Price> {
        (!prices_include_tax && self.quantity > 0).then(|| Price {
            cents: self.amount.abs(),
            quantity: self.quantity,
        })
    }
}

/// A sale from a request.
#[derive(Debug)]
pub struct Invoice {
    pub lines: Vec<Line>,
    /// True if the request has lines instead of an amount.
    pub has_lines: bool,
    /// Delivery charge in cents.
    pub shipping: i64,
    /// Taxability of shipping as the caller declares it, if the request has it.
    pub shipping_taxable: Option<bool>,
    pub rounding: Rounding,
    pub prices_include_tax: bool,
    pub is_exempt: bool,
}

impl Invoice {
    /// Reads the sale from a request.
    pub fn from_request(request: &TaxCalculationRequest) -> Self {
        let is_exempt = request
            .exemption
            .is_some_and(|exemption| exemption != "none");
        let whole = |amount| Line {
            id: None,
            amount,
            quantity: ONE,
            category: (!is_exempt).then_some(Category::General),
        };
        let lines = match &request.line_items {
            Some(items) => items
                .iter()
                .map(|item| Line::new(item, is_exempt))
                .collect(),
            None => vec![whole(request.amount.unwrap_or(0))],
        };
        Self {
            lines,
            has_lines: request.line_items.is_some(),
            shipping: request.shipping.unwrap_or(0),
            shipping_taxable: request.shipping_taxable,
            rounding: if request.rounding == Some("invoice") {
                Rounding::Invoice
            } else {
                Rounding::Line
            },
            prices_include_tax: request.prices_include_tax.unwrap_or(false),
            is_exempt,
        }
    }
}
