//! What an operator asks from afar with a key of the scope `admin`: which keys there are, what they are used for, and how the tasks stand.
//! Nothing is changed here, and no answer is kept. Secrets and their digests never leave.

mod keys;
mod status;
mod usage;

use futures_util::FutureExt;

use crate::serve::http::endpoint::{Family, Tag};

/// What the route table takes.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Administration",
        description: "Keys, their use and the state of the server, for an operator who asks from afar. Nothing can be changed here.",
    },
    load: |_, _, _| async { Ok(()) }.boxed(),
    endpoints: &[keys::ENDPOINT, usage::ENDPOINT, status::ENDPOINT],
    placeholders: &[],
};
