use serde_json::Value;

use crate::serve::World;
use crate::serve::records::world;

async fn found(world: &World, query: &str) -> Vec<(String, String)> {
    let answer = world.ok(&format!("/v1/license/search?{query}")).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(&item["license_id"]), text(&item["match"]["type"])))
        .collect()
}

#[tokio::test]
async fn persons_are_found_in_either_order_by_their_last_name_only() {
    let world = world().await;
    let hit = |id: &str, matched: &str| (format!("TX-tdlr-{id}"), matched.to_owned());
    // Two persons have first and last names swapped: both match, the one with the queried order
    // comes first.
    assert_eq!(
        found(&world, "name=John%20Smith").await,
        [hit("ba-2001", "normalized"), hit("ba-1094", "prefix")]
    );
    assert_eq!(
        found(&world, "name=Smith,%20John%20A").await[0],
        hit("ba-1094", "exact")
    );
    assert_eq!(
        found(&world, "name=John%20A%20Smith").await[0],
        hit("ba-1094", "normalized")
    );
    assert_eq!(
        found(&world, "name=J.A.%20Smith").await[0],
        hit("ba-1094", "prefix")
    );
    assert_eq!(
        found(&world, "name=Mary%20Smith").await,
        [hit("ba-2000", "normalized")]
    );
    assert_eq!(
        found(&world, "name=Ana%20OBrien%20Lopez").await,
        [hit("ba-2002", "normalized")]
    );
    assert_eq!(found(&world, "name=Mary").await, []);
    assert_eq!(found(&world, "name=Mary%20Jones").await, []);
}

#[tokio::test]
async fn businesses_are_found_by_all_their_names_and_filters() {
    let world = world().await;
    let hit = |id: &str, matched: &str| (id.to_owned(), matched.to_owned());
    assert_eq!(
        found(&world, "name=sparkys").await,
        [
            hit("TX-tdlr-el-3000", "dba"),
            hit("TX-tdlr-el-1094", "misspelled")
        ]
    );
    assert_eq!(
        found(&world, "name=jane%20doe").await,
        [hit("WA-lni-SERVPG*892PL", "principal")]
    );
    assert_eq!(
        found(&world, "name=CC%20and%20R").await,
        [hit("WA-lni-CCR**R*931JF", "normalized")]
    );
    // A person's license under the name of the business is found by both names.
    assert_eq!(
        found(&world, "name=tight%20pipes%20plumbing").await,
        [hit("WA-lni-ROEPL*1", "exact")]
    );
    assert_eq!(
        found(&world, "name=richard%20roe").await,
        [
            hit("WA-lni-ma-4000", "normalized"),
            hit("WA-lni-ROEPL*1", "principal")
        ]
    );
    assert_eq!(
        found(&world, "name=brigth%20sparks").await,
        [hit("TX-tdlr-el-1094", "misspelled")]
    );
    assert_eq!(
        found(&world, "name=bright%20sparks&city=Austin&zip=78701&status=active&profession=electrician&holder_type=organization&state=TX").await.len(),
        1
    );
    for none in [
        "city=Dallas",
        "zip=78702",
        "status=expired",
        "profession=barber",
        "holder_type=person",
        "state=WA",
    ] {
        assert_eq!(
            found(&world, &format!("name=bright%20sparks&{none}")).await,
            [],
            "{none}"
        );
    }
    let problem = async |query: &str| {
        world
            .get(&format!("/v1/license/search?{query}"))
            .await
            .problem()
    };
    assert_eq!(problem("").await, (400, "missing_parameter".to_owned()));
    assert_eq!(
        problem("name=smith&state=CA").await,
        (404, "coverage_unavailable".to_owned())
    );
}
