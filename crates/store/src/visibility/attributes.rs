//! The search attributes of a namespace.

use std::collections::HashMap;

use super::column::{AttributeColumn, Column, Predefined, ValueType};

/// The attributes of a namespace: those every namespace has, and those its users registered.
///
/// Names are exact, case and all. A built-in name is never a custom one.
///
/// ```
/// use perennial_store::visibility::{Attributes, Query, ValueType};
///
/// let attributes = Attributes::builtin().with_custom("OrderId", ValueType::Keyword, 1)?;
/// assert!(Query::parse("OrderId = '42'", &attributes).is_ok());
/// assert!(Query::parse("InvoiceId = '42'", &attributes).is_err());
/// # Ok::<(), perennial_store::visibility::AttributeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Attributes {
    custom: HashMap<String, AttributeColumn>,
}

/// Why a custom attribute is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    /// The name means something already.
    #[error("search attribute {0} is built in; choose another name")]
    BuiltIn(String),
    /// There is no such column.
    #[error("there is no {0} column {1}: {0} columns go from 1 to {max}", max = .0.custom_columns())]
    NoSuchColumn(ValueType, u8),
}

impl Attributes {
    /// The attributes that every namespace has.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Adds an attribute that users registered, kept in the `number`th column of its type (from 1).
    pub fn with_custom(
        mut self,
        name: impl Into<String>,
        value_type: ValueType,
        number: u8,
    ) -> Result<Self, AttributeError> {
        let name = name.into();
        if builtin(&name).is_some() {
            return Err(AttributeError::BuiltIn(name));
        }
        if !(1..=value_type.custom_columns()).contains(&number) {
            return Err(AttributeError::NoSuchColumn(value_type, number));
        }
        self.custom.insert(name, AttributeColumn::Custom { value_type, number });
        Ok(self)
    }

    /// The column a query means by `name`.
    ///
    /// `ScheduleId` means the workflow id: in Temporal a schedule is a workflow. The prefix `Temporal` may be left out or
    /// put before any built-in name.
    pub(super) fn resolve(&self, name: &str) -> Option<Column> {
        if let Some(column) = builtin(name) {
            return Some(column);
        }
        if let Some(column) = self.custom.get(name) {
            return Some(Column::Attribute(*column));
        }
        let bare = name.strip_prefix("Temporal");
        if bare.unwrap_or(name) == "ScheduleId" {
            return Some(Column::WorkflowId);
        }
        preallocated(name).or_else(|| builtin(&format!("Temporal{name}"))).or_else(|| {
            let bare = bare?;
            builtin(bare).or_else(|| preallocated(bare))
        })
    }
}

impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn builtin(name: &str) -> Option<Column> {
    let system = Column::SYSTEM.into_iter().find(|known| known.name() == name);
    system.or_else(|| {
        let predefined = Predefined::ALL.into_iter().find(|known| known.name() == name)?;
        Some(Column::Attribute(AttributeColumn::Predefined(predefined)))
    })
}

/// A column by its own name, `Keyword01`, as Temporal lets one do.
fn preallocated(name: &str) -> Option<Column> {
    let split = name.len().checked_sub(2).filter(|split| name.is_char_boundary(*split))?;
    let (type_name, digits) = name.split_at(split);
    let value_type = ValueType::ALL.into_iter().find(|known| known.name() == type_name)?;
    let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
    (1..=value_type.custom_columns())
        .contains(&number)
        .then_some(Column::Attribute(AttributeColumn::Custom { value_type, number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str) -> Option<Column> {
        let attributes =
            Attributes::builtin().with_custom("OrderId", ValueType::Keyword, 3).unwrap();
        attributes.resolve(name)
    }

    fn custom(value_type: ValueType, number: u8) -> Option<Column> {
        Some(Column::Attribute(AttributeColumn::Custom { value_type, number }))
    }

    #[test]
    fn names_are_exact() {
        assert_eq!(resolve("WorkflowId"), Some(Column::WorkflowId));
        assert_eq!(resolve("workflowId"), None);
        assert_eq!(resolve("OrderId"), custom(ValueType::Keyword, 3));
        assert_eq!(resolve("Orderid"), None);
        assert_eq!(resolve(""), None);
        assert_eq!(resolve("é"), None);
    }

    #[test]
    fn the_prefix_temporal_may_come_and_go_on_builtin_names_only() {
        let by_id = AttributeColumn::Predefined(Predefined::TemporalScheduledById);
        assert_eq!(resolve("ScheduledById"), Some(Column::Attribute(by_id)));
        assert_eq!(resolve("TemporalWorkflowId"), Some(Column::WorkflowId));
        assert_eq!(resolve("TemporalBool01"), custom(ValueType::Bool, 1));
        assert_eq!(resolve("TemporalOrderId"), None);
    }

    #[test]
    fn a_schedule_id_is_a_workflow_id_unless_registered() {
        assert_eq!(resolve("ScheduleId"), Some(Column::WorkflowId));
        assert_eq!(resolve("TemporalScheduleId"), Some(Column::WorkflowId));
        let attributes =
            Attributes::builtin().with_custom("ScheduleId", ValueType::Keyword, 1).unwrap();
        assert_eq!(attributes.resolve("ScheduleId"), custom(ValueType::Keyword, 1));
    }

    #[test]
    fn a_column_answers_to_its_own_name() {
        assert_eq!(resolve("Keyword01"), custom(ValueType::Keyword, 1));
        assert_eq!(resolve("KeywordList05"), custom(ValueType::KeywordList, 5));
        assert_eq!(resolve("Keyword00"), None);
        assert_eq!(resolve("Text04"), None);
        assert_eq!(resolve("Keyword+1"), None);
    }

    #[test]
    fn a_custom_attribute_needs_a_free_name_and_a_column_that_exists() {
        let refused = |name: &str, value_type, number| {
            Attributes::builtin().with_custom(name, value_type, number).unwrap_err().to_string()
        };
        assert_eq!(
            refused("RunId", ValueType::Keyword, 1),
            "search attribute RunId is built in; choose another name"
        );
        assert_eq!(
            refused("OrderId", ValueType::Text, 4),
            "there is no Text column 4: Text columns go from 1 to 3"
        );
    }
}
