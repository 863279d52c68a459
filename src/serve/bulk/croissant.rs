//! Answers `GET /v1/datasets/{dataset_id}/croissant.json`: a dataset in the words of schema.org and Croissant 1.1 (MLCommons), with each part, its digest and
//! where it is had, and what its columns mean. The dataset's page shows the part of it that search engines read.

use super::asked;
use super::datasets::family;
use super::table;
use crate::described::{Origin, citation, day_of, description, licences, newest_date, period, tasks_of, title};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE};
use crate::http::problem::Result;
use crate::http::response::PARQUET;
use crate::json::Json;
use pubdata_core::contract::{Column, Contract, Physical};
use pubdata_core::ids::licence_address;
use pubdata_store::{DatasetEntry, Manifest};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/datasets/{dataset_id}/croissant.json",
    operation_id: "getCroissant",
    summary: "A dataset as a Croissant 1.1 document (JSON-LD)",
    access: Access::Everyone,
    parameters: &[RELEASE, AS_OF],
    body: None,
    data: Data::Written("Croissant"),
    validity: Validity::Release,
    handler: Handler::LinkedData(describe),
};

/// The terms of the standard, as it prescribes them, and which version it is: the first members of every document.
const HEAD: &str = include_str!("croissant_head.json");

/// What programs that read Croissant call Parquet; the registered name came later.
const PARQUET_OF_CROISSANT: &str = "application/x-parquet";

/// All parts together, and the rows of them.
const PARTS: &str = "parts";
const RECORDS: &str = "records";

/// How whoever wants the files gets them.
pub const ACCESS: &str = "Files are downloaded with an API key of this server.";

fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (manifest, dataset_id) = (&call.release.manifest, call.path_value("dataset_id"));
    let dataset = asked::dataset(manifest, "dataset_id", dataset_id)?;
    let contract = call.contracts().get(dataset_id);
    json.object(|json| {
        json.raw(HEAD.trim_matches(['{', '}', ' ', '\n']));
        write_dataset(json, call, (dataset_id, dataset), contract);
        json.key("distribution").array(|json| write_files(json, call, manifest, (dataset_id, dataset)));
        json.key("recordSet").array(|json| {
            if let Some(contract) = contract {
                write_records(json, dataset, contract);
            }
        });
    });
    Ok(Meta::default())
}

/// What schema.org has words for.
fn write_dataset(json: &mut Json, call: &Call<'_>, (dataset_id, dataset): (&str, &DatasetEntry), contract: Option<&Contract>) {
    let (manifest, own_url) = (&call.release.manifest, call.service.own_url());
    let tasks = tasks_of(manifest, dataset);
    let origin = Origin::of(&tasks);
    json.key("name").text(title(dataset_id, contract));
    json.key("description").text(&description(manifest, dataset_id, contract));
    json.key("identifier").text(dataset_id);
    json.key("url").text(&call.service.address_of(&format!("/datasets/{dataset_id}")));
    // A semantic version whose build is the release: the contract says what a reader may rely on, the release which records these are.
    json.key("version").text(&format!("{}+{}", dataset.schema_version, manifest.release_id));
    json.key("datePublished").instant(&manifest.published_at);
    let date = newest_date(manifest, &dataset.parts);
    json.key("dateModified").text(date.as_deref().unwrap_or_else(|| day_of(manifest)));
    json.key("keywords").texts([family(dataset_id)]);
    json.key("inLanguage").text("en");
    json.key("license").array(|json| {
        for licence in licences(&tasks) {
            json.object(|json| {
                json.key("@type").text("sc:CreativeWork");
                json.key("name").text(licence);
                if let Some(address) = licence_address(licence) {
                    json.key("url").text(address);
                }
            });
        }
    });
    json.key("creator").array(|json| {
        for publisher in Origin::each(&origin.publisher) {
            json.object(|json| {
                json.key("@type").text("sc:Organization");
                json.key("name").text(publisher);
            });
        }
    });
    json.key("isBasedOn").texts(Origin::each(&origin.homepage));
    json.key("creditText").text(&origin.credit());
    json.key("citeAs").text(&citation(manifest, dataset_id, &origin, contract));
    json.key("conditionsOfAccess").text(ACCESS);
    if let Some((first, last)) = period(dataset) {
        json.key("temporalCoverage").text(&format!("{first}/{last}"));
    }
    json.key("includedInDataCatalog").object(|json| {
        json.key("@type").text("sc:DataCatalog");
        json.key("name").text("Public Data Lookup Service");
        json.key("url").text(&format!("{own_url}/v1/catalog.json{}", asked::release_asked_for(call)));
    });
}

fn write_files(json: &mut Json, call: &Call<'_>, manifest: &Manifest, (dataset_id, dataset): (&str, &DatasetEntry)) {
    let download = format!("{}/v1/releases/{}/datasets/{dataset_id}", call.service.own_url(), manifest.release_id);
    for part in &dataset.parts {
        json.object(|json| {
            json.key("@type").text("cr:FileObject");
            json.key("@id").text(&part.path);
            json.key("name").text(&part.path);
            json.key("description").text(&format!("{} records", part.rows));
            json.key("contentUrl").text(&format!("{download}?format=parquet&part={}", part.sha256));
            json.key("contentSize").text(&format!("{} B", part.size_bytes));
            json.key("encodingFormat").texts([PARQUET_OF_CROISSANT, PARQUET]);
            json.key("sha256").text(&part.sha256.to_string());
        });
    }
    if dataset.parts.len() > 1 {
        json.object(|json| {
            json.key("@type").text("cr:FileSet");
            json.key("@id").text(PARTS);
            json.key("name").text(PARTS);
            json.key("description").text("All parts, at their paths beside this document; each record is in one of them.");
            json.key("encodingFormat").texts([PARQUET_OF_CROISSANT, PARQUET]);
            // Without `containedIn`, which is for archives: mlcroissant reads no records of files that are parts of another file and not packed in it.
            json.key("includes").text(&format!("{dataset_id}/*.parquet"));
        });
    }
}

/// The columns that a table of text has too: pointers are lists of structures, and `record_id` leads to them.
fn write_records(json: &mut Json, dataset: &DatasetEntry, contract: &Contract) {
    let source = match dataset.parts.as_slice() {
        [part] => ("fileObject", part.path.as_str()),
        _ => ("fileSet", PARTS),
    };
    json.object(|json| {
        json.key("@type").text("cr:RecordSet");
        json.key("@id").text(RECORDS);
        json.key("name").text(RECORDS);
        json.key("description").text(&format!("{} Without the pointers to the publishers' bytes, to which record_id leads.", contract.grain));
        json.key("key").array(|json| {
            for column in &contract.primary_key {
                json.object(|json| json.key("@id").joined(&[RECORDS, "/", column]));
            }
        });
        json.key("field").array(|json| table::columns(contract).iter().for_each(|column| write_field(json, column, source)));
    });
}

fn write_field(json: &mut Json, column: &Column, (kind, id): (&str, &str)) {
    json.object(|json| {
        json.key("@type").text("cr:Field");
        json.key("@id").joined(&[RECORDS, "/", &column.name]);
        json.key("name").text(&column.name);
        json.key("description").text(&column.description);
        json.key("dataType").text(data_type(column.column_type.physical));
        if column.column_type.physical == Physical::StringList {
            json.key("isArray").flag(true);
            json.key("arrayShape").text("-1");
        }
        json.key("source").object(|json| {
            json.key(kind).object(|json| json.key("@id").text(id));
            json.key("extract").object(|json| json.key("column").text(&column.name));
        });
    });
}

/// What a value of a column is; Croissant has no exact decimals.
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
