//! Declared parameters and the strict reading of a query string: an unknown, repeated, empty or malformed parameter is an error
//! that names it. What is declared here is also what the OpenAPI document says.

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::contract::Contracts;
use crate::serve::http::openapi::columns;
use crate::serve::http::problem::{Code, FieldError, Problem, Result};
use crate::serve::http::{nearest, pattern};

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
    /// Text of so many characters with a letter or digit among them.
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
    /// Postal code of a state, in any case.
    State,
    /// A comma list of them.
    States,
    /// Text in a form of its own, as a regular expression.
    Form(&'static str),
    /// A comma list of the values of a contract's column, each wanted, or with `-` before it not wanted: dataset and column.
    Signed(&'static str, &'static str),
    /// What a page gave for the next one; its reader says what is wrong with it.
    Cursor,
}

/// A line that is not blank.
const LINE: &str = "^[^\\n\\r\\u2028\\u2029]*[^ \\t\\u00a0\\u3000\\n\\r\\u2028\\u2029][^\\n\\r\\u2028\\u2029]*$";

pub const RELEASE: Parameter = Parameter {
    name: "release",
    kind: Kind::Form("^r[0-9a-f]{20}$"),
    description: "Answer from this release of the channel, while it is kept. Refused beside `as_of`, and beside a `cursor` of another release.",
};
pub const AS_OF: Parameter = Parameter {
    name: "as_of",
    kind: Kind::Date,
    description: "Answer from the newest release that the channel had at the end of this day (UTC). Refused beside `release`.",
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

/// The parameters of an endpoint that has none of its own.
pub const OF_RELEASE: &[Parameter] = &[RELEASE, AS_OF];
/// The same of an endpoint that answers from one vintage.
pub const OF_VINTAGE: &[Parameter] = &[VINTAGE, RELEASE, AS_OF];

impl Parameter {
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
            Self::State => json!({"type": "string", "pattern": "^[A-Za-z]{2}$"}),
            Self::States => json!({"type": "string", "pattern": "^[A-Za-z]{2}(,[A-Za-z]{2})*$"}),
            Self::Form(pattern) => json!({"type": "string", "pattern": pattern}),
            Self::Signed(dataset, column) => {
                let word = format!("-?({})", allowed(contracts, dataset, column).join("|"));
                json!({"type": "string", "pattern": format!("^{word}(,{word})*$")})
            }
            Self::Cursor => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,256}$"}),
        }
    }

    fn check(self, text: &str, contracts: &Contracts) -> std::result::Result<(), String> {
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
            Self::Word(words) => one_of(text, words),
            Self::Date => {
                let is_date = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
                if is_date { Ok(()) } else { Err(format!("expected a date such as 2026-01-31, got `{}`", shown(text))) }
            }
            Self::Text { min, max } => {
                let is_text = (min..=max).contains(&text.chars().count()) && text.bytes().any(|byte| byte.is_ascii_alphanumeric());
                if is_text { Ok(()) } else { Err(format!("expected {min} to {max} characters with a letter or digit")) }
            }
            Self::Line { max } if text.chars().count() <= max && pattern::matches(LINE, text) => Ok(()),
            Self::Line { max } => Err(format!("expected one line of 1 to {max} characters")),
            Self::Zip => {
                let is_zip = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
                if is_zip { Ok(()) } else { Err(format!("expected a ZIP code of five digits, got `{}`", shown(text))) }
            }
            Self::State if is_state(text) => Ok(()),
            Self::State => Err(format!("expected the two-letter code of a state, got `{}`", shown(text))),
            Self::States => {
                if text.split(',').all(is_state) {
                    Ok(())
                } else {
                    Err(format!("expected two-letter codes of states, got `{}`", shown(text)))
                }
            }
            Self::Form(pattern) if pattern::matches(pattern, text) => Ok(()),
            Self::Form(pattern) => Err(format!("`{}` is not of the form {pattern}", shown(text))),
            Self::Signed(dataset, column) => {
                let words = allowed(contracts, dataset, column);
                text.split(',').try_for_each(|word| one_of(word.strip_prefix('-').unwrap_or(word), &words))
            }
            Self::Cursor => Ok(()),
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

fn is_state(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn word_schema(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn list_schema(word: Value) -> Value {
    json!({"type": "array", "minItems": 1, "uniqueItems": true, "items": word})
}

fn one_of(word: &str, words: &[&str]) -> std::result::Result<(), String> {
    if words.contains(&word) { Ok(()) } else { Err(format!("`{}` is not valid; {}", shown(word), nearest::hint(word, words))) }
}

fn some_of(text: &str, words: &[&str]) -> std::result::Result<(), String> {
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

/// Wrong parameters after which the rest is not looked at.
const MAX_ERRORS: usize = 20;

/// The parameters of one request, checked, in the order they are declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads a query string.
    ///
    /// # Errors
    /// `unknown_parameter` or `invalid_parameter`, naming every wrong parameter, up to [`MAX_ERRORS`].
    pub fn read(text: &str, parameters: &'static [Parameter], contracts: &Contracts) -> Result<Self> {
        let mut found: Vec<Option<String>> = vec![None; parameters.len()];
        let mut errors = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            if errors.len() == MAX_ERRORS {
                break;
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut wrong = |field: String, code: Code, message: String| errors.push(FieldError { field, code, message });
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                wrong(
                    name.chars().take(64).collect(),
                    Code::InvalidParameter,
                    format!("`{}` is not percent-encoded UTF-8", pair.chars().take(64).collect::<String>()),
                );
                continue;
            };
            let Some(index) = parameters.iter().position(|parameter| parameter.name == name) else {
                let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
                let name: String = name.chars().take(64).collect();
                let message = format!("there is no parameter `{name}` here; {}", nearest::hint(&name, &names));
                wrong(name, Code::UnknownParameter, message);
                continue;
            };
            let parameter = &parameters[index];
            if found[index].is_some() {
                wrong(name, Code::InvalidParameter, format!("`{}` is given twice", parameter.name));
            } else if let Err(message) = parameter.kind.check(&value, contracts) {
                let message: String = message.chars().take(300).collect();
                wrong(name, Code::InvalidParameter, format!("`{}`: {message}", parameter.name));
            }
            found[index] = Some(value);
        }
        match errors.first() {
            None => Ok(Self(parameters.iter().zip(found).filter_map(|(parameter, value)| Some((parameter.name, value?))).collect())),
            Some(first) => Err(Problem { errors: errors.clone(), ..Problem::new(first.code, first.message.clone()) }),
        }
    }

    /// The text of a parameter, when it is given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter whose declared kind reads as `T`.
    pub fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(|text| text.parse().ok())
    }

    /// The parameters one by one, in the declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    let is_encoded = |index: usize| spaced.get(index + 1..index + 3).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if spaced.match_indices('%').any(|(index, _)| !is_encoded(index)) {
        return None;
    }
    percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
