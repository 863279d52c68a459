//! Pages through lists: selects the requested part of a list and writes the cursor of the next
//! page.

use super::cursor;
use super::endpoint::Call;
use super::meta::Page;
use super::problem::Result;
use pubdata_core::ids::ReleaseId;

/// Totals above this number are reported as a lower bound.
pub const MAX_COUNTED: usize = 10_000;

/// Start of a page, defined by the sort key of the previous page's last record.
pub struct Paging<'a> {
    release_id: &'a ReleaseId,
    filters: String,
    pub limit: usize,
    /// Sort key after which the page begins, or `None` for the first page.
    pub after: Option<String>,
}

impl<'a> Paging<'a> {
    /// Reads the cursor.
    ///
    /// # Errors
    /// `invalid_cursor` if the string is not a cursor, or if the cursor belongs to other filters or
    /// another release.
    pub fn new(call: &'a Call<'_>, limit: usize, cursor: Option<&str>) -> Result<Self> {
        let (release_id, filters) = (
            &call.release.manifest.release_id,
            cursor::filters_digest(call.path, call.query),
        );
        let after = cursor
            .map(|text| cursor::sort_key(text, release_id, &filters))
            .transpose()?;
        Ok(Self {
            release_id,
            filters,
            limit,
            after,
        })
    }

    /// Returns the cursor that follows a record.
    pub fn cursor(&self, sort_key: &str) -> String {
        cursor::write(self.release_id, &self.filters, sort_key)
    }
}

/// Start of a page as a position in a list. The list was found completely or up to the end of the
/// page.
pub struct ListPaging<'a> {
    paging: Paging<'a>,
    /// Position of the page's first record.
    pub first: usize,
}

impl<'a> ListPaging<'a> {
    /// Reads the cursor.
    ///
    /// # Errors
    /// The same as for [`Paging::new`].
    pub fn new(call: &'a Call<'_>, limit: usize, cursor: Option<&str>) -> Result<Self> {
        let paging = Paging::new(call, limit, cursor)?;
        let first = paging
            .after
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|_| cursor::malformed_cursor())?
            .unwrap_or(0);
        Ok(Self { paging, first })
    }

    pub fn limit(&self) -> usize {
        self.paging.limit
    }

    /// Returns the end position of the page, which is also the number of records that must be
    /// sorted.
    pub fn end(&self) -> usize {
        self.first.saturating_add(self.limit())
    }

    /// Returns the records of the page from the list of all found records.
    pub fn slice<'b, T>(&self, found: &'b [T]) -> &'b [T] {
        let start = self.first.min(found.len());
        &found[start..found.len().min(self.end())]
    }

    /// Builds the paging data for a list that was found completely.
    pub fn page_of_all(&self, total: usize) -> Page {
        let is_cut = false;
        self.page(total, is_cut)
    }

    /// Builds the paging data. `is_cut` means that more records may match.
    pub fn page(&self, total: usize, is_cut: bool) -> Page {
        let count = total.saturating_sub(self.first).min(self.limit());
        let end = self.first + count;
        let next_cursor = (end < total).then(|| self.cursor(end));
        Page {
            limit: self.limit(),
            count,
            next_cursor,
            total: total.min(MAX_COUNTED),
            is_total_exact: !is_cut && total <= MAX_COUNTED,
            is_cut,
        }
    }

    /// Returns the cursor for a page that begins at a position.
    pub fn cursor(&self, position: usize) -> String {
        self.paging.cursor(&position.to_string())
    }
}
