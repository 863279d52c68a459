//! Tracks the details of the filings in the event log, and derives events from new entries. Known
//! values are only extended, never replaced.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use pubdata_build::datasets::{FeedEntry, Party};
use pubdata_core::ids::AccessionNumber;
use pubdata_store::{Event, EventKind, Feed, NewEvent, StreamEntity, StreamFiling};

/// The filings whose events are kept.
#[derive(Default)]
pub(super) struct KnownFilings {
    /// Filings by accession number, each with the sequence number of its latest event.
    filings: HashMap<AccessionNumber, (u64, StreamFiling)>,
}

impl KnownFilings {
    /// Adds an event from the log.
    pub(super) fn note(&mut self, event: Event) {
        if let Ok(accession) = event.accession_number.parse() {
            self.filings.insert(accession, (event.seq, event.filing));
        }
    }

    /// Drops filings whose events the log no longer keeps.
    pub(super) fn drop_until(&mut self, seq: u64) {
        self.filings.retain(|_, (last, _)| *last > seq);
    }

    pub(super) fn knows(&self, accession: AccessionNumber) -> bool {
        self.filings.contains_key(&accession)
    }

    /// Returns the events for entries: one for each filing that is new or has new details, in order
    /// of first appearance. This function does not add the events to the known filings; the caller
    /// does so after logging them.
    pub(super) fn events(
        &self,
        entries: Vec<FeedEntry>,
        forgotten: &HashSet<AccessionNumber>,
        source: Feed,
        source_url: &str,
    ) -> Vec<NewEvent> {
        let mut changed: HashMap<AccessionNumber, (usize, EventKind, StreamFiling, bool)> =
            HashMap::new();
        for (order, entry) in entries.into_iter().enumerate() {
            let accession = entry.accession_number;
            let (_, _, filing, is_changed) = match changed.entry(accession) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => match self.filings.get(&accession) {
                    Some((_, known)) => {
                        entry.insert((order, EventKind::Update, known.clone(), false))
                    }
                    // The filing's earlier details are no longer kept, so new details cannot be
                    // identified.
                    None if forgotten.contains(&accession) => continue,
                    None => entry.insert((order, EventKind::Filing, StreamFiling::default(), true)),
                },
            };
            *is_changed |= add(filing, entry);
        }
        let by_order: BTreeMap<usize, NewEvent> = changed
            .into_iter()
            .filter(|(_, (_, _, _, is_changed))| *is_changed)
            .map(|(accession_number, (order, event, filing, _))| {
                (
                    order,
                    NewEvent {
                        event,
                        accession_number,
                        source,
                        source_url: source_url.to_owned(),
                        filing,
                    },
                )
            })
            .collect();
        by_order.into_values().collect()
    }
}

/// Adds the details of an entry and returns true if any details were new. Known values stay.
fn add(filing: &mut StreamFiling, entry: FeedEntry) -> bool {
    let mut is_more = false;
    if !filing.forms.contains(&entry.form) {
        filing.forms.push(entry.form);
        is_more = true;
    }
    let texts = [
        (&mut filing.filed_date, entry.filed_date),
        (&mut filing.accepted_at, entry.accepted_at),
        (&mut filing.period_of_report, entry.period_of_report),
        (&mut filing.file_number, entry.file_number),
        (&mut filing.primary_document, entry.primary_document),
    ];
    for (known, said) in texts {
        is_more |= fill(known, said);
    }
    is_more |= fill(&mut filing.has_xbrl, entry.has_xbrl);
    is_more |= fill(&mut filing.has_inline_xbrl, entry.has_inline_xbrl);
    for item in entry.items {
        if !filing.items.contains(&item) {
            filing.items.push(item);
            is_more = true;
        }
    }
    for party in entry.parties {
        is_more |= add_party(&mut filing.entities, party);
    }
    is_more
}

/// Adds a party. One registrant can have two roles in a filing. A party without a role is treated
/// as the same party as a known entry with the same CIK.
fn add_party(entities: &mut Vec<StreamEntity>, party: Party) -> bool {
    let cik = party.cik.to_string();
    let same_role = entities
        .iter()
        .position(|entity| entity.cik == cik && entity.role == party.role);
    let found = same_role.or_else(|| {
        entities
            .iter()
            .position(|entity| entity.cik == cik && (entity.role.is_none() || party.role.is_none()))
    });
    let Some(known) = found.map(|index| &mut entities[index]) else {
        entities.push(StreamEntity {
            cik,
            name: party.name,
            role: party.role,
            sic: party.sic,
        });
        return true;
    };
    let filled = [
        fill(&mut known.name, party.name),
        fill(&mut known.role, party.role),
        fill(&mut known.sic, party.sic),
    ];
    filled.contains(&true)
}

fn fill<T>(known: &mut Option<T>, said: Option<T>) -> bool {
    let is_more = known.is_none() && said.is_some();
    if is_more {
        *known = said;
    }
    is_more
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{EventKind, Feed, FeedEntry, KnownFilings, Party};
    use pubdata_store::Event;

    fn entry(number: &str, form: &str, parties: &[(u64, Option<&str>)]) -> FeedEntry {
        let party = |(cik, role): &(u64, Option<&str>)| Party {
            cik: cik.to_string().parse().unwrap(),
            name: None,
            role: role.map(str::to_owned),
            sic: None,
        };
        FeedEntry {
            accession_number: number.parse().unwrap(),
            form: form.to_owned(),
            filed_date: Some("2024-03-15".to_owned()),
            accepted_at: None,
            period_of_report: None,
            parties: parties.iter().map(party).collect(),
            items: Vec::new(),
            file_number: None,
            primary_document: None,
            has_xbrl: None,
            has_inline_xbrl: None,
        }
    }

    const A: &str = "0000950170-24-032448";
    const B: &str = "0000950170-24-032449";

    /// CIK and role of a party.
    type KnownParty = (String, Option<String>);

    /// Adds entries to the known filings and returns each event's kind, number and parties.
    fn events(
        known: &mut KnownFilings,
        entries: Vec<FeedEntry>,
        forgotten: &[&str],
    ) -> Vec<(EventKind, String, Vec<KnownParty>)> {
        let forgotten: HashSet<_> = forgotten
            .iter()
            .map(|number| number.parse().unwrap())
            .collect();
        let new = known.events(
            entries,
            &forgotten,
            Feed::Getcurrent,
            "https://publisher.example/",
        );
        let mut changes = Vec::new();
        for (seq, event) in (1..).zip(new) {
            let accession_number = event.accession_number.to_string();
            let parties = event
                .filing
                .entities
                .iter()
                .map(|entity| {
                    (
                        entity.cik.trim_start_matches('0').to_owned(),
                        entity.role.clone(),
                    )
                })
                .collect();
            changes.push((event.event, accession_number.clone(), parties));
            let seen_at = "2024-03-16T02:00:00Z".to_owned();
            known.note(Event {
                seq,
                event: event.event,
                accession_number,
                seen_at,
                source: event.source,
                source_url: event.source_url,
                filing: event.filing,
            });
        }
        changes
    }

    fn party(cik: &str, role: Option<&str>) -> (String, Option<String>) {
        (cik.to_owned(), role.map(str::to_owned))
    }

    #[test]
    fn entries_of_one_filing_become_one_with_all_parties() {
        let mut known = KnownFilings::default();
        let page = || {
            vec![
                entry(A, "4", &[(7, Some("issuer"))]),
                entry(B, "8-K", &[(9, Some("filer"))]),
                entry(A, "4", &[(8, Some("reporting"))]),
            ]
        };
        let parties = vec![party("7", Some("issuer")), party("8", Some("reporting"))];
        let expected = [
            (EventKind::Filing, A.to_owned(), parties),
            (
                EventKind::Filing,
                B.to_owned(),
                vec![party("9", Some("filer"))],
            ),
        ];
        assert_eq!(events(&mut known, page(), &[]), expected);
        assert_eq!(
            events(&mut known, page(), &[]),
            [],
            "the same page says nothing new"
        );
        assert_eq!(
            events(
                &mut known,
                vec![entry(A, "4", &[(7, None), (8, None)])],
                &[]
            ),
            [],
            "nor does an index without roles"
        );
    }

    #[test]
    fn new_party_form_or_role_is_an_update() {
        let mut known = KnownFilings::default();
        events(&mut known, vec![entry(A, "SC 13D/A", &[(7, None)])], &[]);
        let update = |parties| vec![(EventKind::Update, A.to_owned(), parties)];
        let subject = party("7", Some("subject"));
        assert_eq!(
            events(
                &mut known,
                vec![entry(A, "SC 13D/A", &[(7, Some("subject"))])],
                &[]
            ),
            update(vec![subject.clone()])
        );
        let both = vec![subject.clone(), party("7", Some("filed_by"))];
        assert_eq!(
            events(
                &mut known,
                vec![entry(A, "SC 13D/A", &[(7, Some("filed_by"))])],
                &[]
            ),
            update(both.clone()),
            "two roles of one registrant"
        );
        assert_eq!(
            events(&mut known, vec![entry(A, "SC TO-T/A", &[(7, None)])], &[]),
            update(both),
            "a second form"
        );
    }

    #[test]
    fn what_is_no_longer_kept_is_not_new_again() {
        let mut known = KnownFilings::default();
        assert_eq!(
            events(&mut known, vec![entry(A, "4", &[(7, None)])], &[A]),
            []
        );
        events(&mut known, vec![entry(B, "4", &[(7, None)])], &[]);
        known.drop_until(1);
        assert!(!known.knows(B.parse().unwrap()));
        assert_eq!(
            events(&mut known, vec![entry(B, "4", &[(8, None)])], &[B]),
            []
        );
    }
}
