//! Writes numbers as a mix of runs and bit-packed groups of eight, making the same choices as the
//! `parquet` crate. The tests in `coded` compare the bytes with the crate's output.
//!
//! Source: Apache Parquet, "Encodings", Run Length Encoding / Bit-Packing Hybrid.

/// Minimum length of a run.
const GROUP: usize = 8;
/// Maximum number of groups after one header.
const MAX_GROUPS: usize = 63;

/// Writes levels from zero to `most`, preceded by their length in bytes.
pub fn write_levels(most: i16, body: &mut Vec<u8>, put: impl FnOnce(&mut Runs<'_>)) {
    let start = body.len();
    body.extend_from_slice(&[0; 4]);
    let mut runs = Runs::new(bits(u32::from(most.unsigned_abs())), body);
    put(&mut runs);
    runs.finish();
    let length = (body.len() - start - 4) as u32;
    body[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Returns the number of bits in a number.
pub fn bits(number: u32) -> u8 {
    (u32::BITS - number.leading_zeros()) as u8
}

/// Encodes numbers into a page.
pub struct Runs<'b> {
    width: u8,
    body: &'b mut Vec<u8>,
    /// Numbers in the groups that are packed together.
    pending: Vec<u32>,
    current: u32,
    /// Number of consecutive occurrences of `current` since the last group.
    repeated: usize,
}

impl<'b> Runs<'b> {
    pub fn new(width: u8, body: &'b mut Vec<u8>) -> Self {
        Self {
            width,
            body,
            pending: Vec::with_capacity(GROUP * (MAX_GROUPS + 1)),
            current: 0,
            repeated: 0,
        }
    }

    pub fn put_all(&mut self, numbers: &[u32]) {
        let mut rest = numbers;
        while let Some((number, behind)) = rest.split_first() {
            if self.repeated >= GROUP && *number == self.current {
                let run = rest
                    .iter()
                    .take_while(|number| **number == self.current)
                    .count();
                self.repeated += run;
                rest = &rest[run..];
            } else {
                self.put(*number);
                rest = behind;
            }
        }
    }

    pub fn put_run(&mut self, number: u32, count: usize) {
        let mut left = count;
        while left > 0 && !(self.repeated >= GROUP && self.current == number) {
            self.put(number);
            left -= 1;
        }
        self.repeated += left;
    }

    pub fn put(&mut self, number: u32) {
        if self.current == number {
            self.repeated += 1;
            if self.repeated > GROUP {
                return;
            }
        } else {
            if self.repeated >= GROUP {
                self.close_run();
            }
            self.repeated = 1;
            self.current = number;
        }
        self.pending.push(number);
        if !self.pending.len().is_multiple_of(GROUP) {
            return;
        }
        if self.repeated >= GROUP {
            // The group is the beginning of a run.
            self.pending.truncate(self.pending.len() - GROUP);
            self.close_groups();
        } else {
            if self.pending.len() / GROUP >= MAX_GROUPS {
                self.close_groups();
            }
            self.repeated = 0;
        }
    }

    fn close_run(&mut self) {
        let mut header = (self.repeated as u64) << 1;
        while header >= 0x80 {
            self.body.push((header & 0x7f) as u8 | 0x80);
            header >>= 7;
        }
        self.body.push(header as u8);
        self.body
            .extend_from_slice(&self.current.to_le_bytes()[..usize::from(self.width).div_ceil(8)]);
        self.repeated = 0;
    }

    fn close_groups(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.body
            .push(((self.pending.len() / GROUP) << 1) as u8 | 1);
        for group in self.pending.chunks(GROUP) {
            let (mut word, mut filled) = (0_u64, 0);
            for number in group {
                word |= u64::from(*number) << filled;
                filled += u32::from(self.width);
                while filled >= u8::BITS {
                    self.body.push(word as u8);
                    word >>= u8::BITS;
                    filled -= u8::BITS;
                }
            }
        }
        self.pending.clear();
    }

    pub fn finish(mut self) {
        let tail = self.pending.len() % GROUP;
        let is_run = self.pending.len() == tail && (self.repeated == tail || tail == 0);
        if self.repeated > 0 && is_run {
            self.close_run();
        } else {
            let whole = self.pending.len().next_multiple_of(GROUP);
            self.pending.resize(whole, 0);
            self.close_groups();
        }
    }
}
