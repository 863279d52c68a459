use serde_json::{Value, json};

use super::SealedPlace;

const PRESENT: &str = "geo.zcta_metric:2023:90210:population";
const ABSENT: &str = "geo.zcta_metric:2023:90211:population";

/// Every text, number and truth value of a document, changed in one place at a time.
fn changes(document: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(document, "", &mut places);
    let changed = |place: &String| {
        let mut copy = document.clone();
        let value = copy.pointer_mut(place).unwrap();
        *value = match value.take() {
            Value::String(text) if text.is_empty() => json!("x"),
            // The last letter but one: the last of a note is a line break, and of base64 may not count.
            Value::String(text) => {
                let at = text.char_indices().rev().nth(5.min(text.chars().count() - 1)).unwrap().0;
                let letter = text[at..].chars().next().unwrap();
                json!(format!("{}{}{}", &text[..at], if letter == '1' { '2' } else { '1' }, &text[at + letter.len_utf8()..]))
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
            fields.iter().for_each(|(name, field)| collect(field, &format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), places));
        }
        Value::Array(items) if !items.is_empty() => items.iter().enumerate().for_each(|(index, item)| collect(item, &format!("{place}/{index}"), places)),
        _ => places.push(place.to_owned()),
    }
}

/// Texts of a receipt that prove as much, and show more: a member added to every object, a member named twice, a hash or a number written otherwise, a
/// format nobody knows.
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
        let twice = object.to_string().replacen('{', &format!("{{{}:{value},", json!(name)), 1);
        attacks.push((format!("{place}: {name} is named twice"), receipt.to_string().replacen(&object.to_string(), &twice, 1)));
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
    change("/release/datasets", json!(format!("0{}", receipt["release"]["datasets"].as_str().unwrap())));
    let mut without = receipt.clone();
    without.as_object_mut().unwrap().remove("record");
    attacks.push(("without record".to_owned(), without.to_string()));
    attacks
}

fn collect_objects(value: &Value, place: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            places.push(place.to_owned());
            fields.iter().for_each(|(name, field)| collect_objects(field, &format!("{place}/{name}"), places));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| collect_objects(item, &format!("{place}/{index}"), places)),
        _ => {}
    }
}

/// What the verifier refuses after one change, with the receipt of a record and of one that is not there.
#[test]
fn one_change_anywhere_in_a_receipt_is_seen() {
    use pubdata::receipts::{Receipt, VerifierKey};
    let sealed = SealedPlace::new();
    let key = VerifierKey::parse(&sealed.key).unwrap();
    for record_id in [PRESENT, ABSENT] {
        let receipt = sealed.receipt(record_id);
        let verdict = |document: &Value| Receipt::parse(document.to_string().as_bytes()).map_err(|error| error.to_string())?.verify(&key);
        assert_eq!(verdict(&receipt).map(|proven| proven.is_present), Ok(record_id == PRESENT));
        let changes = changes(&receipt);
        assert!(changes.len() > 30, "{}", changes.len());
        // Of parts that are all shown the place is their order; another id between the same neighbours is as absent.
        let is_order =
            |place: &str| place.starts_with("/parts/") && !place.contains("/leaves/") && (place.ends_with("/index") || place.ends_with("/inclusion_proof"));
        let says_nothing = |place: &str| record_id == ABSENT && (place == "/record_id" || is_order(place));
        for (place, changed) in attacks(&receipt) {
            let parsed = Receipt::parse(changed.as_bytes()).map_err(|error| error.to_string());
            assert!(parsed.and_then(|receipt| receipt.verify(&key)).is_err(), "{record_id}: {place}, and nobody saw it: {changed}");
        }
        for (place, changed) in changes.iter().filter(|(place, _)| !says_nothing(place)) {
            assert!(verdict(changed).is_err(), "{record_id}: {place} was changed, and nobody saw it: {changed:#}");
        }
    }
}

/// A record that is there cannot be shown to be absent by leaving out what would show it.
#[test]
fn a_record_that_is_there_cannot_be_hidden() {
    let sealed = SealedPlace::new();
    let present = sealed.receipt(PRESENT);
    let mut hidden = sealed.receipt(ABSENT);
    hidden["record_id"] = json!(PRESENT);
    let said = sealed.verified(&hidden);
    assert!(said["reason"].as_str().unwrap().contains("is not shown to lack the record"), "{said}");
    let mut without = present.clone();
    without["record"] = json!(null);
    assert_eq!(sealed.verified(&without)["is_valid"], false);
    let mut parts = sealed.receipt(ABSENT);
    parts["record_id"] = json!(PRESENT);
    parts["parts"].as_array_mut().unwrap().pop();
    assert!(sealed.verified(&parts)["reason"].as_str().unwrap().contains("not all of the dataset's"));
    assert_eq!(sealed.verified(&present)["is_valid"], true);
}
