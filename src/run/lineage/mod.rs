//! What a run makes of what, told as OpenLineage events while it goes on: a job for each task with
//! the run as its parent, publishers' files as inputs, datasets of the release as outputs.
//!
//! | file | what it has |
//! |---|---|
//! | `emitter` | hears how a run goes on, and says which event of which job follows |
//! | `event` | events and facets in the form of the specification, OpenLineage 2-0-2 |
//! | `datasets` | inputs and outputs: from manifest, contracts and declarations, and no guess where these say nothing |
//! | `sender` | brings events to an address, beside the run |
//!
//! Decides nothing, and nothing of it gets into a release: what goes wrong here is a warning.

mod datasets;
mod emitter;
mod event;
mod sender;

pub use emitter::{Emitter, test_event};
