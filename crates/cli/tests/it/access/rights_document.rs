//! The published table of rights, which says what to expect.

use std::collections::BTreeMap;

/// What an RPC needs, as `docs/rights.md` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Needs {
    Credentials,
    /// One of these roles in the namespace.
    InNamespace(Vec<&'static str>),
    /// This role on the whole server.
    OnServer(&'static str),
}

impl Needs {
    /// Whether a caller with this role may call.
    pub(super) fn allow(&self, role: &str, on_server: bool) -> bool {
        let includes = match role {
            "admin" => &["read", "worker", "write", "admin"][..],
            "write" => &["read", "worker", "write"],
            "worker" => &["worker"],
            "read" => &["read"],
            other => panic!("{other} is no role"),
        };
        match self {
            Self::Credentials => true,
            Self::InNamespace(roles) => roles.iter().any(|role| includes.contains(role)),
            Self::OnServer(role) => on_server && includes.contains(role),
        }
    }
}

/// What each RPC needs, by its path.
pub(super) fn rights() -> BTreeMap<String, Needs> {
    let document = include_str!("../../../../../docs/rights.md");
    let (mut rights, mut service) = (BTreeMap::new(), "");
    for line in document.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            service = name;
        }
        let Some((call, needs)) = line.strip_prefix("| `").and_then(|row| row.split_once("` | "))
        else {
            continue;
        };
        let needs = needs.trim_end_matches(" |");
        let needs = match needs.strip_suffix(" on the whole server") {
            Some(role) => Needs::OnServer(role.trim_matches('`')),
            None if needs.starts_with("credentials") => Needs::Credentials,
            None => {
                Needs::InNamespace(needs.split(" or ").map(|it| it.trim_matches('`')).collect())
            }
        };
        rights.insert(format!("/{service}/{call}"), needs);
    }
    rights
}
