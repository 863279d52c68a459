//! Tests the program as a scheduler and an auditor see it: exit codes, messages, and the files in
//! the home afterwards.

mod archives;
mod believable;
mod buckets;
mod by_hand;
pub mod calendar;
mod changed_sources;
mod changed_subjects;
mod command_line;
mod dates;
mod declaration_faults;
mod declared_elsewhere;
mod determinism;
mod drift;
mod elsewhere;
mod hostile;
pub mod import;
mod interrupted;
mod listing;
mod manual;
mod new;
mod nights;
mod operators;
mod own_declarations;
mod pages;
pub mod placed;
mod probe;
mod publishers;
mod receipts;
mod releases;
mod renewal;
mod selection;
mod terminal;
mod tolerance;
mod trace;
mod unknown_values;
mod upstream;
mod verify;
mod views;
mod why;
mod words;

/// The families of places, for tests that need no others: areas, schools, ZIP codes.
const GEOGRAPHY: &[&str] = &["census", "nces", "zip"];
/// The task that most tests change.
const ACS_2023: &str = "census.acs5/vintage=2023";
