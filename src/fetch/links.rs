use reqwest::Url;

/// The addresses a web page links to on its own host, in the order of the page, each once.
pub fn links(page_url: &str, page: &str) -> Vec<String> {
    let Ok(base) = Url::parse(page_url) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    // Letters of ASCII only, so that places in one text are places in the other.
    let lower = page.to_ascii_lowercase();
    for (place, _) in lower.match_indices("href") {
        let Some(value) = page[place + 4..].trim_start().strip_prefix('=').map(str::trim_start) else { continue };
        let target = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split(quote).next(),
            _ => value.split(|character: char| character.is_whitespace() || character == '>').next(),
        };
        let target = target.unwrap_or_default().trim().replace("&amp;", "&");
        if let Ok(mut url) = base.join(&target) {
            url.set_fragment(None);
            if url.scheme() == base.scheme() && url.host() == base.host() && url.port() == base.port() && !found.iter().any(|known| known == url.as_str()) {
                found.push(url.into());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn links_are_resolved_and_stay_on_their_host() {
        let page = "<A HREF=\"/rates/MN.csv\">MN</A> <a class=x href = 'WI.csv?a=1&amp;b=2'>é</a><a href=NE.txt>NE</a><a href=\"/rates/MN.csv#top\">again</a>
            <a href=\"https://elsewhere.example/x.csv\"><a href=\"javascript:void(0)\"><a href=\"http://example.org/plain.csv\"><a href><a href=";
        let expected =
            ["https://example.org/rates/MN.csv", "https://example.org/list/WI.csv?a=1&b=2", "https://example.org/list/NE.txt", "https://example.org/list/"];
        assert_eq!(links("https://example.org/list/", page), expected);
        assert!(links("no address", page).is_empty());
    }
}
