//! Writes JSON directly into a buffer, without a tree, and decimals as exact text. The last byte of
//! the buffer determines whether a comma is needed. This byte is never inside a string when a value
//! begins.

use std::io::{self, Write};

use serde_json::ser::{CharEscape, Formatter};

/// A JSON text under construction.
#[derive(Debug, Default)]
pub struct Json {
    buffer: Vec<u8>,
}

impl Json {
    /// Creates an empty text with the capacity of a typical answer.
    pub fn new() -> Self {
        Self {
            buffer: Vec::with_capacity(8 * 1024),
        }
    }

    /// Returns the finished text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }

    /// Writes the name of an object's next field; a value must follow. Names are plain identifiers
    /// of this program and are not escaped.
    pub fn key(&mut self, name: &str) -> &mut Self {
        debug_assert!(is_plain(name.as_bytes()), "{name}");
        self.separate();
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
        self
    }

    /// Writes an object whose fields `write` adds.
    pub fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.separate();
        self.buffer.push(b'{');
        write(self);
        self.buffer.push(b'}');
    }

    /// Writes pieces that need no escaping, such as keys of records, as one string.
    pub fn plain(&mut self, pieces: &[&str]) {
        debug_assert!(
            pieces.iter().all(|piece| is_plain(piece.as_bytes())),
            "{pieces:?}"
        );
        self.separate();
        self.buffer.push(b'"');
        pieces
            .iter()
            .for_each(|piece| self.buffer.extend_from_slice(piece.as_bytes()));
        self.buffer.push(b'"');
    }

    /// Writes a float in the shortest form that reads back as the same value; null if it is not
    /// finite.
    pub fn float(&mut self, value: f64) {
        if !value.is_finite() {
            return self.null();
        }
        if let Some(millionths) = millionths(value) {
            return self.decimal(millionths, 6, Trim::Zeros);
        }
        self.separate();
        self.print(format_args!("{value}"));
    }

    /// Writes a decimal number of `unscaled` units of 10^-`scale`, exactly.
    pub fn decimal(&mut self, unscaled: i64, mut scale: u8, trim: Trim) {
        self.separate();
        let mut magnitude = unscaled.unsigned_abs();
        while trim == Trim::Zeros && scale > 0 && magnitude.is_multiple_of(10) {
            magnitude /= 10;
            scale -= 1;
        }
        if unscaled < 0 {
            self.buffer.push(b'-');
        }
        self.digits(magnitude, scale);
    }

    /// Writes a 128-bit decimal number of `unscaled` units of 10^-`scale`, exactly and without
    /// trailing zeros.
    pub fn wide_decimal(&mut self, mut unscaled: i128, mut scale: u8) {
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        match i64::try_from(unscaled) {
            Ok(unscaled) => self.decimal(unscaled, scale, Trim::Keep),
            Err(_) => self.wide_digits(unscaled, scale),
        }
    }

    /// Writes a number that does not fit into 64 bits. Such figures are rare, so the code favours
    /// simplicity over speed.
    fn wide_digits(&mut self, unscaled: i128, scale: u8) {
        self.separate();
        let digits = format!(
            "{:0>width$}",
            unscaled.unsigned_abs(),
            width = usize::from(scale) + 1
        );
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
        let (sign, point) = (
            if unscaled < 0 { "-" } else { "" },
            if fraction.is_empty() { "" } else { "." },
        );
        self.print(format_args!("{sign}{whole}{point}{fraction}"));
    }

    /// Writes digits with a point before the last `scale` of them. Writes the last digit first,
    /// then reverses the digits.
    fn digits(&mut self, mut magnitude: u64, scale: u8) {
        let start = self.buffer.len();
        let mut written = 0;
        while magnitude > 0 || written <= scale {
            if written == scale && scale > 0 {
                self.buffer.push(b'.');
            }
            self.buffer.push(b'0' + (magnitude % 10) as u8);
            magnitude /= 10;
            written += 1;
        }
        self.buffer[start..].reverse();
    }

    /// Writes null.
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// Writes text that is already a JSON value, or fields of the object that is being written.
    pub fn raw(&mut self, value: &str) {
        self.separate();
        self.buffer.extend_from_slice(value.as_bytes());
    }

    /// Writes a value with serde. Bytes are written as text that is already JSON.
    pub fn value(&mut self, value: &impl serde::Serialize) {
        self.separate();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut self.buffer, JsonFormatter);
        value
            .serialize(&mut serializer)
            .expect("plain data has a JSON form");
    }

    /// Writes the fields of a struct into the object that is being written.
    pub fn members(&mut self, of: &impl serde::Serialize) {
        let start = self.buffer.len() + usize::from(self.needs_comma());
        self.value(of);
        debug_assert_eq!(self.buffer.get(start), Some(&b'{'), "a struct has members");
        self.buffer.remove(start);
        self.buffer.pop();
    }

    fn needs_comma(&self) -> bool {
        !matches!(self.buffer.last(), None | Some(b'{' | b'[' | b':'))
    }

    fn separate(&mut self) {
        if self.needs_comma() {
            self.buffer.push(b',');
        }
    }

    fn print(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.buffer
            .write_fmt(arguments)
            .expect("writing to memory cannot fail");
    }
}

/// Formats serde output in the same way as the other methods of [`Json`].
struct JsonFormatter;

impl Formatter for JsonFormatter {
    fn write_byte_array<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        text: &[u8],
    ) -> io::Result<()> {
        writer.write_all(text)
    }

    fn write_char_escape<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let byte = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::LineFeed => return writer.write_all(b"\\n"),
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0C,
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(writer, "\\u{byte:04x}")
    }
}

/// Reports whether text needs no escaping. Reads eight bytes at a time, because most texts are
/// short.
fn is_plain(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = ONES << 7;
    // Finds the lowest byte below `than` by the bit that it borrows. Bytes beyond ASCII have the
    // high bit set and need no escape.
    let below = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word & HIGH_BITS;
    let escapes = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        below(word, 0x20)
            | below(word ^ (ONES * u64::from(b'"')), 1)
            | below(word ^ (ONES * u64::from(b'\\')), 1)
    };
    // The last chunk overlaps the chunk before it if the length is not a multiple of eight.
    match (
        bytes.last_chunk(),
        bytes.first_chunk::<4>(),
        bytes.last_chunk::<4>(),
    ) {
        (Some(last), ..) => {
            bytes
                .as_chunks()
                .0
                .iter()
                .fold(escapes(last), |found, word| found | escapes(word))
                == 0
        }
        (None, Some([a, b, c, d]), Some([e, f, g, h])) => {
            escapes(&[*a, *b, *c, *d, *e, *f, *g, *h]) == 0
        }
        _ => !bytes.iter().any(|byte| needs_escape(*byte)),
    }
}

fn needs_escape(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Returns a number in millionths if the number is the float nearest to that value, as degrees and
/// shares are. With at most fifteen digits, no shorter number is nearer, so these digits are the
/// shortest form.
fn millionths(value: f64) -> Option<i64> {
    const MOST: f64 = 1e15;
    let scaled = (value * 1e6).round();
    let millionths = scaled as i64;
    // Compares bits, because zero has a sign.
    (scaled.abs() < MOST && (millionths as f64 / 1e6).to_bits() == value.to_bits())
        .then_some(millionths)
}

/// Selects whether a decimal loses its trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    Keep,
    Zeros,
}

#[cfg(test)]
mod tests {
    use crate::json::{Json, Trim, is_plain, needs_escape};

    fn written(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::new();
        write(&mut json);
        String::from_utf8(json.into_bytes()).unwrap()
    }

    #[test]
    fn decimals_are_printed_to_the_digit() {
        let decimal = |unscaled, scale, trim| written(|json| json.decimal(unscaled, scale, trim));
        assert_eq!(decimal(196_520, 1, Trim::Zeros), "19652");
        assert_eq!(decimal(450, 1, Trim::Keep), "45.0");
        assert_eq!(decimal(-5, 1, Trim::Keep), "-0.5");
        assert_eq!(decimal(8_190, 3, Trim::Zeros), "8.19");
        assert_eq!(decimal(0, 3, Trim::Zeros), "0");
        assert_eq!(decimal(7, 0, Trim::Zeros), "7");
        assert_eq!(decimal(1_005, 3, Trim::Keep), "1.005");
        assert_eq!(decimal(5, 3, Trim::Keep), "0.005");
        assert_eq!(decimal(i64::MIN, 2, Trim::Keep), "-92233720368547758.08");
        let wide = |unscaled, scale| written(|json| json.wide_decimal(unscaled, scale));
        assert_eq!(wide(652_250_000_000_000_000_000, 10), "65225000000");
        assert_eq!(wide(151_500_000_000, 10), "15.15");
        assert_eq!(wide(-1, 10), "-0.0000000001");
        assert_eq!(wide(0, 10), "0");
        assert_eq!(
            wide(-123_456_789_012_345_678_901, 10),
            "-12345678901.2345678901"
        );
        assert_eq!(
            wide(i128::from(i64::MAX) + 1, 30),
            "0.000000000009223372036854775808"
        );
        assert_eq!(
            wide(9_999_999_999_999_999_999_999_999_999, 0),
            "9999999999999999999999999999"
        );
    }

    #[test]
    fn bytes_that_need_escaping_are_found_at_any_position() {
        for length in [1, 7, 8, 9, 16, 24, 33] {
            for (at, byte) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                for others in [b' ', b'z', 0x7f, 0xff] {
                    let mut bytes = vec![others; length];
                    bytes[at] = byte;
                    assert_eq!(
                        is_plain(&bytes),
                        !needs_escape(byte),
                        "{byte} at {at} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_are_written_in_their_shortest_form() {
        let one = |value: f64| assert_eq!(written(|json| json.float(value)), format!("{value}"));
        [
            0.0,
            -0.0,
            1.0,
            -118.406_477,
            34.088_808,
            0.1 + 0.2,
            1e-7,
            0.000_001,
            5e-324,
            999_999_999.999_999,
            999_999_999.999_999_9,
            1e9,
            -1e15,
            1e300,
            123_456_789.5,
        ]
        .into_iter()
        .for_each(one);
        let mut bits: u64 = 0x9E37_79B9_7F4A_7C15;
        for _ in 0..200_000 {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            one((bits % 2_000_000_000_000_000) as f64 / 1e6 - 1e9);
            one(f64::from_bits((bits >> 12) | 0x3FF0_0000_0000_0000));
        }
    }

    #[test]
    fn text_and_nesting_read_back_as_written() {
        let strange = "a\"b\\c\n\t\u{1}é{[:,";
        let text = written(|json| {
            json.object(|json| {
                json.key("text").value(&strange);
                json.key("list")
                    .value(&serde_json::json!([1, {}, ["["], true]));
                json.key("none").float(f64::NAN);
                json.key("number").float(-118.5);
                json.key("last").null();
            });
        });
        let expected = serde_json::json!({"text": strange, "list": [1, {}, ["["], true], "none": null, "number": -118.5, "last": null});
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            expected
        );
    }
}
