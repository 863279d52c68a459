//! Builds the answer for the tax on a sale: the tax on each line and on the delivery by
//! jurisdiction, and the unknown parts of the tax.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal, Fixed};
use crate::release::provenance::Provenance;
use crate::tax::answer::{SourcingPlace, TaxCoverage, TaxMatch, TaxSourcing};
use crate::tax::calculation::rounded;
use crate::tax::candidate::Candidate;
use crate::tax::figures::{dollars, rate};
use crate::tax::goods::{CLASSES, Category, SHIPPING, TaxRule};
use crate::tax::invoice::Invoice;
use crate::tax::lookup::{Found, Terms};
use crate::tax::sale::{Basis, ClassRates, Outcome};
use crate::tax::table::rates::Class as TaxClass;
use pubdata_store::Manifest;

#[derive(Serialize, JsonSchema)]
pub struct TaxCalculation<'a> {
    /// Taxed amount in US dollars, without the tax; null if it is not known whether the delivery is
    /// taxed.
    taxable_amount: Option<Fixed>,
    /// Tax in US dollars; null if a part is not known.
    tax_amount: Option<Fixed>,
    /// Known part of the tax in US dollars.
    known_tax_amount: Fixed,
    /// Amount charged, with shipping and tax; null if a part of the tax is not known.
    order_total: Option<Fixed>,
    /// Combined rate as a fraction from 0 to 1 (0.0725 is 7.25 percent), weighted by the taxed
    /// amounts if goods differ; null if nothing is taxed or a part is not known.
    rate: Option<Decimal>,
    /// Day of the sale; the rates are those of this day.
    #[schemars(with = "Date")]
    date: jiff::civil::Date,
    /// Known tax without and with a taxed delivery, if it is not known whether the delivery is
    /// taxed; otherwise empty.
    sums: Vec<TaxCalculationSum>,
    /// Unknown parts of the tax: the line or the delivery, the jurisdiction, and the reason.
    unknown: Vec<TaxCalculationUnknown<'a>>,
    /// Tax on the entire sale by class of goods and jurisdiction.
    breakdown: Vec<TaxPart<'a>>,
    /// Tax on each line, in the order of the request; empty if the request has `amount`.
    line_items: Vec<TaxCalculationLineItem<'a>>,
    /// Tax on the delivery charge, with its rule and parts.
    shipping: TaxCalculationShipping<'a>,
    /// How the place was matched to tax jurisdictions.
    #[serde(rename = "match")]
    place_match: TaxMatch<'a>,
    /// Place whose rates apply: the destination of the sale or its origin.
    sourcing: SourcingPlace,
    /// The state's rule on which place decides the rate of a sale within the state.
    sourcing_basis: TaxSourcing<'a>,
    /// How completely the state's rates are known.
    coverage: TaxCoverage,
    /// The state's rules on the classes of the sale.
    rules: Vec<TaxRule<'a>>,
    /// Records behind the answer: the state's record, the boundary's record, one record for each
    /// rate, and the rules that decided a rate.
    provenance: Vec<Provenance<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct TaxCalculationSum {
    /// True if this sum taxes the delivery.
    shipping_taxable: bool,
    /// Known tax in US dollars.
    known_tax_amount: Fixed,
    /// Amount charged in US dollars: goods, shipping and known tax.
    known_order_total: Fixed,
}

#[derive(Serialize, JsonSchema)]
struct TaxCalculationUnknown<'a> {
    /// Part of the sale: a line, or the delivery.
    #[schemars(extend("enum" = ["line_items", "shipping"]))]
    part: &'static str,
    /// Number of the line, counted from 0; null for the delivery.
    index: Option<usize>,
    /// Your identifier of the line; null if it has none, and for the delivery.
    id: Option<&'a str>,
    /// Class of the goods, or `shipping`.
    category: &'static str,
    /// Amount in US dollars whose tax depends on this rate.
    amount: Fixed,
    /// Class of the jurisdiction whose rate is not known.
    #[serde(rename = "type")]
    class: TaxClass,
    /// Code of the jurisdiction as published; `local` or `special` for taxes that are not known
    /// individually.
    code: &'a str,
    /// Reason why the rate is not known, as in `null_reason` of a component.
    reason: &'a str,
}

/// Tax that one jurisdiction levies on goods of one category.
#[derive(Serialize, JsonSchema)]
struct TaxPart<'a> {
    /// Class of the jurisdiction; `local` is the sum of all local taxes of a state whose local
    /// rates are not covered.
    #[serde(rename = "type")]
    class: TaxClass,
    /// Code of the jurisdiction as published; `local` or `special` for taxes that are not known
    /// individually.
    code: &'a str,
    /// Name of the jurisdiction.
    name: &'a str,
    /// Class of the goods, which decides the state's rule.
    category: Category,
    /// Rate as a fraction from 0 to 1: 0.0725 is 7.25 percent; null if it is not known.
    rate: Option<Decimal>,
    /// Reason why the rate is not known; null if the rate is known.
    null_reason: Option<&'a str>,
    /// Amount in US dollars that the jurisdiction taxes; 0 if its rate is 0.
    taxable_amount: Fixed,
    /// Tax in US dollars; null if the rate is not known.
    tax_amount: Option<Fixed>,
}

#[derive(Serialize, JsonSchema)]
struct TaxCalculationLineItem<'a> {
    /// Your identifier of the line; null if it has none.
    id: Option<&'a str>,
    /// Category of the goods; null if the request exempts the line.
    category: Option<Category>,
    #[serde(flatten)]
    tax: ItemTax<'a>,
}

#[derive(Serialize, JsonSchema)]
struct TaxCalculationShipping<'a> {
    /// Delivery charge in US dollars, as given in the request.
    amount: Fixed,
    /// True if the delivery is taxed; null if this is not known.
    taxable: Option<bool>,
    /// Source of `taxable`; if it is unknown, `sums` has both results.
    taxable_basis: Basis,
    #[serde(flatten)]
    tax: ItemTax<'a>,
}

/// Tax on a line or on the delivery.
#[derive(Serialize, JsonSchema)]
struct ItemTax<'a> {
    /// Taxed amount of the item in US dollars, without the tax.
    taxable_amount: Fixed,
    /// Combined rate as a fraction from 0 to 1: 0.0725 is 7.25 percent; 0 if the item is not taxed,
    /// null if a part is not known.
    rate: Option<Decimal>,
    /// Tax in US dollars; null if a part of it is not known.
    tax_amount: Option<Fixed>,
    /// Known part of the tax in US dollars.
    known_tax_amount: Fixed,
    /// Tax on the item by jurisdiction; empty if the item is not taxed.
    breakdown: Vec<TaxPart<'a>>,
}

/// A sale with its computed tax.
pub struct Calculated<'s, 'a> {
    pub sale: Outcome<'a>,
    pub found: &'s Found<'a>,
    pub candidate: &'s Candidate<'a>,
    pub invoice: &'s Invoice,
}

impl Calculated<'_, '_> {
    /// Builds the answer for the sale.
    pub fn shown<'r>(&'r self, manifest: &'r Manifest, terms: &Terms<'_>) -> TaxCalculation<'r> {
        let (found, invoice, sale) = (self.found, self.invoice, &self.sale);
        let tax = sale.known_tax();
        let taxable: i64 = (0..sale.items.len()).map(|item| self.taxable(item)).sum();
        let is_known = sale.is_known();
        let if_known = |cents: i64| Some(dollars(cents)).filter(|_| is_known);
        let sold = |class: &str| {
            invoice.lines.iter().any(|line| {
                line.category
                    .is_some_and(|category| category.class() == class)
            })
        };
        let classes: Vec<&str> = CLASSES
            .into_iter()
            .filter(|class| {
                if *class == SHIPPING {
                    invoice.shipping != 0
                } else {
                    sold(class)
                }
            })
            .collect();
        let lines = invoice
            .lines
            .iter()
            .enumerate()
            .filter(|_| invoice.has_lines);
        TaxCalculation {
            taxable_amount: Some(dollars(taxable)).filter(|_| sale.sums.is_none()),
            tax_amount: if_known(tax),
            known_tax_amount: dollars(tax),
            order_total: if_known(self.total(tax)),
            rate: self.effective_rate(taxable).filter(|_| is_known).map(rate),
            date: terms.date,
            sums: self.sums(),
            unknown: self.unknown(),
            breakdown: self.breakdown(),
            line_items: lines
                .map(|(index, line)| TaxCalculationLineItem {
                    id: line.id.as_deref(),
                    category: line.category,
                    tax: self.item(index),
                })
                .collect(),
            shipping: TaxCalculationShipping {
                amount: dollars(invoice.shipping),
                taxable: sale.delivery.is_taxed,
                taxable_basis: sale.delivery.basis,
                tax: self.item(invoice.lines.len()),
            },
            place_match: found.place_match(terms.category),
            sourcing: found.sourcing(),
            sourcing_basis: found.sourcing_basis(),
            coverage: found.coverage(),
            rules: found.shown_rules(&classes),
            provenance: found.provenance(manifest, &sale.rules),
        }
    }

    /// Returns the amount charged for a given tax.
    fn total(&self, tax: i64) -> i64 {
        let charged: i64 = self
            .invoice
            .lines
            .iter()
            .map(|line| line.amount)
            .sum::<i64>()
            + self.invoice.shipping;
        if self.invoice.prices_include_tax {
            charged
        } else {
            charged + tax
        }
    }

    /// Returns the sums without and with a taxed delivery if it is not known whether the delivery
    /// is taxed.
    fn sums(&self) -> Vec<TaxCalculationSum> {
        let sums = self.sale.sums.into_iter().flatten().zip([false, true]);
        sums.map(|(tax, shipping_taxable)| TaxCalculationSum {
            shipping_taxable,
            known_tax_amount: dollars(tax),
            known_order_total: dollars(self.total(tax)),
        })
        .collect()
    }

    /// Lists the unknown parts of each item and the amounts that depend on them.
    fn unknown(&self) -> Vec<TaxCalculationUnknown<'_>> {
        let mut unknown = Vec::new();
        for index in (0..self.sale.items.len()).filter(|index| !self.sale.is_item_known(*index)) {
            let Some(bearing) = self.sale.bearing(index) else {
                continue;
            };
            let line = self.invoice.lines.get(index);
            for (component, reason) in self
                .candidate
                .components
                .iter()
                .zip(&bearing.rates)
                .filter_map(|(component, rate)| Some((component, rate.err()?)))
            {
                unknown.push(TaxCalculationUnknown {
                    part: if line.is_some() {
                        "line_items"
                    } else {
                        SHIPPING
                    },
                    index: line.map(|_| index),
                    id: line.and_then(|line| line.id.as_deref()),
                    category: if line.is_some() {
                        bearing.category.name()
                    } else {
                        SHIPPING
                    },
                    amount: dollars(self.sale.items[index].amount),
                    class: component.class,
                    code: &component.code,
                    reason,
                });
            }
        }
        unknown
    }

    /// Returns the combined rate in millionths, weighted by the taxed amount of each item.
    fn effective_rate(&self, taxable: i64) -> Option<i64> {
        let sum: i128 = (0..self.sale.items.len())
            .map(|item| self.weighed(item))
            .sum();
        if taxable == 0 {
            let is_untaxed = (0..self.sale.items.len()).all(|item| self.taxable(item) == 0);
            return (is_untaxed
                && self
                    .sale
                    .items
                    .iter()
                    .any(|item| item.class.is_some() && item.amount != 0))
            .then_some(0);
        }
        Some(rounded(
            sum * i128::from(taxable.signum()),
            i128::from(taxable.abs()),
        ))
    }

    /// Returns the taxed amount of an item. The amount is zero if every rate is known to be zero.
    fn taxable(&self, item: usize) -> i64 {
        let is_exempt = self
            .sale
            .bearing(item)
            .is_some_and(|bearing| bearing.rates.iter().all(|rate| *rate == Ok(0)));
        if is_exempt {
            0
        } else {
            self.sale.taxed[item].taxable
        }
    }

    /// Returns the unrounded tax on an item, in millionths of a cent.
    fn weighed(&self, item: usize) -> i128 {
        let rates = self
            .sale
            .bearing(item)
            .map_or(&[][..], |bearing| &bearing.rates);
        rates
            .iter()
            .enumerate()
            .map(|(part, rate)| i128::from(self.base(item, part)) * i128::from(rate.unwrap_or(0)))
            .sum()
    }

    /// Returns the amount of an item on which a component levies its tax.
    fn base(&self, item: usize, part: usize) -> i64 {
        let is_local = self.candidate.components[part].class != TaxClass::State;
        self.sale.items[item]
            .local
            .filter(|_| is_local)
            .unwrap_or(self.sale.taxed[item].taxable)
    }

    /// Returns the tax of each jurisdiction for each class of goods in the sale.
    fn breakdown(&self) -> Vec<TaxPart<'_>> {
        let mut parts = Vec::new();
        for (class, bearing) in self.sale.classes.iter().enumerate() {
            let items: Vec<usize> = (0..self.sale.items.len())
                .filter(|item| {
                    self.sale.items[*item].class == Some(class)
                        && self.sale.items[*item].amount != 0
                })
                .collect();
            for part in (0..self.candidate.components.len()).filter(|_| !items.is_empty()) {
                let taxable = items.iter().map(|item| self.base(*item, part)).sum();
                let tax = items
                    .iter()
                    .map(|item| self.sale.taxed[*item].parts[part])
                    .sum();
                parts.push(self.part(bearing, part, (taxable, tax)));
            }
        }
        parts
    }

    fn item(&self, index: usize) -> ItemTax<'_> {
        let (taxed, bearing) = (&self.sale.taxed[index], self.sale.bearing(index));
        let of_cap = self.sale.items[index].local.map(|_| {
            rounded(
                self.weighed(index) * i128::from(taxed.taxable.signum()),
                i128::from(taxed.taxable.abs()),
            )
        });
        let part_of = |bearing| {
            move |(part, tax): (usize, &i64)| {
                self.part(bearing, part, (self.base(index, part), *tax))
            }
        };
        ItemTax {
            taxable_amount: dollars(self.taxable(index)),
            rate: bearing
                .map_or(Some(0), |bearing| {
                    bearing.combined().ok().map(|rate| of_cap.unwrap_or(rate))
                })
                .map(rate),
            tax_amount: Some(dollars(taxed.tax)).filter(|_| self.sale.is_item_known(index)),
            known_tax_amount: dollars(taxed.tax),
            breakdown: bearing
                .map(|bearing| {
                    taxed
                        .parts
                        .iter()
                        .enumerate()
                        .map(part_of(bearing))
                        .collect()
                })
                .unwrap_or_default(),
        }
    }

    fn part<'r>(
        &'r self,
        bearing: &'r ClassRates<'_>,
        part: usize,
        (taxable, tax): (i64, i64),
    ) -> TaxPart<'r> {
        let (component, known) = (&self.candidate.components[part], bearing.rates[part]);
        TaxPart {
            class: component.class,
            code: &component.code,
            name: &component.name,
            category: bearing.category,
            rate: known.ok().map(rate),
            null_reason: known.err(),
            taxable_amount: dollars(if known == Ok(0) { 0 } else { taxable }),
            tax_amount: known.ok().map(|_| dollars(tax)),
        }
    }
}
