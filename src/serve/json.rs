//! Writes JSON straight into a buffer: no tree in between, decimals as exact text. Commas are placed by looking at the last byte,
//! which is never inside a string when a value begins.

use std::io::Write;

/// A JSON text under construction.
#[derive(Debug, Default)]
pub struct Json {
    buffer: Vec<u8>,
}

impl Json {
    /// An empty text with room for a typical answer.
    pub fn new() -> Self {
        Self { buffer: Vec::with_capacity(8192) }
    }

    /// The finished text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }

    /// Writes the name of an object's next member; a value must follow.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.text(name);
        self.buffer.push(b':');
        self
    }

    /// Writes an object whose members `write` adds.
    pub fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.separate();
        self.buffer.push(b'{');
        write(self);
        self.buffer.push(b'}');
    }

    /// Writes an array whose elements `write` adds.
    pub fn array(&mut self, write: impl FnOnce(&mut Self)) {
        self.separate();
        self.buffer.push(b'[');
        write(self);
        self.buffer.push(b']');
    }

    /// Writes a string.
    pub fn text(&mut self, text: &str) {
        self.separate();
        self.buffer.push(b'"');
        let bytes = text.as_bytes();
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        // Nearly every text is plain; looking at all bytes without a way out is what the compiler turns into wide instructions.
        let are_all_plain = bytes.iter().fold(true, |are_plain, &byte| are_plain & is_plain(byte));
        let mut start = 0;
        for (index, &byte) in bytes.iter().enumerate().take(if are_all_plain { 0 } else { bytes.len() }) {
            if is_plain(byte) {
                continue;
            }
            self.buffer.extend_from_slice(&bytes[start..index]);
            start = index + 1;
            match byte {
                b'"' | b'\\' => self.buffer.extend_from_slice(&[b'\\', byte]),
                b'\n' => self.buffer.extend_from_slice(b"\\n"),
                _ => self.print(format_args!("\\u{byte:04x}")),
            }
        }
        self.buffer.extend_from_slice(&bytes[start..]);
        self.buffer.push(b'"');
    }

    /// Writes a string or null.
    pub fn optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// Writes strings as an array.
    pub fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        self.array(|json| texts.into_iter().for_each(|text| json.text(text)));
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: impl Into<i128>) {
        self.separate();
        let value: i128 = value.into();
        self.print(format_args!("{value}"));
    }

    /// Writes a number in the shortest form that reads back as the same number; null when it is none.
    pub fn float(&mut self, value: f64) {
        if !value.is_finite() {
            return self.null();
        }
        self.separate();
        self.print(format_args!("{value}"));
    }

    /// Writes a decimal number of `unscaled` units of 10^-`scale`, exactly.
    pub fn decimal(&mut self, unscaled: i128, scale: u8, trim: Trim) {
        self.separate();
        let power = 10u128.pow(u32::from(scale));
        let (whole, mut part) = (unscaled.unsigned_abs() / power, unscaled.unsigned_abs() % power);
        if unscaled < 0 {
            self.buffer.push(b'-');
        }
        self.print(format_args!("{whole}"));
        let mut digits = usize::from(scale);
        if trim == Trim::Zeros {
            while digits > 0 && part.is_multiple_of(10) {
                part /= 10;
                digits -= 1;
            }
        }
        if digits > 0 {
            self.print(format_args!(".{part:0digits$}"));
        }
    }

    /// Writes `true` or `false`.
    pub fn flag(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// Writes `true`, `false` or null.
    pub fn optional_flag(&mut self, value: Option<bool>) {
        match value {
            Some(value) => self.flag(value),
            None => self.null(),
        }
    }

    /// Writes null.
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// Writes text that already is a JSON value.
    pub fn raw(&mut self, value: &str) {
        self.separate();
        self.buffer.extend_from_slice(value.as_bytes());
    }

    /// Writes anything that serde can write.
    pub fn value(&mut self, value: &impl serde::Serialize) {
        self.separate();
        serde_json::to_writer(&mut self.buffer, value).expect("plain data has a JSON form");
    }

    fn separate(&mut self) {
        if !matches!(self.buffer.last(), None | Some(b'{' | b'[' | b':')) {
            self.buffer.push(b',');
        }
    }

    fn print(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.buffer.write_fmt(arguments).expect("writing to memory cannot fail");
    }
}

/// Whether a decimal loses its trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    Keep,
    Zeros,
}

#[cfg(test)]
mod tests {
    use super::{Json, Trim};

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
    }

    #[test]
    fn text_and_nesting_read_back_as_written() {
        let strange = "a\"b\\c\n\t\u{1}é{[:,";
        let text = written(|json| {
            json.object(|json| {
                json.key(strange).text(strange);
                json.key("list").array(|json| {
                    json.integer(1);
                    json.object(|_| {});
                    json.array(|json| json.text("["));
                    json.flag(true);
                    json.float(f64::NAN);
                    json.float(-118.5);
                });
                json.key("last").null();
            });
        });
        let expected = serde_json::json!({strange: strange, "list": [1, {}, ["["], true, null, -118.5], "last": null});
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    }
}
