//! Places where a test can kill the program. Always compiled in, so that what is tested is what
//! runs; harmless, because all the variable can do is end the process, and ending at any instant is
//! what the protocol is made to survive.

/// The environment variable that names the place to die at.
pub const VARIABLE: &str = "PUBDATA_FAULT";

/// Every place, in the order a publish passes them.
pub const FAULT_POINTS: &[&str] = &[
    "stage.begun",
    "stage.part_written",
    "stage.parts_written",
    "stage.finished",
    "commit.begun",
    "commit.part_placed",
    "commit.parts_verified",
    "commit.declarations_placed",
    "commit.companions_placed",
    "commit.manifest_written",
    "commit.channel_moved",
    "commit.staging_cleared",
];

/// Every place that a process passes which does units of a plan.
pub const TASK_FAULT_POINTS: &[&str] = &[
    "task.part_placed",
    "task.parts_placed",
    "task.receipt_placed",
];

/// Ends the process at once, without unwinding or flushing, when `PUBDATA_FAULT` names this place.
///
/// # Panics
/// In a build with debug assertions, when the name is not one of [`FAULT_POINTS`] or
/// [`TASK_FAULT_POINTS`].
pub fn point(name: &str) {
    debug_assert!(
        FAULT_POINTS.contains(&name) || TASK_FAULT_POINTS.contains(&name),
        "`{name}` is not listed"
    );
    if std::env::var_os(VARIABLE).is_some_and(|wanted| wanted == name) {
        std::process::abort();
    }
}

/// Panics when `PUBDATA_FAULT` is `defect:` and the task's id: what a file could make of any line
/// of a build. No harm is done that a bad file could not do: the task is blocked, and its last good
/// build stays.
///
/// # Panics
/// When asked to.
pub fn defect(task_id: &str) {
    let is_wanted =
        std::env::var(VARIABLE).is_ok_and(|wanted| wanted.strip_prefix("defect:") == Some(task_id));
    assert!(
        !is_wanted,
        "asked for in /the/folder/of/some.rs of {task_id}"
    );
}
