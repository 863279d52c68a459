//! Loads the page templates. A file with the same name in the operator's folder replaces a built-in
//! template. All data is escaped, because every name ends in `.html`.

use std::path::Path;

use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, escape_formatter};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::svg::escaped;
use super::{reasons, words};
use pubdata_core::error::{Error, IoExt, Result};

#[derive(rust_embed::RustEmbed)]
#[folder = "pages/templates"]
struct Embedded;

/// Builds the values of a template by name, from any values that can be serialized.
macro_rules! context {
    (@value $key:ident) => { minijinja::Value::from(minijinja::value::Serde(&$key)) };
    (@value $key:ident => $value:expr) => { minijinja::Value::from(minijinja::value::Serde(&$value)) };
    ($($key:ident $(=> $value:expr)?),* $(,)?) => { minijinja::context! { $($key => context!(@value $key $(=> $value)?)),* } };
}
pub(super) use context;

/// Characters that are escaped in a path segment or query value: all except the unreserved
/// characters (RFC 3986) and those that browsers show better unescaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b',');

/// Escapes text for a path segment or a query value.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// Loads the templates; templates in the folder take precedence over built-in ones.
///
/// # Errors
/// `Config` if a template cannot be read or parsed, with its name and line.
pub fn environment(folder: Option<&Path>) -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // The library's formatter would escape each slash of a URL in six characters.
    environment.set_formatter(|out, state, value| {
        match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => out
                .write_str(&escaped(text))
                .map_err(minijinja::Error::from),
            None => escape_formatter(out, state, value),
        }
    });
    for name in Embedded::iter() {
        let own = folder
            .map(|folder| folder.join(&*name))
            .filter(|path| path.is_file());
        let text = match &own {
            Some(path) => std::fs::read_to_string(path).at("read", path)?,
            None => Embedded::get(&name)
                .map(|file| String::from_utf8_lossy(&file.data).into_owned())
                .unwrap_or_default(),
        };
        let wrong = |error: minijinja::Error| {
            Error::config(format!("the template {name} cannot be used: {error}"))
        };
        environment
            .add_template_owned(name.to_string(), text)
            .map_err(wrong)?;
    }
    environment.add_filter("number", |value: Value| formatted(&value, words::separated));
    environment.add_filter("cents", |value: Value| {
        formatted(&value, |digits| {
            words::separated(&words::with_cents(digits))
        })
    });
    environment.add_filter("amount", |value: Value, unit: String| {
        words::amount_of(words::as_published(&value.to_string(), &unit), &unit)
    });
    environment.add_filter("brief", |value: Value, unit: String| {
        words::brief(&value.to_string(), &unit)
    });
    environment.add_filter("margin", |value: Value, unit: String| {
        words::margin(&value.to_string(), &unit)
    });
    environment.add_filter("published", |value: Value, unit: String| {
        words::as_published(&value.to_string(), &unit).to_owned()
    });
    environment.add_filter("counted", |value: Value, thing: String| {
        words::counted(&value.to_string(), &thing)
    });
    environment.add_filter("miles", |miles: f64| format!("{miles:.2}"));
    environment.add_filter("cadence", words::cadence);
    environment.add_filter("code", |text: String| {
        Value::from_safe_string(with_code(&text))
    });
    environment.add_filter("breaking", |text: String| {
        Value::from_safe_string(breaking(&text))
    });
    environment.add_filter("beginning", |text: String| {
        text.rsplit_once(' ')
            .map_or(text.clone(), |(beginning, _)| beginning.to_owned())
    });
    environment.add_filter("capitalized", |text: String| capitalized(&text));
    environment.add_filter("linked", |text: String| {
        Value::from_safe_string(with_links(&text))
    });
    environment.add_function("grades", |low: Option<String>, high: Option<String>| {
        words::grades(&low.unwrap_or_default(), &high.unwrap_or_default())
    });
    environment.add_filter("markdown", |text: String| {
        Value::from_safe_string(markdown(&text))
    });
    environment.add_filter("time", |text: String| words::time(&text));
    environment.add_filter("size", |value: Value| {
        f64::try_from(value.clone()).map_or_else(|_| value.to_string(), words::size)
    });
    environment.add_filter("sentence", |code: String| reasons::sentence(&code));
    environment.add_filter("words", |key: String| words::words(&key));
    environment.add_filter("goods", |class: String| words::goods(&class));
    environment.add_filter("family", |family: String| words::family(&family));
    environment.add_filter("segment", |text: Value| segment(&text.to_string()));
    environment.add_filter("fraction", |value: f64| {
        format!(
            "{} %",
            words::separated(&format!("{}", (value * 1e5).round() / 1e3))
        )
    });
    environment.add_function("query", |path: String, values: Kwargs| {
        query(&path, &values)
    });
    Ok(environment)
}

fn formatted(value: &Value, write: impl Fn(&str) -> String) -> String {
    if value.is_none() || value.is_undefined() {
        String::new()
    } else {
        write(&value.to_string())
    }
}

/// Capitalises the first letter of a string.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// Escapes text for HTML. Text between backticks and field names such as `is_ytd` become code.
fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut written = String::with_capacity(text.len() + 26);
    for (number, part) in parts.iter().enumerate() {
        // An unpaired backtick does not start code.
        match number % 2 {
            1 if number + 1 < parts.len() => {
                written.push_str(&format!("<code>{}</code>", escaped(part)));
            }
            1 => written.push_str(&format!("`{}", escaped(part))),
            _ => written.push_str(&part.split(' ').map(with_name).collect::<Vec<_>>().join(" ")),
        }
    }
    written
}

/// Escapes a word for HTML; a field name between the word's punctuation becomes code.
fn with_name(word: &str) -> String {
    let name = word.trim_matches(|character: char| !character.is_ascii_alphanumeric());
    let is_name = name.contains('_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match word.split_once(name).filter(|_| is_name) {
        Some((before, behind)) => {
            format!("{}<code>{name}</code>{}", escaped(before), escaped(behind))
        }
        None => escaped(word),
    }
}

/// Escapes a name for HTML, with line breaks allowed only after the characters that join its words.
fn breaking(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 26);
    for part in text.split_inclusive(['_', '.', ':', '/', ';', ',', '=']) {
        written.push_str(&escaped(part));
        written.push_str("<wbr>");
    }
    written.strip_suffix("<wbr>").unwrap_or(&written).to_owned()
}

/// Escapes text for HTML, with its URLs as links.
fn with_links(text: &str) -> String {
    let linked = |word: &str| {
        let address = word.trim_end_matches([';', ',', '.', ')']);
        let is_address = address.starts_with("https://") || address.starts_with("http://");
        if !is_address {
            return escaped(word);
        }
        format!(
            "<a class=\"url\" href=\"{}\" rel=\"noreferrer\">{}</a>{}",
            escaped(address),
            escaped(address),
            escaped(&word[address.len()..])
        )
    };
    text.split(' ').map(linked).collect::<Vec<_>>().join(" ")
}

/// Renders this project's Markdown as HTML. Embedded HTML stays text, regardless of its origin.
fn markdown(text: &str) -> String {
    let parser = pulldown_cmark::Parser::new_ext(text, pulldown_cmark::Options::ENABLE_TABLES);
    let events = parser.map(|event| match event {
        pulldown_cmark::Event::Html(text) | pulldown_cmark::Event::InlineHtml(text) => {
            pulldown_cmark::Event::Text(text)
        }
        other => other,
    });
    let mut written = String::new();
    pulldown_cmark::html::push_html(&mut written, events);
    written
}

/// Returns a path with a query that contains all values that are defined and not none.
fn query(path: &str, values: &Kwargs) -> std::result::Result<String, minijinja::Error> {
    let mut names: Vec<&str> = values.args().collect();
    names.sort_unstable();
    let mut url = path.to_owned();
    for name in names {
        let value: Value = values.get(name)?;
        if !value.is_none() && !value.is_undefined() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&format!("{name}={}", segment(&value.to_string())));
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_reads_and_what_others_wrote_is_escaped() {
        let mut environment = environment(None).unwrap();
        environment.add_template("x.html", "{{ text }} {{ 1234567|number }} {{ none|number }} {{ query('/a', b=text, c=none) }}").unwrap();
        let written = environment
            .get_template("x.html")
            .unwrap()
            .render(minijinja::context! { text => "<b>\"&" })
            .unwrap();
        assert_eq!(
            written,
            "&lt;b&gt;&quot;&amp; 1,234,567  /a?b=%3Cb%3E%22%26"
        );
    }

    #[test]
    fn inline_markup_becomes_html() {
        assert_eq!(with_code("`a<b` is `c"), "<code>a&lt;b</code> is `c");
        assert_eq!(
            with_code("where (is_ytd), <a_b> and a_b.c_d"),
            "where (<code>is_ytd</code>), &lt;<code>a_b</code>&gt; and a_b.c_d"
        );
        assert_eq!(breaking("known_tax.<b>"), "known_<wbr>tax.<wbr>&lt;b&gt;");
        let link = "<a class=\"url\" href=\"https://a.gov/?q=&quot;\" rel=\"noreferrer\">https://a.gov/?q=&quot;</a>";
        assert_eq!(
            with_links("see https://a.gov/?q=\"; <b> javascript:x"),
            format!("see {link}; &lt;b&gt; javascript:x")
        );
    }

    #[test]
    fn html_in_markdown_stays_text() {
        assert_eq!(
            markdown("`a` <b onclick=x>c</b>"),
            "<p><code>a</code> &lt;b onclick=x&gt;c&lt;/b&gt;</p>\n"
        );
    }

    #[test]
    fn operator_template_replaces_built_in() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("problem.html"), "ours").unwrap();
        assert_eq!(
            environment(Some(folder.path()))
                .unwrap()
                .get_template("problem.html")
                .unwrap()
                .render(())
                .unwrap(),
            "ours"
        );
        std::fs::write(folder.path().join("problem.html"), "{% if %}").unwrap();
        let error = environment(Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("problem.html"), "{error}");
    }
}
