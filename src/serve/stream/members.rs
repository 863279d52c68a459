//! Reads a client's message strictly. Each field must be known, present if required, and of the
//! expected type. Problems name the field, just as over HTTP.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::http::nearest;
use crate::http::problem::{Code, Problem, Result};

/// Expected value of a string field, for messages.
pub const TEXT: &str = "a string";

/// Fields of a message, or of an object inside a message.
pub struct Members {
    /// Prefix of the field names in a problem.
    path: &'static str,
    members: Map<String, Value>,
}

impl Members {
    pub fn of_message(members: Map<String, Value>) -> Self {
        Self { path: "", members }
    }

    /// Rejects unknown fields.
    ///
    /// # Errors
    /// `unknown_parameter` with the nearest known name.
    pub fn has_only(&self, known: &[&str]) -> Result<()> {
        let Some(name) = self
            .members
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        else {
            return Ok(());
        };
        let name: String = name.chars().take(64).collect();
        let message = format!(
            "there is no member `{}{name}` here; {}",
            self.path,
            nearest::hint(&name, known)
        );
        Err(self.problem(Code::UnknownParameter, &name, message))
    }

    /// Reads a required field.
    ///
    /// # Errors
    /// `missing_parameter` if the field is absent; `invalid_parameter` if its value is not as
    /// expected.
    pub fn required<T: DeserializeOwned>(&mut self, name: &str, expected: &str) -> Result<T> {
        match self.members.remove(name) {
            Some(value) => self.read(name, value, expected),
            None => Err(self.problem(
                Code::MissingParameter,
                name,
                format!("the message needs `{}{name}`: {expected}", self.path),
            )),
        }
    }

    /// Reads an optional field.
    ///
    /// # Errors
    /// `invalid_parameter` if the value is not as expected.
    pub fn optional<T: DeserializeOwned + Default>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<T> {
        match self.members.remove(name) {
            Some(value) => self.read(name, value, expected),
            None => Ok(T::default()),
        }
    }

    /// Returns the fields of the object `filters`.
    pub fn filters(&mut self) -> Result<Option<Self>> {
        let filters: Option<Map<String, Value>> = self.optional("filters", "an object")?;
        Ok(filters.map(|members| Self {
            path: "filters.",
            members,
        }))
    }

    fn read<T: DeserializeOwned>(&self, name: &str, value: Value, expected: &str) -> Result<T> {
        serde_json::from_value(value).map_err(|_| {
            self.problem(
                Code::InvalidParameter,
                name,
                format!("`{}{name}` must be {expected}", self.path),
            )
        })
    }

    fn problem(&self, code: Code, name: &str, message: String) -> Problem {
        Problem::of_field(code, &format!("{}{name}", self.path), message)
    }
}
