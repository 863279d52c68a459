//! Declares query parameters: the rules that their values must follow (`query.rs`), and their
//! schemas in the OpenAPI document.

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
    /// Bounds on the number of values, or `None` for a parameter with a single value.
    pub list: Option<(usize, Option<usize>)>,
    /// Value that applies if the parameter is absent.
    pub default: Option<&'static str>,
    /// Message for an absent parameter, or `None` if the parameter is optional.
    pub required: Option<&'static str>,
    pub description: &'static str,
}

/// Rule for a parameter's value, or for each value in a comma-separated list.
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
    /// A value of a contract column, given by dataset and column.
    OneOf(&'static str, &'static str),
    /// A value of a contract column that has a note with this name: dataset, column and note.
    OneWithNote(&'static str, &'static str, &'static str),
    /// One of the given words.
    Word(&'static [&'static str]),
    Date,
    /// A string with at least one ASCII letter or digit. Its length in characters lies within these
    /// bounds.
    Text {
        min: usize,
        max: usize,
    },
    /// One line of at most `max` characters that is not blank.
    Line {
        max: usize,
    },
    /// Five digits.
    Zip,
    /// A state by postal code or name, in any case.
    State,
    /// A string with its own pattern.
    Form(TextForm),
    /// The answer's format: JSON by default, or a table of the records at this path in `data`.
    Format(&'static str),
    /// A value of a contract column to include, or to exclude if it has a `-` prefix. The column is
    /// given by dataset and column name.
    Signed(&'static str, &'static str),
    /// A cursor from the previous page. `cursor.rs` reports its errors.
    Cursor,
}

/// Pattern that a string must match.
#[derive(Debug, Clone, Copy)]
pub struct TextForm {
    /// Regular expression in the OpenAPI document.
    pub pattern: &'static str,
    /// Description of a valid string with an example, for messages.
    pub description: &'static str,
}

/// Pattern for the letters of a state name. The check also rejects strings that match the pattern
/// but name no state.
pub const STATE_PATTERN: &str = "^[A-Za-z][A-Za-z. ]*[A-Za-z.]$";
/// Pattern for a line that is not blank.
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
    "The previous page's `next_cursor`, with the same filters; any other text is rejected.",
);
pub const LIMIT: Parameter = Kind::Integer { min: 1, max: 100 }
    .or("25")
    .described("Number of records on a page.");

/// Formats for answers that contain records.
pub const FORMATS: &[&str] = &["json", "csv"];

/// Declares the `format` parameter for an endpoint that can answer with a table. `rows` is the
/// field of `data` that contains the list, or a list within a list (`series/values`). If it is
/// empty, `data` is the list.
pub const fn format(rows: &'static str) -> Parameter {
    Kind::Format(rows)
        .described("`csv`: the records as a table instead of JSON; all pages if `limit` is absent. `Accept: text/csv` has the same effect.")
        .named("format")
}

/// Parameters of an endpoint that has no other parameters.
pub const RELEASE_PARAMETERS: &[Parameter] = &[RELEASE, AS_OF];

impl Kind {
    /// Builds the parameter of this kind, without a name.
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

    /// Sets the value that applies if the parameter is absent.
    pub const fn or(self, default: &'static str) -> Parameter {
        Parameter {
            default: Some(default),
            ..self.parameter()
        }
    }

    /// Sets the message for an absent parameter.
    pub const fn required(self, message: &'static str) -> Parameter {
        Parameter {
            required: Some(message),
            ..self.parameter()
        }
    }

    /// Bounds the number of values in a list.
    pub const fn items(self, min: usize, max: usize) -> Parameter {
        Parameter {
            list: Some((min, Some(max))),
            ..self.parameter()
        }
    }

    /// Reports whether every string of this kind can be parsed as the value type.
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

    /// Reports whether the kind has a fixed set of values, so that a list must not repeat a value.
    fn is_choice(self) -> bool {
        matches!(
            self,
            Self::OneOf(..) | Self::OneWithNote(..) | Self::Word(_)
        )
    }

    /// Checks a value, or one item of a list.
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
            Self::OneWithNote(dataset, column, note) => {
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

    /// Returns the JSON schema for a value, or for one item of a list.
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
            Self::OneWithNote(dataset, column, note) => {
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
            Self::State => json!({"type": "string", "pattern": STATE_PATTERN}),
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

    /// Returns the parameter itself, so that macros can call `.parameter()` on a kind or a
    /// parameter.
    pub const fn parameter(self) -> Self {
        self
    }

    /// Builds the parameter for a struct field. The parameter's own description is used only if the
    /// field has none.
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

    /// Returns the largest number that the parameter accepts.
    pub fn max_integer(&self) -> Option<usize> {
        match self.kind {
            Kind::Integer { max, .. } => usize::try_from(max).ok(),
            _ => None,
        }
    }

    /// Returns the JSON schema of the parameter, including defaults and bounds.
    pub fn schema(&self, contracts: &Contracts) -> Value {
        let mut schema = self.kind.schema(contracts);
        if let Some(default) = self.default {
            schema["default"] = match self.kind {
                Kind::Integer { .. } | Kind::Number { .. } => {
                    serde_json::from_str(default).expect("the default of a number is a number")
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

    /// Normalises a checked value for handlers: state names become postal codes.
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

    /// Checks a value against the declaration.
    ///
    /// # Errors
    /// A message for the client.
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

/// Returns the message for a string that names no state.
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

/// Returns the values that a contract column allows.
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

/// Returns the values of a contract column that have a note with this name.
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
