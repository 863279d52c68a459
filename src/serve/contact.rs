//! Parses the operator's contact for questions about the published data.

use std::sync::LazyLock;

use regex::Regex;

/// Name and e-mail address of the contact. DCAT-US requires the address.
pub struct Contact<'a> {
    pub name: &'a str,
    pub address: &'a str,
}

impl<'a> Contact<'a> {
    /// Parses `Data desk <desk@example.org>`, or the address alone.
    pub fn parse(text: &'a str) -> Option<Self> {
        // The class lists the characters that DCAT-US allows. Any other character before the match
        // makes the entire text invalid, so that the rest is not accepted as a shorter address.
        static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(
                r"(?:^|[\s<])([A-Za-z0-9_~!$&'*+=.-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)>?\s*$",
            )
            .expect("a test reads addresses with it")
        });
        let found = ADDRESS.captures(text)?.get(1)?;
        let name = text[..found.start()].trim_end_matches('<').trim();
        Some(Self {
            name: if name.is_empty() {
                found.as_str()
            } else {
                name
            },
            address: found.as_str(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Contact;

    #[test]
    fn contact_is_an_address_with_or_without_a_name() {
        let read = |text| {
            Contact::parse(text)
                .map(|contact| (contact.name.to_owned(), contact.address.to_owned()))
        };
        let pair = |name: &str, address: &str| Some((name.to_owned(), address.to_owned()));
        assert_eq!(
            read("desk@example.org"),
            pair("desk@example.org", "desk@example.org")
        );
        assert_eq!(
            read("Data desk <data.desk+us@example.org>"),
            pair("Data desk", "data.desk+us@example.org")
        );
        assert_eq!(
            read("Data desk desk@example.org"),
            pair("Data desk", "desk@example.org")
        );
        assert_eq!(
            (read("call +1 555 0100"), read("desk@localhost"), read("")),
            (None, None, None)
        );
        // If these texts were cut at a character that DCAT-US does not allow, the result would be
        // somebody else's address.
        assert_eq!(
            (
                read("Desk <a%b@example.org>"),
                read("a/b@example.org"),
                read("desk@example.org%2")
            ),
            (None, None, None)
        );
    }
}
