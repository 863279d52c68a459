//! Strict reading of a client's message: each member is known, there if it must be, and of its
//! type. A problem names the member, as over HTTP.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::http::nearest;
use crate::http::problem::{Code, Problem, Result};

/// What a member that is a text must be.
pub const TEXT: &str = "a string";

/// Members of a message, or of an object in it.
pub struct Members {
    /// What stands before the names of the members in a problem.
    path: &'static str,
    members: Map<String, Value>,
}

impl Members {
    pub fn of_message(members: Map<String, Value>) -> Self {
        Self { path: "", members }
    }

    /// Refuses members that are not known.
    ///
    /// # Errors
    /// `unknown_parameter`, with the nearest name that is known.
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

    /// # Errors
    /// `missing_parameter`, when the member is absent; `invalid_parameter`, when it is not what it
    /// must be.
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

    /// # Errors
    /// `invalid_parameter`, when the member is there and not what it must be.
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

    /// The members of the object `filters`.
    ///
    /// # Errors
    /// `invalid_parameter`, when the member is there and no object.
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
