//! What an operator asks from afar with a key of the scope `admin`: which keys there are, what they are used for, and how the tasks stand. Keys are made
//! and revoked here, nothing else is changed, and no answer is kept. Digests of secrets never leave, a secret does once, when it is made.

mod keys;
mod status;
mod usage;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::NOTHING;

/// What the route table takes.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Administration",
        description: "Keys, their use and the state of the server, for an operator who asks from afar. Keys are made and revoked here; nothing else can be changed.",
    },
    load: NOTHING,
    endpoints: &[keys::ENDPOINT, keys::CREATE, keys::REVOKE, usage::ENDPOINT, status::ENDPOINT],
    placeholders: &[Placeholder {
        name: "key_id",
        pattern: "^k[0-9a-f]{12}$",
        example: "k0123456789ab",
        description: "Id of an API key, from `/v1/admin/keys`.",
    }],
};
