//! The text of a metric's object around its figures. Thousands of areas share it, so that it is made once when a release is loaded.

use crate::json::{Json, Trim};

/// What a metric's object says beside value, margin of error and record id.
#[derive(Debug, Clone, Copy)]
pub struct MetricSays<'a> {
    pub key: &'a str,
    pub unit: &'a str,
    /// Whether the margin is an approximate one.
    pub is_derived: bool,
    /// Of an open-ended median, whose figure is a bound.
    pub bound_type: Option<&'a str>,
    pub moe_status: &'a str,
    pub qualifier: Option<&'a str>,
    pub null_reason: Option<&'a str>,
    /// The members `universe` and `source`, as JSON text.
    pub universe_and_source: Option<&'a str>,
    /// Codes of warnings, joined with commas.
    pub warnings: Option<&'a str>,
}

/// The members of a metric's object as JSON text, with gaps for the value or bound, the margin of error and the record id.
#[derive(Debug)]
pub struct MetricText {
    before_figure: Box<str>,
    before_margin: Box<str>,
    before_id: Box<str>,
    after_id: Box<str>,
    trim: Trim,
}

impl MetricText {
    pub fn new(says: &MetricSays<'_>) -> Self {
        let before_figure = |json: &mut Json| {
            json.key("key").text(says.key);
            json.key("unit").text(says.unit);
            if says.bound_type.is_some() {
                json.key("value").null();
                json.key("bound");
            } else {
                json.key("value");
            }
        };
        let before_margin = |json: &mut Json| {
            if says.bound_type.is_none() {
                json.key("bound").null();
            }
            json.key("bound_type").optional_text(says.bound_type);
            if says.is_derived {
                json.key("moe").null();
                json.key("moe_approximate");
            } else {
                json.key("moe");
            }
        };
        let before_id = |json: &mut Json| {
            if !says.is_derived {
                json.key("moe_approximate").null();
            }
            json.key("moe_status").text(says.moe_status);
            json.key("qualifier").optional_text(says.qualifier);
            json.key("null_reason").optional_text(says.null_reason);
            match says.universe_and_source {
                Some(members) => json.raw(members),
                None => {
                    json.key("universe").null();
                    json.key("source").null();
                }
            }
            json.key("record_id");
        };
        let after_id = |json: &mut Json| json.key("warnings").texts(says.warnings.into_iter().flat_map(|warnings| warnings.split(',')));
        Self {
            before_figure: json_text(before_figure),
            before_margin: json_text(before_margin),
            before_id: json_text(before_id),
            after_id: json_text(after_id),
            trim: trim_of(says.unit),
        }
    }

    /// Writes the members, with figures in tenths and the pieces of the record id; null in place of what is none.
    pub fn write(&self, json: &mut Json, figure: Option<i64>, margin: Option<i64>, record_id: Option<&[&str]>) {
        json.raw(&self.before_figure);
        write_tenths(json, figure, self.trim);
        json.raw(&self.before_margin);
        write_tenths(json, margin, self.trim);
        json.raw(&self.before_id);
        match record_id {
            Some(pieces) => json.plain(pieces),
            None => json.null(),
        }
        json.raw(&self.after_id);
    }
}

/// As the publisher prints a unit: one decimal for years and percentages, none for counts and dollars.
pub fn trim_of(unit: &str) -> Trim {
    if matches!(unit, "percent" | "years") { Trim::Keep } else { Trim::Zeros }
}

/// Writes a number of tenths, or null.
pub fn write_tenths(json: &mut Json, tenths: Option<i64>, trim: Trim) {
    match tenths {
        Some(tenths) => json.decimal(tenths, 1, trim),
        None => json.null(),
    }
}

/// What is written, as text: a value, or members of an object.
pub fn json_text(write: impl FnOnce(&mut Json)) -> Box<str> {
    let mut json = Json::new();
    write(&mut json);
    String::from_utf8(json.into_bytes()).expect("the writer makes UTF-8").into()
}
