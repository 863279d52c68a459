//! Brings names to one form, so that case, accents, punctuation and legal forms do not decide whether they are found.

/// Legal forms that end a name, with the form they are compared in.
const DESIGNATORS: [(&str, &str); 33] = [
    ("AB", "AB"),
    ("AG", "AG"),
    ("ASA", "ASA"),
    ("BV", "BV"),
    ("CO", "CO"),
    ("COMPANY", "CO"),
    ("CORP", "CORP"),
    ("CORPORATION", "CORP"),
    ("GMBH", "GMBH"),
    ("INC", "INC"),
    ("INCORPORATED", "INC"),
    ("KK", "KK"),
    ("LC", "LC"),
    ("LIMITED", "LTD"),
    ("LLC", "LLC"),
    ("LLLP", "LLLP"),
    ("LLP", "LLP"),
    ("LP", "LP"),
    ("LTD", "LTD"),
    ("NA", "NA"),
    ("NV", "NV"),
    ("OYJ", "OYJ"),
    ("PA", "PA"),
    ("PC", "PC"),
    ("PLC", "PLC"),
    ("PLLC", "PLLC"),
    ("PTE", "PTE"),
    ("PTY", "PTY"),
    ("SA", "SA"),
    ("SE", "SE"),
    ("SPA", "SPA"),
    ("TR", "TRUST"),
    ("TRUST", "TRUST"),
];

/// A name in the form it is compared in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// Words of the name without its legal form: upper case, one blank between them.
    pub base: String,
    /// The legal form in its short spelling; empty when the name ends without one.
    pub designator: String,
}

/// The short spelling of a legal form.
pub fn designator(word: &str) -> Option<&'static str> {
    DESIGNATORS.binary_search_by_key(&word, |(spelling, _)| spelling).ok().map(|index| DESIGNATORS[index].1)
}

/// Whether `word` is how someone begins to write this legal form, in any spelling.
pub fn begins_designator(word: &str, short: &str) -> bool {
    DESIGNATORS.iter().any(|(spelling, known)| *known == short && spelling.starts_with(word))
}

/// Folds a name: `The Coca-Cola Company` and `COCA COLA CO` become the same.
pub fn fold(name: &str) -> Folded {
    let mut words = words(without_tag(name));
    if words.len() > 1 && words[0] == "THE" {
        words.remove(0);
    }
    let mut designators: Vec<&str> = Vec::new();
    // A name that is nothing but legal forms keeps its first word.
    while words.len() > 1
        && let Some(short) = words.last().and_then(|word| designator(word))
    {
        designators.insert(0, short);
        words.pop();
    }
    // Also what the legal forms leave behind: `Procter & Gamble & Co`.
    while words.len() > 1 && !designators.is_empty() && words.last().is_some_and(|word| word == "AND") {
        words.pop();
    }
    Folded { base: words.join(" "), designator: designators.join(" ") }
}

/// All words of a text, as they are compared.
pub fn words(text: &str) -> Vec<String> {
    let mut plain = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '0'..='9' | 'A'..='Z' => plain.push(character),
            'a'..='z' => plain.push(character.to_ascii_uppercase()),
            '&' => plain.push_str(" AND "),
            '\'' | '’' | '‘' | '`' | '´' => {}
            _ => match without_accent(character) {
                Some(letters) => plain.push_str(letters),
                None if character.is_alphanumeric() => plain.extend(character.to_uppercase()),
                None => plain.push(' '),
            },
        }
    }
    join_initials(plain.split_ascii_whitespace())
}

/// Joins single letters that follow one another: `J P MORGAN` becomes `JP MORGAN`.
fn join_initials<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_initial = |word: &str| word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic();
    let mut joined: Vec<String> = Vec::new();
    let mut follows_initial = false;
    for word in words {
        match joined.last_mut().filter(|_| follows_initial && is_initial(word)) {
            Some(initials) => initials.push_str(word),
            None => joined.push(word.to_owned()),
        }
        follows_initial = is_initial(word);
    }
    joined
}

/// Cuts off the mark that tells registrants of one name apart: `BANK OF AMERICA CORP /DE/`, `ALLSTATE CORP \DE\`, `PENNEY J C CO INC/DE`.
fn without_tag(name: &str) -> &str {
    let is_slash = |character: char| matches!(character, '/' | '\\');
    let trimmed = name.trim_end();
    let inner = trimmed.strip_suffix(is_slash).unwrap_or(trimmed);
    let Some((before, tag)) = inner.rsplit_once(is_slash) else { return inner };
    let is_word = !tag.is_empty() && tag.chars().all(|character| character.is_ascii_alphabetic());
    let is_closed = inner.len() < trimmed.len();
    let follows_designator =
        || before.split(|character: char| !character.is_ascii_alphanumeric()).next_back().is_some_and(|word| designator(&word.to_ascii_uppercase()).is_some());
    if is_word && (is_closed && tag.len() <= 5 || tag.len() <= 3 && follows_designator()) { before } else { inner }
}

/// The plain letters of an accented one (Latin-1 and the letters of central Europe).
fn without_accent(character: char) -> Option<&'static str> {
    Some(match character {
        'À'..='Å' | 'à'..='å' | 'Ā' | 'ā' | 'Ă' | 'ă' | 'Ą' | 'ą' => "A",
        'Æ' | 'æ' => "AE",
        'Ç' | 'ç' | 'Ć' | 'ć' | 'Č' | 'č' => "C",
        'Ď' | 'ď' | 'Đ' | 'đ' => "D",
        'È'..='Ë' | 'è'..='ë' | 'Ē' | 'ē' | 'Ę' | 'ę' | 'Ě' | 'ě' => "E",
        'Ğ' | 'ğ' => "G",
        'Ì'..='Ï' | 'ì'..='ï' | 'İ' | 'ı' => "I",
        'Ł' | 'ł' => "L",
        'Ñ' | 'ñ' | 'Ń' | 'ń' | 'Ň' | 'ň' => "N",
        'Ò'..='Ö' | 'Ø' | 'ò'..='ö' | 'ø' | 'Ő' | 'ő' => "O",
        'Œ' | 'œ' => "OE",
        'Ř' | 'ř' => "R",
        'Ś' | 'ś' | 'Ş' | 'ş' | 'Š' | 'š' => "S",
        'ß' => "SS",
        'Ţ' | 'ţ' | 'Ť' | 'ť' => "T",
        'Ù'..='Ü' | 'ù'..='ü' | 'Ů' | 'ů' | 'Ű' | 'ű' => "U",
        'Ý' | 'ý' | 'ÿ' => "Y",
        'Ź' | 'ź' | 'Ż' | 'ż' | 'Ž' | 'ž' => "Z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::serve::sec::fold::{DESIGNATORS, fold};

    #[test]
    fn spellings_of_one_name_fold_to_one_form() {
        let cases = [
            (&["COCA COLA CO", "The Coca-Cola Company", "coca cola company"][..], ("COCA COLA", "CO")),
            (&["BANK OF AMERICA CORP /DE/", "Bank of America Corporation"], ("BANK OF AMERICA", "CORP")),
            (&["ALLSTATE CORP", "ALLSTATE CORP \\DE\\"], ("ALLSTATE", "CORP")),
            (&["CHEESECAKE FACTORY INC", "Cheesecake Factory Inc /THE/", "CHEESECAKE FACTORY INC/"], ("CHEESECAKE FACTORY", "INC")),
            (&["AT&T INC.", "AT and T Inc"], ("AT AND T", "INC")),
            (&["MCDONALDS CORP", "McDonald's Corp", "McDonald’s Corporation"], ("MCDONALDS", "CORP")),
            (&["J.P. Morgan", "JP MORGAN", "J P Morgan"], ("JP MORGAN", "")),
            (&["AMAZON COM INC", "Amazon.com, Inc."], ("AMAZON COM", "INC")),
            (&["NESTLE SA", "Nestlé S.A."], ("NESTLE", "SA")),
            (&["PENNEY J C CO INC/DE", "PENNEY J C CO INC"], ("PENNEY JC", "CO INC")),
            (&["CO INC"], ("CO", "INC")),
            (&["TC/OIL"], ("TC OIL", "")),
            (&["", " . "], ("", "")),
        ];
        for (spellings, (base, designator)) in cases {
            for spelling in spellings {
                let folded = fold(spelling);
                assert_eq!((folded.base.as_str(), folded.designator.as_str()), (base, designator), "{spelling}");
            }
        }
    }

    #[test]
    fn designators_are_sorted_for_the_search() {
        assert!(DESIGNATORS.is_sorted_by_key(|(spelling, _)| *spelling));
    }
}
