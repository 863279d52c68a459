//! Maps area codes to their indices. A five-digit code, the format of ZCTAs and counties, is found
//! without a search.

use crate::index::file::{Column, stored};
use pubdata_core::error::{Error, Result};

/// Codes of at most eight bytes, in ascending order.
#[derive(Debug, Default)]
pub struct AreaCodes {
    /// Bytes of each code as a big-endian number. Numbers compare in the same order as the codes.
    codes: Column<u64>,
    /// Indexed by a five-digit code as a number. Each entry is one more than the code's index, or
    /// zero if the code is absent.
    places: Column<u32>,
}

stored!(AreaCodes { codes, places });

impl AreaCodes {
    /// Appends a code, unless it equals the last one. Returns whether the code was appended. Fails
    /// for codes of more than eight bytes, and for codes below the last one.
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
            // Codes ascend, so this code is beyond all earlier codes.
            self.places.extend(&vec![0; digits - self.places.len()]);
            self.places
                .push(u32::try_from(self.codes.len()).unwrap_or_default());
        }
        Ok(true)
    }

    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Returns the code at an index.
    pub fn at(&self, place: usize) -> String {
        self.codes[place]
            .to_be_bytes()
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| char::from(*byte))
            .collect()
    }

    /// Returns the index of a code.
    pub fn find(&self, code: &str) -> Option<usize> {
        match five_digits(code) {
            Some(digits) => (*self.places.get(digits)? as usize).checked_sub(1),
            None => self.codes.binary_search(&number_of(code)?).ok(),
        }
    }
}

/// Parses a five-digit code.
fn five_digits(code: &str) -> Option<usize> {
    let digits: &[u8; 5] = code.as_bytes().try_into().ok()?;
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + usize::from(digit - b'0'))
    })
}

/// Returns a number that compares in the same order as the code.
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
