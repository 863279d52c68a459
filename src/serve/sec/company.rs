//! Finds the registrant that a request names, including a registrant with figures but without a
//! published name.

use schemars::JsonSchema;
use serde::Serialize;

use crate::http::endpoint::Call;
use crate::http::parameters::TextForm;
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::sec::tables::SecTables;
use pubdata_core::ids::Cik;

use crate::sec::tables::REGISTRANTS;

/// Format of a CIK in requests.
pub const CIK: TextForm = TextForm {
    pattern: "^0{0,9}[1-9][0-9]{0,9}$",
    description: "a CIK such as `320193`",
};
/// Format of a ticker in requests.
pub const TICKER: TextForm = TextForm {
    pattern: "^[A-Za-z0-9./-]{1,16}$",
    description: "a ticker such as `AAPL`",
};

/// The registrant in a request path.
#[derive(Debug, Clone, Copy)]
pub struct Company<'a> {
    pub cik: Cik,
    /// Name of the registrant; `None` if only the financials contain the registrant.
    pub name: Option<&'a str>,
    pub row: Option<usize>,
}

// Identity of a registrant, at the start of answers.
#[derive(Serialize, JsonSchema)]
pub struct CompanyName<'a> {
    /// The registrant's CIK: ten digits, with leading zeros.
    #[schemars(extend("$field" = "sec.registrant/cik"))]
    cik: String,
    /// Conformed name of the registrant; null if it is not published.
    name: Option<&'a str>,
}

impl<'a> CompanyName<'a> {
    pub fn new(cik: Cik, name: Option<&'a str>) -> Self {
        Self {
            cik: cik.to_string(),
            name,
        }
    }
}

/// Parses a CIK, with or without leading zeros.
pub fn cik_of(text: &str, field: &str) -> Result<Cik> {
    let hint = if text.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        "; /v1/sec/companies/search finds it by `ticker` or `name`"
    } else {
        ""
    };
    text.parse()
        .map_err(|error| Problem::of_field(Code::InvalidParameter, field, format!("{error}{hint}")))
}

impl<'a> Company<'a> {
    /// Returns the identity shown at the start of answers.
    pub fn shown(&self) -> CompanyName<'a> {
        CompanyName::new(self.cik, self.name)
    }

    /// Finds the registrant of the path's `{cik}`.
    ///
    /// # Errors
    /// `invalid_parameter` if the value is not a CIK; `not_found` if the registrant does not exist;
    /// `coverage_unavailable` if the release has no registrants.
    pub async fn of_path(call: &'a Call<'_>) -> Result<Self> {
        let cik = cik_of(call.path_value("cik"), "cik")?;
        Self::find(call, cik, "cik").await
    }

    /// Finds a registrant.
    ///
    /// # Errors
    /// `not_found` if the registrant does not exist; `coverage_unavailable` if the release contains
    /// no registrants.
    pub async fn find(call: &'a Call<'_>, cik: Cik, field: &str) -> Result<Self> {
        let sec = SecTables::from_release(call.release);
        let row = sec
            .registrants
            .as_ref()
            .and_then(|registrants| registrants.find(cik));
        if let Some((registrants, row)) = sec.registrants.as_ref().zip(row) {
            return Ok(Self {
                cik,
                name: registrants.name(row),
                row: Some(row),
            });
        }
        let has_values = sec
            .values
            .about(call.reader(), cik)
            .await?
            .is_some_and(|bucket| bucket.table.runs(cik).next().is_some());
        if has_values {
            return Ok(Self {
                cik,
                name: None,
                row: None,
            });
        }
        if sec.registrants.is_none() && sec.values.is_empty() {
            return Err(not_published(REGISTRANTS));
        }
        Err(Problem::of_field(
            Code::NotFound,
            field,
            format!(
                "no registrant with the CIK {cik} is published; /v1/sec/companies/search finds registrants by name or ticker"
            ),
        ))
    }
}
