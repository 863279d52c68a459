//! Reverses EDGAR's changes to registrant names: the tags that distinguish registrants with the
//! same name, and abbreviations.

use pubdata_core::canonical::name::is_legal_form;

/// Returns a registrant's name in common spelling: without EDGAR's tag, and with `TR` written out.
/// Applied to published names and to queries.
pub fn spelled_out(name: &str) -> String {
    let name = without_tag(name).trim_end();
    match name.len().checked_sub(3).and_then(|at| name.get(at..)) {
        Some(last) if last.eq_ignore_ascii_case(" tr") => {
            format!("{}RUST", &name[..name.len() - 1])
        }
        _ => name.to_owned(),
    }
}

/// Removes the tag that distinguishes registrants with the same name: `BANK OF AMERICA CORP /DE/`,
/// `ALLSTATE CORP \DE\`, `PENNEY J C CO INC/DE`.
fn without_tag(name: &str) -> &str {
    let is_slash = |character: char| matches!(character, '/' | '\\');
    let trimmed = name.trim_end();
    let inner = trimmed.strip_suffix(is_slash).unwrap_or(trimmed);
    let Some((before, tag)) = inner.rsplit_once(is_slash) else {
        return inner;
    };
    let is_word = !tag.is_empty() && tag.chars().all(|character| character.is_ascii_alphabetic());
    let is_closed = inner.len() < trimmed.len();
    let follows_form = || {
        before
            .split(|character: char| !character.is_ascii_alphanumeric())
            .next_back()
            .is_some_and(|word| is_legal_form(&word.to_ascii_uppercase()))
    };
    if is_word && (is_closed && tag.len() <= 5 || tag.len() <= 3 && follows_form()) {
        before
    } else {
        inner
    }
}

#[cfg(test)]
mod tests {
    use super::spelled_out;

    #[test]
    fn tags_are_cut_off_and_parts_of_names_are_not() {
        let cases = [
            ("BANK OF AMERICA CORP /DE/", "BANK OF AMERICA CORP"),
            ("ALLSTATE CORP \\DE\\", "ALLSTATE CORP"),
            ("Cheesecake Factory Inc /THE/", "Cheesecake Factory Inc"),
            ("CHEESECAKE FACTORY INC/", "CHEESECAKE FACTORY INC"),
            ("PENNEY J C CO INC/DE", "PENNEY J C CO INC"),
            ("TC/OIL", "TC/OIL"),
            ("VANGUARD INDEX TR", "VANGUARD INDEX TRUST"),
            ("Vanguard Index Tr", "Vanguard Index TRUST"),
            ("TR", "TR"),
        ];
        for (name, expected) in cases {
            assert_eq!(spelled_out(name), expected);
        }
    }
}
