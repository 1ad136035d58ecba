//! Roles, by namespace or for the whole server.

use std::fmt;
use std::str::FromStr;

/// What somebody may do in a namespace, or on the whole server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look at everything: workflows, schedules, histories, settings.
    Read,
    /// What a worker does: poll for tasks, complete them, answer queries, read histories. Nothing else.
    Worker,
    /// Start, signal, change and delete workflows and schedules, and everything that `read` and `worker` allow.
    Write,
    /// Change the namespace itself, and everything else.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Read, Self::Worker, Self::Write, Self::Admin];

    /// The role's name, as in permissions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Worker => "worker",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The roles whose calls this role may make.
    pub fn includes(self) -> RoleSet {
        match self {
            Self::Read => RoleSet::of(&[Self::Read]),
            Self::Worker => RoleSet::of(&[Self::Worker]),
            Self::Write => RoleSet::of(&[Self::Read, Self::Worker, Self::Write]),
            Self::Admin => RoleSet::of(&Self::ALL),
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Worker => 2,
            Self::Write => 4,
            Self::Admin => 8,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The text names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role; use one of read, worker, write, admin")]
pub struct InvalidRole(String);

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| InvalidRole(text.to_owned()))
    }
}

/// A set of roles.
///
/// ```
/// use perennial_identity::{Role, RoleSet};
///
/// let history = RoleSet::of(&[Role::Read, Role::Worker]);
/// assert!(Role::Worker.includes().intersects(history));
/// assert!(!Role::Read.includes().intersects(RoleSet::of(&[Role::Write])));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoleSet(u8);

impl RoleSet {
    /// No role.
    pub const EMPTY: Self = Self(0);

    /// The set of these roles.
    pub const fn of(roles: &[Role]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < roles.len() {
            bits |= roles[index].bit();
            index += 1;
        }
        Self(bits)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Whether a role is in it.
    pub fn contains(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }

    /// Whether both sets have a role in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The roles in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The roles in it, from `read` to `admin`.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_include_others() {
        let includes = |role: Role| role.includes().iter().map(Role::name).collect::<Vec<_>>();
        assert_eq!(includes(Role::Read), ["read"]);
        assert_eq!(includes(Role::Worker), ["worker"]);
        assert_eq!(includes(Role::Write), ["read", "worker", "write"]);
        assert_eq!(includes(Role::Admin), ["read", "worker", "write", "admin"]);
    }

    #[test]
    fn role_is_read_by_its_exact_name() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        for bad in ["", "Admin", "reader", "admin "] {
            assert!(bad.parse::<Role>().is_err(), "{bad}");
        }
    }
}
