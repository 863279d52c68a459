//! Manages keys over the API: endpoints for the holder of a key, and remote administration with a
//! key that has the scope `admin`. This module creates, changes and revokes keys and changes
//! nothing else. No answer is cached. Digests of secrets are never sent; a secret is sent once,
//! when it is created.

mod invitations;
mod keys;
mod me;
mod plans;
mod status;
mod usage;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::NOTHING;

/// Endpoints for holders of a key and for invited clients.
pub static HOLDER_FAMILY: Family = Family {
    tag: Tag {
        name: "Your key",
        description: "Scopes, plan, limits and use of the key that is sent; its rotation and revocation, and a first key by invitation.",
    },
    load: NOTHING,
    endpoints: &[
        me::ENDPOINT,
        me::ROTATE,
        me::REVOKE,
        plans::ENDPOINT,
        invitations::SHOW,
        invitations::REDEEM,
    ],
    placeholders: &[],
};

/// Endpoints for operators.
pub static FAMILY: Family = Family {
    tag: Tag {
        name: "Administration",
        description: "Keys, their use and the state of the server, for remote administration. Keys can be created and revoked; nothing else can be changed.",
    },
    load: NOTHING,
    endpoints: &[
        keys::ENDPOINT,
        keys::CREATE,
        keys::REVOKE,
        usage::ENDPOINT,
        status::ENDPOINT,
    ],
    placeholders: &[Placeholder {
        name: "key_id",
        pattern: "^k[0-9a-f]{12}$",
        example: "k0123456789ab",
        description: "Id of an API key, from `/v1/admin/keys`.",
    }],
};
