//! Answers `GET /v1/datasets/{dataset_id}/croissant.json` with a Croissant 1.1 (MLCommons) document
//! in schema.org terms. The document lists each part with its digest and URL, and the meaning of
//! each column. The dataset's page embeds the fields that search engines read.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::catalog::{ACCESS, CATALOG_TITLE};
use super::datasets::family;
use super::query;
use super::table;
use crate::answer::{Instant, Sha256};
use crate::dataset_summary::{
    Origin, citation, day_of, description, licences, newest_date, period, tasks_of, title,
};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE};
use crate::http::problem::Result;
use crate::http::response::PARQUET;
use crate::json::Json;
use pubdata_core::contract::{Column, Contract, Physical};
use pubdata_core::ids::licence_address;
use pubdata_store::{DatasetEntry, Part};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/datasets/{dataset_id}/croissant.json",
    operation_id: "getCroissant",
    summary: "A dataset as a Croissant 1.1 document (JSON-LD)",
    access: Access::Everyone,
    parameters: &[RELEASE, AS_OF],
    body: None,
    data: Data::for_type::<Croissant<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::LinkedData(describe),
};

/// Context that the standard prescribes, and the version of the standard. These are the first
/// fields of every document.
const HEAD: &str = include_str!("croissant_head.json");

/// Parquet media type that Croissant readers use. The official media type was registered later.
const PARQUET_OF_CROISSANT: &str = "application/x-parquet";

/// Ids of the set of all parts and of the set's rows.
const PARTS: &str = "parts";
const RECORDS: &str = "records";

#[derive(Serialize, JsonSchema)]
#[schemars(transform = with_head)]
struct Croissant<'a> {
    /// Name of the dataset.
    name: &'a str,
    /// Meaning of one row, and the known limits.
    description: String,
    /// Identifier of the dataset, such as `permit.permit`.
    identifier: &'a str,
    /// URL of the dataset's page on this server.
    url: String,
    /// Version of the contract, followed by `+` and the release.
    version: String,
    /// Time at which the release was published, RFC 3339 UTC.
    #[serde(rename = "datePublished")]
    #[schemars(extend("format" = "date-time"))]
    date_published: Instant<'a>,
    /// Date of the newest source file, or of the release if no file has a date.
    #[serde(rename = "dateModified")]
    #[schemars(extend("format" = "date"))]
    date_modified: String,
    /// Keywords: the dataset's family.
    keywords: Vec<&'a str>,
    /// Language of the descriptions: `en`.
    #[serde(rename = "inLanguage")]
    in_language: &'static str,
    /// Licences of the source files.
    license: Vec<NamedWork<'a>>,
    /// Publishers of the source files.
    creator: Vec<NamedOrganization>,
    /// Homepages of the sources.
    #[serde(rename = "isBasedOn")]
    based_on: Vec<String>,
    /// Credit line for works that use the data.
    #[serde(rename = "creditText")]
    credit_text: String,
    /// Citation of the data as a source.
    #[serde(rename = "citeAs")]
    cite_as: String,
    /// How to get access to the files.
    #[serde(rename = "conditionsOfAccess")]
    conditions_of_access: &'static str,
    /// First and last day that the data cover; absent if the partitions name no years.
    #[serde(rename = "temporalCoverage")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    temporal_coverage: Option<String>,
    /// Catalog of all datasets of the release.
    #[serde(rename = "includedInDataCatalog")]
    catalog: NamedCatalog,
    /// Parts of the dataset; if the dataset has several parts, also the set of all parts.
    distribution: Vec<CroissantFile<'a>>,
    /// Records of the dataset; empty if this server has no contract for it.
    #[serde(rename = "recordSet")]
    record_set: Vec<CroissantRecordSet<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct NamedWork<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "sc:CreativeWork"))]
    node_type: &'static str,
    /// Name or text of the licence.
    name: &'a str,
    /// URL of the licence text; absent if the licence is not a standard one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&str")]
    url: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
struct NamedOrganization {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "sc:Organization"))]
    node_type: &'static str,
    /// Name of the publisher.
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct NamedCatalog {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "sc:DataCatalog"))]
    node_type: &'static str,
    /// Name of the catalog.
    name: &'static str,
    /// URL of the catalog.
    url: String,
}

#[derive(Serialize, JsonSchema)]
struct CroissantFile<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("enum" = ["cr:FileObject", "cr:FileSet"]))]
    node_type: &'static str,
    /// Path of a part below the release, which a copy should use as its file name; for the set of
    /// parts, the set's id.
    #[serde(rename = "@id")]
    id: &'a str,
    /// Name of the file or of the set of files.
    name: &'a str,
    /// Number of records in the file, or what the set contains.
    description: String,
    /// URL from which the file is downloaded with a key; absent for a set.
    #[serde(rename = "contentUrl")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content_url: Option<String>,
    /// Size of the file with its unit, such as `1024 B`; absent for a set.
    #[serde(rename = "contentSize")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content_size: Option<String>,
    /// Parquet media types: the one that Croissant readers use, and the registered one.
    #[serde(rename = "encodingFormat")]
    encoding_format: Vec<&'static str>,
    /// SHA-256 digest of the file, in hexadecimal; absent for a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sha256")]
    sha256: Option<Sha256>,
    /// Paths of the parts relative to this document; absent for a single file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    includes: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct CroissantRecordSet<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "cr:RecordSet"))]
    node_type: &'static str,
    /// Identifier of the record set in the document.
    #[serde(rename = "@id")]
    id: &'static str,
    /// Name of the record set.
    name: &'static str,
    /// Meaning of one row, and the columns that are omitted.
    description: String,
    /// Fields that together identify a row.
    key: Vec<CroissantReference>,
    /// Columns of the dataset, without the pointers to source bytes.
    field: Vec<CroissantField<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CroissantField<'a> {
    /// Type of the node in the standard's vocabulary.
    #[serde(rename = "@type")]
    #[schemars(extend("const" = "cr:Field"))]
    node_type: &'static str,
    /// Identifier of the field in the document.
    #[serde(rename = "@id")]
    id: String,
    /// Name of the column.
    name: &'a str,
    /// Meaning of the column.
    description: &'a str,
    /// Type of the values. Exact decimals are `sc:Float`, because the standard has no decimal type.
    #[serde(rename = "dataType")]
    #[schemars(extend("enum" = ["sc:Text", "cr:Int32", "cr:Int64", "cr:Float64", "sc:Boolean", "sc:Date", "sc:Float"]))]
    data_type: &'static str,
    /// True if the column holds lists; absent otherwise.
    #[serde(rename = "isArray")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    is_array: Option<bool>,
    /// Shape of the lists: `-1` means one dimension of any length; absent if the column holds no
    /// lists.
    #[serde(rename = "arrayShape")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&str")]
    array_shape: Option<&'static str>,
    /// Files and column that the field is read from.
    source: CroissantSource<'a>,
}

#[derive(Serialize, JsonSchema)]
struct CroissantSource<'a> {
    /// The file, if the dataset has only one; otherwise absent.
    #[serde(rename = "fileObject")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CroissantReference")]
    file_object: Option<CroissantReference>,
    /// The set of files, if the dataset has several; otherwise absent.
    #[serde(rename = "fileSet")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CroissantReference")]
    file_set: Option<CroissantReference>,
    /// Column that the values are taken from.
    extract: CroissantExtract<'a>,
}

#[derive(Serialize, JsonSchema)]
struct CroissantReference {
    /// Identifier of another node of the document.
    #[serde(rename = "@id")]
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct CroissantExtract<'a> {
    /// Name of the column in the file.
    column: &'a str,
}

/// Adds the fields of [`HEAD`] to the schema.
fn with_head(schema: &mut Schema) {
    let head: Value = serde_json::from_str(HEAD).expect("the head is JSON");
    let terms = json!({"type": ["string", "object"], "additionalProperties": {"type": "string"}});
    let members = [
        (
            "@context",
            json!({"type": "object", "description": "The terms of the standard.", "additionalProperties": terms}),
        ),
        (
            "@type",
            json!({"type": "string", "const": head["@type"], "description": "Type of the node in the standard's vocabulary."}),
        ),
        (
            "conformsTo",
            json!({"type": "string", "const": head["conformsTo"], "description": "URL of the version of the standard that the document follows."}),
        ),
    ];
    for (at, (name, member)) in members.into_iter().enumerate() {
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.insert(at, json!(name));
        }
        schema.ensure_object()["properties"][name] = member;
    }
}

fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (manifest, dataset_id) = (&call.release.manifest, call.path_value("dataset_id"));
    let dataset = query::dataset(manifest, "dataset_id", dataset_id)?;
    json.object(|json| {
        // The standard prescribes the exact text, including blanks.
        json.raw(HEAD.trim_matches(['{', '}', ' ', '\n']));
        json.members(&Croissant::new(call, dataset_id, dataset));
    });
    Ok(Meta::default())
}

impl<'a> Croissant<'a> {
    fn new(call: &'a Call<'_>, dataset_id: &'a str, dataset: &'a DatasetEntry) -> Self {
        let (manifest, contract) = (&call.release.manifest, call.contracts().get(dataset_id));
        let tasks = tasks_of(manifest, dataset);
        let origin = Origin::from_tasks(&tasks);
        let work = |name: &'a str| NamedWork {
            node_type: "sc:CreativeWork",
            name,
            url: licence_address(name),
        };
        let organization = |name: &str| NamedOrganization {
            node_type: "sc:Organization",
            name: name.to_owned(),
        };
        Self {
            name: title(dataset_id, contract),
            description: description(manifest, dataset_id, contract),
            identifier: dataset_id,
            url: call.service.address_of(&format!("/datasets/{dataset_id}")),
            // A semantic version with the release as build metadata. The contract version defines
            // what readers can rely on, and the release identifies the records.
            version: format!("{}+{}", dataset.schema_version, manifest.release_id),
            date_published: Instant(&manifest.published_at),
            date_modified: newest_date(manifest, &dataset.parts)
                .unwrap_or_else(|| day_of(manifest).to_owned()),
            keywords: vec![family(dataset_id)],
            in_language: "en",
            license: licences(&tasks).into_iter().map(work).collect(),
            creator: Origin::each(&origin.publisher)
                .into_iter()
                .map(organization)
                .collect(),
            based_on: Origin::each(&origin.homepage)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            credit_text: origin.credit(),
            cite_as: citation(manifest, dataset_id, &origin, contract),
            conditions_of_access: ACCESS,
            temporal_coverage: period(dataset).map(|(first, last)| format!("{first}/{last}")),
            catalog: NamedCatalog {
                node_type: "sc:DataCatalog",
                name: CATALOG_TITLE,
                url: format!(
                    "{}/v1/catalog.json{}",
                    call.service.own_url(),
                    query::release_query(call)
                ),
            },
            distribution: files(call, dataset_id, dataset),
            record_set: contract
                .map(|contract| CroissantRecordSet::new(dataset, contract))
                .into_iter()
                .collect(),
        }
    }
}

fn files<'a>(
    call: &Call<'_>,
    dataset_id: &str,
    dataset: &'a DatasetEntry,
) -> Vec<CroissantFile<'a>> {
    let download = format!(
        "{}/v1/releases/{}/datasets/{dataset_id}",
        call.service.own_url(),
        call.release.manifest.release_id
    );
    let of_part = |part: &'a Part| CroissantFile {
        node_type: "cr:FileObject",
        id: &part.path,
        name: &part.path,
        description: format!("{} records", part.rows),
        content_url: Some(format!("{download}?format=parquet&part={}", part.sha256)),
        content_size: Some(format!("{} B", part.size_bytes)),
        encoding_format: vec![PARQUET_OF_CROISSANT, PARQUET],
        sha256: Some(Sha256(part.sha256)),
        includes: None,
    };
    let all = (dataset.parts.len() > 1).then(|| CroissantFile {
        node_type: "cr:FileSet",
        id: PARTS,
        name: PARTS,
        description:
            "All parts, at their paths relative to this document; each record is in one of them."
                .to_owned(),
        content_url: None,
        content_size: None,
        encoding_format: vec![PARQUET_OF_CROISSANT, PARQUET],
        sha256: None,
        // `containedIn` is omitted because it is for archives. With it, mlcroissant reads no
        // records from files that are not packed in another file.
        includes: Some(format!("{dataset_id}/*.parquet")),
    });
    dataset.parts.iter().map(of_part).chain(all).collect()
}

impl<'a> CroissantRecordSet<'a> {
    /// Describes the same columns that a CSV table contains. Pointers are omitted because they are
    /// lists of structures; `record_id` leads to the pointers.
    fn new(dataset: &DatasetEntry, contract: &'a Contract) -> Self {
        Self {
            node_type: "cr:RecordSet",
            id: RECORDS,
            name: RECORDS,
            description: format!(
                "{} The pointers to the publishers' bytes are omitted; record_id leads to them.",
                contract.grain
            ),
            key: contract
                .primary_key
                .iter()
                .map(|column| CroissantReference {
                    id: format!("{RECORDS}/{column}"),
                })
                .collect(),
            field: table::columns(contract)
                .map(|column| CroissantField::from_column(column, dataset))
                .collect(),
        }
    }
}

impl<'a> CroissantField<'a> {
    fn from_column(column: &'a Column, dataset: &DatasetEntry) -> Self {
        let is_list = column.column_type.physical == Physical::StringList;
        let (file, set) = match dataset.parts.as_slice() {
            [part] => (Some(part.path.as_str()), None),
            _ => (None, Some(PARTS)),
        };
        let reference = |id: Option<&str>| id.map(|id| CroissantReference { id: id.to_owned() });
        Self {
            node_type: "cr:Field",
            id: format!("{RECORDS}/{}", column.name),
            name: &column.name,
            description: &column.description,
            data_type: data_type(column.column_type.physical),
            is_array: is_list.then_some(true),
            array_shape: is_list.then_some("-1"),
            source: CroissantSource {
                file_object: reference(file),
                file_set: reference(set),
                extract: CroissantExtract {
                    column: &column.name,
                },
            },
        }
    }
}

/// Returns the Croissant type of a column. Croissant has no exact decimal type.
fn data_type(physical: Physical) -> &'static str {
    match physical {
        Physical::String | Physical::StringList | Physical::Pointers => "sc:Text",
        Physical::Int32 => "cr:Int32",
        Physical::Int64 => "cr:Int64",
        Physical::Float64 => "cr:Float64",
        Physical::Boolean => "sc:Boolean",
        Physical::Date => "sc:Date",
        Physical::Decimal => "sc:Float",
    }
}
