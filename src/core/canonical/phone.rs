//! Normalises telephone numbers.

/// Returns the ten digits of a North American telephone number, without the country code and
/// extension. Returns `None` for any other text.
pub fn phone(text: &str) -> Option<String> {
    let number = text.split(['x', 'X']).next().unwrap_or_default();
    if number.chars().any(char::is_alphabetic) {
        return None;
    }
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    let digits = if digits.len() == 11 {
        digits.strip_prefix('1')?
    } else {
        &digits
    };
    let is_area_code = digits.len() == 10 && digits.as_bytes()[0] >= b'2';
    is_area_code.then(|| digits.to_owned())
}

#[cfg(test)]
mod tests {
    use super::phone;

    #[test]
    fn only_ten_digits_are_a_number() {
        for text in [
            "(708)555-0100",
            "708 555 0100",
            "1-708-555-0100",
            "(708) 555 0100 X",
            "708.555.0100 x12",
        ] {
            assert_eq!(phone(text).as_deref(), Some("7085550100"), "{text}");
        }
        for text in [
            "",
            "-",
            "555-0100",
            "000-000-0000",
            "1112223333",
            "70855501000",
            "SEE FILE 7085550100",
        ] {
            assert_eq!(phone(text), None, "{text}");
        }
    }
}
