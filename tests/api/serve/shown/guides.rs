//! Runs each block of shell, Python or JavaScript (Node) in `docs/guides` and compares its output
//! with the text printed below. Printed JSON may leave out members, and items at the end of a list;
//! other text may not.

use std::path::Path;
use std::process::Command;

use pubdata_store::{EventKind, EventLog, Feed, NewEvent, StreamEntity, StreamFiling};
use serde_json::Value;

use super::{has, run};
use crate::serve::Listening;
use crate::serve::examples::settle;
use pubdata_testing::peers::python;
use pubdata_testing::{files_below, project};

/// Address of the server in the guides.
const SHOWN_URL: &str = "https://data.example.org";

/// A fenced block: its language, its text, and its first line number.
struct Block {
    language: String,
    text: String,
    line: usize,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (index, line) in markdown.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(language) => {
                if !is_open {
                    blocks.push(Block {
                        language: language.to_owned(),
                        text: String::new(),
                        line: index + 1,
                    });
                }
                is_open = !is_open;
            }
            None if is_open => {
                let text = &mut blocks.last_mut().unwrap().text;
                *text += line;
                *text += "\n";
            }
            None => {}
        }
    }
    assert!(!is_open, "a block is not closed");
    blocks
}

/// Difference between the printed and the actual answer.
fn difference(printed: &Value, answered: &Value, at: &str) -> Option<String> {
    match (printed, answered) {
        (Value::Object(printed), Value::Object(answered)) => {
            printed.iter().find_map(|(name, value)| {
                let place = format!("{at}/{name}");
                answered.get(name).map_or_else(
                    || Some(format!("{place}: not answered")),
                    |answered| difference(value, answered, &place),
                )
            })
        }
        (Value::Array(printed), Value::Array(answered)) if printed.len() <= answered.len() => {
            printed
                .iter()
                .zip(answered)
                .enumerate()
                .find_map(|(index, (printed, answered))| {
                    difference(printed, answered, &format!("{at}/{index}"))
                })
        }
        _ => (printed != answered)
            .then(|| format!("{at}: {printed} is printed, {answered} is answered")),
    }
}

/// Error of a block or of the output printed below it.
fn wrong(
    listening: &Listening,
    interpreter: &Path,
    block: &Block,
    printed: Option<&Block>,
) -> Option<String> {
    let (program, arguments): (&Path, &[&str]) = match block.language.as_str() {
        "sh" => (Path::new("sh"), &["-ec"]),
        // Node 20 has `WebSocket` behind a flag only.
        "javascript" => (
            Path::new("node"),
            &[
                "--experimental-websocket",
                "--no-warnings",
                "--input-type=module",
                "-e",
            ],
        ),
        _ => (interpreter, &["-c"]),
    };
    let mut program = Command::new(program);
    // A block reads the files that earlier blocks wrote, and runs the program by name.
    let folder = Path::new(env!("CARGO_BIN_EXE_pubdata")).parent().unwrap();
    let path = std::env::join_paths(
        [folder.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    program
        .args(arguments)
        .arg(&block.text)
        .current_dir(listening.served.place.root())
        .env("PATH", path);
    let answered = match run(listening, program, "") {
        Ok(answered) => answered.replace(&listening.url, SHOWN_URL),
        Err(said) => return Some(said),
    };
    let answer = || {
        let mut answer: Value = serde_json::from_str(&answered).unwrap_or_default();
        settle(&mut answer);
        answer
    };
    match printed {
        Some(printed) if printed.language == "json" => match serde_json::from_str(&printed.text) {
            Ok(printed) => difference(&printed, &answer(), ""),
            Err(said) => Some(format!("the printed text is not JSON: {said}")),
        },
        Some(printed) => (printed.text.trim() != answered.trim()).then(|| {
            format!(
                "`{}` is printed, `{}` is answered",
                printed.text.trim(),
                answered.trim()
            )
        }),
        // A guide must print every problem.
        None => answer()
            .get("code")
            .map(|code| format!("it fails with {code}")),
    }
}

/// Apple's annual report of 2020, as it appears in a feed.
fn filing() -> NewEvent {
    let entity = StreamEntity {
        cik: "0000320193".to_owned(),
        name: Some("Apple Inc.".to_owned()),
        role: Some("filer".to_owned()),
        sic: None,
    };
    let filing = StreamFiling {
        forms: vec!["10-K".to_owned()],
        filed_date: Some("2020-10-30".to_owned()),
        entities: vec![entity],
        ..StreamFiling::default()
    };
    NewEvent {
        event: EventKind::Filing,
        accession_number: "0000320193-20-000096".parse().unwrap(),
        source: Feed::Getcurrent,
        source_url: "https://www.sec.gov/".to_owned(),
        filing,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_the_guides_is_answered_as_printed() {
    let Some(interpreter) =
        python(&["requests", "websockets", "polars"]).filter(|_| has("curl") && has("node"))
    else {
        return;
    };
    let listening = Listening::new().await;
    EventLog::open(&listening.served.home, |_| ())
        .unwrap()
        .append(vec![filing()], jiff::Timestamp::now())
        .unwrap();
    listening.served.service.follow_log().await.unwrap();
    let mut failed = Vec::new();
    let mut count = 0;
    for path in files_below(&project("docs/guides")) {
        let guide = path.file_name().unwrap().to_string_lossy().into_owned();
        let blocks = blocks(&std::fs::read_to_string(&path).unwrap());
        for (index, block) in blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| ["sh", "python", "javascript"].contains(&block.language.as_str()))
        {
            let printed = blocks
                .get(index + 1)
                .filter(|next| ["json", "text"].contains(&next.language.as_str()));
            let said =
                tokio::task::block_in_place(|| wrong(&listening, &interpreter, block, printed));
            failed.extend(said.map(|said| format!("docs/guides/{guide}:{}: {said}", block.line)));
            count += 1;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count >= 20, "{count} requests are found");
}

#[test]
fn answer_that_differs_from_the_guide_is_reported() {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let answered = json(r#"{"data": [{"a": 1, "b": null}, {"a": 2}], "meta": {"x": "y"}}"#);
    assert_eq!(
        difference(&json(r#"{"data": [{"a": 1}]}"#), &answered, ""),
        None
    );
    for (printed, said) in [
        (
            r#"{"data": [{"a": 2}]}"#,
            "/data/0/a: 2 is printed, 1 is answered",
        ),
        (r#"{"data": [{"c": 2}]}"#, "/data/0/c: not answered"),
        (
            r#"{"meta": "y"}"#,
            "/meta: \"y\" is printed, {\"x\":\"y\"} is answered",
        ),
    ] {
        assert_eq!(
            difference(&json(printed), &answered, ""),
            Some(said.to_owned())
        );
    }
    let found = blocks("text\n```sh\necho\n```\n\n```json\n{}\n```\n");
    assert_eq!(
        found
            .iter()
            .map(|block| (block.language.as_str(), block.text.as_str(), block.line))
            .collect::<Vec<_>>(),
        [("sh", "echo\n", 2), ("json", "{}\n", 6)]
    );
}
