//! Reports a run as OpenLineage events while it is under way: a job for each task with the run as
//! its parent, publishers' files as inputs, datasets of the release as outputs.
//!
//! | file | content |
//! |---|---|
//! | `emitter` | observes a run, and decides which event of which job follows |
//! | `event` | events and facets as specified by OpenLineage 2-0-2 |
//! | `datasets` | inputs and outputs, from manifest, contracts and declarations only, without guesses |
//! | `sender` | sends events to an address in parallel with the run |
//!
//! Has no influence on a run or its release: failures here are warnings.

mod datasets;
mod emitter;
mod event;
mod sender;

pub use emitter::{Emitter, test_event};
