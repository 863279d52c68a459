//! Normalises license numbers, which are handled as text and never as integers.

use super::upper;

/// Returns the license number for display: upper case, without blanks, `.` and `#`. All dashes
/// become `-`. `*` and inner letters are kept.
pub fn display(text: &str) -> String {
    upper(text)
        .chars()
        .filter_map(|c| match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
            '.' | '#' => None,
            c => (!c.is_whitespace()).then_some(c),
        })
        .collect()
}

/// Returns the license number for comparison, without the board's `prefixes` (`LIC `, `CCB`) and
/// without leading zeros.
pub fn normalized(text: &str, prefixes: &[String]) -> String {
    let shown = display(text);
    let bare = prefixes
        .iter()
        .filter_map(|prefix| shown.strip_prefix(&display(prefix)))
        .map(|rest| rest.trim_start_matches('-'))
        .find(|rest| !rest.is_empty());
    let number = bare.unwrap_or(&shown);
    let significant = number.trim_start_matches('0');
    if significant.is_empty() && !number.is_empty() {
        "0".to_owned()
    } else {
        significant.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_text() {
        let none: &[String] = &[];
        assert_eq!(display(" servpg*892pl "), "SERVPG*892PL");
        assert_eq!(normalized("CCR**R*931JF", none), "CCR**R*931JF");
        assert_eq!(display("LIS.0002249"), "LIS0002249");
        assert_eq!(normalized("0002626", none), "2626");
        assert_eq!(normalized("000", none), "0");
        assert_eq!(normalized("", none), "");
        assert_eq!(normalized("2061414\u{2013}DCA", none), "2061414-DCA");
        let prefixes = ["LIC ".to_owned(), "CCB".to_owned()];
        assert_eq!(normalized("Lic # 00123", &prefixes), "123");
        assert_eq!(normalized("ccb-0456", &prefixes), "456");
        assert_eq!(normalized("CCB", &prefixes), "CCB");
    }
}
