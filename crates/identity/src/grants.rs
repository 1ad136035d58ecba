//! What a principal may do: roles by namespace, and for the whole server.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::role::{InvalidRole, Role, RoleSet};

/// Where a role holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// On the whole server: in every namespace, and for what belongs to none.
    Server,
    /// In the namespace with this name.
    Namespace(String),
}

/// A role in a scope, written `shop:worker`, or `*:admin` for the whole server.
///
/// ```
/// use perennial_identity::{Permission, Role, Scope};
///
/// let permission: Permission = "shop:worker".parse().unwrap();
/// assert_eq!(permission.role, Role::Worker);
/// assert_eq!(permission.scope, Scope::Namespace("shop".to_owned()));
/// assert_eq!("*:admin".parse::<Permission>().unwrap().scope, Scope::Server);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permission {
    /// Where the role holds.
    pub scope: Scope,
    /// What may be done there.
    pub role: Role,
}

/// The text isn't a permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPermission {
    /// It has no colon, or no namespace before it.
    #[error("`{0}` is no permission; write NAMESPACE:ROLE, or *:ROLE for the whole server")]
    Form(String),
    /// What follows the colon is no role.
    #[error(transparent)]
    Role(#[from] InvalidRole),
}

/// The name that stands for the whole server in permissions.
const SERVER: &str = "*";

impl FromStr for Permission {
    type Err = InvalidPermission;

    fn from_str(text: &str) -> Result<Self, InvalidPermission> {
        // Names of namespaces may contain colons.
        let (name, role) = text
            .rsplit_once(':')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| InvalidPermission::Form(text.to_owned()))?;
        let scope = if name == SERVER { Scope::Server } else { Scope::Namespace(name.to_owned()) };
        Ok(Self { scope, role: role.parse()? })
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.scope {
            Scope::Server => SERVER,
            Scope::Namespace(name) => name,
        };
        write!(out, "{name}:{}", self.role)
    }
}

/// All permissions of a principal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    server: RoleSet,
    namespaces: BTreeMap<String, RoleSet>,
}

impl Grants {
    /// Everything, everywhere.
    pub fn everything() -> Self {
        [Permission { scope: Scope::Server, role: Role::Admin }].into_iter().collect()
    }

    /// The roles whose calls may be made in a namespace, whether it exists or not.
    pub fn in_namespace(&self, name: &str) -> RoleSet {
        self.namespaces.get(name).copied().unwrap_or_default().union(self.server)
    }

    /// The roles whose calls may be made on the whole server.
    pub fn on_server(&self) -> RoleSet {
        self.server
    }

    /// Permissions that grant the same, for another node.
    pub fn permissions(&self) -> Vec<Permission> {
        let of = |scope: Scope, roles: RoleSet| {
            roles
                .iter()
                .map(move |role| Permission { scope: scope.clone(), role })
                .collect::<Vec<_>>()
        };
        let namespaces = self.namespaces.iter();
        let namespaces =
            namespaces.flat_map(|(name, roles)| of(Scope::Namespace(name.clone()), *roles));
        of(Scope::Server, self.server).into_iter().chain(namespaces).collect()
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.server.is_empty() && self.namespaces.is_empty()
    }
}

impl FromIterator<Permission> for Grants {
    fn from_iter<T: IntoIterator<Item = Permission>>(permissions: T) -> Self {
        let mut grants = Self::default();
        for Permission { scope, role } in permissions {
            let roles = match scope {
                Scope::Server => &mut grants.server,
                Scope::Namespace(name) => grants.namespaces.entry(name).or_default(),
            };
            *roles = roles.union(role.includes());
        }
        grants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(permissions: &[&str]) -> Grants {
        permissions.iter().map(|text| text.parse::<Permission>().unwrap()).collect()
    }

    #[test]
    fn permissions_grant_the_same_again() {
        for granted in [&["shop:read", "shop:worker", "*:read"][..], &["*:admin"], &[]] {
            let granted = grants(granted);
            let again: Grants = granted.permissions().into_iter().collect();
            assert_eq!(format!("{again:?}"), format!("{granted:?}"));
        }
    }

    #[test]
    fn role_holds_in_its_scope_only() {
        let grants = grants(&["shop:read", "shop:worker", "a:b:write"]);
        let shop: Vec<_> = grants.in_namespace("shop").iter().collect();
        assert_eq!(shop, [Role::Read, Role::Worker]);
        assert!(grants.in_namespace("a:b").contains(Role::Write));
        assert!(grants.in_namespace("Shop").is_empty());
        assert!(grants.in_namespace("").is_empty());
        assert!(grants.on_server().is_empty());
    }

    #[test]
    fn role_of_the_server_holds_in_every_namespace() {
        let grants = grants(&["*:read", "shop:write"]);
        assert!(grants.in_namespace("bank").contains(Role::Read));
        assert!(!grants.in_namespace("bank").contains(Role::Write));
        assert!(grants.in_namespace("shop").contains(Role::Write));
        assert!(!grants.on_server().contains(Role::Write));
        assert!(Grants::everything().in_namespace("bank").contains(Role::Admin));
    }

    #[test]
    fn permission_is_shown_as_it_is_written() {
        for text in ["shop:worker", "*:admin", "a:b:read"] {
            assert_eq!(text.parse::<Permission>().unwrap().to_string(), text);
        }
        for bad in ["", "shop", ":read", "shop:", "shop:owner"] {
            assert!(bad.parse::<Permission>().is_err(), "{bad}");
        }
    }
}
