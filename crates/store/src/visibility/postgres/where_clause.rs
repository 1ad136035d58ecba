//! Translates filters to SQL.

use crate::postgres::statement::{Parameter, float8, float8s, int8, int8s, text, texts};
use crate::visibility::column::{Column, ValueType};
use crate::visibility::filter::{Comparison, Filter, Operand};
use crate::visibility::sql::{first_after, joined};

/// A condition for a WHERE clause, in parentheses where it needs them. Adds the parameters of its `$n`s. Nothing a user
/// wrote is part of the text.
pub(super) fn where_clause(filter: &Filter, parameters: &mut Vec<Parameter>) -> String {
    Writer { parameters }.condition(filter)
}

struct Writer<'a> {
    parameters: &'a mut Vec<Parameter>,
}

impl Writer<'_> {
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
                self.compare(*column, *comparison, operand)
            }
            Filter::Between { column, low, high } => {
                let low = self.compare(*column, Comparison::GreaterOrEqual, low);
                let high = self.compare(*column, Comparison::LessOrEqual, high);
                format!("({low} AND {high})")
            }
            Filter::In { column, operands } => self.is_in(*column, operands),
            Filter::StartsWith { column, prefix } => self.starts_with(*column, prefix),
            // False without a list, never unknown, and still found by an index.
            Filter::HasAny { column, keywords } => {
                let (column, keywords) = (column.sql_name(), self.place(texts(keywords.clone())));
                format!("({column} IS NOT NULL AND {column} && {keywords})")
            }
            Filter::Mentions { phrases, .. } if phrases.is_empty() => "FALSE".to_owned(),
            Filter::Mentions { column, phrases } => format!(
                "EXISTS (SELECT 1 FROM unnest({}) AS phrases (phrase) WHERE strpos({}, phrase) > 0)",
                self.place(texts(phrases.clone())),
                column.sql_name()
            ),
            Filter::IsNull(column) => format!("({} IS NULL)", column.sql_name()),
        }
    }

    fn compare(&mut self, column: Column, comparison: Comparison, operand: &Operand) -> String {
        let (value, is_exact) = match nearest(column, operand) {
            Nearest::At(value) => (value, true),
            Nearest::JustAbove(value) => (value, false),
            Nearest::BelowAll => {
                return match comparison {
                    Comparison::Equal | Comparison::Less | Comparison::LessOrEqual => never(column),
                    Comparison::NotEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                        always(column)
                    }
                };
            }
        };
        // If no value of the column equals the operand, it is compared with the greatest one below.
        let operator = match (comparison, is_exact) {
            (Comparison::Equal, true) => "=",
            (Comparison::Equal, false) => return never(column),
            (Comparison::NotEqual, true) => "<>",
            (Comparison::NotEqual, false) => return always(column),
            (Comparison::Less, true) => "<",
            (Comparison::Less, false) | (Comparison::LessOrEqual, _) => "<=",
            (Comparison::GreaterOrEqual, true) => ">=",
            (Comparison::GreaterOrEqual, false) | (Comparison::Greater, _) => ">",
        };
        format!("({} {operator} {})", column.sql_name(), self.operand(value))
    }

    fn is_in(&mut self, column: Column, operands: &[Operand]) -> String {
        let (mut keywords, mut integers, mut reals) = (Vec::new(), Vec::new(), Vec::new());
        for operand in operands {
            match nearest(column, operand) {
                Nearest::At(Operand::Text(text)) => keywords.push(text),
                Nearest::At(Operand::Integer(integer)) => integers.push(integer),
                Nearest::At(Operand::Real(real)) => reals.push(real),
                Nearest::JustAbove(_) | Nearest::BelowAll => {}
            }
        }
        // They are all of the column's type.
        let values = if !keywords.is_empty() {
            texts(keywords)
        } else if !integers.is_empty() {
            int8s(integers)
        } else if !reals.is_empty() {
            float8s(reals)
        } else {
            return never(column);
        };
        format!("({} = ANY ({}))", column.sql_name(), self.place(values))
    }

    /// A range, which an index can answer: from the prefix to the first text after all that have it.
    fn starts_with(&mut self, column: Column, prefix: &str) -> String {
        let column = column.sql_name();
        let begin = self.place(text(prefix));
        match first_after(prefix) {
            Some(end) => format!("({column} >= {begin} AND {column} < {})", self.place(text(end))),
            None => format!("({column} >= {begin})"),
        }
    }

    fn operand(&mut self, operand: Operand) -> String {
        self.place(match operand {
            Operand::Text(value) => text(value),
            Operand::Integer(integer) => int8(integer),
            Operand::Real(real) => float8(real),
        })
    }

    fn place(&mut self, parameter: Parameter) -> String {
        self.parameters.push(parameter);
        format!("${}", self.parameters.len())
    }
}

/// True of every value, unknown without one.
fn always(column: Column) -> String {
    format!("({0} = {0})", column.sql_name())
}

/// False of every value, unknown without one.
fn never(column: Column) -> String {
    format!("({0} <> {0})", column.sql_name())
}

/// An operand as a value of the column's type. PostgreSQL would round one of the two, and compare them then.
#[derive(Debug, PartialEq)]
enum Nearest {
    /// This value equals it.
    At(Operand),
    /// No value equals it; this is the greatest one below.
    JustAbove(Operand),
    /// It is less than every value.
    BelowAll,
}

fn nearest(column: Column, operand: &Operand) -> Nearest {
    let is_real = column.value_type() == ValueType::Double;
    match operand {
        Operand::Real(real) if !is_real => nearest_integer(*real),
        Operand::Integer(integer) if is_real => nearest_real(*integer),
        Operand::Text(_) | Operand::Integer(_) | Operand::Real(_) => Nearest::At(operand.clone()),
    }
}

fn nearest_integer(real: f64) -> Nearest {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if real < -TWO_TO_63 {
        return Nearest::BelowAll;
    }
    if real >= TWO_TO_63 {
        return Nearest::JustAbove(Operand::Integer(i64::MAX));
    }
    let floor = real.floor();
    let value = Operand::Integer(floor as i64);
    if floor == real { Nearest::At(value) } else { Nearest::JustAbove(value) }
}

fn nearest_real(integer: i64) -> Nearest {
    let rounded = integer as f64;
    // Both fit: the greatest real that rounding gives is 2^63.
    match i128::from(integer) - rounded as i128 {
        0 => Nearest::At(Operand::Real(rounded)),
        1.. => Nearest::JustAbove(Operand::Real(rounded)),
        _ => Nearest::JustAbove(Operand::Real(rounded.next_down())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_user_wrote_becomes_sql() {
        let filter = Filter::is_keyword(Column::WorkflowId, "' OR 1=1 --");
        let mut parameters = vec![int8(1)];
        assert_eq!(where_clause(&filter, &mut parameters), "(workflow_id = $2)");
        assert_eq!(parameters.len(), 2);
    }

    #[test]
    fn numbers_are_compared_without_rounding() {
        let integer = |real| nearest_integer(real);
        assert_eq!(integer(2.0), Nearest::At(Operand::Integer(2)));
        assert_eq!(integer(2.5), Nearest::JustAbove(Operand::Integer(2)));
        assert_eq!(integer(-2.5), Nearest::JustAbove(Operand::Integer(-3)));
        assert_eq!(integer(1e300), Nearest::JustAbove(Operand::Integer(i64::MAX)));
        assert_eq!(integer(-1e300), Nearest::BelowAll);
        let two_to_53 = 9_007_199_254_740_992_i64;
        let real = |value: i64| Operand::Real(value as f64);
        assert_eq!(nearest_real(two_to_53), Nearest::At(real(two_to_53)));
        assert_eq!(nearest_real(two_to_53 + 1), Nearest::JustAbove(real(two_to_53)));
        assert_eq!(nearest_real(two_to_53 + 3), Nearest::JustAbove(real(two_to_53 + 2)));
        let below_max = 9_223_372_036_854_774_784_i64;
        assert_eq!(nearest_real(i64::MAX), Nearest::JustAbove(real(below_max)));
    }
}
