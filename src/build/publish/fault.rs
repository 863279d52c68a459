//! Defines points where a test can kill the program. They are always compiled in, so that tests
//! exercise the shipped code. They are harmless: the variable can only end the process, and the
//! protocol survives termination at any moment.

/// Environment variable that names the fault point at which to abort.
pub const VARIABLE: &str = "PUBDATA_FAULT";

/// Fault points in the order in which publishing reaches them.
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

/// Fault points in a worker that executes a plan's units.
pub const TASK_FAULT_POINTS: &[&str] = &[
    "task.part_placed",
    "task.parts_placed",
    "task.receipt_placed",
];

/// Aborts the process, without unwinding or flushing, if `PUBDATA_FAULT` names this point.
///
/// # Panics
/// If debug assertions are enabled and the name is not in [`FAULT_POINTS`] or
/// [`TASK_FAULT_POINTS`].
pub fn point(name: &str) {
    debug_assert!(
        FAULT_POINTS.contains(&name) || TASK_FAULT_POINTS.contains(&name),
        "`{name}` is not listed"
    );
    if std::env::var_os(VARIABLE).is_some_and(|requested| requested == name) {
        std::process::abort();
    }
}

/// Panics if `PUBDATA_FAULT` is `defect:` followed by the task's id. This simulates a file that
/// triggers a defect anywhere in a build. It does no more harm than an invalid file: the task is
/// blocked, and its last good build stays.
///
/// # Panics
/// If the environment variable requests it.
pub fn defect(task_id: &str) {
    let is_selected = std::env::var(VARIABLE)
        .is_ok_and(|requested| requested.strip_prefix("defect:") == Some(task_id));
    assert!(
        !is_selected,
        "asked for in /the/folder/of/some.rs of {task_id}"
    );
}
