//! Formats figures and names for pages: digits as the publisher printed them, with separators.

/// Formats a figure with its unit; the digits stay as published.
pub fn amount(value: f64, unit: &str) -> String {
    // Published with one decimal place, even if the digit is zero.
    let text = if matches!(unit, "percent" | "years") {
        format!("{value:.1}")
    } else {
        format!("{}", if value == 0.0 { 0.0 } else { value })
    };
    amount_of(&text, unit)
}

/// Removes the `.0` from a whole number stored as a fraction. Units published with one decimal
/// place keep the `.0`.
pub fn as_published<'d>(digits: &'d str, unit: &str) -> &'d str {
    if matches!(unit, "percent" | "years") || unit.contains('/') {
        digits
    } else {
        digits.strip_suffix(".0").unwrap_or(digits)
    }
}

/// Formats given digits with their unit.
pub fn amount_of(digits: &str, unit: &str) -> String {
    if let Some((money, share)) = unit.split_once('/') {
        return format!(
            "{} per {}",
            amount_of(&with_cents(digits), money),
            share.trim_end_matches('s')
        );
    }
    let has_cents = unit.eq_ignore_ascii_case("usd") && digits.contains('.');
    let text = if has_cents {
        separated(&with_cents(digits))
    } else {
        separated(digits)
    };
    match unit {
        "usd" | "USD" => match text.strip_prefix('-') {
            Some(text) => format!("-${text}"),
            None => format!("${text}"),
        },
        "percent" => format!("{text} %"),
        _ => text,
    }
}

/// Formats digits with at least two decimal places, as for cents.
pub fn with_cents(digits: &str) -> String {
    match digits.split_once('.') {
        None => format!("{digits}.00"),
        Some((_, cents)) if cents.len() == 1 => format!("{digits}0"),
        Some(_) => digits.to_owned(),
    }
}

/// Inserts a comma after every three digits before the point.
pub fn separated(text: &str) -> String {
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// Formats a count with its noun: `1 permit`, `2,000 permits`.
pub fn counted(digits: &str, thing: &str) -> String {
    format!(
        "{} {thing}{}",
        separated(digits),
        if digits == "1" { "" } else { "s" }
    )
}

/// Formats an amount of a million or more with two decimal places, rounded half up, and a smaller
/// amount exactly. Pages use this format if the exact figure is one click away.
pub fn brief(digits: &str, unit: &str) -> String {
    let exact = amount_of(as_published(digits, unit), unit);
    let (sign, size) = digits
        .strip_prefix('-')
        .map_or(("", digits), |size| ("-", size));
    // Rounding to ten thousands or more makes the decimal places irrelevant.
    let Ok(whole) = size.split('.').next().unwrap_or_default().parse::<u128>() else {
        return exact;
    };
    let (scale, word) = match whole {
        _ if unit.contains('/') => return exact,
        1_000_000_000_000.. => (1_000_000_000_000, "trillion"),
        1_000_000_000.. => (1_000_000_000, "billion"),
        1_000_000.. => (1_000_000, "million"),
        _ => return exact,
    };
    let hundredths = (whole + scale / 200) / (scale / 100);
    format!(
        "{} {word}",
        amount_of(
            &format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100),
            unit
        )
    )
}

/// Formats a margin of error, in percentage points if the unit is percent.
pub fn margin(digits: &str, unit: &str) -> String {
    let digits = as_published(digits, unit);
    if unit == "percent" {
        format!("{} percentage points", separated(digits))
    } else {
        amount_of(digits, unit)
    }
}

/// Formats a number with about three digits, for the axes of charts.
pub fn rough(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        size if size >= 1e12 => (value / 1e12, " T"),
        size if size >= 1e9 => (value / 1e9, " B"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        size if size >= 100.0 || scaled.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let digits = format!("{scaled:.decimals$}");
    let digits = if decimals > 0 {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{}{letter}", separated(digits))
}

/// Formats a byte count in the unit that leaves at most three digits before the point.
pub fn size(bytes: f64) -> String {
    let (scaled, unit) = match bytes {
        size if size >= 1e9 => (bytes / 1e9, "GB"),
        size if size >= 1e6 => (bytes / 1e6, "MB"),
        size if size >= 1e3 => (bytes / 1e3, "kB"),
        _ => return format!("{bytes} bytes"),
    };
    format!("{scaled:.1} {unit}")
}

/// Formats an instant to the minute; returns any other text unchanged.
pub fn time(text: &str) -> String {
    match (
        text.get(..10),
        text.get(10..11),
        text.get(11..16),
        text.ends_with('Z'),
    ) {
        (Some(day), Some("T"), Some(minute), true) => format!("{day} {minute} UTC"),
        _ => text.to_owned(),
    }
}

/// Words that are written in capitals.
const CAPITALS: &[&str] = &[
    "ain", "apn", "api", "bbl", "cik", "dba", "eps", "fips", "gpin", "id", "lei", "llc", "lllp",
    "llp", "lp", "moe", "opa", "otc", "pams", "pin", "sic", "ssl", "tcad", "tmk", "tx", "url",
    "usd", "zip", "zip5", "zip9", "zcta",
];

/// Labels of keys, one `key;label` per line: keys whose words do not form a label, classes of
/// goods, and grade codes in the school directory.
const LABELS: &str = include_str!("assets/labels.csv");
const GOODS: &str = include_str!("assets/goods.csv");
const GRADES: &str = include_str!("assets/grades.csv");

/// Returns the label of a key in one of the lists.
fn label_in(list: &'static str, key: &str) -> Option<&'static str> {
    list.lines()
        .filter_map(|line| line.split_once(';'))
        .find(|(known, _)| *known == key)
        .map(|(_, label)| label)
}

/// Converts a key to words: `median_home_value` becomes `Median home value`.
pub fn words(key: &str) -> String {
    if let Some(label) = label_in(LABELS, key) {
        return label.to_owned();
    }
    let mut text = String::with_capacity(key.len());
    for (place, word) in key.split('_').filter(|word| !word.is_empty()).enumerate() {
        if place > 0 {
            text.push(' ');
        }
        let mut letters = word.chars();
        match letters.next() {
            _ if CAPITALS.contains(&word) => text.push_str(&word.to_uppercase()),
            Some(first) if place == 0 => text.extend(first.to_uppercase().chain(letters)),
            _ => text.push_str(word),
        }
    }
    text
}

/// Returns the label of a class of goods in sales tax.
pub fn goods(class: &str) -> String {
    label_in(GOODS, class).map_or_else(|| words(class), str::to_owned)
}

/// Returns a school's grades from the codes in the school directory.
pub fn grades(low: &str, high: &str) -> String {
    let grade = |code: &str| {
        label_in(GRADES, code)
            .unwrap_or_else(|| code.trim_start_matches('0'))
            .to_owned()
    };
    match (grade(low), grade(high)) {
        (low, high) if low.is_empty() && high.is_empty() => "not reported".to_owned(),
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}

/// Returns the length of a cadence in words.
pub fn cadence(days: u64) -> String {
    match days {
        1 => "day".to_owned(),
        7 => "week".to_owned(),
        28..=31 => "month".to_owned(),
        89..=92 => "quarter".to_owned(),
        365 | 366 => "year".to_owned(),
        days => format!("{days} days"),
    }
}

/// Returns the title of a family.
pub fn family(family: &str) -> String {
    let title = match family {
        "geo" => "People and places",
        "sec" => "Companies that report to the SEC",
        "business" => "Businesses of state registries",
        "license" => "Licenses",
        "permit" => "Building permits",
        "tax" => "Sales tax",
        "zip" => "ZIP codes",
        "pubdata" => "About the release",
        other => other,
    };
    title.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stay_and_separators_come() {
        let amounts: Vec<String> = [
            (126_696.0, "usd"),
            (54.0, "percent"),
            (-1_234_567.5, "USD"),
            (6.08, "USD/shares"),
            (0.0, "persons"),
            (-0.0, "usd"),
        ]
        .iter()
        .map(|(value, unit)| amount(*value, unit))
        .collect();
        assert_eq!(
            amounts,
            [
                "$126,696",
                "54.0 %",
                "-$1,234,567.50",
                "$6.08 per share",
                "0",
                "$0"
            ]
        );
        let published = [
            ("19652.0", "persons"),
            ("71.0", "percent"),
            ("3.0", "USD/shares"),
            ("0.5", "usd"),
        ]
        .map(|(digits, unit)| as_published(digits, unit));
        assert_eq!(published, ["19652", "71.0", "3.0", "0.5"]);
        assert_eq!(
            ["1234", "-999", "1e9", "100000.25", ""].map(separated),
            ["1,234", "-999", "1e9", "100,000.25", ""]
        );
        assert_eq!(
            [391_035_000_000.0, 9_999.0, 1_234_567.0, 0.5, -45_300.0].map(rough),
            ["391 B", "9,999", "1.23 M", "0.5", "-45.3 k"]
        );
        assert_eq!(
            [12.0, 1_234.0, 17_609_000.0].map(size),
            ["12 bytes", "1.2 kB", "17.6 MB"]
        );
    }

    #[test]
    fn large_amounts_are_short_and_small_ones_exact() {
        let written = [
            ("391035000000", "USD"),
            ("15115823000", "shares"),
            ("-2722000000.0", "USD"),
            ("453500", "usd"),
            ("3", "USD/shares"),
            ("344085000000", "USD"),
        ];
        let expected = [
            "$391.04 billion",
            "15.12 billion",
            "-$2.72 billion",
            "$453,500",
            "$3.00 per share",
            "$344.09 billion",
        ];
        assert_eq!(written.map(|(digits, unit)| brief(digits, unit)), expected);
    }

    #[test]
    fn one_thing_is_counted_in_the_singular() {
        assert_eq!(
            ["0", "1", "2000"].map(|digits| counted(digits, "permit")),
            ["0 permits", "1 permit", "2,000 permits"]
        );
    }

    #[test]
    fn margins_of_percentages_are_in_percentage_points() {
        assert_eq!(
            [("3.2", "percent"), ("1335.0", "persons"), ("411", "usd")]
                .map(|(digits, unit)| margin(digits, unit)),
            ["3.2 percentage points", "1,335", "$411"]
        );
    }

    #[test]
    fn codes_of_grades_and_numbers_of_days_become_words() {
        let codes = [
            ("KG", "05"),
            ("PK", "PK"),
            ("09", "13"),
            ("UG", "UG"),
            ("AE", "AE"),
            ("", ""),
        ];
        assert_eq!(
            codes.map(|(low, high)| grades(low, high)),
            [
                "K–5",
                "Pre-K",
                "9–13",
                "Ungraded",
                "Adult education",
                "not reported"
            ]
        );
        assert_eq!(
            [1, 7, 31, 91, 366, 45].map(cadence),
            ["day", "week", "month", "quarter", "year", "45 days"]
        );
    }

    #[test]
    fn instants_are_formatted_to_the_minute() {
        assert_eq!(
            ["2026-11-25T03:53:50.773267777Z", "2026-11-25", "é"].map(time),
            ["2026-11-25 03:53 UTC", "2026-11-25", "é"]
        );
    }

    #[test]
    fn keys_become_words() {
        assert_eq!(
            ["median_home_value", "eps_diluted", "zip", "record_id", ""].map(words),
            ["Median home value", "EPS, diluted", "ZIP", "Record ID", ""]
        );
    }
}
