//! Lists and counts, by a scan of all rows.

use std::collections::BTreeMap;

use perennial_engine::NamespaceKey;

use super::disk::Disk;
use crate::visibility::{
    AttributeColumn, Count, Execution, Group, GroupBy, GroupKey, Page, Position, Predefined, Query,
    Row, Value,
};

impl Disk {
    pub(super) fn list(
        &self,
        namespace: NamespaceKey,
        query: &Query,
        page_size: usize,
        after: Option<&Position>,
    ) -> Page {
        let is_after = |execution: &Execution| after < Some(&Position::of(execution));
        let found = self.found(namespace, query).map(|row| row.execution.as_listed());
        let mut found: Vec<_> = found.filter(is_after).collect();
        found.sort_by_cached_key(Position::of);
        Page::of(found, page_size)
    }

    pub(super) fn count(&self, namespace: NamespaceKey, query: &Query) -> Count {
        let mut total = 0;
        let mut groups: BTreeMap<GroupKey, i64> = BTreeMap::new();
        for row in self.found(namespace, query) {
            total += 1;
            if let Some(group_by) = query.group_by {
                *groups.entry(group_of(row, group_by)).or_default() += 1;
            }
        }
        let groups = groups.into_iter().map(|(key, count)| Group { key, count }).collect();
        Count { total, groups }
    }

    fn found(&self, namespace: NamespaceKey, query: &Query) -> impl Iterator<Item = &Row> {
        let rows = self.visibility.values();
        rows.filter(move |row| row.namespace == namespace.0 && query.filter.matches(row))
    }
}

fn group_of(row: &Row, group_by: GroupBy) -> GroupKey {
    let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
    match group_by {
        GroupBy::ExecutionStatus => GroupKey::Status(row.execution.status),
        GroupBy::NamespaceDivision => GroupKey::Division(match row.values.get(division) {
            Some(Value::Keyword(division)) => Some(division.clone()),
            _ => None,
        }),
    }
}
