//! Reads the body of `POST /v1/tax/calculate`: a sale, its origin and its destination.

use super::body_address::{AddressFields, MAX_TEXT, Place, TaxAddress};
use super::calculation::rounded;
use super::fields::Fields;
use super::limits::MAX_CLIENT_ID;
use super::location::Location;
use super::rate::origin_of;
use crate::http::body::request;
use crate::http::endpoint::Call;
use crate::http::problem::Result;

/// Maximum number of lines of a sale.
const MAX_LINES: usize = 500;
/// Largest price, discount or amount, and largest quantity.
const MAX_AMOUNT: i64 = 1_000_000_000;
const MAX_QUANTITY: i64 = 1_000_000;
/// Largest line amount, in cents.
const MAX_LINE: i64 = 10_000_000_000_000;
/// Number of decimal places in quantities and unit prices. Amounts of money have two decimal
/// places.
const FINE: u8 = 6;
/// One piece, in millionths.
pub const ONE: i64 = 1_000_000;

/// Categories of a line: the categories of goods, and the caller's `exempt`.
const LINE_CATEGORIES: [&str; 8] = [
    "general",
    "food_drug",
    "grocery",
    "prepared_food",
    "prescription_drug",
    "otc_drug",
    "clothing",
    EXEMPT,
];
pub const EXEMPT: &str = "exempt";
const ROUNDINGS: [&str; 2] = ["line", "invoice"];
const EXEMPTIONS: [&str; 4] = ["none", "resale", "government", "nonprofit"];

request! {
    /// A sale, as one `amount` or as `line_items`.
    pub struct TaxCalculationRequest {
        /// Place that the sale goes to.
        #[schemars(with = "Place<'_, TaxAddress>")]
        to: Location,
        /// Place that the sale comes from: an address, or the state alone. It decides the rates if
        /// the state taxes sales at their origin.
        #[schemars(default, with = "Place<'_, TaxAddress>")]
        from: Option<Origin>,
        /// Day of the sale; today (UTC) when absent.
        #[schemars(extend("format" = "date"))]
        date: Option<String>,
        /// Amount of the sale in US dollars, with at most two decimal places; negative for a
        /// refund. One of `amount`, `line_items` is required.
        // In cents.
        #[schemars(with = "Option<f64>", range(min = -MAX_AMOUNT, max = MAX_AMOUNT))]
        amount: Option<i64>,
        /// Lines of the sale. One of `amount`, `line_items` is required.
        #[schemars(length(min = 1, max = MAX_LINES))]
        line_items: Option<Vec<SaleItem>>,
        /// Delivery charge in US dollars, with at most two decimal places; negative for a refund.
        // In cents.
        #[schemars(with = "Option<f64>", range(min = -MAX_AMOUNT, max = MAX_AMOUNT), extend("default" = 0))]
        shipping: Option<i64>,
        /// True if tax is due on `shipping`; replaces the state's rule.
        shipping_taxable: Option<bool>,
        /// Unit at which the tax is rounded to whole cents: each line, or the entire invoice.
        #[schemars(extend("enum" = ROUNDINGS, "default" = ROUNDINGS[0]))]
        rounding: Option<&'static str>,
        /// True if prices and shipping already include the tax.
        #[schemars(extend("default" = false))]
        prices_include_tax: Option<bool>,
        /// Exemption that the buyer claims; any value except `none` makes the goods exempt. The
        /// claim is not verified.
        #[schemars(extend("enum" = EXEMPTIONS, "default" = EXEMPTIONS[0]))]
        exemption: Option<&'static str>,
    }
}

request! {
    pub struct SaleItem {
        /// Your identifier of the line, repeated in the answer.
        #[schemars(length(max = MAX_CLIENT_ID))]
        id: Option<String>,
        /// Number of units sold, with at most six decimal places.
        // In millionths.
        #[schemars(with = "Option<f64>", range(min = 0, max = MAX_QUANTITY), extend("default" = 1))]
        quantity: Option<i64>,
        /// Price of one unit in US dollars, with at most six decimal places; negative for a refund.
        // In millionths.
        #[schemars(with = "f64", range(min = -MAX_AMOUNT, max = MAX_AMOUNT))]
        unit_price: i64,
        /// Discount on the line in US dollars. It has the same sign as the line and is at most the
        /// line's amount.
        // In cents.
        #[schemars(with = "Option<f64>", extend("default" = 0))]
        discount: Option<i64>,
        /// Class of the goods; `exempt` if the line bears no tax.
        #[schemars(extend("enum" = LINE_CATEGORIES, "default" = LINE_CATEGORIES[0]))]
        category: Option<&'static str>,
        /// False if the line bears no tax.
        #[schemars(extend("default" = true))]
        taxable: Option<bool>,
    }
}

impl TaxCalculationRequest {
    /// Reads the body and finds the states of its places.
    pub fn read(call: &Call<'_>) -> Result<Self> {
        let body = Fields::of_body(call.body, Self::FIELDS)?;
        let to = Place::<TaxAddress>::of_field(&body, Self::to)?
            .ok_or_else(|| body.missing(Self::to))?;
        let from = Place::of_field(&body, Self::from)?;
        let exemption = body.word(Self::exemption, &EXEMPTIONS)?;
        let (amount, line_items) = match (body.has(Self::amount), body.has(Self::line_items)) {
            (true, true) => {
                return Err(body.wrong(Self::amount, "give `amount` or `line_items`, not both"));
            }
            (false, false) => return Err(body.missing_either(Self::line_items, Self::amount)),
            (true, false) => (body.decimal(Self::amount, 2, MAX_AMOUNT)?, None),
            (false, true) => (None, SaleItem::read_all(&body)?),
        };
        Ok(Self {
            exemption,
            amount,
            line_items,
            rounding: body.word(Self::rounding, &ROUNDINGS)?,
            shipping: body.decimal(Self::shipping, 2, MAX_AMOUNT)?,
            shipping_taxable: body.flag(Self::shipping_taxable)?,
            prices_include_tax: body.flag(Self::prices_include_tax)?,
            to: to.locate(call)?,
            from: from.map(|from| Origin::read(call, &from)).transpose()?,
            date: body.text(Self::date, 10)?,
        })
    }
}

impl SaleItem {
    fn read_all(body: &Fields<'_>) -> Result<Option<Vec<Self>>> {
        let name = TaxCalculationRequest::line_items;
        let too_many = |count: usize| {
            body.wrong(
                name,
                &format!("expected at most {MAX_LINES} lines, got {count}"),
            )
        };
        let Some(values) = body.list(name, MAX_LINES, too_many)? else {
            return Ok(None);
        };
        values
            .into_iter()
            .enumerate()
            .map(|(index, value)| Self::read(&body.item(name, index, value, Self::FIELDS)?))
            .collect::<Result<_>>()
            .map(Some)
    }

    fn read(fields: &Fields<'_>) -> Result<Self> {
        let quantity = fields.decimal(Self::quantity, FINE, MAX_QUANTITY)?;
        if quantity.is_some_and(|quantity| quantity < 0) {
            return Err(fields.wrong(
                Self::quantity,
                "the quantity is negative; for a refund, send a negative unit price",
            ));
        }
        let unit_price = fields
            .decimal(Self::unit_price, FINE, MAX_AMOUNT)?
            .ok_or_else(|| fields.missing(Self::unit_price))?;
        let discount = fields.decimal(Self::discount, 2, MAX_AMOUNT)?;
        let (extended, off) = (extended(quantity, unit_price), discount.unwrap_or(0));
        if extended.abs() > MAX_LINE {
            return Err(fields.wrong(Self::unit_price, "the line is too large"));
        }
        let is_within =
            off == 0 || (off.signum() == extended.signum() && off.abs() <= extended.abs());
        if !is_within {
            return Err(fields.wrong(
                Self::discount,
                "the discount must have the sign of the line and be at most its amount",
            ));
        }
        Ok(Self {
            quantity,
            unit_price,
            discount,
            taxable: fields.flag(Self::taxable)?,
            category: fields.word(Self::category, &LINE_CATEGORIES)?,
            id: fields.text(Self::id, MAX_CLIENT_ID)?,
        })
    }

    /// Returns the amount of all pieces, in cents.
    pub fn extended(&self) -> i64 {
        extended(self.quantity, self.unit_price)
    }
}

fn extended(quantity: Option<i64>, unit_price: i64) -> i64 {
    // Both values have six decimal places; cents have two.
    rounded(
        i128::from(quantity.unwrap_or(ONE)) * i128::from(unit_price),
        10i128.pow(2 * u32::from(FINE) - 2),
    )
}

/// Origin of a sale.
#[derive(Debug)]
pub enum Origin {
    State(&'static str),
    Place(Box<Location>),
}

impl Origin {
    fn read(call: &Call<'_>, place: &Place<'_, TaxAddress>) -> Result<Self> {
        let others = [TaxAddress::zip, TaxAddress::address, TaxAddress::city];
        let names_only_state = |fields: &&Fields<'_>| {
            fields.has(TaxAddress::state) && !others.iter().any(|field| fields.has(field))
        };
        let parts = match place {
            Place::Line(_) => None,
            Place::Parts(AddressFields { fields, .. }) => Some(fields),
        };
        if let Some(fields) = parts.filter(names_only_state) {
            let state = fields.text(TaxAddress::state, MAX_TEXT)?;
            let state = origin_of(
                state.as_deref(),
                &format!("{}{}", fields.place(), TaxAddress::state),
            )?;
            return state
                .map(Self::State)
                .ok_or_else(|| fields.missing(TaxAddress::state));
        }
        place
            .locate(call)
            .map(|location| Self::Place(Box::new(location)))
    }

    pub fn state(&self) -> &'static str {
        match self {
            Self::State(state) => state,
            Self::Place(location) => location.state,
        }
    }

    pub fn place(self) -> Option<Location> {
        match self {
            Self::State(_) => None,
            Self::Place(location) => Some(*location),
        }
    }
}
