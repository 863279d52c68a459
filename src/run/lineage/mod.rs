//! Reports a run as OpenLineage events while it is under way. Each task is a job whose parent is
//! the run, publishers' files are inputs, and datasets of the release are outputs.
//!
//! | file | content |
//! |---|---|
//! | `emitter` | observes a run, and determines the next event for each job |
//! | `event` | events and facets as specified by OpenLineage 2-0-2 |
//! | `datasets` | inputs and outputs, from manifest, contracts and declarations only, without guesses |
//! | `sender` | sends events to a URL in parallel with the run |
//!
//! Has no effect on a run or its release: failures here are only warnings.

mod datasets;
mod emitter;
mod event;
mod sender;

pub use emitter::{Emitter, test_event};
