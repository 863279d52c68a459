//! Finds the URLs on the same host that a web page or a JSON document links to.

use reqwest::Url;
use serde_json::Value;

/// Maximum length of a link. The length is limited because snapshots record file URLs.
const MAX_LINK_BYTES: usize = 8 << 10;

/// Returns the URLs on the page's own host that the page links to, in page order without
/// duplicates. The links of a JSON document, regardless of its content type, are all strings that
/// are URLs.
pub fn links(page_url: &str, page: &str) -> Vec<String> {
    let Ok(base) = Url::parse(page_url) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    let mut add = |target: &str| {
        if let Ok(mut url) = base.join(target) {
            url.set_fragment(None);
            let is_address = url.as_str().len() <= MAX_LINK_BYTES;
            if is_address
                && url.scheme() == base.scheme()
                && url.host() == base.host()
                && url.port() == base.port()
                && !found.iter().any(|known| known == url.as_str())
            {
                found.push(url.into());
            }
        }
    };
    match serde_json::from_str(page.trim_start_matches('\u{feff}')) {
        Ok(document) => addresses(&document, &mut add),
        Err(_) => references(page, &mut add),
    }
    found
}

/// Visits the strings in a JSON document that are complete URLs.
fn addresses(document: &Value, add: &mut impl FnMut(&str)) {
    match document {
        Value::String(text) if text.starts_with("https://") || text.starts_with("http://") => {
            add(text);
        }
        Value::Array(items) => items.iter().for_each(|item| addresses(item, add)),
        Value::Object(members) => members.values().for_each(|member| addresses(member, add)),
        _ => {}
    }
}

/// Visits the `href` attributes of a page.
fn references(page: &str, add: &mut impl FnMut(&str)) {
    // Change only ASCII letters, so that offsets are the same in both strings.
    let lower = page.to_ascii_lowercase();
    for (place, _) in lower.match_indices("href") {
        let Some(value) = page[place + 4..]
            .trim_start()
            .strip_prefix('=')
            .map(str::trim_start)
        else {
            continue;
        };
        let target = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
            _ => value
                .split(|character: char| character.is_whitespace() || character == '>')
                .next(),
        };
        add(&target.unwrap_or_default().trim().replace("&amp;", "&"));
    }
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn links_are_resolved_and_stay_on_their_host() {
        let page = "<A HREF=\"/rates/MN.csv\">MN</A> <a class=x href = 'WI.csv?a=1&amp;b=2'>é</a><a href=NE.txt>NE</a><a href=\"/rates/MN.csv#top\">again</a>
            <a href=\"https://elsewhere.example/x.csv\"><a href=\"javascript:void(0)\"><a href=\"http://example.org/plain.csv\"><a href><a href=";
        let expected = [
            "https://example.org/rates/MN.csv",
            "https://example.org/list/WI.csv?a=1&b=2",
            "https://example.org/list/NE.txt",
            "https://example.org/list/",
        ];
        assert_eq!(links("https://example.org/list/", page), expected);
        assert!(links("no address", page).is_empty());
    }

    #[test]
    fn json_document_links_are_its_addresses_on_the_same_host() {
        let page = r#"[{"title": "a/b", "files": [{"fileURL": "https:\/\/example.org\/zip\/a.zip"}, {"fileURL": "https://elsewhere.example/b.zip"}]}, "https://example.org/zip/a.zip", 7]"#;
        assert_eq!(
            links("https://example.org/api/list", page),
            ["https://example.org/zip/a.zip"]
        );
    }
}
