//! Reads the request limits for API keys, by plan, from `schemas/_plans.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use pubdata_core::declared::{DeclarationFiles, Finding};
use pubdata_core::error::{Error, Result};

const FILE: &str = "schemas/_plans.toml";

/// Name of the plan for requests without a valid key.
pub const ANONYMOUS_PLAN: &str = "anonymous";

/// The plans in `schemas/_plans.toml`, by name.
#[derive(Debug, Clone)]
pub struct Plans(BTreeMap<String, Plan>);

/// A plan, which limits requests with a token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Average request rate.
    pub requests_per_minute: u64,
    /// Size of the token bucket, which is the number of requests that may arrive at once.
    pub burst: u64,
    /// Maximum number of concurrently open stream sockets.
    #[serde(default = "few_sockets")]
    pub stream_sockets: u64,
}

fn few_sockets() -> u64 {
    5
}

impl Plans {
    /// Reads the declared plans.
    ///
    /// # Errors
    /// `Config`, when the file is missing or invalid.
    pub fn load(files: &DeclarationFiles) -> Result<Self> {
        let bytes = files
            .read(FILE)
            .ok_or_else(|| Error::config(format!("there is no {FILE}")))?;
        Self::parse(&String::from_utf8_lossy(bytes))
    }

    /// Parses the content of a plans file.
    ///
    /// # Errors
    /// `Config`, when a key or value is invalid, a limit is 0, or the plan for requests without a
    /// key is missing.
    pub fn parse(text: &str) -> Result<Self> {
        let plans: BTreeMap<String, Plan> = toml::from_str(text)
            .map_err(|error| Error::config(Finding::of_toml(FILE, text, &error).to_string()))?;
        if let Some((name, _)) = plans
            .iter()
            .find(|(_, plan)| plan.requests_per_minute == 0 || plan.burst == 0)
        {
            return Err(Error::config(format!(
                "{FILE}: plan `{name}`: a limit of 0 would refuse every request"
            )));
        }
        if !plans.contains_key(ANONYMOUS_PLAN) {
            return Err(Error::config(format!(
                "{FILE}: there is no plan `{ANONYMOUS_PLAN}` for requests without a key"
            )));
        }
        Ok(Self(plans))
    }

    /// Iterates over all plans and their names.
    pub fn all(&self) -> impl Iterator<Item = (&str, Plan)> {
        self.0.iter().map(|(name, plan)| (name.as_str(), *plan))
    }

    /// Iterates over the names of the plans that a key can have.
    pub fn names_of_keys(&self) -> impl Iterator<Item = &str> {
        self.0
            .keys()
            .map(String::as_str)
            .filter(|name| *name != ANONYMOUS_PLAN)
    }

    /// Returns the plan for requests without a key.
    pub fn anonymous(&self) -> Plan {
        self.0[ANONYMOUS_PLAN]
    }

    /// Returns the plan with the given name, for a key.
    ///
    /// # Errors
    /// `Config`, listing the known plans, when no plan for keys has that name. The plan for
    /// requests without a key is not a plan for keys.
    pub fn of_key(&self, name: &str) -> Result<Plan> {
        let plan = self.0.get(name).copied().filter(|_| name != ANONYMOUS_PLAN);
        let why = if name == ANONYMOUS_PLAN {
            "is for requests without a key"
        } else {
            "does not exist"
        };
        let names = || self.names_of_keys().collect::<Vec<_>>().join(", ");
        plan.ok_or_else(|| {
            Error::config(format!("plan `{name}` {why}")).hint(format!("plans: {}", names()))
        })
    }
}
