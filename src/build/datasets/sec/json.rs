//! Reads the JSON in the SEC's archives: strings with their position in the member, and objects
//! that report unknown keys without failing. A repeated key is an error.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A JSON string in a member, borrowed from the member's bytes unless it contains escapes. A null
/// is read as blank text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text<'m>(Cow<'m, str>);

impl Text<'_> {
    /// Returns the text unchanged.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text without surrounding blanks, or `None` if it is empty.
    pub(super) fn given(&self) -> Option<&str> {
        Some(self.0.trim()).filter(|text| !text.is_empty())
    }

    /// Returns the offset and length of the JSON string, including quotation marks, in the member
    /// from which it was read. Returns `None` if the string contains escapes.
    pub(super) fn place_in(&self, member: &str) -> Option<(u64, u64)> {
        let Cow::Borrowed(text) = &self.0 else {
            return None;
        };
        let offset = (text.as_ptr() as usize)
            .checked_sub(member.as_ptr() as usize)?
            .checked_sub(1)?;
        (offset + text.len() + 2 <= member.len()).then_some((offset as u64, text.len() as u64 + 2))
    }
}

impl<'de: 'm, 'm> Deserialize<'de> for Text<'m> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or null")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

/// Declares a type for an object in a member. Each key has a field, which is `None` if the key is
/// missing or null. Known keys that are not used are listed separately. Other keys are collected by
/// name, so that a key added by the SEC is reported without failing. A repeated key is an error.
macro_rules! json_object {
    ($(#[$meta:meta])* $name:ident<$m:lifetime> { $($key:literal => $field:ident: $type:ty,)* } unused: [$($unused:literal),* $(,)?]) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        pub(super) struct $name<$m> {
            $(pub(super) $field: Option<$type>,)*
            /// Keys that are neither read nor known.
            pub(super) unknown: Vec<String>,
        }

        impl<'de: $m, $m> serde::Deserialize<'de> for $name<$m> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ObjectVisitor<$m>(std::marker::PhantomData<&$m ()>);

                impl<'de: $m, $m> serde::de::Visitor<'de> for ObjectVisitor<$m> {
                    type Value = $name<$m>;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        use serde::de::Error;
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<$crate::datasets::sec::json::Text<'de>>()? {
                            match key.as_str() {
                                $($key => {
                                    if object.$field.is_some() {
                                        return Err(A::Error::duplicate_field($key));
                                    }
                                    object.$field = map.next_value().map_err(|error| A::Error::custom(format!("{}: {error}", $key)))?;
                                })*
                                $($unused => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                })*
                                unknown => {
                                    object.unknown.push(unknown.to_owned());
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(ObjectVisitor(std::marker::PhantomData))
            }
        }
    };
}
pub(super) use json_object;

#[cfg(test)]
mod tests {
    use super::Text;

    json_object! {
        Pair<'m> {
            "first" => first: Text<'m>,
            "numbers" => numbers: Vec<Option<i64>>,
        }
        unused: ["second"]
    }

    #[test]
    fn known_key_is_read_and_unknown_key_is_listed() {
        let pair: Pair<'_> = serde_json::from_str(
            r#"{"first":"a\u0020b","second":{"x":[]},"third":1,"numbers":[1,null]}"#,
        )
        .unwrap();
        assert_eq!(
            (pair.first.unwrap().as_str(), pair.numbers, pair.unknown),
            ("a b", Some(vec![Some(1), None]), vec!["third".to_owned()])
        );
        let pair: Pair<'_> = serde_json::from_str(r#"{"first":null}"#).unwrap();
        assert!(pair.first.is_none() && pair.numbers.is_none());
        for (wrong, reason) in [
            (r#"{"first":"","first":""}"#, "duplicate field `first`"),
            (r#"{"numbers":["1"]}"#, "numbers: invalid type"),
            ("[]", "an object"),
        ] {
            let error = serde_json::from_str::<Pair<'_>>(wrong)
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn text_has_its_position_in_the_member() {
        let member = r#"{"first":"0000320193-20-000096"}"#;
        let pair: Pair<'_> = serde_json::from_str(member).unwrap();
        assert_eq!(pair.first.unwrap().place_in(member), Some((9, 22)));
        assert_eq!(&member[9..31], r#""0000320193-20-000096""#);
    }
}
