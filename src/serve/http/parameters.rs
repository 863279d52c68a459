//! Declared parameters: what the texts of a query string are held against (`query.rs`), and what
//! the OpenAPI document says of them.

use serde_json::{Value, json};

use crate::http::fields::{Count, ValueType};
use crate::http::openapi::columns;
use crate::http::{nearest, pattern};
use crate::release::places;
use pubdata_core::canonical::state::usps;
use pubdata_core::contract::Contracts;

/// One query parameter of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// Bounds of the number of values; none of a parameter that has one value.
    pub list: Option<(usize, Option<usize>)>,
    /// The text that counts when the parameter is absent.
    pub default: Option<&'static str>,
    /// The message when the parameter is absent; none of one that may be.
    pub required: Option<&'static str>,
    pub description: &'static str,
}

/// What a parameter's text must be, or each value of its comma list.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Flag,
    /// One of the values of a contract's column: dataset and column.
    OneOf(&'static str, &'static str),
    /// One of those values of a contract's column of which the contract has a note of this name:
    /// dataset, column and note.
    OneNoted(&'static str, &'static str, &'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    Date,
    /// Text of so many characters with a letter of A to Z or a digit among them.
    Text {
        min: usize,
        max: usize,
    },
    /// One line of so many characters at most that is not blank.
    Line {
        max: usize,
    },
    /// Five digits.
    Zip,
    /// A state by postal code or name, in any case.
    State,
    /// Text in a form of its own.
    Form(TextForm),
    /// The form of an answer: JSON when absent, or a table of the records at this place of `data`.
    Format(&'static str),
    /// One of the values of a contract's column, wanted, or with `-` before it not wanted: dataset
    /// and column.
    Signed(&'static str, &'static str),
    /// What a page gave for the next one; its reader says what is wrong with it.
    Cursor,
}

/// A form that a text must have.
#[derive(Debug, Clone, Copy)]
pub struct TextForm {
    /// The regular expression that the OpenAPI document states.
    pub pattern: &'static str,
    /// What the text is, with an example; messages say this.
    pub description: &'static str,
}

/// The letters of a state; of other texts in the form the check refuses what names none.
pub const STATE_FORM: &str = "^[A-Za-z][A-Za-z. ]*[A-Za-z.]$";
/// A line that is not blank.
const LINE: &str =
    "^[^\\n\\r\\u2028\\u2029]*[^ \\t\\u00a0\\u3000\\n\\r\\u2028\\u2029][^\\n\\r\\u2028\\u2029]*$";

pub const RELEASE_ID: TextForm = TextForm {
    pattern: "^r[0-9a-f]{20}$",
    description: "a release id such as `r0123456789abcdef0123`",
};
pub const RELEASE: Parameter = Kind::Form(RELEASE_ID)
    .described("Use this release of the channel, while it is retained. Cannot be combined with `as_of`, or with a `cursor` of another release.")
    .named("release");
pub const AS_OF: Parameter =
    Kind::Date.described("Use the newest release that the channel had at the end of this day (UTC). Cannot be combined with `release`.").named("as_of");
pub const VINTAGE: Parameter = Kind::Integer {
    min: 1900,
    max: 2200,
}
.described("Final year of the five-year period; the newest published one when absent.");
pub const CURSOR: Parameter = Kind::Cursor.described(
    "The previous page's `next_cursor`, with the same filters; any other text is refused.",
);
pub const LIMIT: Parameter = Kind::Integer { min: 1, max: 100 }
    .or("25")
    .described("Number of records on a page.");

/// The forms of answers that have records.
pub const FORMATS: &[&str] = &["json", "csv"];

/// The parameter of an endpoint whose answer can be a table: of the list in the member `rows` of
/// `data`, of `data` itself where that is empty, or of all lists within a list (`series/values`).
pub const fn format(rows: &'static str) -> Parameter {
    Kind::Format(rows)
        .described("`csv`: the records as a table instead of JSON; all pages where there is no `limit`. Also asked for by `Accept: text/csv`.")
        .named("format")
}

/// The parameters of an endpoint that has none of its own.
pub const OF_RELEASE: &[Parameter] = &[RELEASE, AS_OF];

impl Kind {
    /// The parameter of this kind, without a name.
    pub const fn parameter(self) -> Parameter {
        Parameter {
            name: "",
            kind: self,
            list: None,
            default: None,
            required: None,
            description: "",
        }
    }

    pub const fn described(self, description: &'static str) -> Parameter {
        self.parameter().described(description)
    }

    /// Declares the text that counts when the parameter is absent.
    pub const fn or(self, default: &'static str) -> Parameter {
        Parameter {
            default: Some(default),
            ..self.parameter()
        }
    }

    /// Declares the message when the parameter is absent.
    pub const fn required(self, message: &'static str) -> Parameter {
        Parameter {
            required: Some(message),
            ..self.parameter()
        }
    }

    /// Bounds the number of a list's values.
    pub const fn items(self, min: usize, max: usize) -> Parameter {
        Parameter {
            list: Some((min, Some(max))),
            ..self.parameter()
        }
    }

    /// Whether a value of this type can be read from each text.
    const fn is_read_as(self, value_type: ValueType) -> bool {
        match (self, value_type) {
            (
                Self::Integer { min, max },
                ValueType::Integer {
                    min: least,
                    max: most,
                },
            ) => least <= min && max <= most,
            (Self::Number { .. }, ValueType::Number)
            | (Self::Flag, ValueType::Flag)
            | (Self::Date, ValueType::Date) => true,
            (Self::Integer { .. } | Self::Number { .. } | Self::Flag | Self::Date, _) => false,
            (_, value_type) => matches!(value_type, ValueType::Text),
        }
    }

    /// Whether few texts can be meant, so that a list names none twice.
    fn is_choice(self) -> bool {
        matches!(self, Self::OneOf(..) | Self::OneNoted(..) | Self::Word(_))
    }

    /// Holds a text, or one of a list, against it.
    fn check(self, text: &str, contracts: &Contracts) -> Result<(), String> {
        match self {
            Self::Integer { min, max } => match text.parse::<i64>() {
                Ok(value) if (min..=max).contains(&value) && !text.starts_with('+') => Ok(()),
                _ => Err(format!(
                    "expected a whole number from {min} to {max}, got `{}`",
                    shown(text)
                )),
            },
            Self::Number { min, max } => match text.parse::<f64>() {
                Ok(value)
                    if value.is_finite()
                        && (min..=max).contains(&value)
                        && !text.starts_with('+') =>
                {
                    Ok(())
                }
                _ => Err(format!(
                    "expected a number from {min} to {max}, got `{}`",
                    shown(text)
                )),
            },
            Self::Flag => one_of(text, &["true", "false"]),
            Self::OneOf(dataset, column) => one_of(text, &allowed(contracts, dataset, column)),
            Self::OneNoted(dataset, column, note) => {
                one_of(text, &noted(contracts, dataset, column, note))
            }
            Self::Word(words) => one_of(text, words),
            Self::Format(_) => one_of(text, FORMATS),
            Self::Date => {
                let is_date = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
                if is_date {
                    Ok(())
                } else {
                    Err(format!(
                        "expected a date such as 2026-01-31, got `{}`",
                        shown(text)
                    ))
                }
            }
            Self::Text { min, max } => {
                let is_text = (min..=max).contains(&text.chars().count())
                    && text.bytes().any(|byte| byte.is_ascii_alphanumeric());
                if is_text {
                    Ok(())
                } else {
                    Err(format!(
                        "expected {min} to {max} characters with a letter of A to Z or a digit"
                    ))
                }
            }
            Self::Line { max } if text.chars().count() <= max && pattern::matches(LINE, text) => {
                Ok(())
            }
            Self::Line { max } => Err(format!("expected one line of 1 to {max} characters")),
            Self::Zip => {
                let is_zip = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
                if is_zip {
                    Ok(())
                } else {
                    Err(format!(
                        "expected a ZIP code of five digits, got `{}`",
                        shown(text)
                    ))
                }
            }
            Self::State => usps(text).map(|_| ()).ok_or_else(|| not_a_state(text)),
            Self::Form(form) if pattern::matches(form.pattern, text) => Ok(()),
            Self::Form(form) => Err(format!("`{}` is not {}", shown(text), form.description)),
            Self::Signed(dataset, column) => one_of(
                text.strip_prefix('-').unwrap_or(text),
                &allowed(contracts, dataset, column),
            ),
            Self::Cursor => Ok(()),
        }
    }

    /// The JSON schema of a text, or of one of a list.
    fn schema(self, contracts: &Contracts) -> Value {
        match self {
            Self::Integer { min, max } => {
                json!({"type": "integer", "minimum": min, "maximum": max})
            }
            Self::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Flag => json!({"type": "boolean"}),
            Self::OneOf(dataset, column) => columns::words_of(
                &format!("{dataset}/{column}"),
                &allowed(contracts, dataset, column),
            ),
            Self::OneNoted(dataset, column, note) => {
                json!({"type": "string", "enum": noted(contracts, dataset, column, note)})
            }
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Date => {
                json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
            }
            Self::Text { min, max } => {
                json!({"type": "string", "minLength": min, "maxLength": max, "pattern": "[A-Za-z0-9]"})
            }
            Self::Line { max } => {
                json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": LINE})
            }
            Self::Zip => json!({"type": "string", "pattern": "^[0-9]{5}$"}),
            Self::State => json!({"type": "string", "pattern": STATE_FORM}),
            Self::Form(TextForm { pattern, .. }) => json!({"type": "string", "pattern": pattern}),
            Self::Format(_) => {
                json!({"title": "Format", "type": "string", "enum": FORMATS, "default": FORMATS[0]})
            }
            Self::Signed(dataset, column) => {
                json!({"type": "string", "pattern": format!("^-?({})$", allowed(contracts, dataset, column).join("|"))})
            }
            Self::Cursor => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,256}$"}),
        }
    }
}

impl Parameter {
    pub const fn described(self, description: &'static str) -> Self {
        Self {
            description,
            ..self
        }
    }

    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The parameter, as `.parameter()` of its kind is.
    pub const fn parameter(self) -> Self {
        self
    }

    /// The parameter of a struct's field; its own description counts only where the field has none.
    pub const fn of_field(
        mut self,
        name: &'static str,
        (count, value_type): (Count, ValueType),
        description: &'static str,
    ) -> Self {
        assert!(
            self.kind.is_read_as(value_type),
            "the kind accepts texts that the type of the field cannot hold"
        );
        self.list = match (count, self.list) {
            (Count::List, None) => Some((1, None)),
            (Count::List, bounds) => bounds,
            (Count::One, None) => {
                assert!(
                    self.default.is_some() || self.required.is_some(),
                    "a field without `Option` or `Vec` needs a default or `required`"
                );
                None
            }
            (Count::Option, None) => None,
            (Count::One | Count::Option, Some(_)) => {
                panic!("only a `Vec` has bounds on the number of its values")
            }
        };
        if !description.is_empty() {
            self.description = description.trim_ascii_start();
        }
        assert!(
            !self.description.is_empty(),
            "a parameter needs a description"
        );
        self.named(places::of_field(name))
    }

    /// The highest number that it takes.
    pub fn most_count(&self) -> Option<usize> {
        match self.kind {
            Kind::Integer { max, .. } => usize::try_from(max).ok(),
            _ => None,
        }
    }

    /// The parameter's JSON schema. Defaults and bounds are part of it.
    pub fn schema(&self, contracts: &Contracts) -> Value {
        let mut schema = self.kind.schema(contracts);
        if let Some(default) = self.default {
            schema["default"] = match self.kind {
                Kind::Integer { .. } | Kind::Number { .. } => {
                    serde_json::from_str(default).expect("the default of a number is one")
                }
                _ => json!(default),
            };
        }
        let Some((min, max)) = self.list else {
            return schema;
        };
        let mut list = json!({"type": "array", "minItems": min, "items": schema});
        if let Some(max) = max {
            list["maxItems"] = json!(max);
        }
        if self.kind.is_choice() {
            list["uniqueItems"] = json!(true);
        }
        list
    }

    /// A checked text as handlers read it: states by their postal codes, whatever they were called.
    pub fn canonical(&self, text: String) -> String {
        match self.kind {
            Kind::State => text
                .split(',')
                .filter_map(usps)
                .collect::<Vec<_>>()
                .join(","),
            _ => text,
        }
    }

    /// Holds a text against it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn check(&self, text: &str, contracts: &Contracts) -> Result<(), String> {
        let Some((min, max)) = self.list else {
            return self.kind.check(text, contracts);
        };
        let mut seen = Vec::new();
        for text in text.split(',') {
            self.kind.check(text, contracts)?;
            if self.kind.is_choice() && seen.contains(&text) {
                return Err(format!("`{text}` is listed twice"));
            }
            seen.push(text);
        }
        match (seen.len(), max) {
            (count, _) if count < min => {
                Err(format!("expected a list of at least {min}, got {count}"))
            }
            (count, Some(max)) if count > max => {
                Err(format!("expected a list of at most {max}, got {count}"))
            }
            _ => Ok(()),
        }
    }
}

pub fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

/// What is wrong with a text that names no state.
pub fn not_a_state(text: &str) -> String {
    format!(
        "`{}` is not a U.S. state: give its postal code or name, such as CA or California",
        shown(text)
    )
}

fn one_of(word: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&word) {
        Ok(())
    } else {
        Err(format!(
            "`{}` is not valid; {}",
            shown(word),
            nearest::hint(word, words)
        ))
    }
}

/// The values that a contract's column admits.
pub fn allowed<'a>(contracts: &'a Contracts, dataset_id: &str, column: &str) -> Vec<&'a str> {
    let column = contracts
        .get(dataset_id)
        .and_then(|contract| contract.column(column));
    column
        .map(|column| {
            column
                .column_type
                .values
                .iter()
                .map(String::as_str)
                .collect()
        })
        .unwrap_or_default()
}

/// The values of a contract's column of which it has a note of this name.
pub fn noted<'a>(
    contracts: &'a Contracts,
    dataset_id: &str,
    column: &str,
    note: &str,
) -> Vec<&'a str> {
    let values = contracts
        .get(dataset_id)
        .into_iter()
        .flat_map(|contract| contract.values_of(column));
    values
        .filter(|known| known.note(note).is_some())
        .map(|known| known.value.as_str())
        .collect()
}
