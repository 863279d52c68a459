//! Removes personal data from descriptions, because clerks write telephone numbers, e-mail
//! addresses and contact names into them.

use pubdata_core::canonical::email;

/// Maximum number of words in a name.
const MAX_NAME_WORDS: usize = 3;

/// Replaces e-mail addresses, telephone numbers and names with words in brackets. A name is
/// recognised after one of the `marks` (`POC`) or before a telephone number. Other names are not
/// found.
pub(super) fn redact_persons(text: &str, marks: &[String]) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = String::with_capacity(text.len());
    let mut place = 0;
    while place < characters.len() {
        let rest = &characters[place..];
        let is_word_start = place == 0 || !characters[place - 1].is_alphanumeric();
        let found = if !is_word_start {
            None
        } else if let Some(length) = email::length(rest) {
            Some((length, "[e-mail]"))
        } else if let Some(length) = telephone(rest) {
            redact_trailing_name(&mut kept);
            Some((length, "[telephone]"))
        } else if let Some((mark, length)) = marks
            .iter()
            .find_map(|mark| Some((mark.chars().count(), marked_name(rest, mark)?)))
        {
            kept.extend(&rest[..mark]);
            Some((length, " [name]"))
        } else {
            None
        };
        match found {
            Some((length, word)) => {
                kept.push_str(word);
                place += length;
            }
            None => {
                kept.push(rest[0]);
                place += 1;
            }
        }
    }
    kept
}

/// Returns the length of a telephone number at the start of a text: `(615) 321-2037`,
/// `615.981.1108`, `615 243 4363`, `615/992-1400`, `615) 889-4161`. Also matches ten consecutive
/// digits, unless they may be a permit number, which begins with its year.
fn telephone(text: &[char]) -> Option<usize> {
    let digits = |from: usize, count: usize| {
        let end = from + count;
        (text.len() >= end && text[from..end].iter().all(char::is_ascii_digit)).then_some(end)
    };
    let separators = |from: usize, most: usize| {
        text[from..]
            .iter()
            .take_while(|c| matches!(c, ' ' | '-' | '.' | '/' | ')'))
            .count()
            .min(most)
    };
    let start = usize::from(text.first() == Some(&'('));
    let area = digits(start, 3)?;
    let before_exchange = separators(area, 3);
    let exchange = digits(area + before_exchange, 3)?;
    let before_line = separators(exchange, 3);
    let end = digits(exchange + before_line, 4)?;
    let goes_on = text.get(end).is_some_and(char::is_ascii_digit);
    let is_number = match (before_exchange, before_line) {
        (0, 0) => matches!(text[start], '2'..='9') && text[start..start + 2] != ['2', '0'],
        (_, line) => line > 0,
    };
    (is_number && !goes_on).then_some(end)
}

/// Returns the length of a mark and the name after it. A name consists of words of letters,
/// separated by single blanks.
fn marked_name(text: &[char], mark: &str) -> Option<usize> {
    let length = mark.chars().count();
    let is_mark = text.len() > length
        && mark
            .chars()
            .zip(text)
            .all(|(a, b)| a.eq_ignore_ascii_case(b))
        && !text[length].is_alphanumeric();
    if !is_mark {
        return None;
    }
    let mut end = length
        + text[length..]
            .iter()
            .take_while(|c| matches!(c, ' ' | ':' | '-' | '.' | '\u{2013}'))
            .count();
    let mut words = 0;
    while words < MAX_NAME_WORDS {
        let blank = usize::from(words > 0 && text.get(end) == Some(&' '));
        if words > 0 && blank == 0 {
            break;
        }
        let word = text[end + blank..]
            .iter()
            .take_while(|c| c.is_alphabetic() || matches!(c, '\'' | '-'))
            .count();
        // An e-mail address is not a name.
        if word == 0 || email::length(&text[end + blank..]).is_some() {
            break;
        }
        end += blank + word;
        // The word is an initial.
        end += usize::from(word == 1 && text.get(end) == Some(&'.'));
        words += 1;
    }
    (words > 0).then(|| second_name(text, end).unwrap_or(end))
}

/// Returns the end of a second name between the first name and a telephone number: `POC Ana Ruiz,
/// EUDI RODAS, 615 …`.
fn second_name(text: &[char], first: usize) -> Option<usize> {
    let separators = |from: usize| {
        from + text[from..]
            .iter()
            .take_while(|c| matches!(c, ' ' | ',' | ':' | ';' | '-' | '/'))
            .count()
    };
    let begin = separators(first);
    let is_of_name = |c: &&char| c.is_alphabetic() || matches!(c, ' ' | '\'' | '.');
    let words: String = text[begin..].iter().take_while(is_of_name).collect();
    let (end, count) = (
        begin + words.trim_end().chars().count(),
        words.split_whitespace().count(),
    );
    (begin > first
        && (1..=MAX_NAME_WORDS).contains(&count)
        && telephone(&text[separators(end)..]).is_some())
    .then_some(end)
}

/// Replaces a name at the end of a text. Such a name consists of two or three capitalised words, as
/// written before a telephone number.
fn redact_trailing_name(text: &mut String) {
    let is_separator = |c: char| matches!(c, ' ' | ',' | ':' | '-' | '(');
    let end = text.trim_end_matches(is_separator).len();
    let is_name = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
            && letters.all(|c| c.is_alphabetic() || c == '\'')
    };
    let (mut start, mut words) = (end, 0);
    while words < MAX_NAME_WORDS {
        let before = text[..start].trim_end_matches(' ');
        let word = before
            .rsplit(|c: char| {
                c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '/' | '(' | ')')
            })
            .next()
            .unwrap_or_default();
        let has_gap = words > 0 && start - before.len() != 1;
        if has_gap || !is_name(word) {
            break;
        }
        start = before.len() - word.len();
        words += 1;
    }
    if words > 1 {
        text.replace_range(start..end, "[name]");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endings of descriptions from Nashville, with invented persons.
    #[test]
    fn persons_are_taken_out_and_nothing_else() {
        let marks = ["POC", "Point of Contact"].map(str::to_owned);
        let cases = [
            (
                "rear of dwelling. POC: Konrad Mocki, (918)555-0100. Applicant applied",
                "rear of dwelling. POC [name], [telephone]. Applicant applied",
            ),
            (
                "R. POC DALAND FAKEMAN 615-555-0100  parcels 09215017200, 09215017300",
                "R. POC [name] [telephone]  parcels 09215017200, 09215017300",
            ),
            (
                "POC: Klaus Sampi O: (615) 555-0101 C: (615) 555-0102",
                "POC [name]: [telephone] C: [telephone]",
            ),
            (
                "POC: Florian E. Mock, (419) 555-0100. W",
                "POC [name], [telephone]. W",
            ),
            (
                "POC: Isidora Samp, 256.555.0100. A",
                "POC [name], [telephone]. A",
            ),
            (
                "POC: Bruno Mocker, 615 555 0103. A",
                "POC [name], [telephone]. A",
            ),
            (
                "POC: Amelia Testi, 615/555-0104.",
                "POC [name], [telephone].",
            ),
            (
                "POC: Hugo Examley, 615) 555-0105. W",
                "POC [name], [telephone]. W",
            ),
            ("POC: 6155550106 or", "POC: [telephone] or"),
            (
                "POC Ida Fict, OTTO SAMPO, 615 555 0103. A",
                "POC [name], [telephone]. A",
            ),
            (
                "POC Ada: Petra Mocka (615)555-0100",
                "POC [name] [telephone]",
            ),
            (
                "Point of Contact -Faland Doe 615-555-0100",
                "Point of Contact [name] [telephone]",
            ),
            (
                "per plans. Enno Fict 615.555.0100 to",
                "per plans. [name] [telephone] to",
            ),
            (
                "Install tankless heater 615-555-0100",
                "Install tankless heater [telephone]",
            ),
            (
                "CALL BEFORE INSPECTION 615-555-0100",
                "CALL BEFORE INSPECTION [telephone]",
            ),
            (
                "Unit Nashville, TN (615) 555-0100",
                "Unit Nashville, TN [telephone]",
            ),
            (
                "poc sample tester...sample@example.com",
                "poc [name]...[e-mail]",
            ),
            (
                "EMAIL DIRECTLY TO: LEOPOLD.MOCKFORDS@EXAMPLE.ORG. PERMIT",
                "EMAIL DIRECTLY TO: [e-mail] PERMIT",
            ),
            (
                "POC SALES@EXAMPLE.COM  BB POC silas samplen",
                "POC [e-mail]  BB POC [name]",
            ),
            (
                "poc ferdi samplo\u{2026}.only contact info",
                "poc [name]\u{2026}.only contact info",
            ),
            (
                "Must comply with MHZC permit 2022010097. 2017-835, 110108482",
                "Must comply with MHZC permit 2022010097. 2017-835, 110108482",
            ),
            (
                "residence @ 5,940 SF. lot 2, (65) units",
                "residence @ 5,940 SF. lot 2, (65) units",
            ),
            ("EPOCH pocket door POC", "EPOCH pocket door POC"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(redact_persons(text, &marks), expected);
        }
        assert_eq!(
            redact_persons("POC: Konrad Mocki", &[]),
            "POC: Konrad Mocki"
        );
    }
}
