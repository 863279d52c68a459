//! Determines the address that a request counts for: the address of the connection, or the address
//! that trusted proxies report. IPv6 requests count for their 64-bit network, because one customer
//! has all addresses of such a network.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue};

/// Headers that show that a proxy has forwarded a request.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];
const NETWORK: u128 = !0 << 64;

/// Returns the network that an address counts for.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
        address @ IpAddr::V4(_) => address,
    }
}

/// Returns the name of the network that an address counts for.
pub fn name(address: IpAddr) -> String {
    match network(address) {
        IpAddr::V6(network) => format!("{network}/64"),
        IpAddr::V4(address) => address.to_string(),
    }
}

/// Returns the client address that the outermost of `trusted_hops` proxies saw. Each proxy appends
/// the address that it sees. Only entries counted from the end are therefore trusted, whatever a
/// client wrote before them. Empty entries are ignored (RFC 9110, section 5.6.1). Returns `None` if
/// the header has no such entry or the entry is not an address.
pub fn forwarded(headers: &HeaderMap, trusted_hops: usize) -> Option<IpAddr> {
    let lines = headers
        .get_all("x-forwarded-for")
        .iter()
        .map(HeaderValue::as_bytes);
    let entries: Vec<&[u8]> = lines
        .flat_map(|line| line.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|entry| !entry.is_empty())
        .collect();
    // If the header has fewer entries than proxies, the request entered at an inner proxy. The
    // first entry is the address that this proxy saw.
    let entry = entries
        .get(entries.len().saturating_sub(trusted_hops))
        .or_else(|| entries.first())?;
    address_of(std::str::from_utf8(entry).ok()?)
}

/// Reports whether a proxy has forwarded the request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
}

/// Parses `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:443`.
fn address_of(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(bracketed).or_else(with_port)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};

    use super::{forwarded, name};

    fn said(lines: &[&str], hops: usize) -> Option<String> {
        said_in_bytes(
            &lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>(),
            hops,
        )
    }

    fn said_in_bytes(lines: &[&[u8]], hops: usize) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
        }
        forwarded(&headers, hops).map(name)
    }

    #[test]
    fn trusted_proxies_are_counted_from_the_right_over_all_lines() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            said(&["203.0.113.9", "198.51.100.1"], 1),
            some("198.51.100.1")
        );
        assert_eq!(
            said(&["203.0.113.9, 198.51.100.1", "192.0.2.7"], 2),
            some("198.51.100.1")
        );
        assert_eq!(
            said(&["192.0.2.7"], 2),
            some("192.0.2.7"),
            "entered at the inner proxy"
        );
        assert_eq!(said(&["198.51.100.1:61234"], 1), some("198.51.100.1"));
        assert_eq!(
            (
                said(&[], 1),
                said(&["unknown"], 1),
                said(&["203.0.113.9, unknown"], 1)
            ),
            (None, None, None)
        );
    }

    #[test]
    fn entries_before_the_trusted_hop_are_ignored() {
        let seen = Some("198.51.100.1".to_owned());
        let lines: [&[u8]; 7] = [
            b"\xe9, 198.51.100.1",
            b"\xff\xfe,\xe9,198.51.100.1",
            b"198.51.100.1,",
            b"203.0.113.9, 198.51.100.1, ,\t",
            b",,, 198.51.100.1",
            b"\"a, b\", 198.51.100.1",
            b"[, 198.51.100.1:4711",
        ];
        for line in lines {
            assert_eq!(
                said_in_bytes(&[line], 1),
                seen,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
        assert_eq!(
            said_in_bytes(&[b"\xe9", b"198.51.100.1,", b"192.0.2.7"], 2),
            seen
        );
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let network = Some("2001:db8:1:2::/64".to_owned());
        for text in [
            "2001:db8:1:2::1",
            "[2001:db8:1:2:ffff::9]:443",
            "[2001:db8:1:2::3]",
        ] {
            assert_eq!(said(&[text], 1), network, "{text}");
        }
        assert_ne!(said(&["2001:db8:1:3::1"], 1), network);
        assert_eq!(said(&["::ffff:192.0.2.1"], 1), Some("192.0.2.1".to_owned()));
    }
}
