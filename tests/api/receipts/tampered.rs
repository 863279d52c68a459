use serde_json::{Value, json};

use super::SealedPlace;

const PRESENT: &str = "geo.zcta_metric:2023:90210:population";
const ABSENT: &str = "geo.zcta_metric:2023:90211:population";

/// Every text, number and boolean of a document, changed one at a time.
fn changes(document: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(document, "", &mut places);
    let changed = |place: &String| {
        let mut copy = document.clone();
        let value = copy.pointer_mut(place).unwrap();
        *value = match value.take() {
            Value::String(text) if text.is_empty() => json!("x"),
            // A character near the end: the last of a note is a line break, and that of base64 may
            // not count.
            Value::String(text) => {
                let at = text
                    .char_indices()
                    .rev()
                    .nth(5.min(text.chars().count() - 1))
                    .unwrap()
                    .0;
                let letter = text[at..].chars().next().unwrap();
                json!(format!(
                    "{}{}{}",
                    &text[..at],
                    if letter == '1' { '2' } else { '1' },
                    &text[at + letter.len_utf8()..]
                ))
            }
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            Value::Bool(flag) => json!(!flag),
            Value::Null => json!("x"),
            Value::Array(_) => json!(["x"]),
            Value::Object(_) => json!({"x": "x"}),
        };
        (place.clone(), copy)
    };
    places.iter().map(changed).collect()
}

fn collect(value: &Value, place: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| {
                collect(
                    field,
                    &format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")),
                    places,
                );
            });
        }
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| collect(item, &format!("{place}/{index}"), places)),
        _ => places.push(place.to_owned()),
    }
}

/// Texts of a receipt that prove the same but show more or look different: an additional member in
/// every object, a duplicate member, an extra top-level value, a hash or number or list in another
/// notation, parts in another order, an invalid signature next to the valid one, an unknown format.
pub fn attacks(receipt: &Value) -> Vec<(String, String)> {
    let mut attacks = Vec::new();
    let mut objects = Vec::new();
    collect_objects(receipt, "", &mut objects);
    for place in &objects {
        let mut added = receipt.clone();
        added.pointer_mut(place).unwrap()["published_at"] = json!("1999-01-01");
        attacks.push((format!("{place}: a member was added"), added.to_string()));
        let object = receipt.pointer(place).unwrap();
        let (name, value) = object.as_object().unwrap().iter().next().unwrap();
        let twice = object
            .to_string()
            .replacen('{', &format!("{{{}:{value},", json!(name)), 1);
        attacks.push((
            format!("{place}: {name} is named twice"),
            receipt.to_string().replacen(&object.to_string(), &twice, 1),
        ));
    }
    let mut change = |place: &str, value: Value| {
        let mut changed = receipt.clone();
        *changed.pointer_mut(place).unwrap() = value.clone();
        attacks.push((format!("{place} is {value}"), changed.to_string()));
    };
    let hash = receipt["release"]["records_root"].as_str().unwrap();
    change("/release/records_root", json!(hash.to_uppercase()));
    change("/release/records_root", json!(format!(" {hash}")));
    change("/log_index", json!(0.0));
    change("/log_index", json!(false));
    change("/dataset_index", json!(0.5));
    change("/format_version", json!(99));
    change("/format_version", json!(true));
    change(
        "/release/datasets",
        json!(format!(
            "0{}",
            receipt["release"]["datasets"].as_str().unwrap()
        )),
    );
    change("/log_inclusion_proof", json!({}));
    change(
        "/release",
        Value::Array(
            receipt["release"]
                .as_object()
                .unwrap()
                .values()
                .cloned()
                .collect(),
        ),
    );
    let mut with_null = receipt["parts"][0]["part"].clone();
    with_null["subjects_end"] = Value::Null;
    change("/parts/0/part", with_null);
    let parts = receipt["parts"].as_array().unwrap();
    if parts.len() > 1 {
        change("/parts", parts.iter().rev().cloned().collect());
    }
    let note = receipt["checkpoint"].as_str().unwrap();
    let (text, line) = note.trim_end().rsplit_once('\n').unwrap();
    let (name, signature) = line.rsplit_once(' ').unwrap();
    let broken: String = signature
        .char_indices()
        .map(|(place, letter)| {
            if place == 40 {
                if letter == 'A' { 'B' } else { 'A' }
            } else {
                letter
            }
        })
        .collect();
    change(
        "/checkpoint",
        json!(format!("{text}\n{name} {broken}\n{line}\n")),
    );
    change("/checkpoint", json!(format!("{text}\n{line} more\n")));
    for beside in ["record", "published_at"] {
        attacks.push((
            format!("{beside} beside the answer's data"),
            json!({"data": receipt, "meta": {}, (beside): receipt["record"]}).to_string(),
        ));
    }
    attacks.push((
        "-0 for 0".to_owned(),
        receipt
            .to_string()
            .replacen("\"log_index\":0", "\"log_index\":-0", 1),
    ));
    let mut without = receipt.clone();
    without.as_object_mut().unwrap().remove("record");
    attacks.push(("without record".to_owned(), without.to_string()));
    attacks
}

fn collect_objects(value: &Value, place: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            places.push(place.to_owned());
            fields.iter().for_each(|(name, field)| {
                collect_objects(field, &format!("{place}/{name}"), places);
            });
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| collect_objects(item, &format!("{place}/{index}"), places)),
        _ => {}
    }
}

/// The verifier's refusals after one change, for the receipts of a present and of an absent record.
#[test]
fn single_change_anywhere_in_a_receipt_is_detected() {
    use pubdata_store::receipts::{Receipt, VerifierKey};
    let sealed = SealedPlace::new();
    let key = VerifierKey::parse(&sealed.key).unwrap();
    for record_id in [PRESENT, ABSENT] {
        let receipt = sealed.receipt(record_id);
        let verdict = |document: &Value| {
            Receipt::parse(document.to_string().as_bytes())
                .map_err(|error| error.to_string())?
                .verify(&key)
        };
        assert_eq!(
            verdict(&receipt).map(|proven| proven.is_present),
            Ok(record_id == PRESENT)
        );
        let changes = changes(&receipt);
        assert!(changes.len() > 30, "{}", changes.len());
        // Another id between the same neighbours is equally absent.
        let says_nothing = |place: &str| record_id == ABSENT && place == "/record_id";
        for (place, changed) in attacks(&receipt) {
            let parsed = Receipt::parse(changed.as_bytes()).map_err(|error| error.to_string());
            assert!(
                parsed.and_then(|receipt| receipt.verify(&key)).is_err(),
                "{record_id}: {place} was attacked and not detected: {changed}"
            );
        }
        for (place, changed) in changes.iter().filter(|(place, _)| !says_nothing(place)) {
            assert!(
                verdict(changed).is_err(),
                "{record_id}: {place} was changed and not detected: {changed:#}"
            );
        }
    }
}

/// A present record cannot be shown as absent by leaving out the evidence for it.
#[test]
fn present_record_cannot_be_hidden() {
    let sealed = SealedPlace::new();
    let present = sealed.receipt(PRESENT);
    let mut hidden = sealed.receipt(ABSENT);
    hidden["record_id"] = json!(PRESENT);
    let said = sealed.verified(&hidden);
    assert!(
        said["reason"]
            .as_str()
            .unwrap()
            .contains("is not shown to lack the record"),
        "{said}"
    );
    let mut without = present.clone();
    without["record"] = json!(null);
    assert_eq!(sealed.verified(&without)["is_valid"], false);
    let mut parts = sealed.receipt(ABSENT);
    parts["record_id"] = json!(PRESENT);
    parts["parts"].as_array_mut().unwrap().pop();
    assert!(
        sealed.verified(&parts)["reason"]
            .as_str()
            .unwrap()
            .contains("not all that could have the record")
    );
    assert_eq!(sealed.verified(&present)["is_valid"], true);
    // The caller chooses the id of an absent record; the report must not quote it as a statement
    // about another record.
    let sentence = format!("{PRESENT} is not in release r0; geo.zcta_metric:none:x");
    assert_eq!(
        sealed.verified(&sealed.receipt(&sentence))["proves"]["is_present"],
        false
    );
    let file = sealed.place.root().join("receipt.json");
    let reported = sealed
        .place
        .pubdata(&[
            "verify-receipt",
            file.to_str().unwrap(),
            "--key",
            &sealed.key,
        ])
        .expect(0)
        .stdout;
    assert!(
        reported.starts_with(&format!("valid: \"{sentence}\" is not in release ")),
        "{reported}"
    );
}

/// Parts by subject: for any id, the neighbours of the parts that could hold it prove that no other
/// such part exists.
#[test]
fn no_part_that_could_hold_a_record_can_be_left_out() {
    let sealed = SealedPlace::new();
    let release = sealed
        .place
        .home()
        .join("releases")
        .join(sealed.place.current());
    let seal: Value =
        serde_json::from_slice(&std::fs::read(release.join("records.json")).unwrap()).unwrap();
    let parts = seal["datasets"]["sec.filing"].as_array().unwrap();
    let ends: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["subjects_end"].as_str())
        .collect();
    // Last three digits of the fixtures' registrants.
    let registrants = [
        "001", "002", "003", "045", "056", "067", "110", "179", "193", "326", "617", "647", "730",
        "747", "785", "810", "950", "954",
    ];
    assert_eq!(ends, registrants);
    assert_eq!(ends.len(), parts.len());
    let expected: [(&str, &[&str]); 5] = [
        ("001", &["001", "002"]),
        ("056", &["045", "056", "067"]),
        ("057", &["056", "067"]),
        ("000", &["001"]),
        ("999", &["954"]),
    ];
    for (end, shown) in expected {
        let absent = format!("sec.filing:0009999{end}:0000000000-99-000000");
        let receipt = sealed.receipt(&absent);
        let of = |receipt: &Value| -> Vec<String> {
            receipt["parts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|proof| proof["part"]["subjects_end"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(of(&receipt), shown);
        let said = sealed.verified(&receipt);
        assert_eq!(
            (&said["is_valid"], &said["proves"]["is_present"]),
            (&json!(true), &json!(false)),
            "{said}"
        );
        for left_out in 0..shown.len() {
            let mut without = receipt.clone();
            without["parts"].as_array_mut().unwrap().remove(left_out);
            let reason = sealed.verified(&without)["reason"].take();
            assert!(
                reason
                    .as_str()
                    .unwrap()
                    .contains("not all that could have the record"),
                "{end}, {left_out}: {reason}"
            );
        }
    }
    // Parts shown for another subject do not cover this subject.
    let mut elsewhere = sealed.receipt("sec.filing:0009999045:0000000000-99-000000");
    elsewhere["record_id"] = json!("sec.filing:0009999001:0000000000-99-000000");
    assert_eq!(sealed.verified(&elsewhere)["is_valid"], false);
}
