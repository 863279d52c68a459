//! Runs the Python file that checks receipts without this program.

use std::process::Command;

use serde_json::{Value, json};

use crate::receipts::{SealedPlace, attacks};
use pubdata_testing::peers::python;
use pubdata_testing::project;

#[test]
fn python_alone_checks_receipts_of_all_kinds() {
    let Some(python) = python(&["cryptography"]) else {
        return;
    };
    let sealed = SealedPlace::new();
    let file = sealed.place.root().join("receipt.json");
    let text_verdict = |receipt: &str| {
        std::fs::write(&file, receipt).unwrap();
        // Runs in a folder and an environment without the program.
        let mut checked = Command::new(&python);
        checked
            .arg(project("clients/receipts/verify_receipt.py"))
            .arg(&file)
            .arg(&sealed.key)
            .env_clear()
            .current_dir("/");
        let output = checked.output().unwrap();
        (
            output.status.success(),
            format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
        )
    };
    let verdict = |receipt: &Value| text_verdict(&receipt.to_string());
    let manifest = sealed.place.manifest();
    for dataset in manifest["datasets"].as_object().unwrap().values() {
        let Some(record_id) = dataset["parts"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|part| part["key_range"][0].as_str())
        else {
            continue;
        };
        let (is_valid, said) = verdict(&sealed.receipt(record_id));
        assert!(
            is_valid && said.contains(&format!("'{record_id}' is in release ")),
            "{said}"
        );
        let absent = format!("{record_id}:no-such-record");
        let (is_valid, said) = verdict(&sealed.receipt(&absent));
        assert!(
            is_valid && said.contains(&format!("'{absent}' is not in release ")),
            "{said}"
        );
    }
    let receipt = sealed.receipt("geo.zcta_metric:2023:90210:population");
    let answer = json!({"data": receipt, "meta": {}});
    assert!(verdict(&answer).0, "an unchanged answer of the API");
    for (place, changed) in [
        ("/record/value", json!("19653")),
        ("/record/value", json!(19652)),
        ("/parts/0/leaves/0/inclusion_proof/0", json!("0".repeat(64))),
        ("/parts/0/part/records", json!("1")),
        ("/release/manifest_sha256", json!("0".repeat(64))),
        ("/log_index", json!(1)),
        (
            "/checkpoint",
            json!(receipt["checkpoint"].as_str().unwrap().replacen(
                "nightly\n1\n",
                "nightly\n2\n",
                1
            )),
        ),
        ("/record_id", json!("geo.zcta_metric:2023:90211:population")),
        ("/record", Value::Null),
    ] {
        let mut wrong = receipt.clone();
        *wrong.pointer_mut(place).unwrap() = changed;
        let (is_valid, said) = verdict(&wrong);
        assert!(
            !is_valid && said.contains("not valid: ") && said.trim().len() > 25,
            "{place}: {said}"
        );
    }
    let absent = sealed.receipt("geo.zcta_metric:2023:90211:population");
    for receipt in [&receipt, &absent] {
        for (place, changed) in attacks(receipt) {
            let said = text_verdict(&changed);
            assert!(
                !said.0 && said.1.contains("not valid: ") && !said.1.contains("Traceback"),
                "{place}: {said:?}"
            );
        }
    }
    // The caller chooses the id of an absence receipt.
    let spoken = "geo.zcta_metric:2023:90211:x\nvalid: geo.zcta_metric:2023:90210:population";
    let (is_valid, said) = verdict(&sealed.receipt(spoken));
    assert!(
        is_valid && said.lines().count() == 1 && said.contains("x\\nvalid"),
        "{said}"
    );
    let without_key = Command::new(&python)
        .arg(project("clients/receipts/verify_receipt.py"))
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&without_key.stderr)
            .contains("python verify_receipt.py RECEIPT.json KEY"),
        "{without_key:?}"
    );
}
