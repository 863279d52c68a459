//! The habits of `docs/STYLE.md` that text shows: a habit that nothing checks is kept by half of
//! the files.

use std::collections::BTreeSet;
use std::path::PathBuf;

struct File {
    /// Below `src/`.
    path: String,
    /// Without unit tests.
    text: String,
}

fn sources() -> Vec<File> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let paths = pubdata_testing::files_below(&root)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths
        .map(|path| {
            File::new(
                &path.strip_prefix(&root).unwrap().display().to_string(),
                &std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect()
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text
                .split("#[cfg(test)]")
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    }

    fn at(&self, offset: usize, what: &str) -> String {
        format!(
            "src/{}:{}: {what}",
            self.path,
            self.text[..offset].matches('\n').count() + 1
        )
    }

    /// The text without comments and without what stands in quotation marks, each as long as it
    /// was.
    fn code(&self) -> String {
        let mut code = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            let content = line.trim_start();
            if content.starts_with("//") {
                code.extend(
                    line.bytes()
                        .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
                );
                continue;
            }
            let mut is_quoted = false;
            let mut before = b' ';
            for byte in line.bytes() {
                is_quoted ^= byte == b'"' && before != b'\\' && before != b'\'';
                code.push(
                    if byte.is_ascii() && (!is_quoted || byte == b'\n' || byte == b'"') {
                        char::from(byte)
                    } else {
                        '_'
                    },
                );
                before = byte;
            }
        }
        code
    }
}

/// Files that do not say what they are for.
fn without_purpose(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.at(0, "begins without `//!`: say what the file is for"))
        .collect()
}

/// The argument list that begins with the parenthesis at the start of a text, cut at its commas.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_i32, 1, Vec::new());
    for (place, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && character == ',') {
            found.push(text[start..place].trim());
            start = place + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Calls of our own functions with a bare `true` or `false`, of which a reader cannot see what it
/// says.
fn with_bare_flags(files: &[File]) -> Vec<String> {
    let codes: Vec<String> = files.iter().map(File::code).collect();
    let mut named: BTreeSet<&str> = BTreeSet::new();
    for code in &codes {
        for (offset, _) in code.match_indices("fn ") {
            let rest = &code[offset + 3..];
            let Some(open) = rest.find('(') else { continue };
            let name = rest[..open].split('<').next().unwrap_or_default();
            let is_name = !name.is_empty()
                && name
                    .chars()
                    .all(|character| character.is_alphanumeric() || character == '_');
            if is_name
                && arguments(&rest[open..])
                    .iter()
                    .any(|parameter| parameter.ends_with(": bool"))
            {
                named.insert(name);
            }
        }
    }
    let mut found = Vec::new();
    for (file, code) in files.iter().zip(&codes) {
        for (open, _) in code.match_indices('(') {
            let name = code[..open]
                .rsplit(|character: char| !character.is_alphanumeric() && character != '_')
                .next()
                .unwrap_or_default();
            let is_declared = code[..open - name.len()].ends_with("fn ");
            let given = arguments(&code[open..]);
            // A setter says what its only argument is; a field of a table is Arrow's own.
            let is_plain = given.len() < 2 || code[..open].ends_with("Field::new");
            if named.contains(name)
                && !is_declared
                && !is_plain
                && given
                    .iter()
                    .any(|argument| matches!(*argument, "true" | "false"))
            {
                found.push(
                    file.at(open, &format!("`{name}` is called with a bare `true` or `false`: give it a name, or the function a type that says what it means")),
                );
            }
        }
    }
    found
}

#[test]
fn every_file_says_what_it_is_for() {
    assert_eq!(without_purpose(&sources()), Vec::<String>::new());
}

#[test]
fn no_call_has_a_flag_without_a_name() {
    assert_eq!(with_bare_flags(&sources()), Vec::<String>::new());
}

/// Each habit, broken once: a rule that finds nothing anywhere proves nothing.
#[test]
fn every_breach_of_a_habit_is_found() {
    assert_eq!(
        without_purpose(&[File::new("core/ids/zcta.rs", "use std::fmt;\n")]),
        ["src/core/ids/zcta.rs:1: begins without `//!`: say what the file is for"]
    );
    let flagged = "//! Reads.\nfn read(text: &str, is_strict: bool) {}\nfn all() {\n    read(\"a, (b\", true);\n}\n";
    let found = with_bare_flags(&[File::new("build/decode/csv.rs", flagged)]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("src/build/decode/csv.rs:4: `read` is called with a bare"),
        "{found:?}"
    );

    let kept = "//! Reads.\n\n/// Opens it.\n///\n/// # Errors\n/// `Store`, when it is not there.\n#[must_use]\npub fn open() -> Result<()> {\n    let is_strict = true;\n    read(\"a\", is_strict)\n}\nfn read(text: &str, is_strict: bool) {}\n/// Answers.\npub fn search(call: &Call<'_>) -> Result<Meta> {}\n#[cfg(test)]\nmod tests { fn f() { read(\"a\", true) } }\n";
    let kept = [File::new("store/home.rs", kept)];
    assert_eq!(
        [without_purpose(&kept), with_bare_flags(&kept)].concat(),
        Vec::<String>::new()
    );
}
