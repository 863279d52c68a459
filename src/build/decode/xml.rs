//! Reads XML sequentially, with each element's byte offset. Rejects document type declarations, so
//! that no entity is ever expanded.

use std::borrow::Cow;
use std::sync::Arc;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::encoding::windows_1252_character;
use pubdata_core::error::{Error, Result};

/// Maximum nesting depth of elements. Agencies' documents have fewer than ten levels.
const MAX_DEPTH: usize = 256;

/// Maximum number of attributes on one element.
const MAX_ATTRIBUTES: usize = 256;

/// Maximum number of namespaces in a document, because each namespace is compared with every other.
/// Agencies' documents have fewer than a hundred.
const MAX_NAMESPACES: usize = 1_000;

/// An XML document as text, with a mapping back to its bytes.
///
/// Document type declarations are rejected, so no entity is defined, expanded or fetched. All
/// content comes from the document's own bytes. Reading takes memory and time in proportion to the
/// document's size.
#[derive(Debug)]
pub struct XmlDocument<'c> {
    text: Cow<'c, str>,
    /// Length of a byte order mark at the start of the document.
    start: u64,
    /// Text offsets after characters that take one byte in the document and several in the text.
    /// Each offset is paired with the number of bytes by which the text is ahead there.
    ahead: Vec<(usize, usize)>,
}

/// The next event of a document.
#[derive(Debug)]
pub enum XmlPiece {
    /// An element begins.
    Start(XmlElement),
    /// The element at this depth ends.
    End(usize),
}

/// The start of an element, with its name and attributes in their namespaces.
#[derive(Debug)]
pub struct XmlElement {
    namespace: Arc<str>,
    pub name: String,
    attributes: Vec<XmlAttribute>,
    /// Number of enclosing elements: 0 for the document's root.
    pub depth: usize,
    /// Offset of the element's first byte in the document.
    pub offset: u64,
}

#[derive(Debug)]
struct XmlAttribute {
    namespace: Arc<str>,
    name: String,
    value: String,
}

/// The text inside an element and its descendants, and the element's length in bytes from start tag
/// to end tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlContent {
    pub text: String,
    pub length: u64,
}

/// Reads a document from start to end.
pub struct XmlReader<'d> {
    document: &'d XmlDocument<'d>,
    reader: NsReader<&'d [u8]>,
    /// Namespaces seen so far. A document has few, and many names share the same one.
    namespaces: Vec<Arc<str>>,
    /// Offsets of the open elements.
    open: Vec<u64>,
    has_root: bool,
    /// True if the last element has no end tag; the next event then ends it.
    is_empty: bool,
}

/// A reader event at a lower level than [`XmlPiece`].
enum Step<'d> {
    Start(BytesStart<'d>),
    End,
    Text(Cow<'d, str>),
    EndOfDocument,
}

impl<'c> XmlDocument<'c> {
    /// Decodes a document in its declared encoding: UTF-8, US-ASCII, windows-1252 or ISO-8859-1.
    ///
    /// # Errors
    /// `Format`, with the byte, if the bytes are not in the declared encoding or include control
    /// characters. The same, with the encoding's name, if the document declares another encoding.
    pub fn new(content: &'c [u8]) -> Result<Self> {
        if let Some(offset) = content
            .iter()
            .position(|byte| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r'))
        {
            // UTF-16 also fails here, because of its zero bytes.
            return Err(Error::format(format!(
                "byte {offset}: a control character, which no XML document in a single-byte encoding or UTF-8 holds"
            )));
        }
        let (content, start) = content
            .strip_prefix(b"\xEF\xBB\xBF")
            .map_or((content, 0), |rest| (rest, 3));
        let encoding = declared_encoding(content)
            .unwrap_or_else(|| "UTF-8".to_owned())
            .to_ascii_uppercase();
        let invalid = |offset: usize| {
            Error::format(format!(
                "byte {}: is not {encoding}, which the document declares",
                offset as u64 + start
            ))
        };
        match encoding.as_str() {
            "UTF-8" | "UTF8" => {
                let text =
                    std::str::from_utf8(content).map_err(|error| invalid(error.valid_up_to()))?;
                Ok(Self {
                    text: Cow::Borrowed(text),
                    start,
                    ahead: Vec::new(),
                })
            }
            "US-ASCII" | "ASCII" => {
                let text = std::str::from_utf8(content)
                    .ok()
                    .filter(|text| text.is_ascii());
                let offset = || {
                    content
                        .iter()
                        .position(|byte| !byte.is_ascii())
                        .unwrap_or_default()
                };
                Ok(Self {
                    text: Cow::Borrowed(text.ok_or_else(|| invalid(offset()))?),
                    start,
                    ahead: Vec::new(),
                })
            }
            "WINDOWS-1252" | "CP1252" | "ISO-8859-1" | "LATIN1" => {
                Ok(Self::windows_1252(content, start))
            }
            _ => Err(Error::format(format!(
                "is in the encoding {encoding}, which is not read"
            ))),
        }
    }

    /// ISO-8859-1 is read as windows-1252. The two differ only in the range where ISO-8859-1 has
    /// control characters: WHATWG, "Encoding", 4.2.
    fn windows_1252(content: &'c [u8], start: u64) -> Self {
        if let Some(text) = std::str::from_utf8(content)
            .ok()
            .filter(|text| text.is_ascii())
        {
            return Self {
                text: Cow::Borrowed(text),
                start,
                ahead: Vec::new(),
            };
        }
        let mut text = String::with_capacity(content.len() + content.len() / 16);
        let mut ahead = Vec::new();
        for (offset, byte) in content.iter().enumerate() {
            text.push(windows_1252_character(*byte));
            if !byte.is_ascii() {
                ahead.push((text.len(), text.len() - offset - 1));
            }
        }
        Self {
            text: Cow::Owned(text),
            start,
            ahead,
        }
    }

    /// Returns a reader at the beginning of the document.
    pub fn reader(&self) -> XmlReader<'_> {
        XmlReader {
            document: self,
            reader: NsReader::from_str(&self.text),
            namespaces: vec![Arc::from("")],
            open: Vec::new(),
            has_root: false,
            is_empty: false,
        }
    }

    /// Converts an offset in the text to an offset in the document.
    fn byte_at(&self, offset: usize) -> u64 {
        let before = self.ahead.partition_point(|(behind, _)| *behind <= offset);
        let ahead = before.checked_sub(1).map_or(0, |last| self.ahead[last].1);
        (offset - ahead) as u64 + self.start
    }
}

/// Returns the encoding named in an XML declaration.
fn declared_encoding(content: &[u8]) -> Option<String> {
    let declaration = content.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    Some(value[1..].split(quote).next()?.to_owned())
}

impl<'d> XmlReader<'d> {
    /// Advances to the next start or end of an element. Returns none at the end of the document.
    /// Skips any text in between.
    ///
    /// # Errors
    /// `Format`, with the byte, if the document is not well-formed, has a document type
    /// declaration, or exceeds the limits on nesting and attributes.
    pub fn advance(&mut self) -> Result<Option<XmlPiece>> {
        loop {
            match self.step()? {
                Step::Start(start) => {
                    return self
                        .element(&start)
                        .map(|element| Some(XmlPiece::Start(element)));
                }
                Step::End => return Ok(Some(XmlPiece::End(self.open.len()))),
                Step::Text(_) => {}
                Step::EndOfDocument => return Ok(None),
            }
        }
    }

    /// Reads the current element to its end.
    ///
    /// # Errors
    /// `Format`, for the same reasons as [`XmlReader::advance`].
    pub fn content(&mut self) -> Result<XmlContent> {
        let depth = self.open.len();
        let Some(offset) = self.open.last().copied() else {
            return Err(Error::format("no element has begun"));
        };
        let mut text = String::new();
        while self.open.len() >= depth {
            match self.step()? {
                Step::Start(_) | Step::End => {}
                Step::Text(piece) => text.push_str(&piece),
                // `step` reports an error if the document ends while an element is open.
                Step::EndOfDocument => break,
            }
        }
        Ok(XmlContent {
            text,
            length: self.document.byte_at(self.text_offset()) - offset,
        })
    }

    /// Returns the document offset after the last event.
    pub fn position(&self) -> u64 {
        self.document.byte_at(self.text_offset())
    }

    fn text_offset(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    fn wrong(&self, offset: usize, detail: impl std::fmt::Display) -> Error {
        Error::format(format!("byte {}: {detail}", self.document.byte_at(offset)))
    }

    fn step(&mut self) -> Result<Step<'d>> {
        if std::mem::take(&mut self.is_empty) {
            self.open.pop();
            return Ok(Step::End);
        }
        loop {
            let offset = self.text_offset();
            let event = self.reader.read_event().map_err(|error| {
                let offset = usize::try_from(self.reader.error_position()).unwrap_or(offset);
                self.wrong(offset, error)
            })?;
            match event {
                Event::Start(start) => {
                    self.begin(offset)?;
                    return Ok(Step::Start(start));
                }
                Event::Empty(start) => {
                    self.begin(offset)?;
                    self.is_empty = true;
                    return Ok(Step::Start(start));
                }
                Event::End(_) => {
                    self.open.pop();
                    return Ok(Step::End);
                }
                Event::Text(text) => {
                    if !self.open.is_empty() {
                        return Ok(Step::Text(text.xml10_content()));
                    }
                    if !text.bytes().all(|byte| byte.is_ascii_whitespace()) {
                        return Err(self.wrong(offset, "text outside the root element"));
                    }
                }
                Event::CData(text) if !self.open.is_empty() => {
                    return Ok(Step::Text(text.xml10_content()));
                }
                Event::GeneralRef(reference) if !self.open.is_empty() => {
                    return self
                        .character(&reference, offset)
                        .map(|text| Step::Text(text.into()));
                }
                Event::CData(_) | Event::GeneralRef(_) => {
                    return Err(self.wrong(offset, "text outside the root element"));
                }
                Event::DocType(_) => {
                    return Err(self.wrong(
                        offset,
                        "a document type declaration is not allowed, because it could define entities",
                    ));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof if self.open.is_empty() && self.has_root => {
                    return Ok(Step::EndOfDocument);
                }
                Event::Eof => {
                    return Err(self.wrong(
                        offset,
                        if self.has_root {
                            "ends inside an element"
                        } else {
                            "has no root element"
                        },
                    ));
                }
            }
        }
    }

    fn begin(&mut self, offset: usize) -> Result<()> {
        if self.open.is_empty() && std::mem::replace(&mut self.has_root, true) {
            return Err(self.wrong(offset, "a second root element"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(self.wrong(
                offset,
                format!("more than {MAX_DEPTH} elements inside each other"),
            ));
        }
        self.open.push(self.document.byte_at(offset));
        Ok(())
    }

    /// Resolves a numeric character reference, or one of the five predefined entities.
    fn character(&self, reference: &BytesRef<'_>, offset: usize) -> Result<String> {
        let is_allowed = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        let by_number = reference
            .resolve_char_ref()
            .map_err(|error| self.wrong(offset, error))?;
        match by_number {
            Some(character) if is_allowed(character) => Ok(character.to_string()),
            Some(_) => Err(self.wrong(
                offset,
                format!("`&{};` is not an XML character", &**reference),
            )),
            None => match quick_xml::escape::resolve_predefined_entity(reference) {
                Some(text) => Ok(text.to_owned()),
                None => Err(self.wrong(
                    offset,
                    format!("entity `&{};` is not defined", &**reference),
                )),
            },
        }
    }

    fn element(&mut self, start: &BytesStart<'d>) -> Result<XmlElement> {
        let offset = self.open.last().copied().unwrap_or_default();
        let at = |detail: String| Error::format(format!("byte {offset}: {detail}"));
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute =
                attribute.map_err(|error| at(format!("<{}>: {error}", start.name().as_ref())))?;
            if attributes.len() == MAX_ATTRIBUTES {
                return Err(at(format!("more than {MAX_ATTRIBUTES} attributes")));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (namespace, name) = self.reader.resolver().resolve_attribute(attribute.key);
            let namespace = intern(&mut self.namespaces, &namespace).map_err(at)?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| at(error.to_string()))?
                .into_owned();
            let attribute = XmlAttribute {
                namespace,
                name: name.as_ref().to_owned(),
                value,
            };
            if attributes.iter().any(|known: &XmlAttribute| {
                known.name == attribute.name && known.namespace == attribute.namespace
            }) {
                return Err(at(format!("attribute `{}` occurs twice", attribute.name)));
            }
            attributes.push(attribute);
        }
        let (namespace, name) = self.reader.resolver().resolve_element(start.name());
        let namespace = intern(&mut self.namespaces, &namespace).map_err(at)?;
        Ok(XmlElement {
            namespace,
            name: name.as_ref().to_owned(),
            attributes,
            depth: self.open.len() - 1,
            offset,
        })
    }
}

/// Returns a shared string for each namespace.
fn intern(
    known: &mut Vec<Arc<str>>,
    resolved: &ResolveResult<'_>,
) -> std::result::Result<Arc<str>, String> {
    let namespace = match resolved {
        ResolveResult::Unbound => "",
        ResolveResult::Bound(namespace) => namespace.as_ref(),
        ResolveResult::Unknown(prefix) => {
            return Err(format!("prefix `{prefix}` is not bound to a namespace"));
        }
    };
    if let Some(known) = known.iter().find(|known| ***known == *namespace) {
        return Ok(Arc::clone(known));
    }
    if known.len() > MAX_NAMESPACES {
        return Err(format!("more than {MAX_NAMESPACES} namespaces"));
    }
    known.push(Arc::from(namespace));
    Ok(Arc::clone(&known[known.len() - 1]))
}

impl XmlElement {
    /// Reports whether the element has this name in this namespace; `""` means no namespace.
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && *self.namespace == *namespace
    }

    /// Returns the value of an attribute; `""` means no namespace, as for attributes without a
    /// prefix.
    pub fn attribute(&self, namespace: &str, name: &str) -> Option<&str> {
        let found = self
            .attributes
            .iter()
            .find(|attribute| attribute.name == name && *attribute.namespace == *namespace);
        found.map(|attribute| attribute.value.as_str())
    }

    /// Returns the value of the first attribute with this name in any namespace.
    pub fn attribute_named(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
            .map(|attribute| attribute.value.as_str())
    }
}
