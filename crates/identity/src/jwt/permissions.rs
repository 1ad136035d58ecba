//! The permissions that a token's claims name.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::grants::{Grants, Permission, Scope};
use crate::role::Role;

/// Where a token's claims have permissions, and how these are written.
///
/// Entries that aren't permissions are ignored: identity providers put other roles beside them.
#[derive(Debug, Clone)]
pub struct PermissionRules {
    claim: String,
    pattern: Option<Regex>,
}

/// The pattern of permissions can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// It is too long.
    #[error("it is longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// It isn't a regular expression, or takes too much memory.
    #[error("{0}")]
    Syntax(String),
    /// A named group is missing.
    #[error("it has no group with the name `{0}`; write (?P<{0}>…)")]
    Group(&'static str),
}

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;
/// The most memory that a compiled pattern takes, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// The namespace that stands for the whole server in Temporal's permissions.
const TEMPORAL_SYSTEM: &str = "temporal-system";
/// The name that stands for the whole server in this server's permissions.
const SERVER: &str = "*";

impl PermissionRules {
    /// Rules for the claim at a path such as `permissions` or `realm_access.roles`.
    ///
    /// Without a pattern, entries are `namespace:role`. A pattern is a regular expression that matches whole entries
    /// and has the named groups `namespace` and `role`.
    pub fn new(claim: &str, pattern: Option<&str>) -> Result<Self, InvalidPattern> {
        let pattern = pattern.map(compile).transpose()?;
        Ok(Self { claim: claim.to_owned(), pattern })
    }

    /// What the claims grant.
    pub(super) fn grants(&self, claims: &Map<String, Value>) -> Grants {
        match self.find(claims) {
            Some(Value::Array(entries)) => entries
                .iter()
                .filter_map(Value::as_str)
                .filter_map(|it| self.permission(it))
                .collect(),
            // As in the claim `scope` of OAuth 2.0.
            Some(Value::String(entries)) => {
                entries.split_ascii_whitespace().filter_map(|it| self.permission(it)).collect()
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Grants::default()
            }
        }
    }

    fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        // Names of claims may contain dots: identity providers demand URLs for names of custom claims.
        if let Some(value) = claims.get(&self.claim) {
            return Some(value);
        }
        let (first, rest) = self.claim.split_once('.')?;
        rest.split('.').try_fold(claims.get(first)?, |value, name| value.get(name))
    }

    fn permission(&self, entry: &str) -> Option<Permission> {
        let found = match &self.pattern {
            Some(pattern) => pattern.captures(entry).and_then(|groups| {
                Some((groups.name("namespace")?.as_str(), groups.name("role")?.as_str()))
            }),
            None => entry.rsplit_once(':'),
        };
        let permission = found.and_then(|(namespace, role)| {
            // Temporal reads roles in either case.
            let role: Role = role.to_ascii_lowercase().parse().ok()?;
            let scope = match namespace {
                "" => return None,
                SERVER | TEMPORAL_SYSTEM => Scope::Server,
                name => Scope::Namespace(name.to_owned()),
            };
            Some(Permission { scope, role })
        });
        if permission.is_none() {
            tracing::debug!(claim = self.claim, entry, "ignored an entry that is no permission");
        }
        permission
    }
}

fn compile(pattern: &str) -> Result<Regex, InvalidPattern> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(InvalidPattern::TooLong);
    }
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| InvalidPattern::Syntax(error.to_string()))
    };
    // By itself first, so that no parenthesis closes the group around it.
    let alone = build(pattern)?;
    for group in ["namespace", "role"] {
        if !alone.capture_names().flatten().any(|name| name == group) {
            return Err(InvalidPattern::Group(group));
        }
    }
    build(&format!(r"\A(?:{pattern})\z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(claim: &str, pattern: Option<&str>, claims: &str) -> Grants {
        let rules = PermissionRules::new(claim, pattern).unwrap();
        rules.grants(&serde_json::from_str(claims).unwrap())
    }

    fn granted(permissions: &[&str]) -> Grants {
        permissions.iter().map(|text| text.parse::<Permission>().unwrap()).collect()
    }

    #[test]
    fn permissions_are_read_as_temporal_does() {
        let claims = r#"{"permissions": ["shop:read", "shop:Worker", "temporal-system:write"]}"#;
        let expected = granted(&["shop:read", "shop:worker", "*:write"]);
        assert_eq!(grants("permissions", None, claims), expected);
        assert_eq!(
            grants("permissions", None, r#"{"permissions": ["*:admin"]}"#),
            Grants::everything()
        );
    }

    #[test]
    fn what_is_no_permission_grants_nothing() {
        let claims = r#"{"permissions": ["shop:owner", "shop", ":read", "read", "", 7, null, ["a:read"], {"a": "b:read"}]}"#;
        assert!(grants("permissions", None, claims).is_empty());
        for claims in [r#"{}"#, r#"{"permissions": {"a:read": true}}"#, r#"{"permissions": 7}"#] {
            assert!(grants("permissions", None, claims).is_empty(), "{claims}");
        }
    }

    #[test]
    fn claim_is_found_by_its_path() {
        let nested = r#"{"realm_access": {"roles": ["shop:read"]}}"#;
        assert_eq!(grants("realm_access.roles", None, nested), granted(&["shop:read"]));
        assert!(grants("realm_access.roles.more", None, nested).is_empty());
        assert!(grants("realm_access", None, nested).is_empty());
        let url = r#"{"https://shop.example/permissions": ["shop:read"]}"#;
        assert_eq!(grants("https://shop.example/permissions", None, url), granted(&["shop:read"]));
        let scope = r#"{"scope": "openid shop:read  shop:worker"}"#;
        assert_eq!(grants("scope", None, scope), granted(&["shop:read", "shop:worker"]));
    }

    #[test]
    fn pattern_matches_whole_entries() {
        let pattern = "perennial/(?P<namespace>[^/]+)/(?P<role>\\w+)";
        let claims = r#"{"roles": ["perennial/shop/read", "xperennial/bank/read", "perennial/bank/read/x", "bank:read"]}"#;
        assert_eq!(grants("roles", Some(pattern), claims), granted(&["shop:read"]));
        let either = "a-(?<namespace>x)-(?<role>read)|b";
        assert!(
            grants("roles", Some(either), r#"{"roles": ["a-x-read-y", "b", "y-b"]}"#).is_empty()
        );
        let system = r#"{"roles": ["perennial/temporal-system/admin"]}"#;
        assert_eq!(grants("roles", Some(pattern), system), Grants::everything());
    }

    #[test]
    fn unusable_patterns_are_refused() {
        let refused = |pattern: &str| PermissionRules::new("x", Some(pattern)).unwrap_err();
        assert_eq!(refused("(?P<role>.*)"), InvalidPattern::Group("namespace"));
        assert_eq!(refused("(?P<namespace>.*)"), InvalidPattern::Group("role"));
        assert_eq!(refused(&"x".repeat(1025)), InvalidPattern::TooLong);
        assert!(matches!(refused("("), InvalidPattern::Syntax(_)));
        assert!(matches!(refused("(?P<namespace>a)(?P<role>b)){c"), InvalidPattern::Syntax(_)));
        let large = r"(?P<namespace>\w{1000})(?P<role>\w{1000}){100}";
        assert!(matches!(refused(large), InvalidPattern::Syntax(_)));
    }
}
