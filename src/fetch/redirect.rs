//! Decides which redirects are followed. Redirects may lead to the server's own registrable domain
//! and to the hosts that the source names. They must be encrypted and must never lead to this
//! machine or a private network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Maximum number of redirects to follow for one file.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Permitted redirect targets of a server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach<'a> {
    /// For a publisher: the registrable domain and the hosts that the source names.
    Domain(&'a [String]),
    /// For a mirror that the operator named: only the mirror itself.
    Mirror,
}

/// Reason why a redirect is not followed, worded as the end of a sentence, and a hint.
pub(super) type Refusal = (&'static str, &'static str);

const MOVED: &str =
    "open the URL in a browser, and if the file has moved, change its URL in the declaration";
const ELSEWHERE: &str = "open the URL in a browser; if the publisher keeps the file there, name the host in the source's `redirects`, else change its URL";
pub(super) const COMPROMISED_HINT: &str = "no publisher keeps a file there: the server, or a system between it and this machine, may be compromised";

/// Returns the target of a redirect, if it may be followed. `first` is the URL in the declaration
/// or on the command line.
pub(super) fn follow(
    first: &Url,
    reach: Reach<'_>,
    current: &Url,
    location: &str,
) -> Result<Url, Refusal> {
    let mut next = current
        .join(location)
        .map_err(|_| ("which is no address", MOVED))?;
    next.set_fragment(None);
    if !next.username().is_empty() || next.password().is_some() {
        return Err(("which has a user's name in it", COMPROMISED_HINT));
    }
    if next.origin() == first.origin() {
        return Ok(next);
    }
    match (current.scheme(), next.scheme()) {
        (_, "https") => {}
        ("https", "http") => return Err(("which is not encrypted", MOVED)),
        _ => return Err(("which is not https://", MOVED)),
    }
    let host = next.host_str().unwrap_or_default();
    if is_private_host(host) {
        return Err((
            "which is this machine or in a private network",
            COMPROMISED_HINT,
        ));
    }
    let is_allowed = match reach {
        Reach::Mirror => first.host_str() == Some(host),
        Reach::Domain(named) => {
            is_same_domain(first.host_str().unwrap_or_default(), host)
                || named.iter().any(|pattern| is_named(pattern, host))
        }
    };
    match reach {
        _ if is_allowed => Ok(next),
        Reach::Mirror => Err((
            "which is not on the mirror",
            "let the mirror have the file itself",
        )),
        Reach::Domain(_) => Err(("which is in another domain", ELSEWHERE)),
    }
}

/// Returns whether a URL is acceptable for a publisher's file. The URL must be encrypted, and must
/// be in the registrable domain of a declared URL or on a host that the source names.
pub fn is_within_reach(declared: &str, named: &[String], url: &str) -> bool {
    let (Ok(declared), Ok(url)) = (Url::parse(declared), Url::parse(url)) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let is_own = declared.origin() == url.origin() && declared.host_str().is_some();
    let is_allowed = || {
        is_same_domain(declared.host_str().unwrap_or_default(), host)
            || named.iter().any(|pattern| is_named(pattern, host))
    };
    is_own || (url.scheme() == "https" && !is_private_host(host) && is_allowed())
}

/// Returns a URL without its query, which may contain a signature.
pub(super) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

/// Returns whether two hosts belong to the same registrable domain, such as `sf.gov`. Numeric
/// addresses do not belong to any domain.
fn is_same_domain(first: &str, other: &str) -> bool {
    let domain = |host: &str| {
        address_of(host)
            .is_none()
            .then(|| psl::domain_str(host).map(str::to_owned))
            .flatten()
    };
    domain(first).is_some_and(|first| Some(first) == domain(other))
}

/// Returns whether a host matches a pattern. `*.host` matches all subdomains of `host`.
fn is_named(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    pattern.strip_prefix('*').map_or(pattern == host, |ending| {
        ending.starts_with('.') && host.len() > ending.len() && host.ends_with(ending)
    })
}

/// Returns whether a host is this machine or a private address, judging by the name alone. Other
/// names are checked after they have been resolved.
pub(super) fn is_private_host(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost") || address_of(host).is_some_and(is_private)
}

fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

/// Returns whether an address is not public. Non-public addresses belong to this machine, a private
/// network, a link-local network or a provider's internal network, or are multicast addresses.
pub(super) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0) || (a == 198 && (18..20).contains(&b));
    a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4_at = |place: usize| {
        let ([a, b], [c, d]) = (
            segments[place].to_be_bytes(),
            segments[place + 1].to_be_bytes(),
        );
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Addresses that contain an IPv4 address: mapped, compatible (including the unspecified
        // address and loopback), translated, and 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4_at(6),
        [0x2002, ..] => v4_at(1),
        // Addresses for unique-local, link-local and site-local use, multicast, Teredo and other
        // protocols, and local translation.
        [first, second, ..] => {
            matches!(first, 0xfc00..=0xfdff | 0xfe80..=0xfeff | 0xff00..)
                || (first == 0x2001 && second < 0x200)
                || (first == 0x64 && second == 0xff9b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn redirects_stay_in_the_domain_or_go_where_the_source_says() {
        let named = [
            "*.s3.amazonaws.com".to_owned(),
            "storage.googleapis.com".to_owned(),
        ];
        let first = url("https://data.sfgov.example.org/rows.csv?a=1");
        let check = |location: &str| {
            follow(&first, Reach::Domain(&named), &first, location)
                .map(String::from)
                .map_err(|(reason, _)| reason)
        };
        for (location, expected) in [
            ("/other.csv#top", "https://data.sfgov.example.org/other.csv"),
            (
                "https://data.sf.example.org/rows.csv",
                "https://data.sf.example.org/rows.csv",
            ),
            ("//EXAMPLE.org/x", "https://example.org/x"),
            (
                "https://bucket.s3.amazonaws.com/x?X-Amz-Signature=1",
                "https://bucket.s3.amazonaws.com/x?X-Amz-Signature=1",
            ),
            (
                "https://storage.googleapis.com/x",
                "https://storage.googleapis.com/x",
            ),
        ] {
            assert_eq!(check(location).as_deref(), Ok(expected), "{location}");
        }
        for (location, reason) in [
            ("https://example.com/rows.csv", "which is in another domain"),
            ("https://s3.amazonaws.com/x", "which is in another domain"),
            (
                "https://evils3.amazonaws.com/x",
                "which is in another domain",
            ),
            (
                "https://a.storage.googleapis.com/x",
                "which is in another domain",
            ),
            ("https://1.1.1.1/x", "which is in another domain"),
            (
                "http://data.sfgov.example.org/rows.csv",
                "which is not encrypted",
            ),
            (
                "ftp://data.sfgov.example.org/rows.csv",
                "which is not https://",
            ),
            ("file:///etc/passwd", "which is not https://"),
            (
                "https://me:x@data.sfgov.example.org/",
                "which has a user's name in it",
            ),
            (
                "https://127.0.0.1/x",
                "which is this machine or in a private network",
            ),
            (
                "https://0x7f.1/x",
                "which is this machine or in a private network",
            ),
            (
                "https://localhost/x",
                "which is this machine or in a private network",
            ),
            (
                "https://a.localhost./x",
                "which is this machine or in a private network",
            ),
            (
                "https://[::ffff:10.0.0.1]/x",
                "which is this machine or in a private network",
            ),
            ("https://[", "which is no address"),
        ] {
            assert_eq!(check(location), Err(reason), "{location}");
        }
    }

    #[test]
    fn publisher_file_must_be_in_its_domain_or_on_a_declared_host() {
        let named = ["*.s3.amazonaws.com".to_owned()];
        let check = |url: &str| is_within_reach("https://roc.az.gov/posting-list", &named, url);
        for url in [
            "https://roc.az.gov/files/a.csv",
            "https://www.az.gov/a.csv",
            "https://bucket.s3.amazonaws.com/a.csv",
        ] {
            assert!(check(url), "{url}");
        }
        for url in [
            "https://roc.az.example/a.csv",
            "http://roc.az.gov/a.csv",
            "https://s3.amazonaws.com/a.csv",
            "https://127.0.0.1/a.csv",
            "roc.csv",
            "file:///a.csv",
        ] {
            assert!(!check(url), "{url}");
        }
    }

    #[test]
    fn customers_of_one_provider_are_not_one_domain() {
        assert!(!is_same_domain(
            "one.s3.amazonaws.com",
            "two.s3.amazonaws.com"
        ));
        assert!(!is_same_domain("one.github.io", "two.github.io"));
        assert!(!is_same_domain("first.gov", "second.gov"));
        assert!(is_same_domain("data.sfgov.org", "sfgov.org"));
        assert!(is_same_domain("www.sos.state.co.us", "data.state.co.us"));
        assert!(!is_same_domain("93.184.216.34", "1.184.216.34"));
    }

    #[test]
    fn redirect_of_a_mirror_must_stay_on_the_mirror() {
        let plain = url("http://mirror.example.lan:8000/files/");
        let check = |location: &str| {
            follow(&plain, Reach::Mirror, &plain, location)
                .map(String::from)
                .map_err(|(reason, _)| reason)
        };
        assert_eq!(
            check("/files/a").as_deref(),
            Ok("http://mirror.example.lan:8000/files/a")
        );
        assert_eq!(
            check("https://mirror.example.lan/files/a").as_deref(),
            Ok("https://mirror.example.lan/files/a")
        );
        assert_eq!(
            check("http://mirror.example.lan:8001/files/a"),
            Err("which is not https://")
        );
        assert_eq!(
            check("https://other.example.lan/files/a"),
            Err("which is not on the mirror")
        );
    }

    #[test]
    fn private_addresses_are_known_in_every_form() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.8",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::10.0.0.1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001::1",
            "64:ff9b:1::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "2606:2800:220:1::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
