//! Words and openings of sentences that `docs/STYLE.md` excludes from comments, documents and names.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Phrases that comments and documents do not use, with what to write.
const PHRASES: &[(&str, &str)] = &[
    ("be it", "a list of the cases"),
    ("by hand", "manual"),
    ("carried over", "reused"),
    ("carry over", "reuse"),
    ("foresee", "predict"),
    ("foreseen", "predicted"),
    ("in the words of", "`from` or `as … writes`"),
    ("law of the thing", "plausibility range"),
    ("mended", "repaired"),
    ("nights", "runs"),
    ("not renewed", "stale"),
    ("one behind the other", "contiguous"),
    ("placed work", "distributed run"),
    ("says so", "states it"),
    ("set aside", "quarantined"),
    ("sets aside", "quarantines"),
    ("side by side", "in parallel"),
    ("stranger", "untrusted client"),
    ("told", "reported"),
    ("unrenewed", "stale"),
    ("waive", "override"),
    ("waived", "overridden"),
    ("way out", "hint"),
    ("who asks", "caller or client"),
    ("whoever", "operator, caller, client or user"),
];

/// Beginnings of sentences that are no questions.
const OPENINGS: &[&str] = &[
    "Of ",
    "What ",
    "Whether ",
    "Where ",
    "None where ",
    "Who ",
    "Whose ",
    "There is ",
    "There are ",
    "One that ",
];

/// Parts of identifiers in `src`, with what to write.
const NAME_PARTS: &[(&str, &str)] = &[
    ("stranger", "untrusted_client"),
    ("unrenewed", "stale"),
    ("waive", "override"),
    ("foresee", "predict"),
    ("whoever", "caller"),
];

/// Phrases that stay in a file, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("tests/project/language.rs", "", "lists the phrases"),
    ("docs/STYLE.md", "", "quotes names that break the rules"),
    (
        "docs/FAULTS.md",
        "not renewed",
        "names a kind of file as `pubdata formats` does",
    ),
];

/// Text of a comment or a document, and the line it begins at.
type Passage = (usize, String);

fn files(ending: &str, folders: &[&str]) -> BTreeMap<String, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folders
        .iter()
        .flat_map(|folder| {
            let folder = root.join(folder);
            if folder.is_file() {
                vec![folder]
            } else {
                pubdata_testing::files_below(&folder)
            }
        })
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Comments of Rust code: one passage for each run of lines with the same mark.
fn comments(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut mark_before = "";
    for (line, content) in text.lines().enumerate() {
        let content = content.trim_start();
        let mark = ["///", "//!", "//"]
            .into_iter()
            .find(|mark| content.starts_with(mark))
            .unwrap_or_default();
        let comment = content[mark.len()..].trim();
        if mark.is_empty() || comment.is_empty() {
            mark_before = "";
            continue;
        }
        match passages.last_mut().filter(|_| mark == mark_before) {
            Some((_, passage)) => {
                passage.push(' ');
                passage.push_str(comment);
            }
            None => passages.push((line + 1, comment.to_owned())),
        }
        mark_before = mark;
    }
    passages
}

/// Paragraphs and table rows of a document, without code blocks.
fn paragraphs(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let (mut is_code, mut continues) = (false, false);
    for (line, content) in text.lines().enumerate() {
        let content = content.trim();
        if content.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || content.is_empty() || content.starts_with("```") {
            continues = false;
            continue;
        }
        let begins = content.starts_with(['#', '|', '-', '*', '>']) || !continues;
        match passages.last_mut().filter(|_| !begins) {
            Some((_, passage)) => {
                passage.push(' ');
                passage.push_str(content);
            }
            None => passages.push((line + 1, content.to_owned())),
        }
        continues = true;
    }
    passages
}

/// The text without what is in backticks or quotation marks.
fn prose(passage: &str) -> String {
    let mut prose = String::new();
    let mut inside = None;
    for character in passage.chars() {
        match inside {
            Some(mark) if character == mark => {
                inside = None;
                prose.push('_');
            }
            Some(_) => {}
            None if matches!(character, '`' | '"') => inside = Some(character),
            None => prose.push(character),
        }
    }
    prose
}

fn sentences(prose: &str) -> impl Iterator<Item = &str> {
    prose
        .split_inclusive(['.', '!', '?', ':'])
        .map(|sentence| sentence.trim_start_matches(|c: char| !c.is_alphanumeric()))
}

fn has_phrase(prose: &str, phrase: &str) -> bool {
    let prose = prose.to_lowercase();
    prose.match_indices(phrase).any(|(start, _)| {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        !prose[..start].ends_with(is_letter)
            && !prose[start + phrase.len()..].starts_with(is_letter)
    })
}

/// Reports each phrase and opening of a text that is excluded.
fn breaches(path: &str, passages: Vec<Passage>) -> Vec<String> {
    let is_exception = |phrase: &str| {
        EXCEPTIONS
            .iter()
            .any(|(file, known, _)| *file == path && (known.is_empty() || *known == phrase))
    };
    let mut found = Vec::new();
    for (line, passage) in passages {
        let prose = prose(&passage);
        for (phrase, instead) in PHRASES {
            if has_phrase(&prose, phrase) && !is_exception(phrase) {
                found.push(format!("{path}:{line}: `{phrase}`: write {instead}"));
            }
        }
        // Headings and cells are phrases.
        if passage.starts_with(['#', '|']) {
            continue;
        }
        for sentence in sentences(&prose) {
            if let Some(opening) = OPENINGS
                .iter()
                .find(|opening| sentence.starts_with(**opening))
                && !sentence.trim_end().ends_with('?')
                && !is_exception(opening)
            {
                found.push(format!(
                    "{path}:{line}: a sentence begins with `{}`: begin with the subject",
                    opening.trim_end()
                ));
            }
        }
    }
    found
}

/// Reports each identifier with an excluded part.
fn names(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let code = content.split("//").next().unwrap_or_default();
        for word in prose(code).split(|c: char| !c.is_alphanumeric() && c != '_') {
            let parts: Vec<String> = word.split('_').map(str::to_lowercase).collect();
            let word = word.to_lowercase();
            for (part, instead) in NAME_PARTS {
                if parts.iter().any(|own| own == part) || word == *part {
                    found.push(format!("{path}:{}: `{word}`: write {instead}", line + 1));
                }
            }
        }
    }
    found
}

#[test]
fn comments_and_documents_use_standard_terms() {
    let code = files(".rs", &["src", "tests", "benches"]);
    let documents = files(".md", &["docs", "README.md", "CHANGELOG.md"]);
    let of_code = code
        .iter()
        .flat_map(|(path, text)| breaches(path, comments(text)));
    let of_documents = documents
        .iter()
        .filter(|(path, _)| *path != "docs/data-dictionary.md")
        .flat_map(|(path, text)| breaches(path, paragraphs(text)));
    let found: Vec<String> = of_code.chain(of_documents).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn names_use_standard_terms() {
    let found: Vec<String> = files(".rs", &["src"])
        .iter()
        .flat_map(|(path, text)| names(path, text))
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Tests whose names are longer than 70 characters or begin with an article.
#[test]
fn test_names_are_short() {
    let mut found = Vec::new();
    for (path, text) in files(".rs", &["src", "tests"]) {
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            let name = ["fn ", "async fn "]
                .iter()
                .find_map(|start| line.strip_prefix(start))
                .and_then(|rest| rest.split('(').next());
            match name {
                Some(name) if is_test => {
                    let begins_with_article = ["a_", "an_", "the_"]
                        .iter()
                        .any(|article| name.starts_with(article));
                    if name.len() > 70 || begins_with_article {
                        found.push(format!("{path}: {name}"));
                    }
                    is_test = false;
                }
                Some(_) => {}
                None => is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test"),
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_rule_finds_its_breach() {
    for (phrase, _) in PHRASES {
        let text = format!("/// Reads a file\n/// that is {phrase} here.\nfn read() {{}}\n");
        assert_eq!(breaches("a.rs", comments(&text)).len(), 1, "{phrase}");
        let text = format!("# Title\n\nA text that is\n{phrase} here.\n");
        assert_eq!(breaches("a.md", paragraphs(&text)).len(), 1, "{phrase}");
    }
    for opening in OPENINGS {
        let text = format!("// Reads a file. {opening}this is.\n");
        assert_eq!(breaches("a.rs", comments(&text)).len(), 1, "{opening}");
    }
    for (part, _) in NAME_PARTS {
        let text = format!("fn is_{part}(text: &str) {{}} // {part}\n");
        assert_eq!(names("a.rs", &text).len(), 1, "{part}");
    }
    let kept = "/// What does `told` mean? Reads \"set aside\" and a stranger-like word.\n```\n";
    assert_eq!(breaches("a.rs", comments(kept)), Vec::<String>::new());
}
