//! Evaluates the checks that `docs/SPECIFICATION.md` writes as lines, such as `data.geography.name
//! = "ZCTA 90210"`.

use axum::http::HeaderMap;
use jiff::Timestamp;
use jiff::civil::Date;
use regex::Regex;
use serde_json::Value;

/// An answer.
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Values at a path of the body, or an error that names a missing one.
    pub fn at(&self, path: &str) -> Result<Vec<&Value>, String> {
        select(&self.body, path).map_err(|failure| {
            format!(
                "{failure}, of status {}: {}",
                self.status,
                shortened(&self.body)
            )
        })
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(300).collect()
}

/// Parts of a path: `data.series[metric=revenue].values[].value`, where `[]` is every item and `*`
/// every member. The flag marks brackets.
fn parts(path: &str) -> Vec<(bool, &str)> {
    let (mut parts, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').expect("a closed bracket");
            parts.push((true, index));
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let (name, after) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
            parts.push((false, name));
            rest = after;
        }
    }
    parts
}

/// Splits a line into its path, which may have blanks in brackets, and the rest.
fn subject(line: &str) -> (&str, &str) {
    let mut is_index = false;
    let is_end = |character: char| {
        is_index = character == '[' || (is_index && character != ']');
        character == ' ' && !is_index
    };
    line.split_once(is_end).unwrap_or((line, ""))
}

/// Values at a path. Every member must exist, every list must have an item, and every filter must
/// match: a path without a target is a failure.
fn select<'a>(root: &'a Value, path: &str) -> Result<Vec<&'a Value>, String> {
    let mut values = vec![root];
    for (is_index, part) in parts(path) {
        let mut next = Vec::new();
        for value in values {
            match (is_index, part) {
                (false, "*") => next.extend(
                    value
                        .as_object()
                        .ok_or_else(|| format!("`*` of `{path}` is not in an object"))?
                        .values(),
                ),
                (false, name) => next.push(
                    value
                        .get(name)
                        .ok_or_else(|| format!("no `{name}` at `{path}`"))?,
                ),
                (true, part) => {
                    let items = value
                        .as_array()
                        .ok_or_else(|| format!("no list at `[{part}]` of `{path}`"))?;
                    match (part.split_once('='), part.parse::<usize>()) {
                        (Some((member, selected)), _) => {
                            next.extend(
                                items.iter().filter(|item| text(&item[member]) == selected),
                            );
                        }
                        (None, Ok(index)) => next.push(
                            items
                                .get(index)
                                .ok_or_else(|| format!("no item {index} at `{path}`"))?,
                        ),
                        (None, Err(_)) => next.extend(items),
                    }
                }
            }
        }
        if next.is_empty() {
            return Err(format!("nothing at `{part}` of `{path}`"));
        }
        values = next;
    }
    Ok(values)
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if two values are equal; numbers are compared by value, not by notation.
fn is_same(value: &Value, other: &Value) -> bool {
    match (value.as_f64(), other.as_f64()) {
        (Some(number), Some(other)) => number == other,
        _ => match (value, other) {
            (Value::Array(items), Value::Array(others)) => {
                items.len() == others.len()
                    && items
                        .iter()
                        .zip(others)
                        .all(|(item, other)| is_same(item, other))
            }
            (Value::Object(members), Value::Object(others)) => {
                members.len() == others.len()
                    && members.iter().all(|(name, member)| {
                        others.get(name).is_some_and(|other| is_same(member, other))
                    })
            }
            _ => value == other,
        },
    }
}

/// Returns true if a value has a type or format: `date`, `string or null`.
fn is_of(value: &Value, types: &str) -> bool {
    let written = value.as_str().unwrap_or_default();
    let fits = |pattern: &str| Regex::new(pattern).unwrap().is_match(written);
    types.split(" or ").any(|name| match name {
        "null" => value.is_null(),
        "string" => !written.is_empty(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "date" => fits("^[0-9]{4}-[0-9]{2}-[0-9]{2}$") && written.parse::<Date>().is_ok(),
        "timestamp" => {
            fits("^[0-9-]{10}T[0-9:]{8}(\\.[0-9]{3})?Z$") && written.parse::<Timestamp>().is_ok()
        }
        "url" => fits("^https://[a-z0-9.-]+/"),
        "version" => fits("^[0-9]+\\.[0-9]+\\.[0-9]+$"),
        _ => panic!("there is no type `{name}`"),
    })
}

/// Checks an answer against a line of the page. The error holds the expected and the actual value.
pub fn check(reply: &Reply, line: &str) -> Result<(), String> {
    let came =
        |value: &dyn std::fmt::Display| Err(format!("expected: {line}\n    came:     {value}"));
    let (subject, rest) = subject(line);
    if subject == "status" {
        return if rest == reply.status.to_string() {
            Ok(())
        } else {
            came(&format!("{} {}", reply.status, shortened(&reply.body)))
        };
    }
    let (subject, rest, header) = match subject {
        "header" => {
            let (name, rest) = rest.split_once(' ').expect("a header's name and a check");
            (name, rest, Some(Value::from(reply.header(name))))
        }
        _ => (subject, rest, None),
    };
    let (word, selected) = rest.split_once(' ').unwrap_or((rest, ""));
    if word == "absent" {
        let (parent, name) = subject.rsplit_once('.').expect("a member");
        let parents = reply
            .at(parent)
            .or_else(|failure| came(&failure).map(|()| Vec::new()))?;
        return parents
            .into_iter()
            .find_map(|parent| parent.get(name))
            .map_or(Ok(()), |value| came(value));
    }
    let values = match &header {
        Some(value) => vec![value],
        None => reply
            .at(subject)
            .or_else(|failure| came(&failure).map(|()| Vec::new()))?,
    };
    let json = || {
        serde_json::from_str::<Value>(selected).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    let names = || selected.split(", ");
    // Checks each value, or all of them together.
    let holds: Box<dyn Fn(&Value) -> bool> = match word {
        "=" => Box::new(move |value| is_same(value, &json())),
        "in" => Box::new(move |value| {
            json()
                .as_array()
                .expect("a list")
                .iter()
                .any(|other| is_same(value, other))
        }),
        "outside" => Box::new(move |value| {
            !json()
                .as_array()
                .expect("a list")
                .iter()
                .any(|other| is_same(value, other))
        }),
        ":" => Box::new(move |value| is_of(value, selected)),
        "matches" => {
            let pattern = Regex::new(selected).unwrap();
            Box::new(move |value| pattern.is_match(&text(value)))
        }
        "has" => Box::new(move |value| names().all(|name| value.get(name).is_some())),
        "lacks" => Box::new(move |value| {
            value.is_object() && names().all(|name| value.get(name).is_none())
        }),
        "count" => {
            let selected: usize = selected.parse().expect("a number");
            Box::new(move |value| {
                value
                    .as_array()
                    .map(Vec::len)
                    .or(value.as_object().map(serde_json::Map::len))
                    == Some(selected)
            })
        }
        "explains" => {
            let (name, reasons) = selected
                .split_once(" by ")
                .expect("a member and its explanation");
            if values.iter().all(|value| !value[name].is_null()) {
                return came(&format!("no {name} is null: the check proves nothing"));
            }
            let is_explained = |value: &Value, reasons: &str| {
                reasons.split(", ").any(|reason| {
                    value
                        .get(reason)
                        .is_some_and(|reason| is_of(reason, "string"))
                })
            };
            Box::new(move |value| {
                value.get(name).is_some_and(|member| !member.is_null())
                    || is_explained(value, reasons)
            })
        }
        _ => panic!("{line}: there is no check `{word}`"),
    };
    values
        .into_iter()
        .find(|value| !holds(value))
        .map_or(Ok(()), |value| came(&shortened(value)))
}

/// Each kind of check, with an answer that passes and with answers that fail.
#[test]
fn every_kind_of_check_can_fail() {
    let body = serde_json::json!({
        "a": {"name": "x", "none": null, "reason": "suppressed", "empty": "", "list": [], "number": 1.5, "whole": 2, "flag": true, "date": "2023-02-28"},
        "at": "2023-01-01T00:00:00Z", "url": "https://a.example/b", "version": "1.2.0",
        "items": [{"k": "p.a b", "v": 1, "why": null}, {"k": "q", "v": null, "why": "suppressed"}, {"k": "r", "v": null, "why": null}],
        "maps": {"m": {"v": 1}, "n": {"v": 2}},
    });
    let headers = HeaderMap::from_iter([(
        axum::http::header::CONTENT_TYPE,
        "application/json".parse().unwrap(),
    )]);
    let reply = Reply {
        status: 200,
        headers,
        body,
    };
    let pass = [
        "status 200",
        "header content-type = \"application/json\"",
        "a.name = \"x\"",
        "a.whole = 2.0",
        "a.none = null",
        "a.name in [\"y\", \"x\"]",
        "a.name outside [\"y\"]",
        "a.name matches ^x$",
        "a.name : string",
        "a.none : string or null",
        "a.whole : integer",
        "a.number : number",
        "a.flag : boolean",
        "a : object",
        "a.list : array",
        "a.date : date",
        "at : timestamp",
        "url : url",
        "version : version",
        "a has name, none",
        "a lacks other",
        "a.other absent",
        "items count 3",
        "items[k=p.a b].v = 1",
        "items[1].k = \"q\"",
        "items[].k : string",
        "maps.*.v : integer",
        "items[v=null] has why",
        "items[k=q] explains v by why",
    ];
    let fail = [
        "status 404",
        "header content-type = \"text/html\"",
        "header x-none = \"a\"",
        "a.name = \"y\"",
        "a.whole = 3",
        "a.none = 0",
        "a.name = null",
        "a.name in [\"y\"]",
        "a.name outside [\"y\", \"x\"]",
        "a.name matches ^y",
        "a.none : string",
        "a.empty : string",
        "a.whole : string",
        "a.number : integer",
        "a.name : number",
        "a.name : boolean",
        "a.list : object",
        "a : array",
        "a.name : date",
        "a.date : timestamp",
        "a.date : url",
        "a.date : version",
        "a.name : null",
        "a has name, other",
        "a lacks name, other",
        "a.name lacks other",
        "a.name absent",
        "b.name absent",
        "items count 2",
        "a.name count 1",
        "a.other = null",
        "a.other : null",
        "a.list[] = 1",
        "a.name[] = 1",
        "a.name.* = 1",
        "items[5].k = \"q\"",
        "items[k=z].v = 1",
        "items[].v : integer",
        "items[].other : null",
        "maps.*.v = 1",
        "items[] explains v by why",
        "items[k=p.a b] explains v by why",
    ];
    for line in pass {
        assert_eq!(check(&reply, line), Ok(()));
    }
    let passed: Vec<&str> = fail
        .into_iter()
        .filter(|line| check(&reply, line).is_ok())
        .collect();
    assert_eq!(
        passed,
        Vec::<&str>::new(),
        "these checks pass and should fail"
    );
    assert_eq!(
        check(&reply, "a.name = \"y\""),
        Err("expected: a.name = \"y\"\n    came:     \"x\"".to_owned())
    );
}
