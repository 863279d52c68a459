//! Converts bytes to text in the declared encoding. Only UTF-8 can fail, because every byte is a
//! character in the other encodings.

use std::borrow::Cow;

use pubdata_core::pipeline::Encoding;

/// Converts bytes to text. Returns none if the bytes are not valid in the encoding.
pub(super) fn text_of(encoding: Encoding, bytes: &[u8]) -> Option<Cow<'_, str>> {
    // All encodings agree on ASCII, and most cells are ASCII.
    match (encoding, std::str::from_utf8(bytes)) {
        (Encoding::Utf8 | Encoding::Utf8OrWindows1252, Ok(text)) => Some(Cow::Borrowed(text)),
        (_, Ok(text)) if text.is_ascii() => Some(Cow::Borrowed(text)),
        (Encoding::Utf8, Err(_)) => None,
        (Encoding::Latin1, _) => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        (Encoding::Windows1252 | Encoding::Utf8OrWindows1252, _) => Some(
            bytes
                .iter()
                .map(|byte| windows_1252_character(*byte))
                .collect(),
        ),
    }
}

/// Source: WHATWG, "Encoding", index windows-1252.
pub(super) fn windows_1252_character(byte: u8) -> char {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    byte.checked_sub(0x80)
        .and_then(|place| FROM_80.get(usize::from(place)))
        .copied()
        .unwrap_or(char::from(byte))
}
