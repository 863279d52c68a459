use serde_json::{Value, json};

use crate::serve::records::world;

#[tokio::test]
async fn business_has_its_names_officers_and_addresses() {
    let world = world().await;
    let data = &world.ok("/v1/business/fl-a05").await["data"];
    let names = json!([
        {"name": "THE GARDEN CLUB, INC.", "type": "legal", "from": null, "to": null},
        {"name": "ROSE SOCIETY, INC.", "type": "former", "from": null, "to": null},
        {"name": "GREEN THUMBS", "type": "assumed", "from": null, "to": null},
    ]);
    assert_eq!(
        (&data["entity_id"], &data["names"]),
        (&json!("FL-A05"), &names)
    );
    let officer = json!({
        "name": "SMITH, JANE", "title": "president", "title_raw": "P", "type": "person", "record_id": "business.officer:FL-A05:1",
        "address": {"line1": null, "city": "TAMPA", "state": "FL", "zip": "33602"},
    });
    assert_eq!(data["officers"], json!([officer]));
    assert_eq!(
        (&data["addresses"], &data["registered_agent"]),
        (&json!([]), &Value::Null)
    );
    let data = &world.ok("/v1/business/NY-123").await["data"];
    let address = json!({
        "role": "service_of_process", "line1": "1 MAIN ST", "line2": null, "city": "ALBANY", "state": "NY", "zip": null, "zip4": null, "country": null, "raw": "1 MAIN ST, ALBANY, NY",
    });
    assert_eq!(
        (&data["addresses"], &data["identifiers"]),
        (
            &json!([address]),
            &json!([{"scheme": "state_entity_number", "value": "123"}])
        )
    );
    assert_eq!(data["provenance"]["record_id"], "business.entity:NY-123");
}

#[tokio::test]
async fn raw_cells_of_a_registry_are_shown_on_request() {
    let world = world().await;
    let plain = world.ok("/v1/business/NY-123").await;
    assert_eq!(
        (
            &plain["data"]["registry_url"],
            plain["data"].get("source_fields")
        ),
        (&json!("https://registry.example/123"), None)
    );
    let raw = world.ok("/v1/business/ny-123?include=raw").await;
    assert_eq!(
        raw["data"]["source_fields"],
        json!({"dos_id": "123", "current_entity_name": "ACME WIDGETS LLC ", "county": "\"Kings\""})
    );
    // A row of another part, and one in the middle of its part.
    assert_eq!(
        world.ok("/v1/business/FL-A05?include=raw").await["data"]["source_fields"],
        json!({})
    );
    assert_eq!(
        world.ok("/v1/business/FL-A05").await["data"]["registry_url"],
        Value::Null
    );
    for wrong in ["include=everything", "include=", "include=raw&include=raw"] {
        assert_eq!(
            world
                .get(&format!("/v1/business/NY-123?{wrong}"))
                .await
                .problem(),
            (400, "invalid_parameter".to_owned()),
            "{wrong}"
        );
    }
}
