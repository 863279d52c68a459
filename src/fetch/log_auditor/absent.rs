//! Generates ids that a release most likely does not contain. The server's receipts for these ids
//! must show the neighbouring ids.

use super::random::Random;

/// Returns an id of the same format, with digits replaced by other digits and letters by other
/// letters. The dataset and the separators stay the same.
pub(super) fn altered(record_id: &str, random: &mut Random) -> String {
    let (dataset, key) = record_id.split_once(':').unwrap_or((record_id, ""));
    let mut pick = |first: u8, count: u64| {
        char::from(first + u8::try_from(random.below(count)).unwrap_or_default())
    };
    let key: String = key
        .chars()
        .map(|letter| match letter {
            '0'..='9' => pick(b'0', 10),
            'a'..='z' => pick(b'a', 26),
            'A'..='Z' => pick(b'A', 26),
            other => other,
        })
        .collect();
    format!("{dataset}:{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn altered_id_keeps_the_form_of_the_original() {
        let form = |id: &str| -> String {
            let (dataset, key) = id.split_once(':').unwrap();
            let kind = |letter: char| match letter {
                letter if letter.is_ascii_digit() => '0',
                letter if letter.is_ascii_lowercase() => 'a',
                letter if letter.is_ascii_uppercase() => 'A',
                other => other,
            };
            format!("{dataset}:{}", key.chars().map(kind).collect::<String>())
        };
        let mut random = Random::from_seed(1);
        let id = "geo.zcta_metric:2023:90210:Median_é";
        let other = altered(id, &mut random);
        assert_eq!(form(&other), form(id));
        assert_ne!(other, id);
        assert_ne!(altered(id, &mut random), other);
    }
}
