//! Writes the items of a batch: each with what was sent, and its result or its problem.

use serde::Serialize;

use super::endpoint::Call;
use super::meta::Notice;
use super::problem::Result;
use crate::json::Json;

/// Writes the answer of one item; `write` writes its result.
pub fn write_item<T>(
    json: &mut Json,
    call: &Call<'_>,
    (index, input): (usize, &impl Serialize),
    outcome: &Result<T>,
    notices: &[Notice],
    write: impl FnOnce(&mut Json, &T),
) {
    json.object(|json| {
        json.key("index").count(index as u64);
        json.key("input").value(input);
        json.key("found").flag(outcome.is_ok());
        json.key("result");
        match outcome {
            Ok(result) => write(json, result),
            Err(_) => json.null(),
        }
        json.key("notices").array(|json| notices.iter().for_each(|notice| json.value(notice)));
        json.key("error");
        match outcome {
            Ok(_) => json.null(),
            Err(problem) => json.value(&problem.shown(call.service.public_url(), call.endpoint.path, call.request_id)),
        }
    });
}
