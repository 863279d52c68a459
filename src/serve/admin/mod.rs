//! Keys over the API: what a holder asks of their own key, and what an operator asks from afar with
//! a key of the scope `admin`. Keys are made, changed and revoked here, nothing else is changed,
//! and no answer is kept. Digests of secrets never leave, a secret does once, when it is made.

mod invitations;
mod keys;
mod me;
mod plans;
mod status;
mod usage;

use crate::http::endpoint::{Family, Placeholder, Tag};
use crate::release::loaded::NOTHING;

/// What holders of a key ask, and those who are to have one.
pub static OF_HOLDERS: Family = Family {
    tag: Tag {
        name: "Your key",
        description: "Scopes, plan, limits and use of the key that is sent; a new secret for it, its end, and a first key by invitation.",
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

/// What operators ask.
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
