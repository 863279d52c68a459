//! Keeps a URL in two forms: one without secrets for records and logs, and one to send. Redacts
//! secrets in text from servers before the text is shown.

use pubdata_core::error::{Error, Result};

/// A URL in two forms: one without secrets for records and logs, and one to send.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretUrl {
    /// The URL without the query parameters that hold a secret.
    pub(super) recorded: String,
    /// The URL as declared, with `{env:NAME}`.
    declared: String,
    /// The environment variables that hold the URL's secrets.
    pub(super) variables: Vec<String>,
    /// The environment variable that holds a secret sent in a header.
    in_header: Option<String>,
}

impl SecretUrl {
    /// Parses a declared URL.
    ///
    /// # Errors
    /// `Config`, when `{env:NAME}` is used anywhere except as the entire value of a query
    /// parameter.
    pub(super) fn parse(declared: &str) -> Result<Self> {
        let declared = declared
            .split_once('#')
            .map_or(declared, |(before, _)| before);
        let (path, query) = declared.split_once('?').unwrap_or((declared, ""));
        let mut variables = Vec::new();
        let mut kept = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter
                .split_once('=')
                .and_then(|(_, value)| value.strip_prefix("{env:")?.strip_suffix('}'))
            {
                Some(variable) => variables.push(variable.to_owned()),
                None => kept.push(parameter),
            }
        }
        let recorded = if kept.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{}", kept.join("&"))
        };
        if recorded.contains("{env:") {
            return Err(Error::config(format!(
                "URL {recorded}: a secret can only be the whole value of a query parameter"
            ))
            .hint("write `…?key={env:NAME}`"));
        }
        Ok(Self {
            recorded,
            declared: declared.to_owned(),
            variables,
            in_header: None,
        })
    }

    /// Adds a secret that is sent in a header with the URL.
    pub(super) fn with_header(self, variable: Option<String>) -> Self {
        Self {
            in_header: variable,
            ..self
        }
    }

    /// Inserts the secrets. The result may be sent but must never be shown.
    pub(super) fn to_send(&self, secret: fn(&str) -> Option<String>) -> String {
        let put = |url: String, variable: &String| {
            let value = secret(variable).unwrap_or_default();
            url.replace(&format!("{{env:{variable}}}"), &percent_encoded(&value))
        };
        self.variables.iter().fold(self.declared.clone(), put)
    }

    /// Returns whether the text contains any of the secrets in any encoding.
    pub(super) fn is_in(&self, text: &str, secret: fn(&str) -> Option<String>) -> bool {
        let values = self
            .variables
            .iter()
            .chain(&self.in_header)
            .filter_map(|variable| secret(variable))
            .filter(|value| !value.is_empty());
        values
            .flat_map(|value| [percent_encoded(&value), value])
            .any(|value| text.contains(&value))
    }

    /// Makes a server's text safe to show: removes the URL's secrets and control characters, and
    /// truncates the text to 200 characters.
    pub(super) fn redacted(&self, text: &str, secret: fn(&str) -> Option<String>) -> String {
        let mut text = text.to_owned();
        for variable in self.variables.iter().chain(&self.in_header) {
            for value in secret(variable)
                .into_iter()
                .flat_map(|value| [percent_encoded(&value), value])
                .filter(|value| !value.is_empty())
            {
                text = text.replace(&value, &format!("{{env:{variable}}}"));
            }
        }
        text.chars()
            .filter(|character| !character.is_control())
            .take(200)
            .collect()
    }
}

fn percent_encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_sent_but_never_recorded() {
        let url = SecretUrl::parse("https://api.example/data?get=NAME&for=county:*&key={env:KEY}")
            .unwrap();
        assert_eq!(
            url.recorded,
            "https://api.example/data?get=NAME&for=county:*"
        );
        assert_eq!(
            url.to_send(|_| Some("a b/1".to_owned())),
            "https://api.example/data?get=NAME&for=county:*&key=a%20b%2F1"
        );
        assert_eq!(
            url.redacted("/missing?key=a%20b%2F1\r\n", |_| Some("a b/1".to_owned())),
            "/missing?key={env:KEY}"
        );
        assert_eq!(
            SecretUrl::parse("https://api.example/data?key={env:KEY}")
                .unwrap()
                .recorded,
            "https://api.example/data"
        );
        let error = SecretUrl::parse("https://api.example/{env:KEY}/data")
            .map(|url| url.recorded)
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("only be the whole value of a query parameter"),
            "{error}"
        );
    }
}
