//! Guesses which of a publisher's columns correspond to which of our columns. Guesses are based on
//! other lists' declarations, the words in the column name, and the cells. If several columns
//! qualify, or the cells contradict the guess, the operator must decide.

use std::collections::BTreeMap;

use super::dates::Form;
use super::fit::{DAYS, fit, is_checked};
use super::known::{Known, PIECES, TABLES, lists_of};
use super::names;
use super::place::Place;
use super::sample::{Column, Sample};

/// A guessed column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) ours: String,
    /// Index of the column in the sample.
    pub(super) column: usize,
    pub(super) reason: String,
}

/// A column about which the operator must decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) column: usize,
    /// Our column that it probably corresponds to.
    pub(super) ours: Option<String>,
    pub(super) reason: String,
}

/// Guesses for all columns of a file.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    pub(super) mapped: Vec<Mapped>,
    pub(super) open: Vec<Open>,
}

impl Guesses {
    pub(super) fn position(&self, ours: &str) -> Option<usize> {
        self.mapped
            .iter()
            .find(|mapped| mapped.ours == ours)
            .map(|mapped| mapped.column)
    }
}

/// Evidence for mapping a publisher's column to one of our columns.
struct Candidate {
    column: usize,
    /// Number of lists that agree with the mapping.
    lists: usize,
    /// True if the words of the column's name agree with the mapping.
    is_by_words: bool,
    /// True if the publisher's name indicates that the column contains terms of a standard, in
    /// addition to a column with the original terms.
    is_mapped: bool,
    reason: String,
}

impl Candidate {
    /// Returns the strength of the evidence.
    fn weight(&self) -> (bool, usize, bool) {
        (
            self.is_mapped && self.lists > 1,
            self.lists,
            self.is_by_words,
        )
    }
}

/// Guesses all columns of a sample. `given` contains the columns named by the operator, keyed by
/// our names.
pub(super) fn guess(
    sample: &Sample,
    forms: &[(Form, Option<String>)],
    known: &Known,
    given: &BTreeMap<String, usize>,
    place: &Place,
) -> Guesses {
    let records = usize::try_from(sample.records).unwrap_or(usize::MAX);
    let mut guesses = Guesses::default();
    for (ours, column) in given {
        guesses.mapped.push(Mapped {
            ours: ours.clone(),
            column: *column,
            reason: "given by --column".to_owned(),
        });
    }
    let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for (number, column) in sample
        .columns
        .iter()
        .enumerate()
        .filter(|(number, _)| !given.values().any(|given| given == number))
    {
        let (form, proof) = &forms[number];
        match named(column, known) {
            Named::As {
                ours,
                lists,
                is_by_words,
                reason,
            } => {
                match fit(&ours, column, form, records)
                    .and_then(|evidence| of_the_place(&ours, column, place).map(|()| evidence))
                {
                    Ok(evidence) => {
                        let proof = proof
                            .iter()
                            .map(|name| format!(" (as `{name}` has a day above 12)"))
                            .collect::<String>();
                        let is_mapped = TABLES.contains(&ours.as_str())
                            && names::words(&column.published)
                                .last()
                                .is_some_and(|word| word == "mapped");
                        let reason = format!("{reason}; {evidence}{proof}");
                        candidates.entry(ours).or_default().push(Candidate {
                            column: number,
                            lists,
                            is_by_words,
                            is_mapped,
                            reason,
                        });
                    }
                    Err(problem) => guesses.open.push(Open {
                        column: number,
                        ours: Some(ours),
                        reason: format!("{reason}, but {problem}"),
                    }),
                }
            }
            Named::Perhaps { ours, reason } => guesses.open.push(Open {
                column: number,
                ours: Some(ours),
                reason,
            }),
            Named::Nothing if holds_days(column, form) => {
                guesses.open.push(Open {
                    column: number,
                    ours: None,
                    reason: "it has dates of unknown meaning: one of our columns, or none of them"
                        .to_owned(),
                });
            }
            Named::Nothing => {}
        }
    }
    for (ours, all) in candidates {
        if given.contains_key(&ours) {
            continue;
        }
        choose(sample, ours, all, &mut guesses);
    }
    together(sample, &mut guesses);
    guesses.mapped.sort_by_key(|mapped| mapped.column);
    guesses.open.sort_by_key(|open| open.column);
    guesses
}

/// Checks that most cities and states in the column are those of the list. Other cities and states
/// belong to the addresses of owners and contractors.
fn of_the_place(ours: &str, column: &Column, place: &Place) -> Result<(), String> {
    let (percent, own) = match ours {
        "city" if !place.is_county => (50, &place.name),
        "address_state" => (90, &place.state),
        _ => return Ok(()),
    };
    match column.is_mostly(percent, |text| text.eq_ignore_ascii_case(own)) {
        true => Ok(()),
        false => Err(format!(
            "it is seldom `{own}`: it may be of another address, such as an owner's"
        )),
    }
}

/// Returns true if a column certainly contains dates. Numbers count as dates only if the column
/// name contains the word `date`.
fn holds_days(column: &Column, form: &Form) -> bool {
    let is_called_so = || {
        names::words(&column.published)
            .iter()
            .any(|word| word == "date")
    };
    match form {
        Form::Days("iso" | "month_day_year" | "year_month_day")
        | Form::Ambiguous(_)
        | Form::DayFirst(_) => true,
        Form::Days(_) => is_called_so(),
        Form::Other | Form::Empty => false,
    }
}

/// Meaning of a column's name.
enum Named {
    As {
        ours: String,
        lists: usize,
        is_by_words: bool,
        reason: String,
    },
    /// Only one list has this mapping, or the lists disagree.
    Perhaps {
        ours: String,
        reason: String,
    },
    Nothing,
}

fn named(column: &Column, known: &Known) -> Named {
    let words = names::words(&column.published);
    let by_words = names::meaning(&words);
    let uses = known.uses(&column.published);
    // If a name equals one of our names, suggests that mapping even if other lists ignore their
    // columns of that name.
    let otherwise =
        || match by_words.filter(|ours| names::key(&column.published) == names::key(ours)) {
            Some(ours) => Named::Perhaps {
                ours: ours.to_owned(),
                reason: "it has the name of our column, but other lists ignore theirs".to_owned(),
            },
            None => Named::Nothing,
        };
    if let Some(uses) = uses {
        let ranked: Vec<_> = uses
            .ranked()
            .into_iter()
            .filter(|(ours, _)| is_checked(ours))
            .collect();
        let most = ranked.first().map_or(0, |(_, lists)| lists.len());
        // If several columns are equally frequent, prefers the column that the words of the name
        // mean.
        let best: Vec<_> = ranked
            .iter()
            .filter(|(_, lists)| lists.len() == most)
            .collect();
        let chosen = best
            .iter()
            .find(|(ours, _)| by_words == Some(*ours))
            .or_else(|| best.first().filter(|_| best.len() == 1));
        if let Some((ours, lists)) = chosen {
            let (ours, is_by_words) = ((*ours).to_owned(), by_words == Some(*ours));
            let is_usual = most * 2 >= uses.lists();
            let reason = format!("so in {}", lists_of(lists));
            if is_usual && (most > 1 || names::shares_word_with(&words, &ours)) {
                return Named::As {
                    ours,
                    lists: most,
                    is_by_words,
                    reason,
                };
            }
            if is_usual {
                return Named::Perhaps {
                    ours,
                    reason: format!("{reason} and nowhere else"),
                };
            }
            return otherwise();
        }
        if let [(one, _), (other, _), ..] = ranked.as_slice()
            && most * 2 >= uses.lists()
        {
            return Named::Perhaps {
                ours: (*one).to_owned(),
                reason: format!("other lists have it as `{one}` and as `{other}`"),
            };
        }
        return otherwise();
    }
    match by_words {
        Some(ours) => Named::As {
            ours: ours.to_owned(),
            lists: 0,
            is_by_words: true,
            reason: "by its name".to_owned(),
        },
        None => Named::Nothing,
    }
}

/// Chooses the column with the strongest evidence. Makes no choice if the evidence for two columns
/// is equally strong.
fn choose(sample: &Sample, ours: String, mut all: Vec<Candidate>, guesses: &mut Guesses) {
    let name = |candidate: &Candidate| sample.columns[candidate.column].name.clone();
    all.sort_by_key(|candidate| std::cmp::Reverse(candidate.weight()));
    let equals = all
        .iter()
        .filter(|candidate| candidate.weight() == all[0].weight())
        .count();
    if equals > 1 {
        let names = all[..equals]
            .iter()
            .map(|candidate| format!("`{}`", name(candidate)))
            .collect::<Vec<_>>()
            .join(" and ");
        for candidate in all {
            guesses.open.push(Open {
                column: candidate.column,
                ours: Some(ours.clone()),
                reason: format!("{names} are equally likely"),
            });
        }
        return;
    }
    let mut rest = all.into_iter();
    let Some(chosen) = rest.next() else { return };
    let taken = name(&chosen);
    for other in rest {
        // If `permittypemapped` exists, `permittype` contains the publisher's own terms.
        let is_raw = TABLES.contains(&ours.as_str())
            && names::key(&format!(
                "{}_mapped",
                sample.columns[other.column].published
            )) == names::key(&sample.columns[chosen.column].published);
        let raw = format!("{ours}_raw");
        if is_raw && guesses.position(&raw).is_none() {
            guesses.mapped.push(Mapped {
                ours: raw,
                column: other.column,
                reason: format!("the publisher's own word beside `{taken}`"),
            });
        } else {
            guesses.open.push(Open {
                column: other.column,
                ours: Some(ours.clone()),
                reason: format!("`{taken}` was chosen, which has stronger evidence"),
            });
        }
    }
    guesses.mapped.push(Mapped {
        ours,
        column: chosen.column,
        reason: chosen.reason,
    });
}

/// Drops guesses that require another column, and guesses that duplicate one.
fn together(sample: &Sample, guesses: &mut Guesses) {
    let has = |guesses: &Guesses, ours: &str| guesses.position(ours).is_some();
    let is_half = has(guesses, "lat") != has(guesses, "lon");
    let has_pair = has(guesses, "lat") && has(guesses, "lon");
    let has_line = has(guesses, "line1");
    let has_pieces = has(guesses, "house_number") && has(guesses, "street_name");
    let without_table: Vec<String> = TABLES
        .iter()
        .filter(|table| !has(guesses, table))
        .map(|table| format!("{table}_raw"))
        .collect();
    let has_contractor = ["contractor_name", "contractor_business_name"]
        .iter()
        .any(|ours| has(guesses, ours));
    let mut open = Vec::new();
    guesses.mapped.retain(|mapped| {
        let ours = mapped.ours.as_str();
        let is_kept = match ours {
            "lat" | "lon" => !is_half,
            "location" => !has_pair,
            "contractor_license_number" => has_contractor,
            "sub_type" | "unit" => true,
            _ if PIECES.contains(&ours) => !has_line && has_pieces,
            _ => !without_table.contains(&mapped.ours),
        };
        if !is_kept && is_half && matches!(ours, "lat" | "lon") {
            let reason = "the other coordinate was not found".to_owned();
            open.push(Open {
                column: mapped.column,
                ours: Some(mapped.ours.clone()),
                reason,
            });
        }
        is_kept || mapped.reason.starts_with("given")
    });
    guesses.open.extend(open);
    // A column that is mapped to something else is not an open question.
    let taken: Vec<usize> = guesses.mapped.iter().map(|mapped| mapped.column).collect();
    guesses
        .open
        .retain(|open| !taken.contains(&open.column) && open.column < sample.columns.len());
}

/// Returns the date formats of the mapped columns, in the order in which the formats are tried.
pub(super) fn forms_read(guesses: &Guesses, forms: &[(Form, Option<String>)]) -> Vec<&'static str> {
    let read = guesses
        .mapped
        .iter()
        .filter(|mapped| DAYS.contains(&mapped.ours.as_str()));
    let mut found: Vec<&'static str> = Vec::new();
    for mapped in read {
        if let (Form::Days(form), _) = &forms[mapped.column]
            && !found.contains(form)
        {
            found.push(*form);
        }
    }
    found.sort_unstable_by_key(|form| *form != "iso");
    found
}
