//! Converts timestamps in publishers' formats to UTC. The time zone is declared, never taken from
//! the machine.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use pubdata_core::error::{Error, Result};

/// Time zone of a publisher's clock.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// Parses a POSIX time zone rule (`EST5EDT,M3.2.0,M11.1.0`).
    pub fn from_posix_rule(rule: &str) -> Result<Self> {
        TimeZone::posix(rule).map(Self).map_err(|error| {
            Error::config(format!(
                "`{rule}` is not a time zone such as `EST5EDT,M3.2.0,M11.1.0`: {error}"
            ))
        })
    }

    /// Returns the local time at an instant.
    pub fn civil(&self, at: Timestamp) -> DateTime {
        at.to_zoned(self.0.clone()).datetime()
    }
}

/// Converts an RFC 3339 timestamp with an offset to UTC: `2024-03-15T21:45:18-04:00` becomes
/// `2024-03-16T01:45:18Z`. Returns none for any other format.
pub fn utc_from_rfc3339(text: &str) -> Option<String> {
    text.parse::<Timestamp>()
        .ok()
        .map(|instant| instant.to_string())
}

/// Converts a local timestamp in the format `YYYYMMDDhhmmss` to UTC. Returns none for any other
/// format. If an hour occurs twice because the clock is set back, the timestamp is taken to be in
/// the first occurrence.
pub fn utc_from_digits(text: &str, zone: &Zone) -> Option<String> {
    if text.len() != 14 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let civil: DateTime = format!("{}T{}", &text[..8], &text[8..]).parse().ok()?;
    civil
        .to_zoned(zone.0.clone())
        .ok()
        .map(|zoned| zoned.timestamp().to_string())
}

#[cfg(test)]
mod tests {
    use super::{Zone, utc_from_digits, utc_from_rfc3339};

    #[test]
    fn instants_of_both_forms_are_told_in_utc() {
        let eastern = Zone::from_posix_rule("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let digits = |text| utc_from_digits(text, &eastern);
        assert_eq!(
            digits("20250124170844").as_deref(),
            Some("2025-01-24T22:08:44Z"),
            "winter"
        );
        assert_eq!(
            digits("20240717170844").as_deref(),
            Some("2024-07-17T21:08:44Z"),
            "summer"
        );
        assert_eq!(
            digits("20251102013000").as_deref(),
            Some("2025-11-02T05:30:00Z"),
            "there twice: the first"
        );
        for wrong in [
            "2025012417084",
            "20250132170844",
            "2025-01-24 17:08",
            "20250124240000",
            "",
        ] {
            assert_eq!(digits(wrong), None, "{wrong}");
        }
        assert_eq!(
            utc_from_rfc3339("2024-03-15T21:45:18-04:00").as_deref(),
            Some("2024-03-16T01:45:18Z")
        );
        assert_eq!(utc_from_rfc3339("2024-03-15T21:45:18"), None);
        assert!(Zone::from_posix_rule("Eastern").is_err());
    }
}
