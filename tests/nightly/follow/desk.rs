use std::collections::BTreeMap;
use std::path::Path;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_run::follow::{FollowSettings, Follower, PollReport};
use pubdata_store::{Event, EventKind, EventTail, Feed, Home};

use pubdata_testing::instant_waits;
use pubdata_testing::publisher::{Publisher, Reply};

/// A party's entry in the feed of current filings.
#[derive(Debug, Clone)]
pub struct Entry {
    pub number: u32,
    pub cik: u32,
    pub role: &'static str,
    pub form: &'static str,
}

impl Entry {
    /// Creates a filing by one filer, whose CIK follows from the number.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            cik: 1_000 + number,
            role: "Filer",
            form: "8-K",
        }
    }

    pub fn accession(&self) -> String {
        accession(self.number)
    }

    fn text(&self) -> String {
        let Self {
            number,
            cik,
            role,
            form,
        } = self;
        let (accession, minute, second) = (self.accession(), number / 60 % 60, number % 60);
        format!(
            "<entry>\n<title>{form} - Company {cik} Inc. ({cik:010}) ({role})</title>\n<summary type=\"html\">\n &lt;b&gt;Filed:&lt;/b&gt; 2026-01-15 \
             &lt;b&gt;AccNo:&lt;/b&gt; {accession} &lt;b&gt;Size:&lt;/b&gt; 9 KB\n</summary>\n<updated>2026-01-15T16:{minute:02}:{second:02}-05:00</updated>\n\
             <category scheme=\"https://www.sec.gov/\" label=\"form type\" term=\"{form}\"/>\n<id>urn:tag:sec.gov,2008:accession-number={accession}</id>\n</entry>\n"
        )
    }
}

pub fn accession(number: u32) -> String {
    format!("0009999999-26-{number:06}")
}

/// Home, publisher and the feeds that the publisher serves.
pub struct Desk {
    folder: tempfile::TempDir,
    pub publisher: Publisher,
}

const CURRENT: &str = "/www.sec.gov/cgi-bin/browse-edgar@action=getcurrent&type=&owner=include&start=START&count=100&output=atom";

impl Desk {
    pub async fn new() -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
            publisher: Publisher::start().await,
        };
        desk.show(&[]);
        desk
    }

    pub fn home(&self) -> Home {
        Home::open(&self.folder.path().join("home")).unwrap()
    }

    pub fn home_path(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    /// Opens a follower, as after a restart.
    pub fn follower(&self) -> Follower {
        Follower::open(self.settings()).unwrap()
    }

    pub fn settings(&self) -> FollowSettings {
        let fetch = FetchSettings {
            mirrors: vec![self.publisher.base_url()],
            ..instant_waits()
        };
        FollowSettings {
            store: pubdata_store::SharedStore::open(&self.home(), None).unwrap(),
            home: self.home(),
            declarations: Declarations::load(DeclarationFiles::built_in()).unwrap(),
            fetch,
            days: Vec::new(),
        }
    }

    /// Serves entries in pages of a hundred, the first at the top.
    pub fn show(&self, entries: &[Entry]) {
        let texts: Vec<String> = entries.iter().map(Entry::text).collect();
        self.show_texts(&texts);
    }

    /// Serves the entry texts as they are.
    pub fn show_texts(&self, entries: &[String]) {
        for page in 0..12_usize {
            let shown: String = entries
                .iter()
                .skip(page * 100)
                .take(100)
                .map(String::as_str)
                .collect();
            self.publisher.route(
                &page_target(page),
                vec![Reply::file(feed(&shown)).content_type("application/atom+xml")],
            );
        }
    }

    /// Makes the feed's file on the publisher, which acts as a mirror, fail with this reply.
    pub fn fail(&self, reply: &Reply) {
        self.publisher.route(&page_target(0), vec![reply.clone()]);
    }

    /// Polls the feed of current filings.
    pub async fn poll(&self, follower: &mut Follower) -> PollReport {
        follower.poll(Feed::Getcurrent).await.unwrap()
    }

    pub fn show_index(&self, target: &str, rows: &[(u32, u32)]) {
        let head = "Description:           Daily Index\n \nCIK|Company Name|Form Type|Date Filed|File Name\n-----------\n";
        let rows: String = rows
            .iter()
            .map(|(number, cik)| {
                format!(
                    "{cik}|COMPANY {cik} INC|8-K|20260115|edgar/data/{cik}/{}.txt\n",
                    accession(*number)
                )
            })
            .collect();
        self.publisher.route(
            &format!("/www.sec.gov/Archives/edgar/daily-index/{target}"),
            vec![Reply::file(format!("{head}{rows}"))],
        );
    }

    /// Returns the log as a reader sees it.
    pub fn events(&self) -> Vec<Event> {
        events_of(&self.home())
    }

    /// Asserts that each of the filings is logged once and no other is; returns them in the order
    /// of the log.
    #[track_caller]
    pub fn assert_once(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<Event> {
        let events = self.events();
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(
            seqs,
            (1..=events.len() as u64).collect::<Vec<_>>(),
            "numbers have no gap"
        );
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for event in events
            .iter()
            .filter(|event| event.event == EventKind::Filing)
        {
            *times.entry(&event.accession_number).or_default() += 1;
        }
        let expected: BTreeMap<String, usize> = numbers
            .into_iter()
            .map(|number| (accession(number), 1))
            .collect();
        let found: BTreeMap<String, usize> = times
            .into_iter()
            .map(|(number, count)| (number.to_owned(), count))
            .collect();
        assert_eq!(found, expected);
        events
    }

    pub fn findings(&self) -> String {
        std::fs::read_to_string(self.home_path().join("stream/findings.jsonl")).unwrap_or_default()
    }
}

pub fn events_of(home: &Home) -> Vec<Event> {
    EventTail::new(home).read().unwrap()
}

fn page_target(page: usize) -> String {
    // Names on a mirror are paths: a query becomes part of the name.
    CURRENT.replace("START", &(page * 100).to_string())
}

fn feed(entries: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>Latest Filings</title>\n\
         <updated>2026-01-15T16:00:00-05:00</updated>\n{entries}</feed>\n"
    )
}

/// Returns the only segment of a log.
#[track_caller]
pub fn segment(home: &Path) -> std::path::PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(home.join("stream/log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.pop().unwrap()
}
