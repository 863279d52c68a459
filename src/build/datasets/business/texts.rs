//! Reads the text columns in a registry's frame, and its addresses with their ZIP Codes. A column
//! that a registry does not publish reads as null.

use std::borrow::Cow;

use polars::prelude::*;

use pubdata_core::canonical;

/// A frame's text columns. A registry may not publish all of them.
pub(super) struct Texts<'f>(pub &'f DataFrame);

impl<'f> Texts<'f> {
    /// Returns a column, or `None` if the registry does not publish it.
    pub fn column(&self, name: &str) -> Option<&'f StringChunked> {
        self.0
            .column(name)
            .ok()
            .and_then(|column| column.str().ok())
    }

    /// Returns a row's cell in a column.
    pub fn cell(&self, name: &str, row: usize) -> Option<&'f str> {
        self.column(name)?.get(row)
    }

    /// Copies a column under another name. A missing column becomes null.
    pub fn copied(&self, from: &str, to: &str) -> Column {
        match self.column(from) {
            Some(column) => column.clone().with_name(to.into()).into_column(),
            None => StringChunked::full_null(to.into(), self.0.height()).into_column(),
        }
    }

    /// Maps a column cell by cell; null stays null.
    pub fn mapped<'t>(
        &self,
        from: &str,
        to: &str,
        map: impl Fn(&'f str) -> Option<Cow<'t, str>>,
    ) -> Column
    where
        'f: 't,
    {
        match self.column(from) {
            Some(column) => column
                .iter()
                .map(|cell| cell.and_then(&map))
                .collect::<StringChunked>()
                .with_name(to.into())
                .into_column(),
            None => self.copied(from, to),
        }
    }

    /// Copies an address (`principal_line1` and so on), with the state as a postal code and the ZIP
    /// Code in two parts.
    pub fn address(&self, from: &str, to: &str, parts: &[&str]) -> Vec<Column> {
        let name = |prefix: &str, part: &str| format!("{prefix}_{part}");
        let zips = self.zips(from);
        let address_part = |part: &&str| match *part {
            "state" => self.mapped(&name(from, "state"), &name(to, "state"), |text| {
                Some(state(text))
            }),
            "zip" => strings(
                &name(to, "zip"),
                (0..self.0.height()).map(|row| zips.parts(row).map(|(zip, _)| zip)),
            ),
            "zip4" => strings(
                &name(to, "zip4"),
                (0..self.0.height()).map(|row| zips.zip4(row)),
            ),
            part => self.copied(&name(from, part), &name(to, part)),
        };
        parts.iter().map(address_part).collect()
    }

    /// Returns the columns for an address's ZIP Code.
    pub fn zips(&self, from: &str) -> ZipColumns<'f> {
        let column = |part: &str| self.column(&format!("{from}_{part}"));
        ZipColumns {
            zip: column("zip"),
            zip4: column("zip4"),
            state: column("state"),
            country: column("country"),
        }
    }
}

/// ZIP Code columns, with the columns that show whether an address is in the United States.
pub(super) struct ZipColumns<'f> {
    zip: Option<&'f StringChunked>,
    zip4: Option<&'f StringChunked>,
    state: Option<&'f StringChunked>,
    country: Option<&'f StringChunked>,
}

impl<'f> ZipColumns<'f> {
    /// Returns a row's ZIP Code in two parts. Foreign postal codes and mistyped codes stay as
    /// published.
    fn parts(&self, row: usize) -> Option<(Cow<'f, str>, Option<String>)> {
        let text = self.zip?.get(row)?;
        let read = if self.is_in_country(row) {
            canonical::address::zip_in_country(text)
        } else {
            canonical::address::zip(text)
        };
        Some(read.map_or((Cow::Borrowed(text), None), |(five, four)| {
            (Cow::Owned(five), four)
        }))
    }

    /// Returns the last four digits from a separate column, or from the code.
    fn zip4(&self, row: usize) -> Option<String> {
        let is_zip4 = |text: &&str| {
            text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) && *text != "0000"
        };
        let own = self
            .zip4
            .and_then(|own| own.get(row))
            .filter(is_zip4)
            .map(str::to_owned);
        own.or_else(|| self.parts(row)?.1)
    }

    /// Returns the code if it is invalid and its address is in the United States.
    pub fn bad(&self, row: usize) -> Option<&'f str> {
        let is_plain = |text: &&str| {
            text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit()) && *text != "00000"
        };
        let text = self.zip?.get(row).filter(|text| !is_plain(text))?;
        (self.is_in_country(row) && canonical::address::zip_in_country(text).is_none())
            .then_some(text)
    }

    /// Returns true if the address is in the United States. Sunbiz truncates `UNITED STATES` and
    /// the names of other countries to two letters.
    fn is_in_country(&self, row: usize) -> bool {
        let state = self.state.and_then(|state| state.get(row));
        let has_state = state.is_some_and(|state| canonical::state::usps(state).is_some());
        match self.country.and_then(|country| country.get(row)) {
            Some("US" | "USA" | "UNITED STATES") => state.is_none() || has_state,
            Some("UN") | None => has_state,
            Some(_) => false,
        }
    }
}

/// Builds a text column.
pub(super) fn strings<T: AsRef<str>>(
    name: &str,
    values: impl Iterator<Item = Option<T>>,
) -> Column {
    let mut builder = StringChunkedBuilder::new(name.into(), values.size_hint().0);
    values.for_each(|value| builder.append_option(value));
    builder.finish().into_column()
}

/// Builds a column that repeats the same text.
pub(super) fn constant(name: &str, text: &str, height: usize) -> Column {
    StringChunked::full(name.into(), text, height).into_column()
}

/// Returns a state's postal code, or the text as published.
pub(super) fn state(text: &str) -> Cow<'static, str> {
    canonical::state::usps(text).map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
}

/// Splits a ZIP Code into five and four digits. Foreign postal codes and mistyped codes stay as
/// published.
pub(super) fn zip(text: &str) -> (Cow<'_, str>, Option<String>) {
    canonical::address::zip(text).map_or((Cow::Borrowed(text), None), |(five, four)| {
        (Cow::Owned(five), four)
    })
}
