//! States and territories with their postal codes.

use super::upper;

const STATES: &[(&str, &str)] = &[
    ("AL", "ALABAMA"),
    ("AK", "ALASKA"),
    ("AZ", "ARIZONA"),
    ("AR", "ARKANSAS"),
    ("CA", "CALIFORNIA"),
    ("CO", "COLORADO"),
    ("CT", "CONNECTICUT"),
    ("DE", "DELAWARE"),
    ("DC", "DISTRICT OF COLUMBIA"),
    ("FL", "FLORIDA"),
    ("GA", "GEORGIA"),
    ("HI", "HAWAII"),
    ("ID", "IDAHO"),
    ("IL", "ILLINOIS"),
    ("IN", "INDIANA"),
    ("IA", "IOWA"),
    ("KS", "KANSAS"),
    ("KY", "KENTUCKY"),
    ("LA", "LOUISIANA"),
    ("ME", "MAINE"),
    ("MD", "MARYLAND"),
    ("MA", "MASSACHUSETTS"),
    ("MI", "MICHIGAN"),
    ("MN", "MINNESOTA"),
    ("MS", "MISSISSIPPI"),
    ("MO", "MISSOURI"),
    ("MT", "MONTANA"),
    ("NE", "NEBRASKA"),
    ("NV", "NEVADA"),
    ("NH", "NEW HAMPSHIRE"),
    ("NJ", "NEW JERSEY"),
    ("NM", "NEW MEXICO"),
    ("NY", "NEW YORK"),
    ("NC", "NORTH CAROLINA"),
    ("ND", "NORTH DAKOTA"),
    ("OH", "OHIO"),
    ("OK", "OKLAHOMA"),
    ("OR", "OREGON"),
    ("PA", "PENNSYLVANIA"),
    ("RI", "RHODE ISLAND"),
    ("SC", "SOUTH CAROLINA"),
    ("SD", "SOUTH DAKOTA"),
    ("TN", "TENNESSEE"),
    ("TX", "TEXAS"),
    ("UT", "UTAH"),
    ("VT", "VERMONT"),
    ("VA", "VIRGINIA"),
    ("WA", "WASHINGTON"),
    ("WV", "WEST VIRGINIA"),
    ("WI", "WISCONSIN"),
    ("WY", "WYOMING"),
    ("AS", "AMERICAN SAMOA"),
    ("GU", "GUAM"),
    ("MP", "NORTHERN MARIANA ISLANDS"),
    ("PR", "PUERTO RICO"),
    ("VI", "VIRGIN ISLANDS"),
    ("AA", "ARMED FORCES AMERICAS"),
    ("AE", "ARMED FORCES EUROPE"),
    ("AP", "ARMED FORCES PACIFIC"),
];

/// The postal code of a state that is given by code or name, in any case and punctuation (`N.Y.`, `New York`); `None` for anything else.
pub fn usps(text: &str) -> Option<&'static str> {
    let letters: String = upper(text).chars().filter(|c| !matches!(c, '.' | ',')).collect();
    let name = letters.split_whitespace().collect::<Vec<_>>().join(" ");
    STATES.iter().find(|(code, state)| *code == name || *state == name).map(|(code, _)| *code)
}

/// The name behind a postal code, in upper case.
pub fn name(usps: &str) -> Option<&'static str> {
    STATES.iter().find(|(code, _)| *code == usps).map(|(_, state)| *state)
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
    }
}
