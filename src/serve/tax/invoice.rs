//! A sale as asked: what is sold, delivered and exempt, read from the body and turned into cents.

use crate::http::problem::Result;
use crate::tax::calculation::{Rounding, rounded};
use crate::tax::fields::Fields;
use crate::tax::goods::Category;
use crate::tax::table::taxability::Price;

/// The most lines of a sale.
const MAX_LINES: usize = 500;
/// The largest price, discount or amount, and the largest quantity.
const MAX_AMOUNT: i64 = 1_000_000_000;
const MAX_QUANTITY: i64 = 1_000_000;
/// The largest line, in cents.
const MAX_LINE: i64 = 10_000_000_000_000;
/// Decimals of quantities and unit prices; amounts of money have two.
const FINE: u8 = 6;
/// One piece.
const ONE: i64 = 1_000_000;

const LINE_FIELDS: [&str; 6] = ["id", "quantity", "unit_price", "discount", "category", "taxable"];

/// What a line may be: the categories of goods, and what the caller knows to be exempt.
const LINE_CATEGORIES: [&str; 8] = ["general", "food_drug", "grocery", "prepared_food", "prescription_drug", "otc_drug", "clothing", "exempt"];

/// A line as asked.
#[derive(Debug)]
pub struct Line {
    pub id: Option<String>,
    /// Cents as charged, discount taken off; with the tax in it where prices include it. Negative for a refund.
    pub amount: i64,
    /// Millionths of a piece.
    pub quantity: i64,
    /// What it is; none where the caller says that it is not taxed.
    pub category: Option<Category>,
}

impl Line {
    /// What a piece costs; none where the tax is in the price, because what decides is the price without it.
    pub fn price(&self, prices_include_tax: bool) -> Option<Price> {
        (!prices_include_tax && self.quantity > 0).then(|| Price { cents: self.amount.abs(), quantity: self.quantity })
    }
}

/// A sale as asked.
#[derive(Debug)]
pub struct Invoice {
    pub lines: Vec<Line>,
    /// Whether lines were given, and not an amount.
    pub has_lines: bool,
    /// Cents.
    pub shipping: i64,
    /// What the caller says of shipping, if anything.
    pub shipping_taxable: Option<bool>,
    pub rounding: Rounding,
    pub prices_include_tax: bool,
    pub is_exempt: bool,
}

impl Invoice {
    /// Reads the fields of a sale.
    ///
    /// # Errors
    /// `missing_parameter`, when there is neither amount nor lines; `invalid_parameter`, when something is malformed, too large, or a discount is more than its line.
    pub fn read(body: &Fields<'_>) -> Result<Self> {
        let exemption = body.word("exemption", &["none", "resale", "government", "nonprofit"])?;
        let is_exempt = exemption.is_some_and(|exemption| exemption != "none");
        let (lines, has_lines) = match (body.has("amount"), body.has("line_items")) {
            (true, true) => return Err(body.wrong("amount", "give `amount` or `line_items`, not both")),
            (false, false) => return Err(body.missing_either("line_items", "amount")),
            (true, false) => {
                let amount = body.decimal("amount", 2, MAX_AMOUNT)?.unwrap_or(0);
                let category = (!is_exempt).then_some(Category::General);
                (vec![Line { id: None, amount, quantity: ONE, category }], false)
            }
            (false, true) => (lines_of(body, is_exempt)?, true),
        };
        let rounding = if body.word("rounding", &["line", "invoice"])? == Some("invoice") { Rounding::Invoice } else { Rounding::Line };
        Ok(Self {
            lines,
            has_lines,
            shipping: body.decimal("shipping", 2, MAX_AMOUNT)?.unwrap_or(0),
            shipping_taxable: body.flag("shipping_taxable")?,
            rounding,
            prices_include_tax: body.flag("prices_include_tax")?.unwrap_or(false),
            is_exempt,
        })
    }
}

fn lines_of(body: &Fields<'_>, is_exempt: bool) -> Result<Vec<Line>> {
    let too_many = |count: usize| body.wrong("line_items", &format!("expected at most {MAX_LINES} lines, got {count}"));
    let values = body.list("line_items", MAX_LINES, too_many)?.unwrap_or_default();
    values.into_iter().enumerate().map(|(index, value)| line_of(&body.item("line_items", index, value, &LINE_FIELDS)?, is_exempt)).collect()
}

fn line_of(fields: &Fields<'_>, is_exempt: bool) -> Result<Line> {
    let quantity = fields.decimal("quantity", FINE, MAX_QUANTITY)?.unwrap_or(ONE);
    if quantity < 0 {
        return Err(fields.wrong("quantity", "a quantity is not negative; a refund has a negative unit price"));
    }
    let price = fields.decimal("unit_price", FINE, MAX_AMOUNT)?.ok_or_else(|| fields.missing("unit_price"))?;
    let discount = fields.decimal("discount", 2, MAX_AMOUNT)?.unwrap_or(0);
    // Both have six decimals, cents have two.
    let extended = rounded(i128::from(quantity) * i128::from(price), 10i128.pow(2 * u32::from(FINE) - 2));
    if extended.abs() > MAX_LINE {
        return Err(fields.wrong("unit_price", "the line is too large"));
    }
    let is_within = discount == 0 || (discount.signum() == extended.signum() && discount.abs() <= extended.abs());
    if !is_within {
        return Err(fields.wrong("discount", "a discount takes off at most the line, and has its sign"));
    }
    let is_taxable = fields.flag("taxable")?.unwrap_or(true) && !is_exempt;
    let word = fields.word("category", &LINE_CATEGORIES)?;
    let category = (is_taxable && word != Some("exempt")).then(|| Category::of(word));
    Ok(Line { id: fields.text("id", 120)?, amount: extended - discount, quantity, category })
}
