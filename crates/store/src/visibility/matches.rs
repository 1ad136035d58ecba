//! Evaluates filters on rows in memory.

use std::cmp::Ordering;

use super::column::Column;
use super::filter::{Comparison, Filter, Operand};
use super::row::{Row, Value, to_micros};
use super::text_tokens;

impl Filter {
    /// Whether a row matches. A database that holds the row gives the same answer.
    pub fn matches(&self, row: &Row) -> bool {
        self.answer(row) == Some(true)
    }

    /// The answer for a row; `None` is unknown.
    fn answer(&self, row: &Row) -> Option<bool> {
        match self {
            Self::And(terms) => all(terms.iter().map(|term| term.answer(row))),
            Self::Or(terms) => all(terms.iter().map(|term| term.answer(row).map(|so| !so)))
                .map(|none_of_them| !none_of_them),
            Self::Not(inner) => inner.answer(row).map(|so| !so),
            Self::Compare { column, comparison, operand } => {
                let ordering = scalar(row, *column)?.compare(operand)?;
                Some(comparison.holds(ordering))
            }
            Self::Between { column, low, high } => {
                let value = scalar(row, *column)?;
                let above = value.compare(low).map(Ordering::is_ge);
                let below = value.compare(high).map(Ordering::is_le);
                all([above, below].into_iter())
            }
            Self::In { column, operands } => {
                let value = scalar(row, *column)?;
                Some(operands.iter().any(|operand| value.compare(operand) == Some(Ordering::Equal)))
            }
            Self::StartsWith { column, prefix } => match scalar(row, *column)? {
                Scalar::Text(text) => Some(text.starts_with(prefix)),
                Scalar::Integer(_) | Scalar::Real(_) => None,
            },
            Self::HasAny { column, keywords } => Some(match attribute(row, *column) {
                Some(Value::KeywordList(list)) => list.iter().any(|item| keywords.contains(item)),
                _ => false,
            }),
            Self::Mentions { column, phrases } => Some(match attribute(row, *column) {
                Some(Value::Text(text)) => text_tokens::phrase(text)
                    .is_some_and(|words| phrases.iter().any(|phrase| words.contains(phrase))),
                _ => false,
            }),
            Self::IsNull(column) => {
                Some(attribute(row, *column).is_none() && scalar(row, *column).is_none())
            }
        }
    }
}

/// AND of three-valued logic: false if any is false, else unknown if any is unknown.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut so_far = Some(true);
    for answer in answers {
        match answer {
            Some(false) => return Some(false),
            Some(true) => {}
            None => so_far = None,
        }
    }
    so_far
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// A row's value in the form that is compared.
#[derive(Debug, Clone, Copy)]
enum Scalar<'a> {
    Text(&'a str),
    Integer(i64),
    Real(f64),
}

impl Scalar<'_> {
    fn compare(self, operand: &Operand) -> Option<Ordering> {
        match (self, operand) {
            (Self::Text(text), Operand::Text(operand)) => Some(text.cmp(operand.as_str())),
            (Self::Integer(integer), Operand::Integer(operand)) => Some(integer.cmp(operand)),
            (Self::Integer(integer), Operand::Real(operand)) => {
                Some(compare_exactly(integer, *operand))
            }
            (Self::Real(real), Operand::Integer(operand)) => {
                Some(compare_exactly(*operand, real).reverse())
            }
            (Self::Real(real), Operand::Real(operand)) => real.partial_cmp(operand),
            (Self::Text(_), Operand::Integer(_) | Operand::Real(_))
            | (Self::Integer(_) | Self::Real(_), Operand::Text(_)) => None,
        }
    }
}

/// Compares without rounding the integer, which a cast would do beyond 2^53.
fn compare_exactly(integer: i64, real: f64) -> Ordering {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if real >= TWO_TO_63 {
        Ordering::Less
    } else if real < -TWO_TO_63 {
        Ordering::Greater
    } else {
        let whole = real.trunc();
        integer.cmp(&(whole as i64)).then_with(|| whole.total_cmp(&real))
    }
}

fn attribute(row: &Row, column: Column) -> Option<&Value> {
    match column {
        Column::Attribute(column) => row.values.get(column),
        _ => None,
    }
}

fn scalar(row: &Row, column: Column) -> Option<Scalar<'_>> {
    let execution = &row.execution;
    let closed = execution.closed.as_ref();
    let parent = execution.parent.as_ref();
    Some(match column {
        Column::WorkflowId => Scalar::Text(&execution.workflow_id),
        Column::RunId => Scalar::Text(&execution.run_id),
        Column::WorkflowType => Scalar::Text(&execution.workflow_type),
        Column::ExecutionStatus => Scalar::Integer(i64::from(execution.status)),
        Column::TaskQueue => Scalar::Text(&execution.task_queue),
        Column::StartTime => Scalar::Integer(to_micros(execution.start_time_nanos)),
        Column::ExecutionTime => Scalar::Integer(to_micros(execution.execution_time_nanos)),
        Column::CloseTime => Scalar::Integer(to_micros(closed?.time_nanos)),
        Column::ExecutionDuration => Scalar::Integer(closed?.execution_duration_nanos),
        Column::HistoryLength => Scalar::Integer(closed?.history_length),
        Column::HistorySizeBytes => Scalar::Integer(closed?.history_size_bytes),
        Column::StateTransitionCount => Scalar::Integer(closed?.state_transition_count),
        Column::ParentWorkflowId => Scalar::Text(&parent?.workflow_id),
        Column::ParentRunId => Scalar::Text(&parent?.run_id),
        Column::RootWorkflowId => Scalar::Text(&execution.root.workflow_id),
        Column::RootRunId => Scalar::Text(&execution.root.run_id),
        Column::Attribute(column) => match row.values.get(column)? {
            Value::Keyword(text) => Scalar::Text(text),
            Value::Int(integer) => Scalar::Integer(*integer),
            Value::Double(real) => Scalar::Real(*real),
            Value::Bool(value) => Scalar::Integer(i64::from(*value)),
            Value::Datetime(nanos) => Scalar::Integer(to_micros(*nanos)),
            Value::KeywordList(_) | Value::Text(_) => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_compare_with_reals_exactly() {
        let beyond = 2_i64.pow(53) + 1;
        assert_eq!(compare_exactly(beyond, beyond as f64), Ordering::Greater);
        assert_eq!(compare_exactly(2, 2.5), Ordering::Less);
        assert_eq!(compare_exactly(-2, -2.5), Ordering::Greater);
        assert_eq!(compare_exactly(0, -0.0), Ordering::Equal);
        assert_eq!(compare_exactly(i64::MAX, 1e300), Ordering::Less);
        assert_eq!(compare_exactly(i64::MIN, -1e300), Ordering::Greater);
    }
}
