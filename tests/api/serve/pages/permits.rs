//! Tests how a user finds the permits of a place.

use super::{attributes, browse, text};
use crate::serve::Served;

/// The page, and the numbers of the permits on it.
async fn permits(served: &Served, query: &str) -> (String, Vec<String>) {
    let answer = browse(
        &served.router,
        &format!("/permits{query}"),
        &format!("pubdata_key={}", served.key),
    )
    .await;
    let page = text(&answer);
    assert!(
        answer.status == 200 && answer.bytes.len() < 50 << 10,
        "{query}: {} {}",
        answer.status,
        answer.bytes.len()
    );
    let links = page
        .split("<tr><td><a class=\"nowrap\" href=\"/permit/")
        .skip(1);
    let numbers = links
        .map(|rest| {
            rest.split_once('>')
                .unwrap()
                .1
                .split('<')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    (page, numbers)
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_of_a_city_are_listed_and_filtered() {
    let served = Served::new().await;
    // The city's rows, newest date of issue first; rows of one day by number.
    let (page, numbers) = permits(&served, "?jurisdiction=us-tx-austin").await;
    let ordered = [
        "2007-115377 MP",
        "2007-115377 EP",
        "2007-115377 PP",
        "2007-115393 DS",
        "2007-115377 DS",
        "2007-115393 BP",
        "2007-115377 BP",
        "2007-115381 EP",
        "2007-115383 EP",
        "2007-103834 EP",
    ];
    assert_eq!(numbers, ordered);
    let row = page
        .split("<tr>")
        .find(|row| row.contains(">2007-115377 BP<"))
        .unwrap();
    let cells = [
        "<a href=\"/property/us-tx-austin:11436-flushwing-dr-78754\">11436 FLUSHWING DR, AUSTIN, TX 78754</a>",
        "Building<br>",
        "new 1 strory sf res w att garage and cov patio",
        "Inactive<br><span class=\"small soft\">Expired</span>",
        ">2007-04-20</td>",
        ">$102,795</td>",
    ];
    for cell in cells {
        assert!(row.contains(cell), "{cell}: {row}");
    }
    assert!(
        page.contains("10 permits, newest first") && !page.contains("rel=\"next\""),
        "{page}"
    );
    for (query, expected) in [
        (
            "jurisdiction=us-tx-austin&type=electrical&status=final",
            vec![
                "2007-115377 EP",
                "2007-115381 EP",
                "2007-115383 EP",
                "2007-103834 EP",
            ],
        ),
        (
            "jurisdiction=us-tx-austin&date_from=2007-05-29&date_to=2007-06-30",
            vec!["2007-115377 EP", "2007-115377 PP"],
        ),
        (
            "address=1209+Tamranae+Ct,+Austin,+TX&permit_number=",
            vec!["2007-103834 EP"],
        ),
        ("permit_number=2007-115393+bp", vec!["2007-115393 BP"]),
    ] {
        assert_eq!(
            permits(&served, &format!("?{query}")).await.1,
            expected,
            "{query}"
        );
    }
    // Nashville's list has application dates only.
    assert!(
        permits(&served, "?jurisdiction=us-tn-nashville")
            .await
            .0
            .contains("<td class=\"nowrap\" data-label=\"Date\"><span class=\"soft\">applied ")
    );
    // The filter uses the dates of the table.
    let (page, _) = permits(&served, "?jurisdiction=us-tx-austin&date_field=applied").await;
    let applied = &served
        .ok("/v1/permits/search?jurisdiction=us-tx-austin&date_field=applied")
        .await["data"][0];
    let day = format!(
        "data-label=\"Date\">{}</td>",
        applied["applied_date"].as_str().unwrap()
    );
    assert!(
        applied["applied_date"] != applied["issued_date"]
            && page.contains(&day)
            && page.contains("<th scope=\"col\">Applied</th>"),
        "{page}"
    );
    // The form keeps the entered values.
    let (page, _) = permits(
        &served,
        "?jurisdiction=us-tx-austin&type=electrical&date_from=2007-06-01",
    )
    .await;
    assert!(
        page.contains("<option value=\"electrical\" selected>Electrical</option>"),
        "{page}"
    );
    assert!(
        page.contains("value=\"us-tx-austin\" list=\"jurisdictions\"")
            && page.contains("value=\"2007-06-01\""),
        "{page}"
    );
    assert!(page.contains("/v1/permits/search?jurisdiction=us-tx-austin&amp;type=electrical&amp;date_from=2007-06-01'"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn city_is_found_by_its_name() {
    let served = Served::new().await;
    let (page, numbers) = permits(&served, "?jurisdiction=Austin,+TX").await;
    assert!(
        numbers.len() == 10 && page.contains("value=\"Austin, TX\" list=\"jurisdictions\""),
        "{page}"
    );
    assert!(
        page.contains("<option value=\"Austin, TX\"></option>"),
        "{page}"
    );
    assert_eq!(permits(&served, "?jurisdiction=austin").await.1, numbers);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_permits_continue_with_their_filters() {
    let served = Served::new().await;
    let (mut query, mut counts, mut seen) = (
        "?jurisdiction=us-tn-nashville&date_field=applied&date_from=1990-01-01".to_owned(),
        Vec::new(),
        Vec::new(),
    );
    loop {
        let (page, numbers) = permits(&served, &query).await;
        counts.push(numbers.len());
        seen.extend(numbers);
        let next = attributes(&page, "href")
            .into_iter()
            .find(|link| link.contains("cursor="));
        let Some(next) = next else { break };
        assert!(next.starts_with("/permits?jurisdiction=us-tn-nashville&date_field=applied&date_from=1990-01-01&cursor="), "{next}");
        query = next.trim_start_matches("/permits").to_owned();
    }
    assert_eq!(counts, [25, 25, 1]);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 51);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_permit_filters_are_explained_beside_the_form() {
    let served = Served::new().await;
    let (page, numbers) = permits(&served, "?jurisdiction=us-tx-austen").await;
    assert!(page.contains("role=\"alert\">Permits of <code>us-tx-austen</code> are not covered; did you mean <code>us-tx-austin</code>?"), "{page}");
    assert!(
        page.contains("value=\"us-tx-austen\"") && numbers.is_empty(),
        "{page}"
    );
    let (page, _) = permits(&served, "?type=%3Cb%3E").await;
    assert!(
        page.contains("role=\"alert\"")
            && page.contains("<option selected>&lt;b&gt;</option>")
            && !page.contains("<b>"),
        "{page}"
    );
    let (page, numbers) = permits(&served, "?contractor=smith").await;
    assert!(
        page.contains(
            "role=\"alert\">Enter a city or county, an address or a permit number as well"
        ) && numbers.is_empty(),
        "{page}"
    );
    let (page, numbers) = permits(&served, "?jurisdiction=us-tx-austin&type=garage").await;
    assert!(
        page.contains("role=\"alert\"") && numbers.is_empty(),
        "{page}"
    );
    let (page, _) = permits(&served, "?jurisdiction=us-tx-austin&date_from=2020-01-01").await;
    assert!(
        page.contains("No permit found.")
            && page.contains("us-tx-austin has permits from 2007-03-23 to 2007-07-17"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_of_a_city_are_linked_at_its_name() {
    let served = Served::new().await;
    let links = async |path: &str| {
        attributes(
            &text(&browse(&served.router, path, &format!("pubdata_key={}", served.key)).await),
            "href",
        )
    };
    let austin = "/permits?jurisdiction=us-tx-austin".to_owned();
    let places = [
        "/",
        "/permits",
        "/property/us-tx-austin:11436-flushwing-dr-78754",
        "/permit/us-tx-austin:2007-115377-BP",
    ];
    for place in places {
        assert!(links(place).await.contains(&austin), "{place}");
    }
    for dataset in ["permit.permit", "permit.contact"] {
        let links = links(&format!("/datasets/{dataset}?list=partitions")).await;
        assert!(
            links
                .iter()
                .any(|link| link.starts_with("/permits?jurisdiction=us-")),
            "{dataset}: {links:?}"
        );
    }
}
