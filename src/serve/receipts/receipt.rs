//! Answers `GET /v1/receipts/{record_id}` with a proof that the release contains the record, or no
//! record with this id. Anyone can check the proof against the channel's signed log.

use futures_util::FutureExt;
use serde_json::Value;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE};
use crate::http::problem::{Code, Problem, Result};
use crate::http::scope;
use crate::json::Json;
use crate::release::quarantined::QUARANTINE;
use pubdata_core::ids::RecordId;
use pubdata_store::receipts::{Log, Receipt, issue};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/receipts/{record_id}",
    operation_id: "getReceipt",
    summary: "Proof that a release has or lacks a record",
    access: Access::Key,
    parameters: &[RELEASE, AS_OF],
    body: None,
    data: Data::for_type::<Receipt>(),
    // The log can grow while a release stays the same.
    cache_policy: CachePolicy::NoStore,
    handler: Handler::Files(|call, json| receipt(call, json).boxed()),
};

async fn receipt(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| {
        Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}"))
    })?;
    let dataset_id = id.dataset_id().to_owned();
    scope::check_record(call, &id)?;
    let manifest = &call.release.manifest;
    if !manifest.datasets.contains_key(&dataset_id) {
        let message =
            format!("the release has no dataset `{dataset_id}`; /v1/datasets lists those it has");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    let found = call.reader().find(call.contracts(), &id).await?;
    if found.is_none() && dataset_id == QUARANTINE {
        // The neighbours in a proof of absence may belong to families that the key cannot read.
        return Err(Problem::of_field(
            Code::NotFound,
            "record_id",
            format!("the release has no record `{id}`"),
        ));
    }
    let (service, release, runtime) = (
        call.service,
        call.release.clone(),
        tokio::runtime::Handle::current(),
    );
    let (releases, channel) = (
        service.catalog.releases().clone(),
        service.catalog.channel().to_owned(),
    );
    let subject = (manifest.release_id.clone(), id.clone());
    let (of_record, part) = (id, found.map(|(part, _)| part.clone()));
    let issued = move || {
        let log = Log::new(&releases, &channel);
        let receipt = runtime.block_on(issue(
            &releases,
            &log,
            &release.manifest,
            &of_record,
            part.as_ref(),
        ))?;
        Ok(receipt.map_or(Value::Null, |receipt| {
            serde_json::to_value(receipt).expect("a receipt is plain data")
        }))
    };
    let receipt = service
        .receipts
        .done(&call.client.id, subject, |_| false, issued)
        .await?;
    if receipt.is_null() {
        let message = "the release is not in the log of the channel: its publisher runs without a signing key, or has not sealed it yet";
        return Err(Problem::of_field(
            Code::CoverageUnavailable,
            "record_id",
            message,
        ));
    }
    json.value(&*receipt);
    Ok(Meta {
        datasets: vec![dataset_id.into()],
        ..Meta::default()
    })
}
