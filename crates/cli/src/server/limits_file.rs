//! Limits of namespaces and principals, in the settings file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use perennial_library::{CallLimits, NamespaceLimits, PrincipalLimits, UsageLimits};
use serde::Deserialize;

/// The table `limits` of the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsFile {
    #[serde(default)]
    namespace: NamespaceFile,
    /// By the name of the namespace.
    #[serde(default)]
    namespaces: BTreeMap<String, NamespaceFile>,
    #[serde(default)]
    principal: PrincipalFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamespaceFile {
    requests_per_second: Option<NonZeroU32>,
    bytes_per_second: Option<NonZeroU32>,
    polls: Option<usize>,
    schedules: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalFile {
    requests_per_second: Option<NonZeroU32>,
    bytes_per_second: Option<NonZeroU32>,
    polls: Option<usize>,
    connections: Option<usize>,
}

impl From<LimitsFile> for UsageLimits {
    fn from(file: LimitsFile) -> Self {
        let namespaces = file.namespaces.into_iter();
        Self {
            namespace: file.namespace.into(),
            namespaces: namespaces.map(|(name, limits)| (name, limits.into())).collect(),
            principal: file.principal.into(),
        }
    }
}

impl From<NamespaceFile> for NamespaceLimits {
    fn from(file: NamespaceFile) -> Self {
        let NamespaceFile { requests_per_second, bytes_per_second, polls, schedules } = file;
        Self { calls: CallLimits { requests_per_second, bytes_per_second, polls }, schedules }
    }
}

impl From<PrincipalFile> for PrincipalLimits {
    fn from(file: PrincipalFile) -> Self {
        let PrincipalFile { requests_per_second, bytes_per_second, polls, connections } = file;
        Self { calls: CallLimits { requests_per_second, bytes_per_second, polls }, connections }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_given_for_all_and_for_single_namespaces() {
        let file = r#"
            namespace = { requests_per_second = 100, schedules = 1000 }
            namespaces.shop = { polls = 50 }
            principal = { connections = 5 }
        "#;
        let limits = UsageLimits::from(toml::from_str::<LimitsFile>(file).unwrap());
        assert_eq!(limits.namespace.calls.requests_per_second, NonZeroU32::new(100));
        assert_eq!(limits.namespace.schedules, Some(1_000));
        assert_eq!(limits.namespaces["shop"].calls.polls, Some(50));
        assert_eq!(limits.principal.connections, Some(5));
        for bad in ["namespace = { requests_per_second = 0 }", "namespace = { rps = 1 }"] {
            assert!(toml::from_str::<LimitsFile>(bad).is_err(), "{bad}");
        }
    }
}
