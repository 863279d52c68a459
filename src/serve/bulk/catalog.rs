//! Answers `GET /v1/catalog.json` with all datasets of a release as a DCAT-US 3.0 catalog, which
//! portals such as data.gov harvest.

use schemars::JsonSchema;
use serde::Serialize;

use super::datasets::family;
use super::query;
use crate::answer::Sha256;
use crate::contact::Contact;
use crate::dataset_summary::{
    Origin, day_of, description, licences, newest_date, period, tasks_of, title,
};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE};
use crate::http::problem::Result;
use crate::http::response::{CSV, PARQUET};
use crate::json::Json;
use pubdata_core::contract::Contract;
use pubdata_store::DatasetEntry;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/catalog.json",
    operation_id: "getCatalog",
    summary: "All datasets as a DCAT-US 3.0 catalog",
    access: Access::Everyone,
    parameters: &[RELEASE, AS_OF],
    body: None,
    data: Data::for_type::<Catalog<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Document(list),
};

#[derive(Serialize, JsonSchema)]
struct Catalog<'a> {
    /// URL of the catalog.
    #[serde(rename = "@id")]
    id: String,
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Catalog"))]
    node_type: &'static str,
    /// Standard that the catalog follows.
    #[serde(rename = "conformsTo")]
    conforms_to: DcatStandard,
    /// Name of the catalog.
    title: &'static str,
    /// Description of the catalog, with the release.
    description: String,
    /// Language of the descriptions: `en`.
    language: Vec<&'static str>,
    /// Day on which the release was published.
    #[schemars(extend("format" = "date"))]
    modified: &'a str,
    /// Web page that lists the datasets.
    homepage: DcatDocument<'a>,
    /// Contact of the server's operator; empty if the operator names none (`--contact`).
    #[serde(rename = "contactPoint")]
    contact_point: Vec<DcatContact<'a>>,
    /// The datasets of the release.
    dataset: Vec<DcatDataset<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DcatStandard {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Standard"))]
    node_type: &'static str,
    /// Name of the standard.
    title: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct DcatDocument<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Document"))]
    node_type: &'static str,
    /// Title of the page.
    title: &'a str,
    /// URL of the page.
    #[serde(rename = "accessURL")]
    access_url: String,
}

#[derive(Clone, Serialize, JsonSchema)]
struct DcatContact<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Kind"))]
    node_type: &'static str,
    /// Name of the person or office to write to.
    #[serde(rename = "fn")]
    name: &'a str,
    /// E-mail address of the contact, as a `mailto:` URL.
    #[serde(rename = "hasEmail")]
    email: String,
}

#[derive(Serialize, JsonSchema)]
struct DcatDataset<'a> {
    /// URL of the dataset in the API.
    #[serde(rename = "@id")]
    id: String,
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Dataset"))]
    node_type: &'static str,
    /// Identifier of the dataset.
    identifier: DcatIdentifier<'a>,
    /// Name of the dataset.
    title: &'a str,
    /// Meaning of one row, and the known limits.
    description: String,
    /// Version of the contract, followed by `+` and the release.
    version: String,
    /// Date of the newest source file; null if no file has a date.
    #[schemars(extend("format" = "date"))]
    modified: Option<String>,
    /// Publishers of the source files, as one organization.
    publisher: DcatOrganization,
    /// Publishers of the source files, individually.
    #[serde(rename = "wasAttributedTo")]
    attributed_to: Vec<DcatAgent>,
    /// Language of the descriptions: `en`.
    language: Vec<&'static str>,
    /// Keywords: the dataset's family.
    keyword: Vec<&'a str>,
    /// Web page of the dataset.
    #[serde(rename = "landingPage")]
    landing_page: DcatDocument<'a>,
    /// Time between editions, as a word or an ISO 8601 interval; null if the release describes no
    /// build.
    #[serde(rename = "accrualPeriodicity")]
    accrual_periodicity: Option<String>,
    /// Period that the data cover; empty if the partitions name no years.
    temporal: Vec<DcatPeriod>,
    /// How to get access to the files.
    #[serde(rename = "accessRights")]
    access_rights: &'static str,
    /// Licences under which the publishers release the files.
    rights: Vec<&'a str>,
    /// Credit line: source, homepage and licence.
    provenance: Vec<String>,
    /// Homepages of the sources.
    relation: Vec<String>,
    /// Document that describes columns, rules and known limits.
    #[serde(rename = "describedBy")]
    described_by: DcatLink,
    /// The same dataset as a Croissant document.
    #[serde(rename = "metadataDistribution")]
    metadata_distribution: Vec<DcatLink>,
    /// Files of the dataset by format.
    distribution: Vec<DcatDistribution<'a>>,
    /// Contact of the server's operator; empty if the operator names none.
    #[serde(rename = "contactPoint")]
    contact_point: Vec<DcatContact<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DcatIdentifier<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Identifier"))]
    node_type: &'static str,
    /// Identifier of the dataset, such as `permit.permit`.
    notation: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct DcatOrganization {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Organization"))]
    node_type: &'static str,
    /// Name of the publisher; several publishers are joined with `; `.
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct DcatAgent {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Agent"))]
    node_type: &'static str,
    /// Name of the publisher.
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct DcatPeriod {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "PeriodOfTime"))]
    node_type: &'static str,
    /// First day that the data cover.
    #[serde(rename = "startDate")]
    #[schemars(extend("format" = "date"))]
    start_date: String,
    /// Last day that the data cover.
    #[serde(rename = "endDate")]
    #[schemars(extend("format" = "date"))]
    end_date: String,
}

#[derive(Serialize, JsonSchema)]
struct DcatLink {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Distribution"))]
    node_type: &'static str,
    /// Title of the document.
    title: &'static str,
    /// URL of the document.
    #[serde(rename = "downloadURL")]
    download_url: String,
    /// Media type of the document.
    #[serde(rename = "mediaType")]
    media_type: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct DcatDistribution<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Distribution"))]
    node_type: &'static str,
    /// Name of the distribution: `Parquet` or `CSV`.
    title: &'static str,
    /// Name of the file format.
    format: &'static str,
    /// Media type of the files.
    #[serde(rename = "mediaType")]
    media_type: &'static str,
    /// URL that lists the parts with their digests.
    #[serde(rename = "accessURL")]
    access_url: String,
    /// Licence of the source files; several are joined with `; `.
    license: String,
    /// How to get access to the files.
    #[serde(rename = "accessRights")]
    access_rights: &'static str,
    /// Day on which the release was published.
    #[schemars(extend("format" = "date"))]
    issued: &'a str,
    /// Contents of the distribution, such as the number of records and files.
    description: String,
    /// Total size of the files in bytes, as a decimal string; absent for tables that are generated
    /// on request.
    #[serde(rename = "byteSize")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    byte_size: Option<String>,
    /// URL of the file; absent if the dataset has several files.
    #[serde(rename = "downloadURL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    download_url: Option<String>,
    /// Digest of the file; absent if the dataset has several files or the table is generated on
    /// request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DcatChecksum")]
    checksum: Option<DcatChecksum>,
}

#[derive(Serialize, JsonSchema)]
struct DcatChecksum {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "Checksum"))]
    node_type: &'static str,
    /// Algorithm of the digest.
    #[schemars(extend("const" = "SHA-256"))]
    algorithm: &'static str,
    /// SHA-256 digest of the file, in hexadecimal.
    #[serde(rename = "checksumValue")]
    value: Sha256,
}

/// Access rights of the files, for readers of the catalog.
pub const ACCESS: &str = "Files are downloaded with an API key of this server.";

/// Title of the catalog.
pub const CATALOG_TITLE: &str = "Public Data Lookup Service";

fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let manifest = &call.release.manifest;
    let contact = call
        .service
        .settings
        .contact
        .as_deref()
        .and_then(Contact::parse);
    let contact = contact.map(|Contact { name, address }| DcatContact {
        node_type: "Kind",
        name,
        email: format!("mailto:{address}"),
    });
    let contact: Vec<DcatContact<'_>> = contact.into_iter().collect();
    json.value(&Catalog {
        id: format!("{}/v1/catalog.json{}", call.service.own_url(), query::release_query(call)),
        node_type: "Catalog",
        conforms_to: DcatStandard { node_type: "Standard", title: "DCAT-US 3.0" },
        title: CATALOG_TITLE,
        description: format!(
            "Public data of many publishers as immutable releases, with a source for every figure down to the publisher's bytes. Release {}.",
            manifest.release_id
        ),
        language: vec!["en"],
        modified: day_of(manifest),
        homepage: DcatDocument::new(call, CATALOG_TITLE, "/datasets"),
        dataset: manifest.datasets.iter().map(|(dataset_id, dataset)| DcatDataset::new(call, (dataset_id, dataset), &contact)).collect(),
        contact_point: contact,
    });
    Ok(Meta::default())
}

impl<'a> DcatDocument<'a> {
    fn new(call: &Call<'_>, title: &'a str, path: &str) -> Self {
        Self {
            node_type: "Document",
            title,
            access_url: call.service.address_of(path),
        }
    }
}

impl<'a> DcatDataset<'a> {
    fn new(
        call: &'a Call<'_>,
        (dataset_id, dataset): (&'a str, &'a DatasetEntry),
        contact: &[DcatContact<'a>],
    ) -> Self {
        let (manifest, contract) = (&call.release.manifest, call.contracts().get(dataset_id));
        let tasks = tasks_of(manifest, dataset);
        let (origin, address) = (
            Origin::from_tasks(&tasks),
            format!("{}/v1/datasets/{dataset_id}", call.service.own_url()),
        );
        // Links in an earlier release's catalog must lead to that release.
        let of_release = query::release_query(call);
        let link = |title, path: &str| DcatLink {
            node_type: "Distribution",
            title,
            download_url: format!("{address}{path}{of_release}"),
            media_type: "application/json",
        };
        let agent = |name: &str| DcatAgent {
            node_type: "Agent",
            name: name.to_owned(),
        };
        let period = period(dataset).map(|(start_date, end_date)| DcatPeriod {
            node_type: "PeriodOfTime",
            start_date,
            end_date,
        });
        Self {
            node_type: "Dataset",
            identifier: DcatIdentifier {
                node_type: "Identifier",
                notation: dataset_id,
            },
            title: title(dataset_id, contract),
            description: description(manifest, dataset_id, contract),
            version: format!("{}+{}", dataset.schema_version, manifest.release_id),
            modified: newest_date(manifest, &dataset.parts),
            // The standard requires one publishing organization; `attributed_to` names each
            // publisher.
            publisher: DcatOrganization {
                node_type: "Organization",
                name: origin.publisher.clone(),
            },
            attributed_to: Origin::each(&origin.publisher)
                .into_iter()
                .map(agent)
                .collect(),
            language: vec!["en"],
            keyword: vec![family(dataset_id)],
            landing_page: DcatDocument::new(
                call,
                title(dataset_id, contract),
                &format!("/datasets/{dataset_id}"),
            ),
            accrual_periodicity: tasks
                .iter()
                .map(|task| task.cadence_days)
                .min()
                .map(periodicity),
            temporal: period.into_iter().collect(),
            access_rights: ACCESS,
            rights: licences(&tasks).into_iter().collect(),
            provenance: vec![origin.credit()],
            relation: Origin::each(&origin.homepage)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            described_by: link("Columns, rules and known limits", ""),
            metadata_distribution: vec![link("Croissant 1.1", "/croissant.json")],
            distribution: DcatDistribution::all(call, (dataset_id, dataset), contract, &origin),
            contact_point: contact.to_vec(),
            id: address,
        }
    }
}

impl<'a> DcatDistribution<'a> {
    /// Returns the Parquet distribution, whose access URL lists the parts with their digests, and
    /// the CSV distribution with all rows. A single Parquet part also gets a download URL.
    fn all(
        call: &'a Call<'_>,
        (dataset_id, dataset): (&str, &DatasetEntry),
        contract: Option<&Contract>,
        origin: &Origin,
    ) -> Vec<Self> {
        let manifest = &call.release.manifest;
        let address = format!(
            "{}/v1/releases/{}/datasets/{dataset_id}",
            call.service.own_url(),
            manifest.release_id
        );
        let of = |name, media_type, description| Self {
            node_type: "Distribution",
            title: name,
            format: name,
            media_type,
            access_url: address.clone(),
            license: origin.licence.clone(),
            access_rights: ACCESS,
            issued: day_of(manifest),
            description,
            byte_size: None,
            download_url: None,
            checksum: None,
        };
        let rows: u64 = dataset.parts.iter().map(|part| part.rows).sum();
        let size_bytes: u64 = dataset.parts.iter().map(|part| part.size_bytes).sum();
        let mut parquet = of(
            "Parquet",
            PARQUET,
            format!("{rows} records in {} files", dataset.parts.len()),
        );
        parquet.byte_size = Some(size_bytes.to_string());
        if let [part] = dataset.parts.as_slice() {
            parquet.download_url = Some(format!("{address}?format=parquet&part={}", part.sha256));
            parquet.checksum = Some(DcatChecksum {
                node_type: "Checksum",
                algorithm: "SHA-256",
                value: Sha256(part.sha256),
            });
        }
        let csv = contract.map(|_| Self {
            download_url: Some(format!("{address}?format=csv")),
            ..of(
                "CSV",
                CSV,
                "All records as one CSV table, without the pointers to the publishers' bytes"
                    .to_owned(),
            )
        });
        std::iter::once(parquet).chain(csv).collect()
    }
}

/// Returns the standard's word for the number of days between two editions, or an ISO 8601 interval
/// if the standard has no word.
fn periodicity(days: i64) -> String {
    let word = match days {
        1 => "daily",
        7 => "weekly",
        28..=31 => "monthly",
        90..=92 => "quarterly",
        365 | 366 => "annual",
        _ => return format!("R/P{days}D"),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::periodicity;

    #[test]
    fn days_between_editions_are_a_word_or_an_interval() {
        let words = [1, 7, 31, 92, 366, 10, 730].map(periodicity);
        assert_eq!(
            words,
            [
                "daily",
                "weekly",
                "monthly",
                "quarterly",
                "annual",
                "R/P10D",
                "R/P730D"
            ]
        );
    }
}
