//! Suggests what an operator can do about a URL that refuses requests or has no file, with the most
//! likely hint first. Includes only hints that apply to the source.

use super::ProbeContext;
use super::examined::Examined;
use super::report::Verdict;
use pubdata_core::pipeline::Source;
use pubdata_fetch::{Request, recorded_url};

/// Returns hints about a URL that has no file for this program, the most likely one first.
pub(super) fn hints(
    context: &ProbeContext<'_>,
    source: &Source,
    request: &Request,
    examined: &Examined,
) -> Vec<String> {
    let given = || examined.hints.clone();
    match examined.verdict() {
        // The refusal itself provided a hint, for example that a server's key is not accepted.
        Verdict::Refused if !examined.hints.is_empty() => given(),
        Verdict::Refused if context.fetcher.has_mirror() => {
            vec![mirror_hint(source, request)]
        }
        Verdict::Refused => {
            let settings = &context.run.fetch;
            let is_set = |variable: &&str| (settings.secret)(variable).is_some();
            Refusal {
                source,
                request,
                status: examined.status,
                has_contact: settings.contact.is_some(),
                is_set: &is_set,
            }
            .hints()
        }
        Verdict::Absent if source.required && context.fetcher.has_mirror() => {
            let page = page_of(source, request);
            vec![format!(
                "the mirror has no {page}: put the file there{}",
                import_command(source, request)
                    .map(|command| format!(", or `{command}`"))
                    .unwrap_or_default()
            )]
        }
        Verdict::Absent if source.required => {
            vec![format!(
                "open {} in a browser: if the file was renamed or moved, correct `url` of the source",
                page_of(source, request)
            )]
        }
        _ => given(),
    }
}

/// Details of a request that a publisher refused.
struct Refusal<'r> {
    source: &'r Source,
    request: &'r Request,
    status: Option<u16>,
    has_contact: bool,
    /// Function that returns true if an environment variable is set.
    is_set: &'r dyn Fn(&&str) -> bool,
}

impl Refusal<'_> {
    fn hints(&self) -> Vec<String> {
        let mut ways = Vec::new();
        // Without a status, the response was a page that blocks programs.
        let is_shut = self
            .status
            .is_none_or(|status| matches!(status, 200 | 401 | 403 | 451));
        if is_shut && !self.has_contact {
            ways.push(
                "set PUBDATA_CONTACT: some publishers refuse clients without a contact address"
                    .to_owned(),
            );
        }
        for variable in variables(self.source) {
            let is_set = (self.is_set)(&variable.as_str());
            ways.push(if is_set {
                format!("check the key in {variable}")
            } else {
                format!("set {variable}: the publisher gives keys")
            });
        }
        if is_shut {
            ways.push("if this machine is outside the United States: run from an address there, or fetch there and give the folder as --mirror".to_owned());
        } else {
            ways.push("the publisher may have changed the parameters of its address: correct `url` of the source".to_owned());
        }
        ways.extend(import_line(self.source, self.request));
        ways
    }
}

/// Returns the environment variables that contain a source's keys.
fn variables(source: &Source) -> Vec<String> {
    let in_url = source
        .url
        .split("{env:")
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .map(str::to_owned);
    in_url
        .chain(source.app_token.iter().map(|token| token.variable.clone()))
        .collect()
}

fn page_of(source: &Source, request: &Request) -> String {
    recorded_url(&request.url).unwrap_or_else(|_| source.url.clone())
}

fn mirror_hint(source: &Source, request: &Request) -> String {
    match import_command(source, request) {
        Some(command) => {
            format!("the mirror has this in place of the file: put the file there, or `{command}`")
        }
        None => "the mirror has this in place of the file: put the file there".to_owned(),
    }
}

fn import_line(source: &Source, request: &Request) -> Option<String> {
    Some(format!(
        "open {} in a browser, download the file, and import it with `{}`",
        page_of(source, request),
        import_command(source, request)?
    ))
}

/// Returns the command that imports the file. Returns `None` for a paged list, which is not a
/// single file.
fn import_command(source: &Source, request: &Request) -> Option<String> {
    if source.pages.is_some() {
        return None;
    }
    let which = match (&source.listing, request.keys.is_empty()) {
        (Some(_), _) if request.is_page => " --url ADDRESS_OF_THE_LINK".to_owned(),
        (Some(_), _) => format!(" --url {}", page_of(source, request)),
        (None, true) => String::new(),
        (None, false) => request
            .keys
            .iter()
            .map(|(name, value)| format!(" --key {name}={value}"))
            .collect(),
    };
    Some(format!("pubdata import {} FILE{which}", source.source_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetching::listing::listing_page;
    use pubdata_core::declared::DeclarationFiles;
    use pubdata_core::pipeline::Declarations;

    fn ways(
        source_id: &str,
        keys: &[(&str, &str)],
        status: Option<u16>,
        contact: Option<&str>,
        set: &[&str],
    ) -> Vec<String> {
        let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
        let (_, source) = declarations.source(source_id).unwrap();
        let keys = keys
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let request = Request {
            keys,
            is_page: source.listing.is_some(),
            ..listing_page(source).request
        };
        Refusal {
            source,
            request: &request,
            status,
            has_contact: contact.is_some(),
            is_set: &|variable| set.contains(variable),
        }
        .hints()
    }

    fn has(ways: &[String], words: &str) -> bool {
        ways.iter().any(|way| way.contains(words))
    }

    #[test]
    fn advice_after_a_refusal_fits_the_source() {
        let file = ways(
            "license.fl_dbpr",
            &[("file", "CONSTRUCTIONLICENSE_1")],
            Some(403),
            None,
            &[],
        );
        assert!(
            file[0].contains("PUBDATA_CONTACT") && has(&file, "United States"),
            "{file:?}"
        );
        assert!(
            has(
                &file,
                "`pubdata import license.fl_dbpr FILE --key file=CONSTRUCTIONLICENSE_1`"
            ),
            "{file:?}"
        );
        let known = ways(
            "license.fl_dbpr",
            &[],
            Some(403),
            Some("a@example.org"),
            &[],
        );
        assert!(
            !has(&known, "PUBDATA_CONTACT") && has(&known, "`pubdata import license.fl_dbpr FILE`"),
            "{known:?}"
        );
        let page = ways("license.az_roc", &[], None, Some("a@example.org"), &[]);
        assert!(
            has(
                &page,
                "`pubdata import license.az_roc FILE --url ADDRESS_OF_THE_LINK`"
            ),
            "{page:?}"
        );
        let list = ways("permit.san_antonio", &[], Some(403), None, &[]);
        assert!(
            !has(&list, "pubdata import"),
            "a list in pages is no file: {list:?}"
        );
        let bad_request = ways("license.fl_dbpr", &[], Some(400), None, &[]);
        assert!(
            has(&bad_request, "correct `url`") && !has(&bad_request, "United States"),
            "{bad_request:?}"
        );
    }

    #[test]
    fn advice_after_a_refusal_is_to_set_or_check_the_key() {
        let source = "census.acs5_profile_county";
        assert!(has(
            &ways(source, &[], Some(403), None, &[]),
            "set CENSUS_API_KEY"
        ));
        assert!(has(
            &ways(source, &[], Some(403), None, &["CENSUS_API_KEY"]),
            "check the key in CENSUS_API_KEY"
        ));
    }
}
