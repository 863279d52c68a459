//! Guesses which of our columns a publisher's are, by what other lists do with a column of that
//! name, by the name's words and by the cells. Where two could be meant, or the cells contradict,
//! nothing is guessed and a person is asked.

use std::collections::BTreeMap;

use super::dates::Form;
use super::fit::{DAYS, fit, is_checked};
use super::known::{Known, PIECES, TABLES, lists_of};
use super::names;
use super::place::Place;
use super::sample::{Column, Sample};

/// A column that was guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) ours: String,
    /// Place among the sample's columns.
    pub(super) column: usize,
    pub(super) reason: String,
}

/// A column that a person must decide about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) column: usize,
    /// What it could be.
    pub(super) ours: Option<String>,
    pub(super) reason: String,
}

/// What the columns of a file are taken for.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    pub(super) mapped: Vec<Mapped>,
    pub(super) open: Vec<Open>,
}

impl Guesses {
    pub(super) fn of(&self, ours: &str) -> Option<usize> {
        self.mapped
            .iter()
            .find(|mapped| mapped.ours == ours)
            .map(|mapped| mapped.column)
    }
}

/// What speaks for a column being one of ours.
struct Candidate {
    column: usize,
    /// Lists that have it so, and whether its own words say so.
    lists: usize,
    is_by_words: bool,
    /// Whether the publisher's own name says that its words are those of a standard, which it keeps
    /// beside its own.
    is_mapped: bool,
    reason: String,
}

impl Candidate {
    /// How much speaks for it.
    fn weight(&self) -> (bool, usize, bool) {
        (
            self.is_mapped && self.lists > 1,
            self.lists,
            self.is_by_words,
        )
    }
}

/// Guesses all columns of a sample. `given` are those that a person has named, by ours.
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
                    reason: "it has days, and nothing says which: one of ours, or none of them"
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

/// Whether cities and states are mostly those of the list: others are of owners' and contractors'
/// addresses.
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

/// Whether a column surely has days: numbers are days only where the name says so.
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

/// What a column's name says.
enum Named {
    As {
        ours: String,
        lists: usize,
        is_by_words: bool,
        reason: String,
    },
    /// One list alone has it so, or lists do not agree.
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
    // A list that has it as ours and says so plainly must not be passed over because others leave
    // theirs out.
    let otherwise =
        || match by_words.filter(|ours| names::key(&column.published) == names::key(ours)) {
            Some(ours) => Named::Perhaps {
                ours: ours.to_owned(),
                reason: "it is called as ours is, and other lists leave theirs out".to_owned(),
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
        // Of equals the one that the name's own words mean.
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
            if is_usual && (most > 1 || names::is_akin(&words, &ours)) {
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

/// Takes of several columns the one for which most speaks; none where two are equal.
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
                reason: format!("{names} could each be it"),
            });
        }
        return;
    }
    let mut rest = all.into_iter();
    let Some(chosen) = rest.next() else { return };
    let taken = name(&chosen);
    for other in rest {
        // `permittype` beside `permittypemapped` is the publisher's own word.
        let is_raw = TABLES.contains(&ours.as_str())
            && names::key(&format!(
                "{}_mapped",
                sample.columns[other.column].published
            )) == names::key(&sample.columns[chosen.column].published);
        let raw = format!("{ours}_raw");
        if is_raw && guesses.of(&raw).is_none() {
            guesses.mapped.push(Mapped {
                ours: raw,
                column: other.column,
                reason: format!("the publisher's own word beside `{taken}`"),
            });
        } else {
            guesses.open.push(Open {
                column: other.column,
                ours: Some(ours.clone()),
                reason: format!("`{taken}` was taken, for which more speaks"),
            });
        }
    }
    guesses.mapped.push(Mapped {
        ours,
        column: chosen.column,
        reason: chosen.reason,
    });
}

/// Takes back what means nothing without another column, or beside it.
fn together(sample: &Sample, guesses: &mut Guesses) {
    let has = |guesses: &Guesses, ours: &str| guesses.of(ours).is_some();
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
    // A column that is taken for something else is no open question, and nor is one that many lists
    // have as a party.
    let taken: Vec<usize> = guesses.mapped.iter().map(|mapped| mapped.column).collect();
    guesses
        .open
        .retain(|open| !taken.contains(&open.column) && open.column < sample.columns.len());
}

/// The forms of the days that are read, in the order in which they are tried.
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
