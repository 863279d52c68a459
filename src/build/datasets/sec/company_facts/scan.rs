//! Decodes a companyfacts member quickly. Accepts only the compact layout that the SEC writes,
//! matches every byte in it, and leaves everything else to the strict decoder.

use memchr::{memchr, memchr2};
use polars::prelude::{InitHashMaps, PlHashSet};

use super::ConceptFilter;
use super::concept_filter::Concepts;
use crate::datasets::sec::fact::{Amount, CompanyFacts, Fact, FilingPeriod, Form, Unit};
use crate::normalise::Day;
use pubdata_core::ids::{AccessionNumber, Cik};

/// Maximum number of taxonomies in a member, and of units for a concept. They are compared one by
/// one.
const FEW: usize = 32;

/// Length of the longest expected form type ("SUPPL 10-K405/A").
const MAX_FORM_LENGTH: usize = 20;

const START_AND_END: Pattern<47> =
    Pattern::new(b"{\"start\":\"0000-00-00\",\"end\":\"0000-00-00\",\"val\":");
const END: Pattern<26> = Pattern::new(b"{\"end\":\"0000-00-00\",\"val\":");
const ACCESSION: Pattern<36> = Pattern::new(b",\"accn\":\"0000000000-00-000000\",\"fy\":");
const FILED: Pattern<21> = Pattern::new(b",\"filed\":\"0000-00-00\"");
const FRAME: Pattern<16> = Pattern::new(b",\"frame\":\"CY0000");
const QUARTER: Pattern<2> = Pattern::new(b"Q0");

/// Part of a fact that is literal except for its digits. Each digit is written as `0`.
///
/// In place of a digit, any of `:;<=>?` also matches; these characters have no meaning in a JSON
/// string. Only wanted facts are checked for valid dates.
struct Pattern<const N: usize> {
    text: [u8; N],
    /// Bits in each byte that must be equal.
    mask: [u8; N],
}

impl<const N: usize> Pattern<N> {
    const fn new(model: &[u8; N]) -> Self {
        let mut mask = [0xFF; N];
        let mut index = 0;
        while index < N {
            if model[index] == b'0' {
                mask[index] = 0xF0;
            }
            index += 1;
        }
        Self { text: *model, mask }
    }

    #[inline(always)]
    fn fits(&self, text: &[u8; N]) -> bool {
        let mut difference = 0;
        for ((byte, model), mask) in text.iter().zip(&self.text).zip(&self.mask) {
            difference |= (byte ^ model) & mask;
        }
        difference == 0
    }
}

/// Reads a member in the layout that the SEC writes: no white space, and keys in a fixed order.
/// Returns `None` for anything else, valid or not.
///
/// Matches every byte: keys and punctuation literally; dates, accession numbers and period stamps
/// by their format; numbers and strings by JSON's grammar. No byte is skipped, so an accepted
/// member is valid JSON throughout.
pub(super) fn read(member: &[u8], filter: &ConceptFilter) -> Option<CompanyFacts> {
    let mut scan = Scan {
        length: member.len(),
        rest: member,
        found: CompanyFacts::default(),
    };
    scan.expect(b"{\"cik\":")?;
    scan.found.cik = scan.cik()?;
    scan.expect(b",\"entityName\":\"")?;
    scan.found.entity_name = scan.text()?;
    scan.expect(b",\"facts\":{")?;
    let mut taxonomies = Vec::new();
    loop {
        let taxonomy = scan.new_name(&mut taxonomies)?;
        scan.expect(b":{")?;
        scan.found
            .taxonomies
            .push(str::from_utf8(taxonomy).ok()?.to_owned());
        scan.concepts(filter.in_taxonomy(taxonomy))?;
        if scan.is_last()? {
            break;
        }
    }
    (scan.rest == b"}").then_some(scan.found)
}

/// A member, starting at the first unread byte.
struct Scan<'a> {
    length: usize,
    rest: &'a [u8],
    found: CompanyFacts,
}

/// Parts of a fact. Dates and numbers are checked only for their format, not for their range.
struct FactText<'a> {
    start: Option<&'a [u8; 10]>,
    end: &'a [u8; 10],
    val: &'a [u8],
    accn: &'a [u8; 20],
    fy: Option<&'a [u8; 4]>,
    fp: Option<&'a [u8; 2]>,
    form: &'a [u8],
    filed: &'a [u8; 10],
}

impl<'a> Scan<'a> {
    /// Reads a taxonomy's concepts, up to its closing brace.
    fn concepts(&mut self, filter: Option<&Concepts>) -> Option<()> {
        let mut seen = PlHashSet::new();
        let mut units = Vec::new();
        loop {
            self.expect(b"\"")?;
            let name = self.plain_string()?;
            if !seen.insert(name) {
                return None;
            }
            self.expect(b":{\"label\":")?;
            self.nullable_string()?;
            self.expect(b",\"description\":")?;
            self.nullable_string()?;
            self.expect(b",\"units\":{")?;
            let concept = filter.and_then(|filter| filter.get(name).copied());
            units.clear();
            loop {
                let unit = self.new_name(&mut units)?;
                self.expect(b":[")?;
                match concept {
                    Some(concept) => self.selected_facts(concept, Unit::from_text(unit))?,
                    None => self.other_facts()?,
                }
                if self.is_last()? {
                    break;
                }
            }
            self.expect(b"}")?;
            if self.is_last()? {
                return Some(());
            }
        }
    }

    /// Reads facts to be kept, up to the end of the list.
    fn selected_facts(&mut self, concept: u16, unit: Unit) -> Option<()> {
        loop {
            let before = self.rest.len();
            let text = self.fact()?;
            self.found.facts.push(Fact {
                concept,
                unit,
                start: match text.start {
                    Some(start) => Some(Day::from_iso(start)?),
                    None => None,
                },
                end: Day::from_iso(text.end)?,
                value: Amount::from_literal(text.val).ok()?,
                accession: AccessionNumber::from_bytes(text.accn)?,
                form: Form::from_text(text.form),
                filed: Day::from_iso(text.filed)?,
                fy: text.fy.map(|year| {
                    year.iter()
                        .fold(0, |number, digit| number * 10 + i16::from(digit & 0x0F))
                }),
                fp: text.fp.and_then(|period| FilingPeriod::from_text(period)),
                offset: u32::try_from(self.length - before).ok()?,
                length: u32::try_from(before - self.rest.len()).ok()?,
            });
            self.found.facts_total += 1;
            if self.is_end_of_list()? {
                return Some(());
            }
        }
    }

    /// Reads facts that are only counted, up to the end of the list.
    fn other_facts(&mut self) -> Option<()> {
        loop {
            self.fact()?;
            self.found.facts_total += 1;
            if self.is_end_of_list()? {
                return Some(());
            }
        }
    }

    #[inline(always)]
    fn fact(&mut self) -> Option<FactText<'a>> {
        let (start, end) = if self.rest.starts_with(b"{\"s") {
            let text = self.pattern(&START_AND_END)?;
            (text[10..].first_chunk(), text[29..].first_chunk()?)
        } else {
            (None, self.pattern(&END)?[8..].first_chunk()?)
        };
        let val = self.number()?;
        let accn = self.pattern(&ACCESSION)?[9..].first_chunk()?;
        let fy = if self.passes(b"null") {
            None
        } else {
            Some(self.year()?)
        };
        self.expect(b",\"fp\":")?;
        let fp = if self.passes(b"null") {
            None
        } else {
            Some(self.period()?)
        };
        self.expect(b",\"form\":\"")?;
        let form = self.form()?;
        let filed = self.pattern(&FILED)?[10..].first_chunk()?;
        if !self.passes(b"}") {
            self.frame()?;
        }
        Some(FactText {
            start,
            end,
            val,
            accn,
            fy,
            fp,
            form,
            filed,
        })
    }

    /// Reads a four-digit number that does not begin with 0.
    #[inline(always)]
    fn year(&mut self) -> Option<&'a [u8; 4]> {
        let year: &[u8; 4] = self.take()?;
        (year[0] != b'0' && year.iter().all(u8::is_ascii_digit)).then_some(year)
    }

    /// Reads a period such as `"FY"`.
    #[inline(always)]
    fn period(&mut self) -> Option<&'a [u8; 2]> {
        let [b'"', period @ .., b'"']: &[u8; 4] = self.take()? else {
            return None;
        };
        period
            .iter()
            .all(u8::is_ascii_alphanumeric)
            .then_some(period)
    }

    /// Reads a form type and its closing quote.
    #[inline(always)]
    fn form(&mut self) -> Option<&'a [u8]> {
        let length = match self.rest.first_chunk() {
            Some(b"10-K\"" | b"10-Q\"") => 4,
            _ => self
                .rest
                .iter()
                .take(MAX_FORM_LENGTH)
                .position(|byte| *byte == b'"')?,
        };
        let form = &self.rest[..length];
        if form
            .iter()
            .any(|byte| !(b' '..=b'~').contains(byte) || *byte == b'\\')
        {
            return None;
        }
        self.rest = &self.rest[length + 1..];
        Some(form)
    }

    /// Reads the frame, the last key of a fact: `CY2019`, `CY2019Q1` or `CY2019Q1I`.
    #[inline(always)]
    fn frame(&mut self) -> Option<()> {
        self.pattern(&FRAME)?;
        if self.passes(b"\"}") {
            return Some(());
        }
        self.pattern(&QUARTER)?;
        if self.passes(b"I\"}") {
            Some(())
        } else {
            self.expect(b"\"}")
        }
    }

    /// Reads a JSON number.
    #[inline(always)]
    fn number(&mut self) -> Option<&'a [u8]> {
        let from = self.rest;
        self.passes(b"-");
        let has_leading_zero = self.rest.first() == Some(&b'0');
        let digits = self.digits()?;
        if has_leading_zero && digits > 1 {
            return None;
        }
        if self.rest.first() == Some(&b',') {
            return Some(&from[..from.len() - self.rest.len()]);
        }
        if self.passes(b".") {
            self.digits()?;
        }
        if self.passes(b"e") || self.passes(b"E") {
            let _ = self.passes(b"-") || self.passes(b"+");
            self.digits()?;
        }
        Some(&from[..from.len() - self.rest.len()])
    }

    /// Reads one or more digits and returns the number of digits.
    #[inline(always)]
    fn digits(&mut self) -> Option<usize> {
        let mut length = 0;
        while let Some(chunk) = self.rest[length..].first_chunk() {
            let others = other_than_digits(u64::from_le_bytes(*chunk));
            if others != 0 {
                length += usize::try_from(others.trailing_zeros() / 8).ok()?;
                break;
            }
            length += 8;
        }
        self.rest = &self.rest[length..];
        (length > 0).then_some(length)
    }

    /// Reads `320193` or `"0000320193"`.
    fn cik(&mut self) -> Option<u64> {
        let is_text = self.passes(b"\"");
        let from = self.rest;
        let digits = self.digits()?;
        if is_text {
            self.expect(b"\"")?;
        } else if from[0] == b'0' {
            return None;
        }
        str::from_utf8(&from[..digits])
            .ok()?
            .parse()
            .ok()
            .map(Cik::number)
    }

    /// Reads a name that is not in the list yet, and adds it to the list.
    fn new_name(&mut self, names: &mut Vec<&'a [u8]>) -> Option<&'a [u8]> {
        self.expect(b"\"")?;
        let name = self.plain_string()?;
        if names.len() == FEW || names.contains(&name) {
            return None;
        }
        names.push(name);
        Some(name)
    }

    /// Reads the rest of a string without escapes, after the opening quote.
    fn plain_string(&mut self) -> Option<&'a [u8]> {
        let string = self.string()?;
        memchr(b'\\', string).is_none().then_some(string)
    }

    /// Reads and decodes the rest of a string, after the opening quote.
    fn text(&mut self) -> Option<String> {
        let string = self.string()?;
        if memchr(b'\\', string).is_none() {
            return str::from_utf8(string).ok().map(str::to_owned);
        }
        serde_json::from_slice(&[b"\"", string, b"\""].concat()).ok()
    }

    fn nullable_string(&mut self) -> Option<()> {
        if !self.passes(b"null") {
            self.expect(b"\"")?;
            self.string()?;
        }
        Some(())
    }

    /// Reads the rest of a string, after the opening quote. The string must be UTF-8 without
    /// control characters, and contain only JSON's escapes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let from = self.rest;
        let mut length = 0;
        loop {
            length += memchr2(b'"', b'\\', &from[length..])?;
            match from[length..] {
                [b'"', ..] => break,
                [
                    _,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                    ..,
                ] => length += 2,
                [_, b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(u8::is_ascii_hexdigit) => {
                    length += 6;
                }
                _ => return None,
            }
        }
        let string = &from[..length];
        self.rest = &from[length + 1..];
        let (mut lowest, mut all) = (u8::MAX, 0);
        for byte in string {
            lowest = lowest.min(*byte);
            all |= byte;
        }
        (lowest >= b' ' && (all < 0x80 || str::from_utf8(string).is_ok())).then_some(string)
    }

    /// Reads the byte after an entry in an object. Returns true after the last entry.
    fn is_last(&mut self) -> Option<bool> {
        self.is_end(b'}')
    }

    fn is_end_of_list(&mut self) -> Option<bool> {
        self.is_end(b']')
    }

    #[inline(always)]
    fn is_end(&mut self, end: u8) -> Option<bool> {
        let [byte]: &[u8; 1] = self.take()?;
        if *byte == b',' {
            Some(false)
        } else {
            (*byte == end).then_some(true)
        }
    }

    #[inline(always)]
    fn take<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(chunk)
    }

    #[inline(always)]
    fn expect<const N: usize>(&mut self, literal: &[u8; N]) -> Option<()> {
        (self.take()? == literal).then_some(())
    }

    #[inline(always)]
    fn pattern<const N: usize>(&mut self, pattern: &Pattern<N>) -> Option<&'a [u8; N]> {
        let text = self.take()?;
        pattern.fits(text).then_some(text)
    }

    /// Skips a literal if it comes next.
    #[inline(always)]
    fn passes<const N: usize>(&mut self, literal: &[u8; N]) -> bool {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// Returns the high bit of each byte that is not an ASCII digit.
#[inline(always)]
fn other_than_digits(bytes: u64) -> u64 {
    const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    // Digits become 0 to 9. Adding 0x76 sets the high bit of values above 9, without a carry into
    // the next byte.
    let values = bytes ^ 0x3030_3030_3030_3030;
    (((values & LOW_BITS) + 0x7676_7676_7676_7676) | values) & !LOW_BITS
}
