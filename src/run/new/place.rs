//! Parses jurisdictions. For example, `us-co-denver` is Denver in Colorado, and its list is
//! `permit.denver`.

use pubdata_core::error::{Error, Result};

/// A jurisdiction and the name of its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) jurisdiction: String,
    /// State code, such as `CO`.
    pub(super) state: String,
    /// Name of the place, such as `Kansas City`.
    pub(super) name: String,
    pub(super) is_county: bool,
    /// Name of the list, such as `kansas_city`, which is used in the names of its files.
    pub(super) list: String,
}

impl Place {
    /// Parses a jurisdiction. `list` is the name of the list if it differs from that of the
    /// jurisdiction.
    ///
    /// # Errors
    /// Returns `Config` if the format is invalid.
    pub(super) fn parse(jurisdiction: &str, list: Option<&str>) -> Result<Self> {
        let is_word = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        let parts = jurisdiction
            .strip_prefix("us-")
            .and_then(|rest| rest.split_once('-'));
        let Some((state, own)) = parts.filter(|(state, own)| {
            state.len() == 2 && state.bytes().all(|byte| byte.is_ascii_lowercase()) && is_word(own)
        }) else {
            return Err(Error::config(format!("`{jurisdiction}` is no jurisdiction"))
                .hint("write country, state and place in lower case, words joined by `_`: us-co-denver, us-mo-kansas_city, us-md-baltimore_county"));
        };
        let list = list.unwrap_or(own);
        if !is_word(list) {
            return Err(Error::config(format!("--name {list} is no name of a list"))
                .hint("lower case letters, digits and `_`, such as denver_roofs"));
        }
        let name = own
            .split('_')
            .filter(|word| !word.is_empty())
            .map(capitalized)
            .collect::<Vec<_>>()
            .join(" ");
        Ok(Self {
            jurisdiction: jurisdiction.to_owned(),
            state: state.to_uppercase(),
            is_county: own.ends_with("_county"),
            name,
            list: list.to_owned(),
        })
    }

    pub(super) fn pipeline_id(&self) -> String {
        format!("permit.{}", self.list)
    }

    /// Returns the path of the declaration, relative to the declaration folder.
    pub(super) fn declaration_file(&self) -> String {
        format!("pipelines/permit/{}.toml", self.list)
    }

    /// Returns the folder of the fixture's test case.
    pub(super) fn case(&self) -> String {
        format!("fixtures/permit/{}/basic", self.list)
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jurisdiction_id_gives_the_state_name_and_pipeline() {
        let place = Place::parse("us-mo-kansas_city", None).unwrap();
        assert_eq!(
            (
                place.state.as_str(),
                place.name.as_str(),
                place.pipeline_id().as_str()
            ),
            ("MO", "Kansas City", "permit.kansas_city")
        );
        assert!(
            Place::parse("us-md-baltimore_county", None)
                .unwrap()
                .is_county
        );
        assert_eq!(
            Place::parse("us-co-denver", Some("denver_roofs"))
                .unwrap()
                .declaration_file(),
            "pipelines/permit/denver_roofs.toml"
        );
        for wrong in [
            "denver",
            "us-co",
            "us-co-",
            "US-CO-Denver",
            "us-colorado-denver",
            "us-co-../x",
        ] {
            assert!(Place::parse(wrong, None).is_err(), "{wrong}");
        }
        assert!(Place::parse("us-co-denver", Some("../x")).is_err());
    }
}
