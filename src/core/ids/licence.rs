//! Finds the URL of the standard licence named in a publisher's terms of use. A publisher's own
//! terms have no such URL, nor do terms that name several licences.

/// Licence names, one per line. The last word of each line is the URL of the licence text.
const KNOWN: &str = include_str!("licences.txt");

/// Returns the URL of the licence text if the terms consist only of that licence.
pub fn licence_address(terms: &str) -> Option<&'static str> {
    if terms.contains([';', ':']) {
        return None;
    }
    KNOWN
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .find(|(words, _)| terms.contains(words))
        .map(|(_, address)| address)
}

#[cfg(test)]
mod tests {
    use super::licence_address;

    #[test]
    fn terms_that_are_a_standard_licence_have_its_address() {
        let of = |terms| {
            licence_address(terms)
                .unwrap_or("none")
                .trim_start_matches("https://")
        };
        for terms in [
            "Creative Commons Attribution 4.0",
            "Creative Commons Attribution 4.0 (CC BY 4.0)",
        ] {
            assert_eq!(of(terms), "creativecommons.org/licenses/by/4.0/");
        }
        assert_eq!(
            of("Creative Commons Attribution 3.0 (CC BY 3.0)"),
            "creativecommons.org/licenses/by/3.0/"
        );
        for terms in ["CC0 1.0", "CC0-1.0", "Creative Commons CC0 1.0"] {
            assert_eq!(of(terms), "creativecommons.org/publicdomain/zero/1.0/");
        }
        for terms in [
            "Public Domain Dedication and License (PDDL 1.0)",
            "Open Data Commons Public Domain Dedication and License (PDDL)",
        ] {
            assert_eq!(of(terms), "opendatacommons.org/licenses/pddl/1-0/");
        }
        assert_eq!(
            of("Open Database License (ODbL), with credit to the county"),
            "opendatacommons.org/licenses/odbl/1-0/"
        );
    }

    #[test]
    fn own_terms_several_licences_and_one_of_no_version_have_none() {
        for terms in [
            "Public domain",
            "Creative Commons Attribution",
            "City terms of use; Open Database License 1.0",
            "GeoNames: Creative Commons Attribution 4.0",
        ] {
            assert_eq!(licence_address(terms), None, "{terms}");
        }
    }
}
