//! Determines the user who runs the program, so that records can name the user.

/// Returns the user's name from the environment or, failing that, from the system's list of users.
/// If neither contains a name, returns the user's number.
pub(super) fn name() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    name.or_else(of_process)
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(unix)]
fn of_process() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    // The entry of a process in `/proc` belongs to the user who runs it.
    let uid = std::fs::metadata("/proc/self").ok()?.uid();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    Some(name_of(&users, uid).unwrap_or_else(|| format!("uid {uid}")))
}

#[cfg(not(unix))]
fn of_process() -> Option<String> {
    None
}

/// Returns the name that belongs to a user number in a list of users:
/// `ada:x:1000:1000::/home/ada:/bin/sh`.
fn name_of(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn user_name_is_found_by_uid() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a comment\nada:x:1000:100::/home/ada:/bin/sh\n:x:1001::\n";
        assert_eq!(
            [0, 1000, 100, 1001].map(|uid| name_of(users, uid)),
            [Some("root".to_owned()), Some("ada".to_owned()), None, None]
        );
    }
}
