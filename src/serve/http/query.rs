//! Parses a query string strictly: an unknown, repeated, empty or malformed parameter is an error
//! that names it. A list may be one comma-separated value or several parameters with the same name;
//! both are read as one comma-separated list. Handlers read a checked query as a struct (`query!`
//! in `endpoint.rs`).

use percent_encoding::percent_decode_str;

use super::fields::Field;
use super::nearest;
use super::parameters::{AS_OF, Parameter, RELEASE, shown};
use super::problem::{Code, FieldError, Problem, Result};
use pubdata_core::contract::Contracts;

/// Maximum number of invalid parameters in a problem.
const MAX_ERRORS: usize = 20;

/// Singular and plural names of parameters. Both names are accepted wherever one of them is
/// declared.
const NUMBERS: [(&str, &str); 1] = [("metric", "metrics")];

/// Returns the other name under which a parameter is accepted.
pub fn other_name(name: &str) -> Option<&'static str> {
    NUMBERS.iter().find_map(|(one, many)| {
        if name == *one {
            Some(*many)
        } else {
            (name == *many).then_some(*one)
        }
    })
}

/// Checked parameters of one request, in declaration order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Parses and checks a query string.
    ///
    /// # Errors
    /// `unknown_parameter` or `invalid_parameter`, with every invalid parameter up to
    /// [`MAX_ERRORS`].
    pub fn read(
        text: &str,
        parameters: &'static [Parameter],
        contracts: &Contracts,
    ) -> Result<Self> {
        // Each entry has the index of the parameter, its name in the request and its value, in
        // request order.
        let mut given: Vec<(usize, String, String)> = Vec::new();
        let mut errors = Vec::new();
        let mut wrong = |field: String, code: Code, message: String| {
            if errors.len() < MAX_ERRORS {
                errors.push(FieldError {
                    field,
                    code,
                    message,
                });
            }
        };
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decode(name), decode(value)) else {
                wrong(
                    shown(name),
                    Code::InvalidParameter,
                    format!("`{}` is not percent-encoded UTF-8", shown(pair)),
                );
                continue;
            };
            let declared = |name: &str| {
                parameters
                    .iter()
                    .position(|parameter| parameter.name == name)
            };
            let Some(index) = declared(&name).or_else(|| declared(other_name(&name)?)) else {
                let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
                let name = shown(&name);
                let message = format!(
                    "there is no parameter `{name}` here; {}",
                    nearest::hint(&name, &names)
                );
                wrong(name, Code::UnknownParameter, message);
                continue;
            };
            match given.iter_mut().find(|(known, ..)| *known == index) {
                None => given.push((index, name, value)),
                Some((_, first, _)) if *first != name => {
                    let message = format!("give `{first}` or `{name}`, not both");
                    wrong(name, Code::InvalidParameter, message);
                }
                Some((.., list)) if parameters[index].list.is_some() => {
                    list.push(',');
                    list.push_str(&value);
                }
                Some(_) => {
                    let message = format!("`{name}` is given twice");
                    wrong(name, Code::InvalidParameter, message);
                }
            }
        }
        for (index, name, value) in &given {
            if let Err(message) = parameters[*index].check(value, contracts) {
                let message: String = message.chars().take(300).collect();
                wrong(
                    name.clone(),
                    Code::InvalidParameter,
                    format!("`{name}`: {message}"),
                );
            }
        }
        given.sort_by_key(|(index, ..)| *index);
        match errors.first() {
            None => Ok(Self(
                given
                    .into_iter()
                    .map(|(index, _, value)| {
                        (parameters[index].name, parameters[index].canonical(value))
                    })
                    .collect(),
            )),
            Some(first) => Err(Problem {
                errors: errors.clone(),
                ..Problem::new(first.code, first.message.clone())
            }),
        }
    }

    /// Removes a parameter and returns its value if it was given.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(place).1)
    }

    /// Sets the value of a parameter.
    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.take(name);
        self.0.push((name, value));
    }

    /// Reports whether the request names a release by id or by day.
    pub fn names_release(&self) -> bool {
        [RELEASE, AS_OF]
            .iter()
            .any(|parameter| self.get(parameter.name).is_some())
    }

    /// Returns the value of a parameter if it is given. Handlers read parameters through structs
    /// instead.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the value for a struct field.
    ///
    /// # Errors
    /// `missing_parameter` if the parameter is required and absent.
    pub fn field<'a, T: Field<'a>>(
        &'a self,
        parameters: &'static [Parameter],
        name: &str,
    ) -> Result<T> {
        let parameter = parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .expect("a field is a parameter");
        let missing = || {
            Problem::of_field(
                Code::MissingParameter,
                name,
                parameter.required.unwrap_or_default(),
            )
        };
        T::read(self.get(name).or(parameter.default)).ok_or_else(missing)
    }

    /// Iterates over the parameters in declaration order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    let is_encoded = |index: usize| {
        spaced
            .get(index + 1..index + 3)
            .is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if spaced
        .match_indices('%')
        .any(|(index, _)| !is_encoded(index))
    {
        return None;
    }
    percent_decode_str(&spaced)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}
