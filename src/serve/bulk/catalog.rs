//! Answers `GET /v1/catalog.json`: all datasets of a release as a DCAT-US 3.0 catalog, which portals such as data.gov harvest.

use super::asked;
use super::croissant::ACCESS;
use super::datasets::family;
use crate::contact::Contact;
use crate::described::{Origin, day_of, description, licences, newest_date, period, tasks_of, title};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
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
    data: Data::Written("Catalog"),
    validity: Validity::Release,
    handler: Handler::Document(list),
};

fn write_contact(json: &mut Json, contact: &Contact<'_>) {
    json.object(|json| {
        json.key("@type").text("Kind");
        json.key("fn").text(contact.name);
        json.key("hasEmail").joined(&["mailto:", contact.address]);
    });
}

fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (manifest, own_url) = (&call.release.manifest, call.service.own_url());
    let contact = call.service.settings.contact.as_deref().and_then(Contact::of);
    let contact = |json: &mut Json| json.array(|json| contact.iter().for_each(|contact| write_contact(json, contact)));
    json.object(|json| {
        json.key("@id").text(&format!("{own_url}/v1/catalog.json{}", asked::release_asked_for(call)));
        json.key("@type").text("Catalog");
        json.key("conformsTo").object(|json| {
            json.key("@type").text("Standard");
            json.key("title").text("DCAT-US 3.0");
        });
        json.key("title").text("Public Data Lookup Service");
        json.key("description").text(&format!(
            "Public data of many publishers as immutable releases, with a source for every figure down to the publisher's bytes. Release {}.",
            manifest.release_id
        ));
        json.key("language").texts(["en"]);
        json.key("modified").text(day_of(manifest));
        json.key("homepage").object(|json| write_document(json, "Public Data Lookup Service", &call.service.address_of("/datasets")));
        contact(json.key("contactPoint"));
        json.key("dataset").array(|json| {
            for (dataset_id, dataset) in &manifest.datasets {
                json.object(|json| {
                    write_dataset(json, call, (dataset_id, dataset));
                    contact(json.key("contactPoint"));
                });
            }
        });
    });
    Ok(Meta::default())
}

fn write_document(json: &mut Json, title: &str, access_url: &str) {
    json.key("@type").text("Document");
    json.key("title").text(title);
    json.key("accessURL").text(access_url);
}

fn write_dataset(json: &mut Json, call: &Call<'_>, (dataset_id, dataset): (&str, &DatasetEntry)) {
    let (manifest, contract) = (&call.release.manifest, call.contracts().get(dataset_id));
    let tasks = tasks_of(manifest, dataset);
    let (origin, address) = (Origin::of(&tasks), format!("{}/v1/datasets/{dataset_id}", call.service.own_url()));
    // What is told of an earlier release is had of it, too.
    let of_release = asked::release_asked_for(call);
    json.key("@id").text(&address);
    json.key("@type").text("Dataset");
    json.key("identifier").object(|json| {
        json.key("@type").text("Identifier");
        json.key("notation").text(dataset_id);
    });
    json.key("title").text(title(dataset_id, contract));
    json.key("description").text(&description(manifest, dataset_id, contract));
    json.key("version").text(&format!("{}+{}", dataset.schema_version, manifest.release_id));
    json.key("modified").optional_text(newest_date(manifest, &dataset.parts).as_deref());
    json.key("publisher").object(|json| {
        json.key("@type").text("Organization");
        json.key("name").text(&origin.publisher);
    });
    // The publisher is one organization; of several sources each is named here.
    json.key("wasAttributedTo").array(|json| {
        for publisher in Origin::each(&origin.publisher) {
            json.object(|json| {
                json.key("@type").text("Agent");
                json.key("name").text(publisher);
            });
        }
    });
    json.key("language").texts(["en"]);
    json.key("keyword").texts([family(dataset_id)]);
    json.key("landingPage").object(|json| write_document(json, title(dataset_id, contract), &call.service.address_of(&format!("/datasets/{dataset_id}"))));
    json.key("accrualPeriodicity").optional_text(tasks.iter().map(|task| task.cadence_days).min().map(periodicity).as_deref());
    json.key("temporal").array(|json| {
        if let Some((first, last)) = period(dataset) {
            json.object(|json| {
                json.key("@type").text("PeriodOfTime");
                json.key("startDate").text(&first);
                json.key("endDate").text(&last);
            });
        }
    });
    json.key("accessRights").text(ACCESS);
    json.key("rights").texts(licences(&tasks));
    json.key("provenance").texts([origin.credit().as_str()]);
    json.key("relation").texts(Origin::each(&origin.homepage));
    json.key("describedBy").object(|json| {
        json.key("@type").text("Distribution");
        json.key("title").text("Columns, rules and known limits");
        json.key("downloadURL").text(&format!("{address}{of_release}"));
        json.key("mediaType").text("application/json");
    });
    json.key("metadataDistribution").array(|json| {
        json.object(|json| {
            json.key("@type").text("Distribution");
            json.key("title").text("Croissant 1.1");
            json.key("downloadURL").text(&format!("{address}/croissant.json{of_release}"));
            json.key("mediaType").text("application/json");
        });
    });
    json.key("distribution").array(|json| write_distributions(json, call, (dataset_id, dataset), contract, &origin));
}

/// Parquet, whose parts the access address lists with their digests; one part is a file by itself. And all of it as a table of text.
fn write_distributions(json: &mut Json, call: &Call<'_>, (dataset_id, dataset): (&str, &DatasetEntry), contract: Option<&Contract>, origin: &Origin) {
    let manifest = &call.release.manifest;
    let address = format!("{}/v1/releases/{}/datasets/{dataset_id}", call.service.own_url(), manifest.release_id);
    let begin = |json: &mut Json, title: &str, format: &str, media_type: &str| {
        json.key("@type").text("Distribution");
        json.key("title").text(title);
        json.key("format").text(format);
        json.key("mediaType").text(media_type);
        json.key("accessURL").text(&address);
        json.key("license").text(&origin.licence);
        json.key("accessRights").text(ACCESS);
        json.key("issued").text(day_of(manifest));
    };
    json.object(|json| {
        let rows: u64 = dataset.parts.iter().map(|part| part.rows).sum();
        let size_bytes: u64 = dataset.parts.iter().map(|part| part.size_bytes).sum();
        begin(json, "Parquet", "Parquet", PARQUET);
        json.key("description").text(&format!("{rows} records in {} files", dataset.parts.len()));
        json.key("byteSize").text(&size_bytes.to_string());
        if let [part] = dataset.parts.as_slice() {
            json.key("downloadURL").text(&format!("{address}?format=parquet&part={}", part.sha256));
            json.key("checksum").object(|json| {
                json.key("@type").text("Checksum");
                json.key("algorithm").text("SHA-256");
                json.key("checksumValue").text(&part.sha256.to_string());
            });
        }
    });
    if contract.is_some() {
        json.object(|json| {
            begin(json, "CSV", "CSV", CSV);
            json.key("description").text("All records as one table of text, without the pointers to the publishers' bytes");
            json.key("downloadURL").text(&format!("{address}?format=csv"));
        });
    }
}

/// A word of the standard for the days between two editions; of other cadences the ISO 8601 interval.
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
        assert_eq!(words, ["daily", "weekly", "monthly", "quarterly", "annual", "R/P10D", "R/P730D"]);
    }
}
