//! Defines the items of a batch answer. Each item repeats its input and contains a result or a
//! problem.

use schemars::JsonSchema;
use serde::Serialize;

use super::endpoint::Call;
use super::meta::Notice;
use super::problem::{Problem, ProblemDetails};

/// Answer to one item of a batch.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct BatchItem<'a, Input, Answer> {
    /// Index of the item in the request, counted from 0.
    index: usize,
    input: Input,
    /// True if the item has a result.
    found: bool,
    /// The result; null if nothing was found.
    result: Option<Answer>,
    /// Facts that a reader needs to interpret the result; empty if none apply.
    notices: Vec<Notice>,
    /// Reason why the item has no result; null if it has one.
    error: Option<ProblemDetails<'a>>,
}

impl<'a, Input, Answer> BatchItem<'a, Input, Answer> {
    pub fn new(
        call: &'a Call<'_>,
        (index, input): (usize, Input),
        outcome: Result<Answer, &'a Problem>,
        notices: Vec<Notice>,
    ) -> Self {
        let found = outcome.is_ok();
        let (result, problem) = outcome.map_or_else(
            |problem| (None, Some(problem)),
            |result| (Some(result), None),
        );
        let error = problem.map(|problem| {
            problem.shown(
                call.service.public_url(),
                call.endpoint.path,
                call.request_id,
            )
        });
        Self {
            index,
            input,
            found,
            result,
            notices,
            error,
        }
    }
}
