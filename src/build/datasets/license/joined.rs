//! Joins rows from other files to a license by its number: bonds, insurance policies, principals.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::{Cells, Read, Row, date};
use super::settings::DateFormat;
use pubdata_core::canonical::name;

/// A joined file's rows by license number.
pub(super) struct JoinedFile<'f> {
    cells: Cells<'f>,
    by_number: BTreeMap<String, Vec<usize>>,
}

impl<'f> JoinedFile<'f> {
    pub(super) fn new(cells: Cells<'f>) -> Self {
        let mut by_number: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in 0..cells.height() {
            by_number
                .entry(
                    cells
                        .row(row, None)
                        .text("number")
                        .unwrap_or_default()
                        .to_owned(),
                )
                .or_default()
                .push(row);
        }
        Self { cells, by_number }
    }

    /// Returns the rows whose license number is not in `numbers`.
    pub(super) fn without_license(&self, numbers: &BTreeSet<&str>) -> Vec<(&str, Row<'_>)> {
        let unknown = self
            .by_number
            .iter()
            .filter(|(number, _)| !numbers.contains(number.as_str()));
        unknown
            .flat_map(|(number, rows)| {
                rows.iter()
                    .map(|row| (number.as_str(), self.cells.row(*row, None)))
            })
            .collect()
    }
}

/// A source's joined files, with their date formats.
pub(super) struct Joins<'f> {
    pub(super) bonds: Option<JoinedFile<'f>>,
    pub(super) insurance: Option<JoinedFile<'f>>,
    pub(super) principals: Option<JoinedFile<'f>>,
    pub(super) date_formats: &'f [DateFormat],
}

/// The joined rows for one license.
pub(super) struct Joined<'j> {
    bonds: Vec<Row<'j>>,
    insurance: Vec<Row<'j>>,
    principals: Vec<Row<'j>>,
    date_formats: &'j [DateFormat],
}

impl Joins<'_> {
    pub(super) fn for_number(&self, number: &str) -> Joined<'_> {
        fn rows<'j>(file: Option<&'j JoinedFile<'_>>, number: &str) -> Vec<Row<'j>> {
            let found = file.and_then(|file| Some((file, file.by_number.get(number)?)));
            found
                .map(|(file, rows)| rows.iter().map(|row| file.cells.row(*row, None)).collect())
                .unwrap_or_default()
        }
        Joined {
            bonds: rows(self.bonds.as_ref(), number),
            insurance: rows(self.insurance.as_ref(), number),
            principals: rows(self.principals.as_ref(), number),
            date_formats: self.date_formats,
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &JoinedFile<'_>> {
        [&self.bonds, &self.insurance, &self.principals]
            .into_iter()
            .flatten()
    }
}

impl<'j> Joined<'j> {
    /// Returns the pointers to all rows, in file order.
    pub(super) fn pointers(&self) -> impl Iterator<Item = u64> {
        [&self.bonds, &self.insurance, &self.principals]
            .into_iter()
            .flatten()
            .flat_map(|row| row.pointers().iter().copied())
    }

    /// Returns the bond with the latest effective date. Falls back to the license's own row if no
    /// joined file contains a bond.
    pub(super) fn bond(&self, license: Row<'j>) -> Row<'j> {
        self.latest(&self.bonds, ["bond_effective_date", "bond_expiration_date"])
            .unwrap_or(license)
    }

    /// Returns the insurance policy with the latest effective date, with the same fallback as
    /// [`Joined::bond`].
    pub(super) fn insurance(&self, license: Row<'j>) -> Row<'j> {
        self.latest(
            &self.insurance,
            ["insurance_effective_date", "insurance_expiration_date"],
        )
        .unwrap_or(license)
    }

    /// Returns the persons that the source names for the business. Persons in the license's row
    /// come first, followed by those in the other file, without persons who have left.
    pub(super) fn principals(&self, license: Row<'_>) -> Vec<String> {
        let others = self
            .principals
            .iter()
            .filter(|row| row.text("end_date").is_none())
            .filter_map(|row| row.text("principal"));
        let mut names: Vec<String> = Vec::new();
        for name in license.text("principal").into_iter().chain(others) {
            if !names
                .iter()
                .any(|known| name::words(known) == name::words(name))
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn latest(&self, rows: &[Row<'j>], columns: [&str; 2]) -> Option<Row<'j>> {
        let day = |row: &Row<'_>, column: &str| match row
            .text(column)
            .map(|text| date(text, self.date_formats))
        {
            Some(Read::Value(day)) => day,
            _ => String::new(),
        };
        rows.iter()
            .max_by_key(|row| columns.map(|column| day(row, column)))
            .copied()
    }
}
