//! Prints everything that needs attention, after a run and in `pubdata status`. The worst items
//! come first, and similar items are grouped.

use std::collections::BTreeMap;

use super::{Global, output};
use pubdata_run::Attention;

/// How much to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// One screen.
    Short,
    /// Everything.
    Full,
}

/// Maximum number of items of the same kind that are printed in full. For further items, only the
/// name is printed.
const OF_ONE_KIND: usize = 4;
/// Maximum number of names on a line.
const NAMES: usize = 8;

/// Prints the list and a blank line, or nothing if the list is empty.
pub(super) fn print(global: &Global, attention: &[Attention], extent: Extent) {
    if attention.is_empty() {
        return;
    }
    output::print_line!("{} {}", output::bold("needs attention:"), attention.len());
    let mut kinds: Vec<(&str, Vec<&Attention>)> = Vec::new();
    for need in attention {
        match kinds.iter_mut().find(|(what, needs)| {
            *what == need.what
                && needs[0].is_in_release == need.is_in_release
                && needs[0].is_optional == need.is_optional
        }) {
            Some((_, needs)) => needs.push(need),
            None => kinds.push((&need.what, vec![need])),
        }
    }
    for (what, needs) in kinds {
        let shown = if extent == Extent::Full || needs.len() <= OF_ONE_KIND {
            needs.len()
        } else {
            OF_ONE_KIND - 1
        };
        needs[..shown]
            .iter()
            .for_each(|need| print_one(global, need));
        let rest = &needs[shown..];
        if !rest.is_empty() {
            let names: Vec<&str> = rest
                .iter()
                .take(NAMES)
                .filter_map(|need| need.task_id.as_deref())
                .collect();
            let more = if rest.len() > NAMES { ", …" } else { "" };
            output::print_line!(
                "  {} {} more: {}{more}",
                output::coloured(what),
                rest.len(),
                names.join(", ")
            );
            output::print_line!("    {}", output::dim("--verbose shows all"));
        }
    }
    output::print_line!();
}

fn print_one(global: &Global, need: &Attention) {
    let since = need
        .since
        .as_deref()
        .map(|since| format!(" since {}", output::to_seconds(since)))
        .unwrap_or_default();
    let is_stale_outcome = matches!(need.what.as_str(), "blocked" | "missing");
    let what_stays = match (is_stale_outcome, need.is_in_release) {
        (true, true) => "; the last good build stays",
        (true, false) => "; never published",
        (false, _) => "",
    };
    let optional = if need.is_optional { "; optional" } else { "" };
    output::print_line!(
        "  {} {}{since}{what_stays}{optional}",
        output::coloured(&need.what),
        need.task_id.as_deref().unwrap_or("run")
    );
    output::wrapped("    ", "    ", &need.reason);
    if let Some(step) = &need.next_step {
        let step = step.replace("`pubdata ", &format!("`pubdata {}", global.places()));
        output::wrapped(&format!("    {} ", output::dim("→")), "      ", &step);
    }
}

/// Counts words: `118 fresh, 2 blocked`.
pub(super) fn counts<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    counts
        .iter()
        .map(|(word, count)| format!("{count} {}", output::coloured(word)))
        .collect::<Vec<_>>()
        .join(", ")
}
