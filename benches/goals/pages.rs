use serde_json::Value;

use crate::Result;
use crate::corpus;
use crate::http::{Answer, Client, Server, key_header, serve};
use crate::measure::{Figures, seconds};

const ROUNDS: usize = 40;

/// Unit of the processor time that the system reports for a process (USER_HZ, 100 per second on
/// every Linux).
const TICKS_PER_MILLISECOND: f64 = 0.1;

/// One page of each kind in the mirror's release: the company with the longest history, and a
/// property with the most permits.
const PAGES: [(&str, &str); 38] = [
    ("start", "/"),
    ("search", "/search?q=beverly"),
    ("ZIP code", "/zip/90210"),
    ("county", "/county/06037"),
    ("state", "/state/CA"),
    ("two areas", "/compare?areas=90210,95120"),
    ("company", "/company/320193"),
    ("company, quarterly", "/company/320193?period=quarterly"),
    ("statements", "/company/320193/statements"),
    (
        "statements, quarterly",
        "/company/320193/statements?period=quarterly",
    ),
    ("filings", "/company/1324424/filings"),
    ("search of a company", "/search?q=AAPL"),
    ("business", "/business/FL-L23000448575"),
    ("license", "/license/CA-cslb-1000002"),
    ("permit", "/permit/us-ca-los_angeles:14043-10000-01384"),
    (
        "property, 63 permits",
        "/property/us-tn-nashville:parcel-07102013600",
    ),
    ("sales tax of a ZIP code", "/tax?zip=55401&date=2019-01-15"),
    (
        "sales tax of a sale",
        "/tax?zip=55401&date=2019-01-15&amount=49.95&shipping=5",
    ),
    (
        "trace: figure",
        "/records/geo.zcta_metric:2023:90210:population",
    ),
    (
        "trace: school in an archive",
        "/records/geo.school:010000500870",
    ),
    (
        "trace: company's figure",
        "/records/sec.financial_value:0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-238044",
    ),
    (
        "trace: filing",
        "/records/sec.filing:0000320193:0001181431-15-004545",
    ),
    (
        "trace: concept",
        "/records/sec.concept:dei:2014-01-31:AccountingAddressMember",
    ),
    (
        "trace: business",
        "/records/business.entity:FL-L23000448575",
    ),
    (
        "trace: officer",
        "/records/business.officer:FL-L23000448575:1",
    ),
    ("trace: license", "/records/license.license:CA-cslb-1000002"),
    (
        "trace: permit",
        "/records/permit.permit:us-ca-los_angeles:14043-10000-01384",
    ),
    (
        "trace: party of a permit",
        "/records/permit.contact:us-ca-los_angeles:14043-10000-01384:1",
    ),
    (
        "trace: license of a permit",
        "/records/permit.license_link:us-ny-nyc:121209600-05-31-2023-NB:1",
    ),
    (
        "trace: tax rate",
        "/records/tax.rate:CA:county:003:2017-01-01",
    ),
    (
        "trace: tax boundary",
        "/records/tax.boundary:MN:4~2019-01-01~55049~0001~55049~0480~27~147",
    ),
    ("trace: ZIP code", "/records/zip.zip:00501"),
    ("status", "/status"),
    ("datasets", "/datasets"),
    ("releases", "/releases"),
    ("documentation", "/docs"),
    ("an endpoint", "/docs/getLocation"),
    ("a guide", "/docs/guides/start"),
];

/// Measures, over one connection, the server's response time, its processor time and the size of
/// each kind of page and of each dataset's page.
pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    let key = key_header(&home)?;
    let (_, value) = key.trim_end().split_once(": ").unwrap_or_default();
    let cookie = format!(
        "Cookie: pubdata_key={}; pubdata_form=0123456789abcdef0123456789abcdef\r\n",
        value.trim_start_matches("Bearer ")
    );
    let server = serve(&home, None, &[])?;
    let mut client = Client::connect(&server.address)?;
    for (kind, path) in PAGES {
        measure(&server, &mut client, &cookie, kind, path)?;
    }
    let listed: Value = serde_json::from_slice(&client.get("/v1/datasets", &key)?.body)?;
    let datasets = listed["data"]["datasets"]
        .as_array()
        .filter(|datasets| !datasets.is_empty())
        .ok_or("`/v1/datasets` lists none")?;
    for id in datasets
        .iter()
        .filter_map(|dataset| dataset["dataset_id"].as_str())
    {
        measure(
            &server,
            &mut client,
            &cookie,
            id,
            &format!("/datasets/{id}"),
        )?;
    }
    Ok(())
}

/// Requests a page repeatedly and prints its figures.
fn measure(
    server: &Server,
    client: &mut Client,
    cookie: &str,
    kind: &str,
    path: &str,
) -> Result<()> {
    // The first answer is not counted: it reads files of the release.
    let bytes = page(client, cookie, path)?.body.len();
    let (mut samples, started) = (Vec::new(), server.ticks()?);
    for _ in 0..ROUNDS {
        samples.push(seconds(|| page(client, cookie, path))?.0 * 1e3);
    }
    let processor = (server.ticks()? - started) / TICKS_PER_MILLISECOND / ROUNDS as f64;
    println!(
        "    {kind:<28} {}, processor {processor:.2} ms, {:.1} KB",
        Figures::new(samples, " ms"),
        bytes as f64 / 1e3
    );
    Ok(())
}

fn page(client: &mut Client, cookie: &str, path: &str) -> Result<Answer> {
    let answer = client.get(path, cookie)?;
    if answer.status != 200 {
        return Err(format!(
            "{path}: status {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        )
        .into());
    }
    Ok(answer)
}
