//! Holds the newest events in memory, by number, for all sockets. The oldest events are removed
//! first, by age and by size.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use crate::stream::item::Item;

/// True if the events come from a different log than the previous events.
#[derive(Debug, Clone, Copy)]
pub struct IsOtherLog(pub bool);

/// Events that can be sent, by number.
#[derive(Debug, Default)]
pub struct Ring {
    items: VecDeque<Arc<Item>>,
    size_bytes: usize,
    head: u64,
    /// True if a log exists.
    is_open: bool,
    /// Number of times the items were rebuilt, from another release or another log.
    generation: u64,
    /// Number of times a different log replaced the previous log.
    log: u64,
}

impl Ring {
    /// Builds the replacement for this ring from a log that ends with event `head`. The log is the
    /// same as before, or a different one.
    #[must_use]
    pub fn anew(&self, items: Vec<Arc<Item>>, head: u64, IsOtherLog(is_other): IsOtherLog) -> Self {
        let mut ring = Self {
            head,
            is_open: true,
            generation: self.generation + 1,
            log: self.log + u64::from(is_other),
            ..Self::default()
        };
        ring.extend(items, head);
        ring
    }

    /// Appends events. `head` is the number of the log's last event.
    pub fn extend(&mut self, items: Vec<Arc<Item>>, head: u64) {
        self.size_bytes += items.iter().map(|item| item.size_bytes()).sum::<usize>();
        self.items.extend(items);
        self.head = head;
    }

    /// Removes events from before a time, and the oldest events while the ring exceeds a size.
    pub fn trim(&mut self, from: Timestamp, max_bytes: usize) {
        while let Some(first) = self.items.front()
            && (first.seen_at < from || self.size_bytes > max_bytes)
        {
            self.size_bytes -= first.size_bytes();
            self.items.pop_front();
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn log(&self) -> u64 {
        self.log
    }

    /// Returns the number of the last event, or 0 if the log is empty.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the number of the oldest event that can be sent. If the ring is empty, this is the
    /// number of the next event.
    pub fn oldest(&self) -> u64 {
        self.items.front().map_or(self.head + 1, |item| item.seq)
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Iterates over the events, starting at a number.
    pub fn from(&self, seq: u64) -> impl Iterator<Item = &Arc<Item>> {
        let start = self.items.partition_point(|item| item.seq < seq);
        self.items.range(start..)
    }

    /// Returns the number of the first event seen at a time or later.
    pub fn first_since(&self, since: Timestamp) -> u64 {
        let at = self.items.partition_point(|item| item.seen_at < since);
        self.items.get(at).map_or(self.head + 1, |item| item.seq)
    }
}
