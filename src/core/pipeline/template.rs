//! Expands variables in URLs and member names. Secrets are not expanded, so that no record contains
//! them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Expands a template. `{name}` becomes the variable's value, `{NAME}` the value in upper case, and
/// `{name-4}` an integer value minus 4. `{env:NAME}` is left unchanged, because only the fetch
/// crate reads secrets.
///
/// # Errors
/// An unknown variable, an invalid number, or an unmatched brace.
pub fn expand(template: &str, variables: &BTreeMap<String, String>) -> Result<String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, tail) = after
            .split_once('}')
            .ok_or_else(|| Error::config(format!("`{{` without `}}` in `{template}`")))?;
        text.push_str(&value_of(name, variables).ok_or_else(|| {
            Error::config(format!("unknown variable `{{{name}}}` in `{template}`"))
        })?);
        rest = tail;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns whether a file is a ZIP archive, judging by its URL.
pub fn is_packed(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.len() >= 4
        && path
            .get(path.len() - 4..)
            .is_some_and(|end| end.eq_ignore_ascii_case(".zip"))
}

fn value_of(name: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    if name.starts_with("env:") {
        return Some(format!("{{{name}}}"));
    }
    if let Some(value) = variables.get(name) {
        return Some(value.clone());
    }
    if let Some((variable, less)) = name.split_once('-') {
        let value: i64 = variables.get(variable)?.parse().ok()?;
        return Some((value - less.parse::<i64>().ok()?).to_string());
    }
    let lower = name.to_lowercase();
    (name != lower)
        .then(|| variables.get(&lower).map(|value| value.to_uppercase()))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_expand_in_three_forms() {
        let variables = BTreeMap::from([
            ("vintage".to_owned(), "2023".to_owned()),
            ("table".to_owned(), "b01003".to_owned()),
        ]);
        assert_eq!(
            expand("{vintage-4}-{vintage}/{table}/{TABLE}_E###", &variables).unwrap(),
            "2019-2023/b01003/B01003_E###"
        );
        assert_eq!(
            expand("k={env:CENSUS_API_KEY}", &variables).unwrap(),
            "k={env:CENSUS_API_KEY}"
        );
        assert!(expand("{year}", &variables).is_err());
        assert!(expand("{vintage", &variables).is_err());
    }
}
