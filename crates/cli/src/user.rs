//! The name of the user who runs this program.

use std::env;

/// The user's name, from the environment or, if that has none (as in containers), from the system.
pub(crate) fn user_name() -> Option<String> {
    let said = env::var("USER").or_else(|_| env::var("USERNAME")).ok();
    said.filter(|name| !name.is_empty()).or_else(of_process)
}

#[cfg(unix)]
fn of_process() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    name_in(&std::fs::read_to_string("/etc/passwd").ok()?, &id).map(str::to_owned)
}

#[cfg(not(unix))]
fn of_process() -> Option<String> {
    None
}

/// Finds the name of a user id in `/etc/passwd`: lines of `name:password:id:…`.
#[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no such file"))]
fn name_in<'p>(passwd: &'p str, id: &str) -> Option<&'p str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1) == Some(id)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_id() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nbroken\nada:x:1001:1001::/nowhere:/bin/sh\n";
        assert_eq!(name_in(passwd, "1001"), Some("ada"));
        assert_eq!(name_in(passwd, "0"), Some("root"));
        assert_eq!(name_in(passwd, "7"), None);
    }
}
