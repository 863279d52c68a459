//! Removes local folders from text for untrusted clients, which may see only file names.

use std::cmp::Reverse;
use std::path::Path;

/// Replacement for a folder whose full name is known, regardless of its spelling.
const KNOWN: &str = "/~";

/// Punctuation that can enclose a path: opening and closing characters.
const MARKS: [(char, char); 6] = [
    ('(', ')'),
    ('`', '`'),
    ('"', '"'),
    ('\'', '\''),
    ('[', ']'),
    ('<', '>'),
];

/// Strings that end a path that is not enclosed.
const ENDS: [&str; 9] = [
    ": ",
    "; ",
    ", ",
    " (",
    ")",
    "`",
    "\n",
    " https://",
    " http://",
];

/// Replaces each local path in the text with its file name. The given `folders` are always
/// recognised, regardless of their names. If the name of any other folder contains blanks or
/// punctuation, a word of that name may remain.
pub fn redact_folders(text: &str, folders: &[&Path]) -> String {
    let mut names: Vec<&str> = folders
        .iter()
        .filter_map(|folder| folder.to_str())
        .map(|name| name.trim_end_matches('/'))
        .collect();
    names.retain(|name| name.len() > 1 && name.starts_with('/'));
    names.sort_unstable_by_key(|name| Reverse(name.len()));
    let text = names
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, KNOWN));
    let (mut redacted, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some(start) = start_of_path(rest) {
        let (before, path) = rest.split_at(start);
        let before = before.strip_suffix("file://").unwrap_or(before);
        let end = end_of_path(path, before.chars().next_back());
        redacted.push_str(before);
        redacted.push_str(
            path[..end]
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default(),
        );
        rest = &path[end..];
    }
    redacted + rest
}

/// Finds the start of a path, which is a slash that neither follows a word nor is part of a URL.
fn start_of_path(text: &str) -> Option<usize> {
    let is_start = |at: usize| {
        let (before, after) = text.split_at(at);
        let is_free = before.ends_with("file://")
            || before.chars().next_back().is_none_or(|character| {
                character.is_whitespace() || "=,;".contains(character) || opens(character).is_some()
            });
        is_free
            && after[1..]
                .chars()
                .next()
                .is_some_and(|character| !character.is_whitespace() && character != '/')
    };
    text.match_indices('/')
        .map(|(at, _)| at)
        .find(|at| is_start(*at))
}

fn opens(mark: char) -> Option<char> {
    MARKS
        .iter()
        .find(|(open, _)| *open == mark)
        .map(|(_, close)| *close)
}

fn end_of_path(text: &str, before: Option<char>) -> usize {
    let closed = before.and_then(opens).and_then(|close| text.find(close));
    closed
        .or_else(|| ENDS.iter().filter_map(|end| text.find(end)).min())
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_path_is_shortened_to_its_file_name() {
        for (text, expected) in [
            (
                "1 of 3 rows (every finding is in /home/ann/.pubdata/runs/r1/issues.jsonl); cannot read `/srv/mirror/a b/x.csv`: https://host/a/b.csv and 3/4 stay",
                "1 of 3 rows (every finding is in issues.jsonl); cannot read `x.csv`: https://host/a/b.csv and 3/4 stay",
            ),
            (
                "cannot open /srv/my mirror/x.csv: No such file",
                "cannot open x.csv: No such file",
            ),
            (
                "file:///srv/a%20b/x.csv answered 404; https://host/x is asked next",
                "x.csv answered 404; https://host/x is asked next",
            ),
            ("/srv/x.csv is a folder", "x.csv is a folder"),
            ("see /srv/a/ (a folder)", "see a (a folder)"),
            (
                "401 and/or 403 / 3/4 of https://host/a//b",
                "401 and/or 403 / 3/4 of https://host/a//b",
            ),
            ("", ""),
        ] {
            assert_eq!(redact_folders(text, &[]), expected);
        }
    }

    #[test]
    fn known_folder_is_removed_despite_special_characters() {
        let (home, within) = (
            Path::new("/srv/it's: a (home), of; données"),
            Path::new("/srv/it's: a (home), of; données/in/side"),
        );
        let redacted = redact_folders(
            "cannot read /srv/it's: a (home), of; données/in/side/a.csv: gone; /srv/it's: a (home), of; données stays",
            &[home, within],
        );
        assert_eq!(redacted, "cannot read a.csv: gone; ~ stays");
        assert_eq!(
            redact_folders(
                "a relative name says nothing",
                &[Path::new("name"), Path::new("/")]
            ),
            "a relative name says nothing"
        );
    }
}
