//! Computes the tax on a sale at a place: the tax on each line and on the delivery, and the unknown
//! parts of the tax.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::http::problem::{Code, Problem, Result};
use crate::tax::calculation::{Item, MAX_RATES, Rounding, Sale, Taxed, calculate};
use crate::tax::candidate::{Candidate, Known};
use crate::tax::goods::{Category, Goods, NO_RULE, SHIPPING};
use crate::tax::invoice::{Invoice, Line};
use crate::tax::table::rates::Class as TaxClass;
use crate::tax::table::taxability::{Level, Rule};

/// Goods of one category with equal rates. `rates` contains one rate for each component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRates<'a> {
    pub category: Category,
    pub rates: Vec<Known<'a>>,
}

impl<'a> ClassRates<'a> {
    /// Returns the combined rate, which is unknown if any rate is unknown.
    pub fn combined(&self) -> Known<'a> {
        self.rates.iter().copied().sum()
    }

    fn known(&self) -> Vec<i64> {
        self.rates.iter().map(|rate| rate.unwrap_or(0)).collect()
    }

    fn is_taxed(&self) -> bool {
        self.rates
            .iter()
            .any(|rate| rate.is_ok_and(|rate| rate != 0))
    }

    fn is_known(&self) -> bool {
        self.rates.iter().all(std::result::Result::is_ok)
    }
}

/// Source of the decision whether delivery is taxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaxCalculationShippingTaxableBasis")]
pub enum Basis {
    Request,
    State,
    Unknown,
}

/// Taxability of a sale's delivery.
#[derive(Debug)]
pub struct Delivery {
    /// True if the delivery is taxed, or `None` if this is not known.
    pub is_taxed: Option<bool>,
    pub basis: Basis,
}

/// Tax on a sale. The items are the lines, followed by the delivery.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub classes: Vec<ClassRates<'a>>,
    pub items: Vec<Item>,
    pub taxed: Vec<Taxed>,
    pub delivery: Delivery,
    /// Known tax without and with a taxed delivery, or `None` if it is known whether the delivery
    /// is taxed.
    pub sums: Option<[i64; 2]>,
    pub rules: Vec<Rule<'a>>,
    /// Amount of an item, in cents, up to which local taxes are levied.
    pub cap: Option<i64>,
}

impl<'a> Outcome<'a> {
    /// Computes the tax.
    ///
    /// # Errors
    /// `invalid_parameter` if the prices on an invoice include more than [`MAX_RATES`] different
    /// rates.
    pub fn compute(candidate: &Candidate<'a>, invoice: &Invoice) -> Result<Self> {
        let mut sale = Builder {
            candidate,
            invoice,
            classes: Vec::new(),
            rules: Vec::new(),
            cap: None,
            pieces: Vec::new(),
        };
        let lines: Vec<Item> = invoice.lines.iter().map(|line| sale.line(line)).collect();
        let (shipping, delivery) = sale.delivery(&lines);
        let sums = (delivery.basis == Basis::Unknown && invoice.shipping != 0).then(|| {
            let goods = sale.delivered(&lines);
            let settled = |rates: &dyn Fn(usize, Known<'a>) -> Known<'a>| {
                let bearing = shipping.as_ref().unwrap_or(&goods);
                let rates = bearing
                    .rates
                    .iter()
                    .enumerate()
                    .map(|(part, rate)| rates(part, *rate))
                    .collect();
                ClassRates {
                    category: goods.category,
                    rates,
                }
            };
            let untaxed = settled(&|_, rate| Ok(rate.unwrap_or(0)));
            let taxed = settled(&|part, rate| rate.or_else(|_| goods.rates[part]));
            [untaxed, taxed].map(|bearing| {
                let class = sale.class(bearing);
                sale.items(&lines, Some(class))
            })
        });
        let class = shipping.map(|bearing| sale.class(bearing));
        let items = sale.items(&lines, class);
        let rates: Vec<Vec<i64>> = sale.classes.iter().map(ClassRates::known).collect();
        let different: BTreeSet<i64> = rates.iter().map(|rates| rates.iter().sum()).collect();
        if invoice.prices_include_tax
            && invoice.rounding == Rounding::Invoice
            && different.len() > MAX_RATES
        {
            let message = "prices include the tax at more than three different rates: `rounding` must be `line`";
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "rounding",
                message,
            ));
        }
        let is_local: Vec<bool> = candidate
            .components
            .iter()
            .map(|component| component.class != TaxClass::State)
            .collect();
        let (rounding, prices_include_tax) = (invoice.rounding, invoice.prices_include_tax);
        let taxes = |items: &[Item]| {
            calculate(&Sale {
                classes: &rates,
                is_local: &is_local,
                items,
                rounding,
                prices_include_tax,
            })
        };
        let taxed = taxes(&items);
        let sums =
            sums.map(|sums| sums.map(|items| taxes(&items).iter().map(|taxed| taxed.tax).sum()));
        Ok(Self {
            classes: sale.classes,
            items,
            taxed,
            delivery,
            sums,
            rules: sale.rules,
            cap: sale.cap,
        })
    }

    /// Returns the known part of the tax, in cents.
    pub fn known_tax(&self) -> i64 {
        self.taxed.iter().map(|taxed| taxed.tax).sum()
    }

    /// Returns the rates of an item, or `None` if it is not taxed.
    pub fn bearing(&self, item: usize) -> Option<&ClassRates<'a>> {
        self.items[item].class.map(|class| &self.classes[class])
    }

    /// Returns true if the tax of an item is known.
    pub fn is_item_known(&self, item: usize) -> bool {
        self.items[item].amount == 0 || self.bearing(item).is_none_or(ClassRates::is_known)
    }

    /// Returns true if the entire tax is known.
    pub fn is_known(&self) -> bool {
        (0..self.items.len()).all(|item| self.is_item_known(item))
    }

    /// Returns true if an item is taxed.
    pub fn is_taxed(&self, item: usize) -> bool {
        self.items[item].amount != 0 && self.bearing(item).is_some_and(ClassRates::is_taxed)
    }
}

/// A sale under construction.
struct Builder<'s, 'a> {
    candidate: &'s Candidate<'a>,
    invoice: &'s Invoice,
    classes: Vec<ClassRates<'a>>,
    rules: Vec<Rule<'a>>,
    /// Amount of an item, in cents, up to which local taxes are levied, and the prices of the
    /// pieces to which this limit applies.
    cap: Option<i64>,
    pieces: Vec<i64>,
}

impl<'a> Builder<'_, 'a> {
    fn class(&mut self, bearing: ClassRates<'a>) -> usize {
        let known = self.classes.iter().position(|known| *known == bearing);
        known.unwrap_or_else(|| {
            self.classes.push(bearing);
            self.classes.len() - 1
        })
    }

    fn items(&self, lines: &[Item], class: Option<usize>) -> Vec<Item> {
        lines
            .iter()
            .copied()
            .chain([Item {
                amount: self.invoice.shipping,
                class,
                local: None,
            }])
            .collect()
    }

    fn bearing(&mut self, goods: Goods) -> ClassRates<'a> {
        let rated: Vec<_> = self
            .candidate
            .components
            .iter()
            .map(|component| component.rate(goods))
            .collect();
        self.rules
            .extend(rated.iter().filter_map(|rated| rated.rule));
        ClassRates {
            category: goods.category,
            rates: rated.iter().map(|rated| rated.rate).collect(),
        }
    }

    /// Converts a line to an item with its taxed amount and rates.
    fn line(&mut self, line: &Line) -> Item {
        let Some(category) = line.category else {
            return Item {
                amount: line.amount,
                class: None,
                local: None,
            };
        };
        let price = line.price(self.invoice.prices_include_tax);
        let mut bearing = self.bearing(Goods { category, price });
        // The state's rule decides which part of an item is taxed. A local tax has the same base
        // only if the local rule defines the same part.
        let rule_of = |level: Level| {
            self.candidate
                .components
                .first()
                .and_then(|component| component.rules.rule(category.class(), level))
        };
        let state = rule_of(Level::State);
        let base = state
            .zip(price)
            .map_or(line.amount.abs(), |(rule, price)| rule.base(price));
        let cap = rule_of(Level::Local).and_then(|rule| rule.cap());
        let is_other = rule_of(Level::Local).and_then(|rule| rule.threshold())
            != state.and_then(|rule| rule.threshold());
        // An amount without lines may cover one item or many items.
        let item = price.filter(|_| self.invoice.has_lines);
        let is_above = cap.is_some_and(|cap| item.is_none() && line.amount.abs() > cap);
        if is_above || (base != line.amount.abs() && is_other) {
            self.set_local(&mut bearing, Err("depends_on_price"));
        }
        if let Some(cap) = cap {
            self.cap = Some(cap);
            // If the sale has no items, the amount may consist of pieces of any price up to this
            // amount.
            self.pieces
                .extend(item.map_or([0, line.amount.abs()], |price| [price.of_piece(); 2]));
        }
        let sign = line.amount.signum();
        let local = cap
            .zip(item)
            .map(|(cap, price)| price.up_to(cap))
            .filter(|local| *local < base)
            .map(|local| local * sign);
        Item {
            amount: base * sign,
            class: Some(self.class(bearing)),
            local,
        }
    }

    /// Replaces the local rates that are known and not zero.
    fn set_local(&self, bearing: &mut ClassRates<'a>, rate: Known<'a>) {
        let local = self
            .candidate
            .components
            .iter()
            .zip(&mut bearing.rates)
            .filter(|(component, _)| component.class != TaxClass::State);
        local
            .filter(|(_, own)| own.is_ok_and(|own| own != 0))
            .for_each(|(_, own)| *own = rate);
    }

    /// Returns the rates for a delivery that the state taxes. These are the rates of the taxed
    /// goods if they are equal, otherwise the general rates.
    fn delivered(&mut self, lines: &[Item]) -> ClassRates<'a> {
        let taxed = lines
            .iter()
            .filter(|item| item.amount != 0)
            .filter_map(|item| item.class)
            .filter(|class| self.classes[*class].is_taxed());
        let classes: BTreeSet<usize> = taxed.collect();
        let mut bearing = match classes.into_iter().collect::<Vec<_>>().as_slice() {
            [class] => self.classes[*class].clone(),
            _ => self.bearing(Category::General.into()),
        };
        // The charge is part of the price of the goods, on which local taxes stop at the cap.
        if let Some(cap) = self.cap {
            let is_reached = |piece: &i64| *piece >= cap;
            if !self.pieces.is_empty() && self.pieces.iter().all(is_reached) {
                self.set_local(&mut bearing, Ok(0));
            } else if self
                .pieces
                .iter()
                .any(|piece| piece + self.invoice.shipping.abs() > cap)
            {
                self.set_local(&mut bearing, Err("depends_on_price"));
            }
        }
        bearing
    }

    fn delivery(&mut self, lines: &[Item]) -> (Option<ClassRates<'a>>, Delivery) {
        let untaxed = |basis| {
            (
                None,
                Delivery {
                    is_taxed: Some(false),
                    basis,
                },
            )
        };
        if self.invoice.is_exempt {
            return untaxed(Basis::Request);
        }
        let goods = self.delivered(lines);
        match self.invoice.shipping_taxable {
            Some(true) => {
                return (
                    Some(goods),
                    Delivery {
                        is_taxed: Some(true),
                        basis: Basis::Request,
                    },
                );
            }
            Some(false) => return untaxed(Basis::Request),
            None => {}
        }
        // States tax only the delivery of taxed goods.
        let sold = || {
            lines
                .iter()
                .filter(|item| item.amount != 0)
                .filter_map(|item| item.class)
                .map(|class| &self.classes[class])
        };
        let is_any_taxed = sold().any(ClassRates::is_taxed);
        if !is_any_taxed && sold().all(ClassRates::is_known) {
            return untaxed(Basis::State);
        }
        let state = self
            .candidate
            .components
            .first()
            .and_then(|component| component.rules.rule(SHIPPING, Level::State));
        let mut rates = Vec::new();
        for (component, rate) in self.candidate.components.iter().zip(&goods.rates) {
            let own = (component.class != TaxClass::State)
                .then(|| component.rules.rule(SHIPPING, Level::Local))
                .flatten()
                .or(state);
            self.rules.extend(own);
            rates.push(match own.map(|rule| (rule.taxable(), rule.null_reason())) {
                Some((Some("no"), _)) => Ok(0),
                Some((Some("yes"), _)) if is_any_taxed => *rate,
                Some((Some("yes"), _)) => Err("depends_on_goods"),
                Some((_, reason)) => Err(reason.unwrap_or("not_established")),
                None => Err(NO_RULE),
            });
        }
        let is_settled = rates
            .iter()
            .zip(&goods.rates)
            .all(|(rate, of_goods)| rate.is_ok() || (is_any_taxed && rate == of_goods));
        let bearing = ClassRates {
            category: goods.category,
            rates,
        };
        match (is_settled, bearing.is_taxed()) {
            (true, true) => (
                Some(bearing),
                Delivery {
                    is_taxed: Some(true),
                    basis: Basis::State,
                },
            ),
            (true, false) if bearing.is_known() => untaxed(Basis::State),
            (true, false) => (
                Some(bearing),
                Delivery {
                    is_taxed: None,
                    basis: Basis::State,
                },
            ),
            (false, _) => (
                Some(bearing),
                Delivery {
                    is_taxed: None,
                    basis: Basis::Unknown,
                },
            ),
        }
    }
}
