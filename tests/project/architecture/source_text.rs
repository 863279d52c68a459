//! Reads Rust source as far as the project's rules need it: code without comments, string literals,
//! and the paths that code names. Unit tests at the end of a file (from `#[cfg(test)]` on) are left
//! out.

use std::path::Path;

/// One source file: its code with comments and the content of literals removed, and its string
/// literals.
pub struct SourceText {
    /// Path below `src/`, with forward slashes.
    pub path: String,
    /// Line breaks are kept, so that offsets give lines.
    pub code: String,
    pub strings: Vec<Literal>,
}

pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// A path named in code: `crate::store::Home` is `["crate", "store", "Home"]`.
pub struct Reference {
    pub line: usize,
    pub segments: Vec<String>,
}

/// Reads every `.rs` file below a folder, in path order.
pub fn read_all(root: &Path) -> Vec<SourceText> {
    fn collect(folder: &Path, root: &Path, files: &mut Vec<SourceText>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                files.push(SourceText::new(
                    &name,
                    &std::fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    let mut files = Vec::new();
    collect(root, root, &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

impl SourceText {
    pub fn new(path: &str, text: &str) -> Self {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut code = String::new();
        let mut strings = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if rest.starts_with("//") {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            } else if rest.starts_with("/*") {
                let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                keep_line_breaks(&rest[..length], &mut code);
                rest = &rest[length..];
            } else if let Some((length, content)) = string_literal(rest)
                .filter(|_| !code.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            {
                strings.push(Literal {
                    line: line_at(&code, code.len()),
                    text: content.to_owned(),
                });
                code.push('"');
                keep_line_breaks(&rest[..length], &mut code);
                code.push('"');
                rest = &rest[length..];
            } else if let Some(length) = char_literal(rest) {
                code.push_str("' '");
                rest = &rest[length..];
            } else {
                code.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        Self {
            path: path.to_owned(),
            code,
            strings,
        }
    }

    /// Returns the member of the workspace, such as `store`; `None` for the program itself.
    pub fn member(&self) -> Option<&'static str> {
        let first = self.path.split('/').next().unwrap_or_default();
        MEMBERS
            .iter()
            .map(|(member, _, _)| *member)
            .find(|member| *member == first)
    }

    /// Returns the module below the member's root: `["home"]` for `store/home.rs`; `mod.rs` is its
    /// folder, `lib.rs` the root.
    fn module_in_member(&self) -> Vec<String> {
        let segments = self
            .path
            .trim_end_matches(".rs")
            .split('/')
            .skip(usize::from(self.member().is_some()))
            .map(str::to_owned);
        segments
            .filter(|segment| !matches!(segment.as_str(), "mod" | "lib" | "main"))
            .collect()
    }

    /// Returns the layer: a folder of a member, or the member if the folder is its root. Examples:
    /// `store`, `receipts`, `error`.
    pub fn layer(&self) -> String {
        match self.member() {
            None => self
                .path
                .split('/')
                .next()
                .unwrap_or_default()
                .trim_end_matches(".rs")
                .to_owned(),
            Some(_) => self
                .module()
                .first()
                .cloned()
                .unwrap_or_else(|| "lib".to_owned()),
        }
    }

    /// Returns the module, beginning with its layer: `["store", "home"]`, `["receipts", "log"]`.
    pub fn module(&self) -> Vec<String> {
        below_layer(self.member(), self.module_in_member())
    }

    /// Returns every path in the code, `use` trees written out, with `self` and `super` resolved to
    /// `crate`.
    pub fn references(&self) -> Vec<Reference> {
        let mut references = Vec::new();
        let mut offset = 0;
        while let Some(length) = path_at(&self.code[offset..]) {
            let start = offset + length.start;
            let mut end = offset + length.end;
            let line = line_at(&self.code, start);
            let mut paths = vec![self.code[start..end].to_owned()];
            if self.code[..start].trim_end().ends_with("use") && self.code[start..].contains(';') {
                end = start + self.code[start..].find(';').unwrap();
                paths = write_out(&self.code[start..end]);
            }
            references.extend(paths.iter().map(|path| Reference {
                line,
                segments: self.resolve(path),
            }));
            offset = end;
        }
        references
    }

    /// Resolves a path. Paths into members begin with `crate` and a layer in every member:
    /// `pubdata_store::Home` in one member and `crate::Home` in another are both `["crate",
    /// "store", "Home"]`.
    fn resolve(&self, path: &str) -> Vec<String> {
        let segments: Vec<String> = path
            .split("::")
            .map(|segment| {
                segment
                    .split(" as ")
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            })
            .filter(|segment| !segment.is_empty())
            .collect();
        let in_layer = |member, module: Vec<String>| {
            std::iter::once("crate".to_owned())
                .chain(below_layer(member, module))
                .collect()
        };
        match segments.first().map(String::as_str) {
            Some("crate") => in_layer(self.member(), segments[1..].to_vec()),
            Some("self" | "super") => {
                let supers = segments
                    .iter()
                    .take_while(|segment| matches!(segment.as_str(), "self" | "super"))
                    .count();
                let mut module = self.module_in_member();
                let up = segments[..supers]
                    .iter()
                    .filter(|segment| *segment == "super")
                    .count();
                module.truncate(module.len() - up.min(module.len()));
                module.extend_from_slice(&segments[supers..]);
                in_layer(self.member(), module)
            }
            Some(first) => match first
                .strip_prefix("pubdata_")
                .and_then(|name| MEMBERS.iter().find(|(member, _, _)| *member == name))
            {
                Some((member, _, _)) => in_layer(Some(member), segments[1..].to_vec()),
                None => segments,
            },
            None => segments,
        }
    }
}

/// Members of the workspace; true if the root is a layer itself, named like the member; layers that
/// are folders of it.
pub const MEMBERS: &[(&str, bool, &str)] = &[
    (
        "core",
        false,
        "ids error printable canonical provenance issue declared contract pipeline",
    ),
    ("store", true, "receipts monitor"),
    ("fetch", true, "log_auditor"),
    ("build", false, "decode normalise datasets validate publish"),
    ("run", true, "follow lineage"),
    ("serve", true, ""),
];

/// Returns the path of a member's module, with its layer in front.
fn below_layer(member: Option<&str>, module: Vec<String>) -> Vec<String> {
    let Some((member, true, folders)) =
        member.and_then(|name| MEMBERS.iter().find(|(member, _, _)| *member == name))
    else {
        return module;
    };
    let is_folder = module
        .first()
        .is_some_and(|first| folders.split(' ').any(|folder| folder == first));
    if is_folder {
        module
    } else {
        std::iter::once((*member).to_owned())
            .chain(module)
            .collect()
    }
}

/// Returns the next path of two segments or more, or the next `use` tree's first segments.
fn path_at(code: &str) -> Option<std::ops::Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut position = 0;
    loop {
        let start = position + code[position..].find(is_word)?;
        let mut end = start;
        loop {
            end += code[end..]
                .find(|c| !is_word(c))
                .unwrap_or(code.len() - end);
            let Some(after) = code[end..].strip_prefix("::") else {
                break;
            };
            if !after.starts_with(is_word) {
                break;
            }
            end += 2;
        }
        let is_method = code[..start].ends_with('.') && !code[..start].ends_with("..");
        let is_path = code[start..end].contains("::")
            || code[end..].starts_with("::")
            || code[..start].trim_end().ends_with("use")
            || code[end..].starts_with('!');
        if is_path && !is_method && !code[..start].ends_with("::") {
            return Some(start..end);
        }
        position = end;
    }
}

/// Expands `a::{b, c::{self, d}}` to `a::b`, `a::c`, `a::c::d`.
fn write_out(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.trim().to_owned()];
    };
    let (prefix, inside) = (
        tree[..open].trim(),
        &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())],
    );
    let (mut depth, mut branches, mut branch) = (0, Vec::new(), String::new());
    for c in inside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            branches.push(std::mem::take(&mut branch));
        } else {
            branch.push(c);
        }
    }
    branches.push(branch);
    let written = branches
        .iter()
        .filter(|branch| !branch.trim().is_empty())
        .flat_map(|branch| write_out(branch));
    written
        .map(|path| format!("{prefix}{}", if path == "self" { "" } else { &path }))
        .map(|path| path.trim_end_matches("::").to_owned())
        .collect()
}

fn line_at(code: &str, offset: usize) -> usize {
    code[..offset].matches('\n').count() + 1
}

fn keep_line_breaks(text: &str, code: &mut String) {
    code.extend(text.chars().filter(|c| *c == '\n'));
}

/// Returns length and content of the string literal that starts here.
fn string_literal(text: &str) -> Option<(usize, &str)> {
    let body = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - body.len();
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let content = raw[hashes..].strip_prefix('"')?;
        let length = content.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((
            prefix + 1 + hashes + 1 + length + 1 + hashes,
            &content[..length],
        ));
    }
    let content = body.strip_prefix('"')?;
    let mut is_escaped = false;
    for (index, c) in content.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some((prefix + 1 + index + 1, &content[..index])),
            _ => {}
        }
    }
    None
}

/// Returns the length of the character literal that starts here; `None` for a lifetime.
fn char_literal(text: &str) -> Option<usize> {
    let content = text.strip_prefix('\'')?;
    if content.starts_with('\\') {
        return content[2..].find('\'').map(|end| end + 4);
    }
    let length = content.chars().next()?.len_utf8();
    content[length..].starts_with('\'').then_some(length + 2)
}
