//! Decodes a companyfacts member in any JSON layout, for members on which the fast decoder gives
//! up. A repeated key in an object causes the member to be rejected. An unreadable wanted fact is
//! only recorded.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::ConceptFilter;
use super::concept_filter::Concepts;
use crate::datasets::sec::fact::{
    Amount, CompanyFacts, Fact, FilingPeriod, Form, MalformedFact, Unit,
};
use crate::normalise::Day;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{AccessionNumber, Cik};

/// Reads a member in any JSON layout, with any white space, key order and escapes. Checks that the
/// entire member is UTF-8 and JSON.
///
/// # Errors
/// Fails if the member is not UTF-8 or JSON, or does not have the format's structure. Also fails if
/// an object repeats a key.
pub(super) fn read(member: &[u8], filter: &ConceptFilter) -> Result<CompanyFacts> {
    let text = std::str::from_utf8(member)
        .map_err(|error| Error::format(format!("not UTF-8: {error}")))?;
    let mut facts = CompanyFacts::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Object(Member {
        text,
        filter,
        has_cik: false,
        has_facts: false,
        found: &mut facts,
    })
    .deserialize(&mut deserializer)
    .and_then(|()| deserializer.end())
    .map_err(|error| Error::format(error.to_string()))?;
    Ok(facts)
}

/// A level of objects in a member, with the handling of each key.
trait Level<'de> {
    /// Description of the object, for messages.
    const OBJECT: &'static str;

    /// Reads the value that belongs to a key.
    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error>;

    /// Returns a required key that is missing from the object.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// Reads an object at a level and rejects repeated keys, because parsers differ in which of the
/// values they use.
struct Object<L>(L);

impl<'de, L: Level<'de>> DeserializeSeed<'de> for Object<L> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, L: Level<'de>> Visitor<'de> for Object<L> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(L::OBJECT)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(Text(key)) = map.next_key()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!(
                    "`{key}` occurs twice in {}",
                    L::OBJECT
                )));
            }
            self.0.entry(&key, &mut map)?;
            seen.insert(key);
        }
        match self.0.missing() {
            Some(key) => Err(A::Error::custom(format!("no `{key}` in {}", L::OBJECT))),
            None => Ok(()),
        }
    }
}

/// Text that is borrowed unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Member<'r, 'de> {
    text: &'de str,
    filter: &'r ConceptFilter,
    has_cik: bool,
    has_facts: bool,
    found: &'r mut CompanyFacts,
}

impl<'de> Level<'de> for Member<'_, 'de> {
    const OBJECT: &'static str = "the member, an object";

    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        match key {
            "cik" => {
                let raw: &RawValue = map.next_value()?;
                self.has_cik = true;
                // For some newer registrants, the value is padded text instead of a number (seen
                // 2025-04).
                self.found.cik = raw
                    .get()
                    .trim_matches('"')
                    .parse::<Cik>()
                    .map_err(A::Error::custom)?
                    .number();
            }
            "entityName" => {
                self.found.entity_name = map.next_value::<Option<String>>()?.unwrap_or_default();
            }
            "facts" => {
                self.has_facts = true;
                map.next_value_seed(Object(Taxonomies {
                    text: self.text,
                    filter: self.filter,
                    found: self.found,
                }))?;
            }
            _ => pass_unknown(&mut self.found.unknown_keys, "member", key, map)?,
        }
        Ok(())
    }

    fn missing(&self) -> Option<&'static str> {
        if self.has_cik {
            (!self.has_facts).then_some("facts")
        } else {
            Some("cik")
        }
    }
}

fn pass_unknown<'de, A: MapAccess<'de>>(
    unknown: &mut BTreeSet<String>,
    level: &str,
    key: &str,
    map: &mut A,
) -> std::result::Result<(), A::Error> {
    unknown.insert(format!("{level}.{key}"));
    map.next_value::<IgnoredAny>().map(|_| ())
}

struct Taxonomies<'r, 'de> {
    text: &'de str,
    filter: &'r ConceptFilter,
    found: &'r mut CompanyFacts,
}

impl<'de> Level<'de> for Taxonomies<'_, 'de> {
    const OBJECT: &'static str = "`facts`, an object of taxonomies";

    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        self.found.taxonomies.push(key.to_owned());
        map.next_value_seed(Object(Taxonomy {
            text: self.text,
            concepts: self.filter.in_taxonomy(key.as_bytes()),
            found: self.found,
        }))
    }
}

struct Taxonomy<'r, 'de> {
    text: &'de str,
    concepts: Option<&'r Concepts>,
    found: &'r mut CompanyFacts,
}

impl<'de> Level<'de> for Taxonomy<'_, 'de> {
    const OBJECT: &'static str = "a taxonomy, an object of concepts";

    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        let concept = self
            .concepts
            .and_then(|concepts| concepts.get(key.as_bytes()).copied());
        map.next_value_seed(Object(Concept {
            text: self.text,
            concept,
            has_units: false,
            found: self.found,
        }))
    }
}

struct Concept<'r, 'de> {
    text: &'de str,
    concept: Option<u16>,
    has_units: bool,
    found: &'r mut CompanyFacts,
}

impl<'de> Level<'de> for Concept<'_, 'de> {
    const OBJECT: &'static str = "a concept, an object with units";

    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        match key {
            "label" | "description" => map.next_value::<IgnoredAny>().map(|_| ()),
            "units" => {
                self.has_units = true;
                map.next_value_seed(Object(Units {
                    text: self.text,
                    concept: self.concept,
                    found: self.found,
                }))
            }
            _ => pass_unknown(&mut self.found.unknown_keys, "concept", key, map),
        }
    }

    fn missing(&self) -> Option<&'static str> {
        (!self.has_units).then_some("units")
    }
}

struct Units<'r, 'de> {
    text: &'de str,
    concept: Option<u16>,
    found: &'r mut CompanyFacts,
}

impl<'de> Level<'de> for Units<'_, 'de> {
    const OBJECT: &'static str = "`units`, an object of lists of facts";

    fn entry<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> std::result::Result<(), A::Error> {
        map.next_value_seed(Facts {
            text: self.text,
            concept: self.concept,
            unit: Unit::from_text(key.as_bytes()),
            found: self.found,
        })
    }
}

/// Facts for one concept and unit. They are always counted, and kept if the concept is wanted.
struct Facts<'r, 'de> {
    text: &'de str,
    concept: Option<u16>,
    unit: Unit,
    found: &'r mut CompanyFacts,
}

impl<'de> DeserializeSeed<'de> for Facts<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Facts<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of facts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let Some(concept) = self.concept else {
            while list.next_element::<IgnoredAny>()?.is_some() {
                self.found.facts_total += 1;
            }
            return Ok(());
        };
        while let Some(raw) = list.next_element::<&RawValue>()? {
            self.found.facts_total += 1;
            let place = raw.get().as_ptr().addr() - self.text.as_ptr().addr();
            let offset = u32::try_from(place).map_err(A::Error::custom)?;
            let length = u32::try_from(raw.get().len()).map_err(A::Error::custom)?;
            match FactText::read(raw.get(), &mut self.found.unknown_keys)
                .and_then(|fact| fact.fact(concept, self.unit, offset, length))
            {
                Ok(fact) => self.found.facts.push(fact),
                Err(detail) => self.found.malformed.push(MalformedFact {
                    concept,
                    detail,
                    offset,
                    length,
                }),
            }
        }
        Ok(())
    }
}

/// JSON text of a fact's values.
#[derive(Default)]
struct FactText<'de> {
    start: Option<&'de RawValue>,
    end: Option<&'de RawValue>,
    val: Option<&'de RawValue>,
    accn: Option<&'de RawValue>,
    fy: Option<&'de RawValue>,
    fp: Option<&'de RawValue>,
    form: Option<&'de RawValue>,
    filed: Option<&'de RawValue>,
    frame: Option<&'de RawValue>,
}

struct FactVisitor<'u>(&'u mut BTreeSet<String>);

impl<'de> Visitor<'de> for FactVisitor<'_> {
    type Value = FactText<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a fact, an object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<FactText<'de>, A::Error> {
        let mut fact = FactText::default();
        while let Some(Text(key)) = map.next_key()? {
            let slot = match key.as_ref() {
                "start" => &mut fact.start,
                "end" => &mut fact.end,
                "val" => &mut fact.val,
                "accn" => &mut fact.accn,
                "fy" => &mut fact.fy,
                "fp" => &mut fact.fp,
                "form" => &mut fact.form,
                "filed" => &mut fact.filed,
                "frame" => &mut fact.frame,
                _ => {
                    pass_unknown(self.0, "fact", &key, &mut map)?;
                    continue;
                }
            };
            if slot.replace(map.next_value()?).is_some() {
                return Err(A::Error::custom(format!("`{key}` occurs twice")));
            }
        }
        Ok(fact)
    }
}

impl<'de> FactText<'de> {
    fn read(text: &'de str, unknown: &mut BTreeSet<String>) -> std::result::Result<Self, String> {
        serde_json::Deserializer::from_str(text)
            .deserialize_map(FactVisitor(unknown))
            .map_err(|error| error.to_string())
    }

    fn fact(
        &self,
        concept: u16,
        unit: Unit,
        offset: u32,
        length: u32,
    ) -> std::result::Result<Fact, String> {
        let start = match self.start {
            Some(raw) => Some(day("start", Some(raw))?),
            None => None,
        };
        let accession = text("accn", self.accn)?;
        Ok(Fact {
            concept,
            unit,
            start,
            end: day("end", self.end)?,
            value: Amount::from_literal(self.val.ok_or("no `val`")?.get().as_bytes())
                .map_err(|why| format!("`val` {why}"))?,
            accession: AccessionNumber::from_bytes(accession.as_bytes())
                .ok_or_else(|| format!("`accn` {accession:?} is no accession number"))?,
            form: Form::from_text(text("form", self.form)?.as_bytes()),
            filed: day("filed", self.filed)?,
            fy: self.fy.and_then(|raw| raw.get().parse().ok()),
            fp: self
                .fp
                .and_then(|raw| FilingPeriod::from_text(text("fp", Some(raw)).ok()?.as_bytes())),
            offset,
            length,
        })
    }
}

fn text<'de>(key: &str, raw: Option<&'de RawValue>) -> std::result::Result<Cow<'de, str>, String> {
    let raw = raw.ok_or_else(|| format!("no `{key}`"))?;
    let Text(text) = serde_json::from_str(raw.get())
        .map_err(|_| format!("`{key}` is no text: {}", raw.get()))?;
    Ok(text)
}

fn day(key: &str, raw: Option<&RawValue>) -> std::result::Result<Day, String> {
    let text = text(key, raw)?;
    Day::from_iso(text.as_bytes()).ok_or_else(|| format!("`{key}` {text:?} is no day"))
}
