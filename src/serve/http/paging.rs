//! Where a list stands: the part of it that a request wants, and the cursor that the next one
//! begins at.

use super::cursor;
use super::endpoint::Call;
use super::meta::Page;
use super::problem::Result;
use pubdata_core::ids::ReleaseId;

/// Beyond this a total is only said to be at least so many.
pub const MAX_COUNTED: usize = 10_000;

/// Where a page begins, by the sort key of the last record of the page before.
pub struct Paging<'a> {
    release_id: &'a ReleaseId,
    filters: String,
    pub limit: usize,
    /// The sort key after which the page begins; none for the first page.
    pub after: Option<String>,
}

impl<'a> Paging<'a> {
    /// Reads the cursor.
    ///
    /// # Errors
    /// `invalid_cursor`, when the cursor is none, or one of other filters or another release.
    pub fn of(call: &'a Call<'_>, limit: usize, cursor: Option<&str>) -> Result<Self> {
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

    /// The cursor that follows a record.
    pub fn cursor(&self, sort_key: &str) -> String {
        cursor::write(self.release_id, &self.filters, sort_key)
    }
}

/// Where a page of a list begins that was found as a whole, or as far as its end, by position.
pub struct ListPaging<'a> {
    paging: Paging<'a>,
    /// Position of the page's first record.
    pub first: usize,
}

impl<'a> ListPaging<'a> {
    /// Reads the cursor.
    ///
    /// # Errors
    /// As for [`Paging::of`].
    pub fn of(call: &'a Call<'_>, limit: usize, cursor: Option<&str>) -> Result<Self> {
        let paging = Paging::of(call, limit, cursor)?;
        let first = paging
            .after
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|_| cursor::not_a_cursor())?
            .unwrap_or(0);
        Ok(Self { paging, first })
    }

    pub fn limit(&self) -> usize {
        self.paging.limit
    }

    /// How much of what was found has to be in order.
    pub fn end(&self) -> usize {
        self.first.saturating_add(self.limit())
    }

    /// The page's part of everything that was found.
    pub fn slice<'b, T>(&self, found: &'b [T]) -> &'b [T] {
        let start = self.first.min(found.len());
        &found[start..found.len().min(self.end())]
    }

    /// What `meta` says of a page of a list that was found as a whole.
    pub fn page_of_all(&self, total: usize) -> Page {
        let is_cut = false;
        self.page(total, is_cut)
    }

    /// The same of a list of which more may have been found.
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

    /// The cursor of a page that begins at a position.
    pub fn cursor(&self, position: usize) -> String {
        self.paging.cursor(&position.to_string())
    }
}
