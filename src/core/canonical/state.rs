//! Lists states, territories and military regions with their postal codes (USPS Publication 28,
//! appendix B) and FIPS codes.

use super::upper;

/// Postal code, name and FIPS code. Military regions have no FIPS code.
const STATES: &[(&str, &str, &str)] = &[
    ("AL", "ALABAMA", "01"),
    ("AK", "ALASKA", "02"),
    ("AZ", "ARIZONA", "04"),
    ("AR", "ARKANSAS", "05"),
    ("CA", "CALIFORNIA", "06"),
    ("CO", "COLORADO", "08"),
    ("CT", "CONNECTICUT", "09"),
    ("DE", "DELAWARE", "10"),
    ("DC", "DISTRICT OF COLUMBIA", "11"),
    ("FL", "FLORIDA", "12"),
    ("GA", "GEORGIA", "13"),
    ("HI", "HAWAII", "15"),
    ("ID", "IDAHO", "16"),
    ("IL", "ILLINOIS", "17"),
    ("IN", "INDIANA", "18"),
    ("IA", "IOWA", "19"),
    ("KS", "KANSAS", "20"),
    ("KY", "KENTUCKY", "21"),
    ("LA", "LOUISIANA", "22"),
    ("ME", "MAINE", "23"),
    ("MD", "MARYLAND", "24"),
    ("MA", "MASSACHUSETTS", "25"),
    ("MI", "MICHIGAN", "26"),
    ("MN", "MINNESOTA", "27"),
    ("MS", "MISSISSIPPI", "28"),
    ("MO", "MISSOURI", "29"),
    ("MT", "MONTANA", "30"),
    ("NE", "NEBRASKA", "31"),
    ("NV", "NEVADA", "32"),
    ("NH", "NEW HAMPSHIRE", "33"),
    ("NJ", "NEW JERSEY", "34"),
    ("NM", "NEW MEXICO", "35"),
    ("NY", "NEW YORK", "36"),
    ("NC", "NORTH CAROLINA", "37"),
    ("ND", "NORTH DAKOTA", "38"),
    ("OH", "OHIO", "39"),
    ("OK", "OKLAHOMA", "40"),
    ("OR", "OREGON", "41"),
    ("PA", "PENNSYLVANIA", "42"),
    ("RI", "RHODE ISLAND", "44"),
    ("SC", "SOUTH CAROLINA", "45"),
    ("SD", "SOUTH DAKOTA", "46"),
    ("TN", "TENNESSEE", "47"),
    ("TX", "TEXAS", "48"),
    ("UT", "UTAH", "49"),
    ("VT", "VERMONT", "50"),
    ("VA", "VIRGINIA", "51"),
    ("WA", "WASHINGTON", "53"),
    ("WV", "WEST VIRGINIA", "54"),
    ("WI", "WISCONSIN", "55"),
    ("WY", "WYOMING", "56"),
    ("AS", "AMERICAN SAMOA", "60"),
    ("FM", "FEDERATED STATES OF MICRONESIA", "64"),
    ("GU", "GUAM", "66"),
    ("MH", "MARSHALL ISLANDS", "68"),
    ("MP", "NORTHERN MARIANA ISLANDS", "69"),
    ("PW", "PALAU", "70"),
    ("PR", "PUERTO RICO", "72"),
    ("VI", "VIRGIN ISLANDS", "78"),
    ("AA", "ARMED FORCES AMERICAS", ""),
    ("AE", "ARMED FORCES EUROPE", ""),
    ("AP", "ARMED FORCES PACIFIC", ""),
];

/// Returns the postal code for a state's code or name, regardless of case and punctuation (`N.Y.`,
/// `New York`). Returns `None` for anything else.
pub fn usps(text: &str) -> Option<&'static str> {
    let letters: String = upper(text)
        .chars()
        .filter(|c| !matches!(c, '.' | ','))
        .collect();
    let name = letters.split_whitespace().collect::<Vec<_>>().join(" ");
    STATES
        .iter()
        .find(|(code, state, _)| *code == name || *state == name)
        .map(|(code, ..)| *code)
}

/// Iterates over all postal codes.
pub fn all() -> impl Iterator<Item = &'static str> {
    STATES.iter().map(|(code, ..)| *code)
}

/// Returns the state name for a postal code, in upper case.
pub fn name(usps: &str) -> Option<&'static str> {
    STATES
        .iter()
        .find(|(code, ..)| *code == usps)
        .map(|(_, state, _)| *state)
}

/// Returns the two-digit FIPS code for a postal code; `None` for military regions.
pub fn fips(usps: &str) -> Option<&'static str> {
    STATES
        .iter()
        .find(|(code, ..)| *code == usps)
        .map(|(.., fips)| *fips)
        .filter(|fips| !fips.is_empty())
}

/// Returns the postal code for a FIPS code.
pub fn by_fips(fips: &str) -> Option<&'static str> {
    STATES
        .iter()
        .find(|(.., known)| *known == fips && !fips.is_empty())
        .map(|(code, ..)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names() {
        for text in ["NY", "ny", "NEW YORK", "New  York", " N.Y. "] {
            assert_eq!(usps(text), Some("NY"), "{text}");
        }
        for text in ["", "XX", "ONTARIO", "YORK"] {
            assert_eq!(usps(text), None, "{text}");
        }
        assert_eq!(usps("D.C."), Some("DC"));
        assert_eq!(name("TX"), Some("TEXAS"));
        assert_eq!(name("tx"), None);
        assert_eq!((fips("MN"), by_fips("27")), (Some("27"), Some("MN")));
        assert_eq!((fips("AE"), by_fips(""), by_fips("03")), (None, None, None));
    }
}
