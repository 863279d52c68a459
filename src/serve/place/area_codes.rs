//! Codes of areas, ascending, and where each is: a code of five digits, as ZCTAs and counties have,
//! is found without a search.

use crate::index::file::{Column, stored};
use pubdata_core::error::{Error, Result};

/// Codes of at most eight bytes in the order of their texts.
#[derive(Debug, Default)]
pub struct AreaCodes {
    /// The bytes of each as a number, which compares as the text does.
    codes: Column<u64>,
    /// By the number that five digits are: one more than the place of the code, zero where there is
    /// none.
    places: Column<u32>,
}

stored!(AreaCodes { codes, places });

impl AreaCodes {
    /// Adds a code behind the others; one that is the last already is not added again. Returns
    /// whether it was.
    ///
    /// # Errors
    /// `Store`, when it is longer than eight bytes or comes before the last one.
    pub fn push(&mut self, code: &str) -> Result<bool> {
        let number = number_of(code)
            .ok_or_else(|| Error::store(format!("`{code}` is not the code of an area")))?;
        match self.codes.last() {
            Some(last) if *last == number => return Ok(false),
            Some(last) if *last > number => {
                return Err(Error::store(format!("area `{code}` is out of order")));
            }
            _ => self.codes.push(number),
        }
        if let Some(digits) = five_digits(code) {
            // A code is behind all that were added.
            self.places.extend(&vec![0; digits - self.places.len()]);
            self.places
                .push(u32::try_from(self.codes.len()).unwrap_or_default());
        }
        Ok(true)
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// The code at a place.
    pub fn at(&self, place: usize) -> String {
        self.codes[place]
            .to_be_bytes()
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| char::from(*byte))
            .collect()
    }

    /// The place of a code.
    pub fn find(&self, code: &str) -> Option<usize> {
        match five_digits(code) {
            Some(digits) => (*self.places.get(digits)? as usize).checked_sub(1),
            None => self.codes.binary_search(&number_of(code)?).ok(),
        }
    }
}

/// The number that a code of five digits is.
fn five_digits(code: &str) -> Option<usize> {
    let digits: &[u8; 5] = code.as_bytes().try_into().ok()?;
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + usize::from(digit - b'0'))
    })
}

/// Compares as the text does.
fn number_of(code: &str) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes
        .get_mut(..code.len())?
        .copy_from_slice(code.as_bytes());
    Some(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::AreaCodes;

    #[test]
    fn codes_are_found_where_they_are_and_order_is_kept() {
        let mut codes = AreaCodes::default();
        for (code, is_new) in [
            ("00601", true),
            ("00601", false),
            ("35950", true),
            ("90210", true),
            ("ABC", true),
        ] {
            assert_eq!(codes.push(code).unwrap(), is_new, "{code}");
        }
        assert_eq!(
            [
                "00601",
                "35950",
                "90210",
                "ABC",
                "9021",
                "00000",
                "00600",
                "00602",
                "99999",
                "9021X",
                "123456789",
                ""
            ]
            .map(|code| codes.find(code)),
            [
                Some(0),
                Some(1),
                Some(2),
                Some(3),
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                None
            ]
        );
        assert_eq!(
            (codes.len(), codes.at(0), codes.at(3)),
            (4, "00601".to_owned(), "ABC".to_owned())
        );
        assert!(
            codes
                .push("90210")
                .unwrap_err()
                .to_string()
                .contains("area `90210` is out of order")
        );
        assert!(
            codes
                .push("123456789")
                .unwrap_err()
                .to_string()
                .contains("not the code of an area")
        );
    }
}
