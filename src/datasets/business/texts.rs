use std::borrow::Cow;

use polars::prelude::*;

use crate::canonical;

/// The text columns of a frame that a registry may or may not have.
pub(super) struct Texts<'f>(pub &'f DataFrame);

impl<'f> Texts<'f> {
    /// A column; none when the registry does not publish it.
    pub fn column(&self, name: &str) -> Option<&'f StringChunked> {
        self.0.column(name).ok().and_then(|column| column.str().ok())
    }

    /// The cell of a column in a row.
    pub fn cell(&self, name: &str, row: usize) -> Option<&'f str> {
        self.column(name)?.get(row)
    }

    /// Copies a column under another name; null where there is none.
    pub fn copied(&self, from: &str, to: &str) -> Column {
        match self.column(from) {
            Some(column) => column.clone().with_name(to.into()).into_column(),
            None => StringChunked::full_null(to.into(), self.0.height()).into_column(),
        }
    }

    /// A column made from another, cell by cell; null stays null.
    pub fn mapped<'t>(&self, from: &str, to: &str, map: impl Fn(&'f str) -> Option<Cow<'t, str>>) -> Column
    where
        'f: 't,
    {
        match self.column(from) {
            Some(column) => column.iter().map(|cell| cell.and_then(&map)).collect::<StringChunked>().with_name(to.into()).into_column(),
            None => self.copied(from, to),
        }
    }

    /// Copies an address, `principal_line1` and so on, with the state as postal code and the ZIP split in two.
    pub fn address(&self, from: &str, to: &str, parts: &[&str]) -> Vec<Column> {
        let name = |prefix: &str, part: &str| format!("{prefix}_{part}");
        let address_part = |part: &&str| match *part {
            "state" => self.mapped(&name(from, "state"), &name(to, "state"), |text| Some(state(text))),
            "zip" => self.mapped(&name(from, "zip"), &name(to, "zip"), |text| Some(zip(text).0)),
            "zip4" => self.zip4(&name(from, "zip"), &name(from, "zip4"), &name(to, "zip4")),
            part => self.copied(&name(from, part), &name(to, part)),
        };
        parts.iter().map(address_part).collect()
    }

    /// The last four digits of a ZIP code: from a column of their own, or from the code.
    fn zip4(&self, zip_column: &str, own_column: &str, to: &str) -> Column {
        let four = |row: usize| {
            let is_zip4 = |text: &&str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) && *text != "0000";
            let own = self.cell(own_column, row).filter(is_zip4).map(str::to_owned);
            own.or_else(|| self.cell(zip_column, row).and_then(|text| zip(text).1))
        };
        strings(to, (0..self.0.height()).map(four))
    }
}

/// A text column.
pub(super) fn strings<T: AsRef<str>>(name: &str, values: impl Iterator<Item = Option<T>>) -> Column {
    let mut builder = StringChunkedBuilder::new(name.into(), values.size_hint().0);
    values.for_each(|value| builder.append_option(value));
    builder.finish().into_column()
}

/// A column of one text.
pub(super) fn constant(name: &str, text: &str, height: usize) -> Column {
    StringChunked::full(name.into(), text, height).into_column()
}

/// The postal code of a state, or the text as published.
pub(super) fn state(text: &str) -> Cow<'static, str> {
    canonical::state::usps(text).map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
}

/// A ZIP code's five and four digits, or the text as published: postal codes of other countries, and what was typed wrong.
pub(super) fn zip(text: &str) -> (Cow<'_, str>, Option<String>) {
    canonical::address::zip(text).map_or((Cow::Borrowed(text), None), |(five, four)| (Cow::Owned(five), four))
}
