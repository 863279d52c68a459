//! Declared parameters: what the texts of a query string are held against (`query.rs`), and what the OpenAPI document says of them.

use serde_json::{Value, json};

use crate::http::openapi::columns;
use crate::http::{nearest, pattern};
use pubdata_core::canonical::state::usps;
use pubdata_core::contract::Contracts;

/// One query parameter of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub description: &'static str,
}

/// What a parameter's text must be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Integer {
        min: i64,
        max: i64,
        default: Option<i64>,
    },
    Number {
        min: f64,
        max: f64,
        default: Option<f64>,
    },
    Flag,
    /// One of the values of a contract's column: dataset and column.
    OneOf(&'static str, &'static str),
    /// A comma list of the values of a contract's column.
    SomeOf(&'static str, &'static str),
    /// One of those values of a contract's column of which the contract has a note of this name: dataset, column and note.
    OneNoted(&'static str, &'static str, &'static str),
    /// A comma list of them.
    SomeNoted(&'static str, &'static str, &'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A comma list of these words.
    Words(&'static [&'static str]),
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
    /// A comma list of them.
    States,
    /// Text in a form of its own.
    Form(TextForm),
    /// A comma list of so many texts that have one.
    Forms {
        item: TextForm,
        min: usize,
        max: Option<usize>,
    },
    /// One of these words, the first when absent.
    Choice(&'static [&'static str]),
    /// The form of an answer: JSON when absent, or a table of the records at this place of `data`.
    Format(&'static str),
    /// A comma list of the values of a contract's column, each wanted, or with `-` before it not wanted: dataset and column.
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
const LINE: &str = "^[^\\n\\r\\u2028\\u2029]*[^ \\t\\u00a0\\u3000\\n\\r\\u2028\\u2029][^\\n\\r\\u2028\\u2029]*$";

pub const RELEASE_ID: TextForm = TextForm { pattern: "^r[0-9a-f]{20}$", description: "a release id such as `r0123456789abcdef0123`" };
pub const RELEASE: Parameter = Parameter {
    name: "release",
    kind: Kind::Form(RELEASE_ID),
    description: "Use this release of the channel, while it is retained. Cannot be combined with `as_of`, or with a `cursor` of another release.",
};
pub const AS_OF: Parameter = Parameter {
    name: "as_of",
    kind: Kind::Date,
    description: "Use the newest release that the channel had at the end of this day (UTC). Cannot be combined with `release`.",
};
pub const VINTAGE: Parameter = Parameter {
    name: "vintage",
    kind: Kind::Integer { min: 1900, max: 2200, default: None },
    description: "Final year of the five-year period; the newest published one when absent.",
};
pub const CURSOR: Parameter =
    Parameter { name: "cursor", kind: Kind::Cursor, description: "The previous page's `next_cursor`, with the same filters; any other text is refused." };
pub const LIMIT: Parameter =
    Parameter { name: "limit", kind: Kind::Integer { min: 1, max: 100, default: Some(25) }, description: "Number of records on a page." };

/// The forms of answers that have records.
pub const FORMATS: &[&str] = &["json", "csv"];

/// The parameter of an endpoint whose answer can be a table: of the list in the member `rows` of `data`, of `data` itself where that is empty, or of all
/// lists within a list (`series/values`).
pub const fn format(rows: &'static str) -> Parameter {
    Parameter {
        name: "format",
        kind: Kind::Format(rows),
        description: "`csv`: the records as a table instead of JSON; all pages where there is no `limit`. Also asked for by `Accept: text/csv`.",
    }
}

/// The parameters of an endpoint that has none of its own.
pub const OF_RELEASE: &[Parameter] = &[RELEASE, AS_OF];

impl Parameter {
    /// The highest number that it takes.
    pub fn most_count(&self) -> Option<usize> {
        match self.kind {
            Kind::Integer { max, .. } => usize::try_from(max).ok(),
            _ => None,
        }
    }

    /// The number that counts when the parameter is absent, where one is declared.
    pub fn default_count(&self) -> Option<usize> {
        match self.kind {
            Kind::Integer { default, .. } => usize::try_from(default?).ok(),
            _ => None,
        }
    }
}

impl Kind {
    /// The parameter's JSON schema. Defaults and bounds are part of it.
    pub fn schema(self, contracts: &Contracts) -> Value {
        match self {
            Self::Integer { min, max, default: Some(default) } => json!({"type": "integer", "minimum": min, "maximum": max, "default": default}),
            Self::Integer { min, max, default: None } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Number { min, max, default: Some(default) } => json!({"type": "number", "minimum": min, "maximum": max, "default": default}),
            Self::Number { min, max, default: None } => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Flag => json!({"type": "boolean"}),
            Self::OneOf(dataset, column) => columns::words_of(&format!("{dataset}/{column}"), &allowed(contracts, dataset, column)),
            Self::SomeOf(dataset, column) => list_schema(columns::words_of(&format!("{dataset}/{column}"), &allowed(contracts, dataset, column))),
            Self::OneNoted(dataset, column, note) => word_schema(&noted(contracts, dataset, column, note)),
            Self::SomeNoted(dataset, column, note) => list_schema(word_schema(&noted(contracts, dataset, column, note))),
            Self::Words(words) => list_schema(word_schema(words)),
            Self::Word(words) => word_schema(words),
            Self::Date => json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
            Self::Text { min, max } => json!({"type": "string", "minLength": min, "maxLength": max, "pattern": "[A-Za-z0-9]"}),
            Self::Line { max } => json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": LINE}),
            Self::Zip => json!({"type": "string", "pattern": "^[0-9]{5}$"}),
            Self::State => json!({"type": "string", "pattern": STATE_FORM}),
            Self::States => form_list_schema(STATE_FORM, 1, None),
            Self::Form(TextForm { pattern, .. }) => json!({"type": "string", "pattern": pattern}),
            Self::Forms { item, min, max } => form_list_schema(item.pattern, min, max),
            Self::Choice(words) => json!({"type": "string", "enum": words, "default": words[0]}),
            Self::Format(_) => json!({"title": "Format", "type": "string", "enum": FORMATS, "default": FORMATS[0]}),
            Self::Signed(dataset, column) => form_list_schema(&format!("^-?({})$", allowed(contracts, dataset, column).join("|")), 1, None),
            Self::Cursor => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,256}$"}),
        }
    }

    /// Whether it is a list, which may be given in several parameters of one name.
    pub fn is_list(self) -> bool {
        matches!(self, Self::SomeOf(..) | Self::SomeNoted(..) | Self::Words(_) | Self::States | Self::Forms { .. } | Self::Signed(..))
    }

    /// A checked text as handlers read it: states by their postal codes, whatever they were called.
    pub fn canonical(self, text: String) -> String {
        match self {
            Self::State | Self::States => text.split(',').filter_map(usps).collect::<Vec<_>>().join(","),
            _ => text,
        }
    }

    /// Holds a text against it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn check(self, text: &str, contracts: &Contracts) -> Result<(), String> {
        match self {
            Self::Integer { min, max, .. } => match text.parse::<i64>() {
                Ok(value) if (min..=max).contains(&value) && !text.starts_with('+') => Ok(()),
                _ => Err(format!("expected a whole number from {min} to {max}, got `{}`", shown(text))),
            },
            Self::Number { min, max, .. } => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && (min..=max).contains(&value) && !text.starts_with('+') => Ok(()),
                _ => Err(format!("expected a number from {min} to {max}, got `{}`", shown(text))),
            },
            Self::Flag => one_of(text, &["true", "false"]),
            Self::OneOf(dataset, column) => one_of(text, &allowed(contracts, dataset, column)),
            Self::SomeOf(dataset, column) => some_of(text, &allowed(contracts, dataset, column)),
            Self::OneNoted(dataset, column, note) => one_of(text, &noted(contracts, dataset, column, note)),
            Self::SomeNoted(dataset, column, note) => some_of(text, &noted(contracts, dataset, column, note)),
            Self::Words(words) => some_of(text, words),
            Self::Word(words) | Self::Choice(words) => one_of(text, words),
            Self::Format(_) => one_of(text, FORMATS),
            Self::Date => {
                let is_date = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
                if is_date { Ok(()) } else { Err(format!("expected a date such as 2026-01-31, got `{}`", shown(text))) }
            }
            Self::Text { min, max } => {
                let is_text = (min..=max).contains(&text.chars().count()) && text.bytes().any(|byte| byte.is_ascii_alphanumeric());
                if is_text { Ok(()) } else { Err(format!("expected {min} to {max} characters with a letter of A to Z or a digit")) }
            }
            Self::Line { max } if text.chars().count() <= max && pattern::matches(LINE, text) => Ok(()),
            Self::Line { max } => Err(format!("expected one line of 1 to {max} characters")),
            Self::Zip => {
                let is_zip = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
                if is_zip { Ok(()) } else { Err(format!("expected a ZIP code of five digits, got `{}`", shown(text))) }
            }
            Self::State => check_state(text),
            Self::States => text.split(',').try_for_each(check_state),
            Self::Form(form) => check_form(text, form),
            Self::Forms { item, min, max } => {
                text.split(',').try_for_each(|text| check_form(text, item))?;
                match (text.split(',').count(), max) {
                    (count, _) if count < min => Err(format!("expected a list of at least {min}, got {count}")),
                    (count, Some(max)) if count > max => Err(format!("expected a list of at most {max}, got {count}")),
                    _ => Ok(()),
                }
            }
            Self::Signed(dataset, column) => {
                let words = allowed(contracts, dataset, column);
                text.split(',').try_for_each(|word| one_of(word.strip_prefix('-').unwrap_or(word), &words))
            }
            Self::Cursor => Ok(()),
        }
    }
}

pub fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

fn check_state(text: &str) -> Result<(), String> {
    usps(text).map(|_| ()).ok_or_else(|| not_a_state(text))
}

/// What is wrong with a text that names no state.
pub fn not_a_state(text: &str) -> String {
    format!("`{}` is not a U.S. state: give its postal code or name, such as CA or California", shown(text))
}

fn form_list_schema(item: &str, min: usize, max: Option<usize>) -> Value {
    let mut schema = json!({"type": "array", "minItems": min, "items": {"type": "string", "pattern": item}});
    if let Some(max) = max {
        schema["maxItems"] = json!(max);
    }
    schema
}

fn check_form(text: &str, form: TextForm) -> Result<(), String> {
    if pattern::matches(form.pattern, text) { Ok(()) } else { Err(format!("`{}` is not {}", shown(text), form.description)) }
}

fn word_schema(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn list_schema(word: Value) -> Value {
    json!({"type": "array", "minItems": 1, "uniqueItems": true, "items": word})
}

fn one_of(word: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&word) { Ok(()) } else { Err(format!("`{}` is not valid; {}", shown(word), nearest::hint(word, words))) }
}

fn some_of(text: &str, words: &[&str]) -> Result<(), String> {
    let mut seen = Vec::new();
    for word in text.split(',') {
        one_of(word, words)?;
        if seen.contains(&word) {
            return Err(format!("`{word}` is listed twice"));
        }
        seen.push(word);
    }
    Ok(())
}

/// The values that a contract's column admits.
pub fn allowed<'a>(contracts: &'a Contracts, dataset_id: &str, column: &str) -> Vec<&'a str> {
    let column = contracts.get(dataset_id).and_then(|contract| contract.column(column));
    column.map(|column| column.column_type.values.iter().map(String::as_str).collect()).unwrap_or_default()
}

/// The values of a contract's column of which it has a note of this name.
pub fn noted<'a>(contracts: &'a Contracts, dataset_id: &str, column: &str, note: &str) -> Vec<&'a str> {
    let values = contracts.get(dataset_id).into_iter().flat_map(|contract| contract.values_of(column));
    values.filter(|known| known.note(note).is_some()).map(|known| known.value.as_str()).collect()
}
