//! Parses and checks queries.

use super::attributes::Attributes;
use super::check::Checker;
use super::column::{AttributeColumn, Column, Predefined, ValueType};
use super::error::QueryError;
use super::filter::Filter;
use super::grammar::{self, Clauses};

/// A parsed and checked list filter.
///
/// Runs in a namespace division (the server's own) are left out unless the query names
/// `TemporalNamespaceDivision`; the filter says so itself.
///
/// ```
/// use perennial_store::visibility::{Attributes, GroupBy, Query};
///
/// let query = Query::parse("WorkflowType = 'Order' GROUP BY ExecutionStatus", &Attributes::builtin())?;
/// assert_eq!(query.group_by, Some(GroupBy::ExecutionStatus));
/// # Ok::<(), perennial_store::visibility::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The condition that rows have to meet.
    pub filter: Filter,
    /// How a count is split. Lists don't look at it.
    pub group_by: Option<GroupBy>,
}

/// The attribute that a count is grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// One count for each status.
    ExecutionStatus,
    /// One count for each division, and one for the runs in none.
    NamespaceDivision,
}

/// The longest query that is read: thousands of ids fit, and becomes one statement of SQL.
const TEXT_BYTES_MAX: usize = 2 * 1024 * 1024;

impl Query {
    /// Parses and checks a query; an empty one means every run.
    pub fn parse(text: &str, attributes: &Attributes) -> Result<Self, QueryError> {
        let checked = Checked::of(text, attributes)?;
        let filter = match (checked.condition, checked.names_division) {
            (Some(condition), true) => condition,
            (None, true) => Filter::And(Vec::new()),
            (Some(condition), false) => Filter::And(vec![condition, in_no_division()]),
            (None, false) => in_no_division(),
        };
        Ok(Self { filter, group_by: checked.group_by })
    }

    /// Parses and checks a query about what `scope` admits: all of its filters must hold, whatever the text says.
    ///
    /// The text is parsed by itself, so it can't end the scope early, and it may have clauses of its own.
    pub fn parse_within(
        mut scope: Vec<Filter>,
        text: &str,
        attributes: &Attributes,
    ) -> Result<Self, QueryError> {
        let checked = Checked::of(text, attributes)?;
        scope.extend(checked.condition);
        Ok(Self { filter: Filter::And(scope), group_by: checked.group_by })
    }

    /// The runs for which all filters hold, without those in a namespace division.
    pub fn of_runs(mut filters: Vec<Filter>) -> Self {
        filters.push(in_no_division());
        Self { filter: Filter::And(filters), group_by: None }
    }
}

/// A checked text, before a condition on the division is added.
struct Checked {
    condition: Option<Filter>,
    names_division: bool,
    group_by: Option<GroupBy>,
}

impl Checked {
    fn of(text: &str, attributes: &Attributes) -> Result<Self, QueryError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(QueryError::invalid(format_args!(
                "the query has {} bytes; at most {TEXT_BYTES_MAX} are read",
                text.len()
            )));
        }
        if text.contains('\0') {
            // No row has it, and PostgreSQL refuses to look for it.
            return Err(QueryError::invalid("the query has the character U+0000"));
        }
        let clauses = grammar::parse(text)?;
        if clauses.limit {
            return Err(QueryError::unsupported("'LIMIT' clause"));
        }
        if clauses.having {
            return Err(QueryError::unsupported("'HAVING' clause"));
        }
        let mut checker = Checker::new(attributes);
        let condition = match &clauses.condition {
            Some(condition) => Some(checker.condition(condition)?),
            None => None,
        };
        let group_by = group_by(&clauses, &mut checker)?;
        refuse_order(&clauses, &mut checker)?;
        Ok(Self { condition, names_division: checker.names_division(), group_by })
    }
}

fn in_no_division() -> Filter {
    let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
    Filter::IsNull(Column::Attribute(division))
}

fn group_by(clauses: &Clauses, checker: &mut Checker<'_>) -> Result<Option<GroupBy>, QueryError> {
    let field = match &clauses.group_by[..] {
        [] => return Ok(None),
        [field] => field,
        _ => {
            let problem = "'GROUP BY' clause supports only a single field";
            return Err(QueryError::unsupported(problem));
        }
    };
    let (column, name) = checker.column(field)?;
    let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
    match column {
        Column::ExecutionStatus => Ok(Some(GroupBy::ExecutionStatus)),
        Column::Attribute(column) if column == division => Ok(Some(GroupBy::NamespaceDivision)),
        _ => Err(QueryError::unsupported(format_args!(
            "'GROUP BY' clause is not supported for search attribute {name}"
        ))),
    }
}

/// There is one order, so that pages can continue by key.
fn refuse_order(clauses: &Clauses, checker: &mut Checker<'_>) -> Result<(), QueryError> {
    for field in &clauses.order_by {
        let (column, _) = checker.column(field)?;
        if column.value_type() == ValueType::Text {
            let problem = "unable to sort by search attribute type Text";
            return Err(QueryError::unsupported(problem));
        }
    }
    if clauses.order_by.is_empty() {
        Ok(())
    } else {
        Err(QueryError::unsupported("'ORDER BY' clause"))
    }
}
