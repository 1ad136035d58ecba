//! Translates filters to SQL.

use rusqlite::types::Value as SqlValue;

use crate::visibility::column::Column;
use crate::visibility::filter::{Comparison, Filter, Operand};
use crate::visibility::sql::{first_after, joined};

/// A condition for a WHERE clause, in parentheses where it needs them, and the parameters of its `?`s
/// in order. Nothing a user wrote is part of the text.
pub(super) fn where_clause(filter: &Filter) -> (String, Vec<SqlValue>) {
    let mut writer = Writer { parameters: Vec::new() };
    (writer.condition(filter), writer.parameters)
}

/// Longer lists become one parameter, a JSON array: SQLite has no more than 32,766 of them.
const SEPARATE_PARAMETERS_MAX: usize = 50;

struct Writer {
    parameters: Vec<SqlValue>,
}

impl Writer {
    fn condition(&mut self, filter: &Filter) -> String {
        match filter {
            Filter::And(terms) if terms.is_empty() => "TRUE".to_owned(),
            Filter::And(terms) => {
                let terms: Vec<_> = terms.iter().map(|term| self.condition(term)).collect();
                joined(&terms, "AND")
            }
            Filter::Or(terms) => {
                let terms: Vec<_> = terms.iter().map(|term| self.condition(term)).collect();
                joined(&terms, "OR")
            }
            Filter::Not(inner) => format!("(NOT {})", self.condition(inner)),
            Filter::Compare { column, comparison, operand } => {
                let operator = match comparison {
                    Comparison::Equal => "=",
                    Comparison::NotEqual => "!=",
                    Comparison::Less => "<",
                    Comparison::LessOrEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterOrEqual => ">=",
                };
                format!("({} {operator} {})", column.sql_name(), self.operand(operand))
            }
            Filter::Between { column, low, high } => {
                let (low, high) = (self.operand(low), self.operand(high));
                format!("({} BETWEEN {low} AND {high})", column.sql_name())
            }
            Filter::In { column, operands } => {
                let operands: Vec<_> = operands.iter().map(to_sql).collect();
                format!("({} IN {})", column.sql_name(), self.list(operands))
            }
            Filter::StartsWith { column, prefix } => self.starts_with(*column, prefix),
            Filter::HasAny { column, keywords } => {
                let keywords = keywords.iter().cloned().map(SqlValue::Text).collect();
                format!(
                    "EXISTS (SELECT 1 FROM json_each({}) WHERE value IN {})",
                    column.sql_name(),
                    self.list(keywords)
                )
            }
            Filter::Mentions { phrases, .. } if phrases.is_empty() => "FALSE".to_owned(),
            Filter::Mentions { column, phrases } => {
                let phrases = phrases.iter().cloned().map(SqlValue::Text).collect();
                format!(
                    "EXISTS (SELECT 1 FROM json_each({}) WHERE instr({}, value) > 0)",
                    self.json(phrases),
                    column.sql_name()
                )
            }
            Filter::IsNull(column) => format!("({} IS NULL)", column.sql_name()),
        }
    }

    /// A range, which an index can answer: from the prefix to the first text after all that have it.
    fn starts_with(&mut self, column: Column, prefix: &str) -> String {
        let column = column.sql_name();
        self.parameters.push(SqlValue::Text(prefix.to_owned()));
        match first_after(prefix) {
            Some(end) => {
                self.parameters.push(SqlValue::Text(end));
                format!("({column} >= ? AND {column} < ?)")
            }
            None => format!("({column} >= ?)"),
        }
    }

    fn operand(&mut self, operand: &Operand) -> &'static str {
        self.parameters.push(to_sql(operand));
        "?"
    }

    fn list(&mut self, values: Vec<SqlValue>) -> String {
        if values.len() > SEPARATE_PARAMETERS_MAX {
            return format!("(SELECT value FROM json_each({}))", self.json(values));
        }
        let places = vec!["?"; values.len()].join(", ");
        self.parameters.extend(values);
        format!("({places})")
    }

    fn json(&mut self, values: Vec<SqlValue>) -> &'static str {
        let values = values.into_iter().map(|value| match value {
            SqlValue::Integer(integer) => integer.into(),
            SqlValue::Real(real) => real.into(),
            SqlValue::Text(text) => text.into(),
            SqlValue::Null | SqlValue::Blob(_) => serde_json::Value::Null,
        });
        let array = serde_json::Value::Array(values.collect());
        self.parameters.push(SqlValue::Text(array.to_string()));
        "?"
    }
}

fn to_sql(operand: &Operand) -> SqlValue {
    match operand {
        Operand::Text(text) => SqlValue::Text(text.clone()),
        Operand::Integer(integer) => SqlValue::Integer(*integer),
        Operand::Real(real) => SqlValue::Real(*real),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_user_wrote_becomes_sql() {
        let filter = Filter::Compare {
            column: Column::WorkflowId,
            comparison: Comparison::Equal,
            operand: Operand::Text("' OR 1=1 --".to_owned()),
        };
        let (sql, parameters) = where_clause(&filter);
        assert_eq!(sql, "(workflow_id = ?)");
        assert_eq!(parameters, [SqlValue::Text("' OR 1=1 --".to_owned())]);
    }
}
