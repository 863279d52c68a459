//! The schemas of the interface's description as they are written: what contracts say of a column stands there as `$column`.

use std::sync::LazyLock;

use serde_json::Value;

/// The schemas by name.
pub fn components() -> &'static Value {
    static SCHEMAS: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(include_str!("components.json")).expect("the components file is JSON"));
    &SCHEMAS
}
