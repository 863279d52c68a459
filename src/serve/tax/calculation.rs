//! Computes the tax on a sale in whole cents and whole millionths, without binary fractions. Rounds
//! only where the law prescribes it.
//!
//! # Source
//! Streamlined Sales and Use Tax Agreement, section 324: the tax is computed on the combined rate
//! of state and local jurisdictions and carried to the third decimal place. It is rounded up to the
//! next cent when the third decimal is greater than four. The seller chooses whether to round on
//! each item or on the invoice. Half a cent is therefore rounded up, and away from zero for a
//! refund, so that a refund undoes its sale to the cent.

use std::collections::BTreeSet;

/// Maximum number of different combined rates on an invoice whose prices include the tax.
pub const MAX_RATES: usize = 3;

/// Number of millionths in one.
const ONE: i128 = 1_000_000;

/// Unit to which rounding applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    Line,
    Invoice,
}

/// A line of an invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Taxed amount in cents, including the tax if prices include it. Negative for a refund.
    pub amount: i64,
    /// Index of the line's class of goods in the sale, or `None` if it is not taxed.
    pub class: Option<usize>,
    /// Part of the amount on which local taxes are levied, if this part is smaller than the amount.
    pub local: Option<i64>,
}

impl Item {
    /// Returns the amount on which the state's tax or a local tax is levied.
    pub fn base(&self, is_local: bool) -> i64 {
        self.local.filter(|_| is_local).unwrap_or(self.amount)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Sale<'a> {
    /// Rates for each class of goods in millionths: one rate for each jurisdiction, always in the
    /// same order.
    pub classes: &'a [Vec<i64>],
    /// Flags for the jurisdictions, which are true for local jurisdictions.
    pub is_local: &'a [bool],
    pub items: &'a [Item],
    pub rounding: Rounding,
    pub prices_include_tax: bool,
}

/// Tax on an item, in cents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taxed {
    /// Taxed part of the amount.
    pub taxable: i64,
    pub tax: i64,
    /// Tax of each jurisdiction. The sum is `tax`; the list is empty for an item that is not taxed.
    pub parts: Vec<i64>,
}

/// Computes the tax on each item.
///
/// # Units
/// Amounts must be below 10^15 cents and rates at most one. If an invoice's prices include the tax,
/// it may have at most [`MAX_RATES`] different combined rates: products of more rates could
/// overflow `i128`.
pub fn calculate(sale: &Sale<'_>) -> Vec<Taxed> {
    let parts = match sale.rounding {
        Rounding::Line => sale.items.iter().map(|item| of_line(sale, item)).collect(),
        Rounding::Invoice => of_invoice(sale),
    };
    let taxed = |(item, parts): (&Item, Vec<i64>)| {
        let tax = parts.iter().sum();
        let taxable = match item.class {
            None => 0,
            Some(_) if sale.prices_include_tax => item.amount - tax,
            Some(_) => item.amount,
        };
        Taxed {
            taxable,
            tax,
            parts,
        }
    };
    sale.items.iter().zip(parts).map(taxed).collect()
}

fn of_line(sale: &Sale<'_>, item: &Item) -> Vec<i64> {
    let Some(class) = item.class else {
        return Vec::new();
    };
    let exact = exact_parts(sale, item, class);
    let whole = denominator(sale, class);
    allocate(rounded(exact.iter().sum(), whole), &exact, whole)
}

/// Rounds the invoice once. Allocates the total to jurisdictions by class of goods, then allocates
/// each of these amounts to its items.
fn of_invoice(sale: &Sale<'_>) -> Vec<Vec<i64>> {
    // Common denominator for all classes. The denominators differ only if prices include the tax.
    let denominators: BTreeSet<i128> = (0..sale.classes.len())
        .map(|class| denominator(sale, class))
        .collect();
    let whole: i128 = denominators.iter().product();
    let exact = |item: &Item, class: usize| -> Vec<i128> {
        let factor = whole / denominator(sale, class);
        exact_parts(sale, item, class)
            .into_iter()
            .map(|part| part * factor)
            .collect()
    };
    let exact: Vec<Vec<i128>> = sale
        .items
        .iter()
        .map(|item| {
            item.class
                .map(|class| exact(item, class))
                .unwrap_or_default()
        })
        .collect();
    let cells: Vec<(usize, usize)> = sale
        .classes
        .iter()
        .enumerate()
        .flat_map(|(class, rates)| (0..rates.len()).map(move |part| (class, part)))
        .collect();
    let of_cell = |(class, part): (usize, usize)| -> Vec<(usize, i128)> {
        let items = sale
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.class == Some(class));
        items
            .map(|(index, _)| (index, exact[index][part]))
            .collect()
    };
    let sums: Vec<i128> = cells
        .iter()
        .map(|&cell| of_cell(cell).iter().map(|(_, amount)| amount).sum())
        .collect();
    let totals = allocate(rounded(sums.iter().sum(), whole), &sums, whole);
    let mut parts: Vec<Vec<i64>> = exact.iter().map(|exact| vec![0; exact.len()]).collect();
    for (cell, total) in cells.into_iter().zip(totals) {
        let (items, amounts): (Vec<usize>, Vec<i128>) = of_cell(cell).into_iter().unzip();
        for (item, amount) in items.into_iter().zip(allocate(total, &amounts, whole)) {
            parts[item][cell.1] = amount;
        }
    }
    parts
}

/// Returns the unrounded tax of each jurisdiction, in units of a cent divided by the class's
/// denominator.
fn exact_parts(sale: &Sale<'_>, item: &Item, class: usize) -> Vec<i128> {
    let rates = sale.classes[class].iter().zip(sale.is_local);
    rates
        .map(|(rate, is_local)| i128::from(item.base(*is_local)) * i128::from(*rate))
        .collect()
}

/// Returns the denominator for a class. The tax in a price that includes it is rate / (1 + rate).
fn denominator(sale: &Sale<'_>, class: usize) -> i128 {
    let combined: i128 = sale.classes[class]
        .iter()
        .map(|rate| i128::from(*rate))
        .sum();
    if sale.prices_include_tax {
        ONE + combined
    } else {
        ONE
    }
}

/// Rounds `numerator / denominator`, halves away from zero.
pub fn rounded(numerator: i128, denominator: i128) -> i64 {
    let magnitude = (2 * numerator.abs() + denominator) / (2 * denominator);
    // Accepted amounts are far below the overflow limit.
    i64::try_from(magnitude * numerator.signum()).unwrap_or(i64::MAX)
}

/// Allocates a rounded total to its unrounded parts (in units of 1/`whole`). Rounds each part down
/// and gives the rest to the parts with the largest remainders. The total must be less than one
/// away from the sum of the parts. Negated parts give the negated result.
fn allocate(total: i64, parts: &[i128], whole: i128) -> Vec<i64> {
    let sum: i128 = parts.iter().sum();
    let leading = if sum == 0 {
        parts.iter().copied().find(|part| *part != 0).unwrap_or(1)
    } else {
        sum
    };
    let sign = leading.signum();
    let floors: Vec<i128> = parts
        .iter()
        .map(|part| (part * sign).div_euclid(whole))
        .collect();
    let left = i128::from(total) * sign - floors.iter().sum::<i128>();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by_key(|&index| std::cmp::Reverse((parts[index] * sign).rem_euclid(whole)));
    let mut spread = floors;
    by_remainder
        .iter()
        .take(usize::try_from(left).unwrap_or(0))
        .for_each(|&index| spread[index] += 1);
    spread
        .into_iter()
        .map(|part| i64::try_from(part * sign).unwrap_or(i64::MAX))
        .collect()
}

#[cfg(test)]
mod tests;
