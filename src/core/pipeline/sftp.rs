//! Defines a source's login for an SFTP server. No login is attempted without a known host key, so
//! that an unknown server never receives the password.

use serde::{Deserialize, Serialize};

use super::Source;

/// Login for a publisher's SFTP server, and the server's identity.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SftpLogin {
    pub user: String,
    /// The password itself if it is public, or `{env:NAME}` if it is a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// `{env:NAME}`, where the variable holds the path of a private key file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The fingerprint of the server's key, as `ssh-keygen -l` prints it: `SHA256:…`. Without this
    /// key or a key that an operator accepted, no login is attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
}

impl SftpLogin {
    /// Returns the environment variable that holds the password or the path of the key file.
    pub fn variable(&self) -> Option<&str> {
        [&self.password, &self.key_file]
            .into_iter()
            .flatten()
            .find_map(|text| variable_of(text))
    }
}

/// Returns the name in `{env:NAME}`.
pub fn variable_of(text: &str) -> Option<&str> {
    text.strip_prefix("{env:")?.strip_suffix('}')
}

/// Returns whether the text is a key fingerprint: `SHA256:` followed by 43 Base64 characters.
pub fn is_fingerprint(text: &str) -> bool {
    let is_base64 = |character: char| character.is_ascii_alphanumeric() || "+/".contains(character);
    text.strip_prefix("SHA256:")
        .is_some_and(|rest| rest.len() == 43 && rest.chars().all(is_base64))
}

/// Reports the errors in a source's login.
pub(super) fn check(source: &Source, report: &mut impl FnMut(&str, String)) {
    let Some(login) = &source.sftp else {
        if source.url.starts_with("sftp://") {
            report("url", "an sftp:// URL needs a login: `sftp = { user = \"…\", password = \"…\", host_key = \"SHA256:…\" }`".to_owned());
        }
        return;
    };
    if !source.url.starts_with("sftp://") {
        report("sftp", "the URL does not start with sftp://".to_owned());
    }
    if source.url.contains(['?', '#'])
        || source.listing.is_some()
        || source.pages.is_some()
        || source.app_token.is_some()
    {
        report(
            "sftp",
            "SFTP knows no queries, pages, lists of links or headers".to_owned(),
        );
    }
    if login.user.is_empty() || login.password.is_some() == login.key_file.is_some() {
        report(
            "sftp",
            "give `user` and either `password` or `key_file`".to_owned(),
        );
    }
    if login
        .key_file
        .as_deref()
        .is_some_and(|path| variable_of(path).is_none())
    {
        report(
            "sftp",
            "`key_file` is `{env:NAME}`: the path of a key differs from machine to machine"
                .to_owned(),
        );
    }
    if let Some(host_key) = login
        .host_key
        .as_deref()
        .filter(|host_key| !is_fingerprint(host_key))
    {
        report(
            "sftp",
            format!(
                "`host_key` is `{host_key}`, not SHA256: and 43 characters as `ssh-keygen -l` prints them"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ssh_keygen_form_is_a_fingerprint() {
        assert!(is_fingerprint(
            "SHA256:JvS7SrgY9QfsC2otdG0TGo0aWcvvieGg1R2Vx8/5VSw"
        ));
        for text in [
            "JvS7SrgY9QfsC2otdG0TGo0aWcvvieGg1R2Vx8/5VSw",
            "SHA256:JvS7",
            "MD5:79:e1:fc:1c",
            "SHA256:JvS7SrgY9QfsC2otdG0TGo0aWcvvieGg1R2Vx8/5VS=",
        ] {
            assert!(!is_fingerprint(text), "{text}");
        }
    }

    #[test]
    fn login_names_the_variable_of_its_secret() {
        let login = |password: Option<&str>, key_file: Option<&str>| SftpLogin {
            user: "u".to_owned(),
            password: password.map(str::to_owned),
            key_file: key_file.map(str::to_owned),
            host_key: None,
        };
        assert_eq!(login(Some("plain"), None).variable(), None);
        assert_eq!(login(Some("{env:PASS}"), None).variable(), Some("PASS"));
        assert_eq!(
            login(None, Some("{env:KEY_FILE}")).variable(),
            Some("KEY_FILE")
        );
    }
}
