//! Turns syntax into filters: checks attributes, types and operators.

use super::attributes::Attributes;
use super::column::{AttributeColumn, Column, Predefined, ValueType};
use super::error::QueryError;
use super::filter::{Comparison, Filter, Operand};
use super::literal::Written;
use super::syntax::{Is, Literal, Operator, Syntax};
use super::{datetime, duration, status, text_tokens};

/// Turns syntax into filters. Checks in the order of Temporal's server, the attribute, the value, then the operator, and
/// reports the first problem.
pub(super) struct Checker<'a> {
    attributes: &'a Attributes,
    names_division: bool,
}

impl<'a> Checker<'a> {
    pub(super) fn new(attributes: &'a Attributes) -> Self {
        Self { attributes, names_division: false }
    }

    /// Whether the query names `TemporalNamespaceDivision`.
    pub(super) fn names_division(&self) -> bool {
        self.names_division
    }

    pub(super) fn condition(&mut self, syntax: &Syntax) -> Result<Filter, QueryError> {
        match syntax {
            Syntax::Paren(inner) => self.condition(inner),
            Syntax::Not(inner) => Ok(not(self.condition(inner)?)),
            Syntax::And(terms) => Ok(Filter::And(self.conditions(terms)?)),
            Syntax::Or(terms) => Ok(Filter::Or(self.conditions(terms)?)),
            Syntax::Compare { left, operator, right } => self.comparison(left, *operator, right),
            Syntax::Range { left, negated, low, high } => {
                let range = self.range(left, low, high)?;
                Ok(if *negated { not(range) } else { range })
            }
            Syntax::Is { left, test } => self.is(left, *test),
            Syntax::Function => Err(QueryError::unsupported("function expression")),
            Syntax::Column(_) => Err(QueryError::invalid("incomplete expression")),
            Syntax::Literal(_)
            | Syntax::Bool(_)
            | Syntax::Null
            | Syntax::Tuple(_)
            | Syntax::Unary { .. }
            | Syntax::GroupConcat
            | Syntax::Other(_) => {
                let type_name = syntax.type_name();
                Err(QueryError::unsupported(format_args!("expression of type {type_name}")))
            }
        }
    }

    fn conditions(&mut self, terms: &[Syntax]) -> Result<Vec<Filter>, QueryError> {
        terms.iter().map(|term| self.condition(term)).collect()
    }

    /// The column that an expression names, and the name.
    pub(super) fn column(&mut self, syntax: &Syntax) -> Result<(Column, String), QueryError> {
        let Syntax::Column(name) = syntax else {
            let type_name = syntax.type_name();
            let problem = format_args!("must be a column name but was {type_name}");
            return Err(QueryError::invalid(problem));
        };
        let name = name.attribute();
        let column = self.attributes.resolve(&name);
        let column = column.ok_or_else(|| QueryError::unknown_attribute(&name))?;
        let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
        self.names_division |= column == Column::Attribute(division);
        Ok((column, name))
    }

    fn is(&mut self, left: &Syntax, test: Is) -> Result<Filter, QueryError> {
        let (column, _) = self.column(left)?;
        match test {
            Is::Null => Ok(Filter::IsNull(column)),
            Is::NotNull => Ok(not(Filter::IsNull(column))),
            Is::Boolean => Err(QueryError::invalid(
                "'IS' operator can only be used as 'IS NULL' or 'IS NOT NULL'",
            )),
        }
    }

    fn range(&mut self, left: &Syntax, low: &Syntax, high: &Syntax) -> Result<Filter, QueryError> {
        let (column, name) = self.column(left)?;
        let value_type = column.value_type();
        match value_type {
            ValueType::Keyword | ValueType::Int | ValueType::Double | ValueType::Datetime => {}
            ValueType::KeywordList | ValueType::Text | ValueType::Bool => {
                return Err(QueryError::invalid(format_args!(
                    "cannot do range condition on search attribute '{name}' of type {value_type}"
                )));
            }
        }
        let attribute = Attribute { column, name: &name };
        let (low, high) = (attribute.value(low)?, attribute.value(high)?);
        Ok(Filter::Between { column, low: low.one()?, high: high.one()? })
    }

    fn comparison(
        &mut self,
        left: &Syntax,
        operator: Operator,
        right: &Syntax,
    ) -> Result<Filter, QueryError> {
        let (column, name) = self.column(left)?;
        let attribute = Attribute { column, name: &name };
        let value = attribute.value(right)?;
        if column.value_type() == ValueType::Keyword {
            match operator {
                Operator::StartsWith => return attribute.starts_with(operator, value, right),
                Operator::NotStartsWith => {
                    return Ok(not(attribute.starts_with(operator, value, right)?));
                }
                _ => {}
            }
        }
        match column.value_type() {
            ValueType::KeywordList => attribute.list_comparison(operator, value),
            ValueType::Text => attribute.text_comparison(operator, value),
            ValueType::Keyword
            | ValueType::Int
            | ValueType::Double
            | ValueType::Bool
            | ValueType::Datetime => attribute.comparison(operator, value),
        }
    }
}

/// A value of the attribute's type, or several in parentheses.
enum Fitting {
    One(Operand),
    Several(Vec<Fitting>),
}

impl Fitting {
    fn one(self) -> Result<Operand, QueryError> {
        match self {
            Self::One(operand) => Ok(operand),
            Self::Several(_) => Err(self.not_one_string("unexpected value type")),
        }
    }

    fn several(self) -> Result<Vec<Operand>, QueryError> {
        let one_of_several = |item: Self| match item {
            Self::One(operand) => Ok(operand),
            Self::Several(_) => Err(item.not_one_string("unexpected value type in tuple")),
        };
        match self {
            Self::One(operand) => Ok(vec![operand]),
            Self::Several(items) => items.into_iter().map(one_of_several).collect(),
        }
    }

    fn not_one_string(&self, problem: &str) -> QueryError {
        let shown = self.to_sql();
        QueryError::invalid(format_args!("{problem} (expected string, got {shown})"))
    }

    fn to_sql(&self) -> String {
        match self {
            Self::One(Operand::Text(text)) => format!("'{text}'"),
            Self::One(Operand::Integer(integer)) => integer.to_string(),
            Self::One(Operand::Real(real)) => real.to_string(),
            Self::Several(items) => {
                let items: Vec<_> = items.iter().map(Self::to_sql).collect();
                format!("({})", items.join(", "))
            }
        }
    }
}

/// A column and its name in the query, for messages.
struct Attribute<'a> {
    column: Column,
    name: &'a str,
}

impl Attribute<'_> {
    fn comparison(&self, operator: Operator, value: Fitting) -> Result<Filter, QueryError> {
        let column = self.column;
        let comparison = match operator {
            Operator::Equal => Comparison::Equal,
            Operator::NotEqual => Comparison::NotEqual,
            Operator::Less => Comparison::Less,
            Operator::LessOrEqual => Comparison::LessOrEqual,
            Operator::Greater => Comparison::Greater,
            Operator::GreaterOrEqual => Comparison::GreaterOrEqual,
            Operator::In => return Ok(Filter::In { column, operands: value.several()? }),
            Operator::NotIn => return Ok(not(Filter::In { column, operands: value.several()? })),
            Operator::StartsWith
            | Operator::NotStartsWith
            | Operator::NullSafeEqual
            | Operator::Like
            | Operator::NotLike
            | Operator::Regexp
            | Operator::NotRegexp => return Err(self.unsupported(operator)),
        };
        Ok(Filter::Compare { column, comparison, operand: value.one()? })
    }

    /// `written` is the value as it stands in the query.
    fn starts_with(
        &self,
        operator: Operator,
        value: Fitting,
        written: &Syntax,
    ) -> Result<Filter, QueryError> {
        if let Fitting::One(Operand::Text(prefix)) = value {
            return Ok(Filter::StartsWith { column: self.column, prefix });
        }
        let got = as_go_prints(written);
        Err(QueryError::invalid(format_args!(
            "right-hand side of {:?} operator must be a literal string (got: {got})",
            operator.name()
        )))
    }

    fn list_comparison(&self, operator: Operator, value: Fitting) -> Result<Filter, QueryError> {
        let column = self.column;
        let operands = match operator {
            Operator::Equal | Operator::NotEqual => vec![value.one()?],
            Operator::In | Operator::NotIn => value.several()?,
            _ => return Err(self.unsupported(operator)),
        };
        let keywords = operands.into_iter().filter_map(into_text).collect();
        let has_any = Filter::HasAny { column, keywords };
        let negated = matches!(operator, Operator::NotEqual | Operator::NotIn);
        Ok(if negated { not(has_any) } else { has_any })
    }

    fn text_comparison(&self, operator: Operator, value: Fitting) -> Result<Filter, QueryError> {
        if !matches!(operator, Operator::Equal | Operator::NotEqual) {
            return Err(self.unsupported(operator));
        }
        let text = into_text(value.one()?).unwrap_or_default();
        let phrases = text.split(' ').filter_map(text_tokens::phrase).collect();
        let mentions = Filter::Mentions { column: self.column, phrases };
        Ok(if operator == Operator::NotEqual { not(mentions) } else { mentions })
    }

    fn unsupported(&self, operator: Operator) -> QueryError {
        let (name, value_type) = (self.name, self.column.value_type());
        let operator = operator.name().to_uppercase();
        QueryError::unsupported(format_args!(
            "operator '{operator}' not supported for {value_type} type search attribute '{name}'"
        ))
    }

    fn value(&self, syntax: &Syntax) -> Result<Fitting, QueryError> {
        let operand = match syntax {
            Syntax::Literal(literal) => self.fit(Written::read(literal)?)?,
            Syntax::Bool(value) => self.fit_by_type(Written::Bool(*value))?,
            Syntax::Tuple(items) => {
                let items = items.iter().map(|item| self.value(item));
                return Ok(Fitting::Several(items.collect::<Result<_, _>>()?));
            }
            Syntax::Unary { operator, operand } => self.signed(syntax, *operator, operand)?,
            Syntax::Function => return Err(QueryError::unsupported("nested func")),
            Syntax::GroupConcat => return Err(QueryError::unsupported("'group_concat'")),
            Syntax::Column(name) => {
                let name = name.to_string();
                return Err(QueryError::unsupported(format_args!(
                    "column name on the right side of comparison expression (did you forget to \
                     quote {name:?}?)"
                )));
            }
            other => {
                let type_name = other.type_name();
                let problem = format_args!("unexpected value type {type_name}");
                return Err(QueryError::invalid(problem));
            }
        };
        Ok(Fitting::One(operand))
    }

    /// A sign before a fraction; the grammar has merged those before whole numbers.
    fn signed(
        &self,
        whole: &Syntax,
        operator: char,
        operand: &Syntax,
    ) -> Result<Operand, QueryError> {
        if !matches!(operator, '+' | '-') {
            let operator = operator.to_string();
            return Err(QueryError::unsupported(format_args!("unary operator {operator:?}")));
        }
        let Syntax::Literal(literal @ Literal::Float(_)) = operand else {
            let whole = whole.to_string();
            let problem = format_args!("unary operator not supported in {whole:?}");
            return Err(QueryError::invalid(problem));
        };
        Ok(match self.fit(Written::read(literal)?)? {
            Operand::Real(real) if operator == '-' => Operand::Real(-real),
            operand => operand,
        })
    }

    /// The value as an operand of the attribute's type, or the refusal.
    fn fit(&self, written: Written) -> Result<Operand, QueryError> {
        match self.column {
            Column::ExecutionStatus => fit_status(&written),
            Column::ExecutionDuration => fit_duration(&written),
            _ => self.fit_by_type(written),
        }
    }

    fn fit_by_type(&self, written: Written) -> Result<Operand, QueryError> {
        let value_type = self.column.value_type();
        match (value_type, written) {
            (ValueType::Int | ValueType::Double, Written::Integer(integer)) => {
                Ok(Operand::Integer(integer))
            }
            (ValueType::Int | ValueType::Double, Written::Float(real)) => Ok(Operand::Real(real)),
            (ValueType::Bool, Written::Bool(value)) => Ok(Operand::Integer(i64::from(value))),
            (ValueType::Datetime, Written::Integer(nanos)) => {
                Ok(Operand::Integer(nanos.div_euclid(1_000)))
            }
            (ValueType::Datetime, Written::Text(text)) => {
                let micros = datetime::parse_micros(&text).map(Operand::Integer);
                let problem = format_args!("unable to parse datetime '{text}'");
                micros.ok_or_else(|| QueryError::invalid(problem))
            }
            (ValueType::Text, Written::Text(text)) if text.bytes().all(|byte| byte == b' ') => {
                let name = self.name;
                let problem = "no tokens found filtering on Text type search attribute";
                Err(QueryError::invalid(format_args!("{problem} {name}")))
            }
            (
                ValueType::Keyword | ValueType::KeywordList | ValueType::Text,
                Written::Text(text),
            ) => Ok(Operand::Text(text)),
            (_, written) => {
                let (name, kind) = (self.name, written.type_name());
                Err(QueryError::invalid(format_args!(
                    "invalid value type for search attribute {name} of type {value_type}: \
                     {written} (type: {kind})"
                )))
            }
        }
    }
}

fn fit_status(written: &Written) -> Result<Operand, QueryError> {
    let invalid = |shown: String| {
        Err(QueryError::invalid(format_args!("invalid ExecutionStatus value {shown}")))
    };
    match written {
        Written::Integer(number) if status::name_of(*number).is_some() => {
            Ok(Operand::Integer(*number))
        }
        Written::Integer(number) => invalid(number.to_string()),
        Written::Text(name) => match status::number_of(name) {
            Some(number) => Ok(Operand::Integer(i64::from(number))),
            None => invalid(format!("'{name}'")),
        },
        Written::Float(_) | Written::Bool(_) => Err(unexpected(written, "ExecutionStatus")),
    }
}

fn fit_duration(written: &Written) -> Result<Operand, QueryError> {
    match written {
        Written::Integer(nanos) => Ok(Operand::Integer(*nanos)),
        Written::Text(text) => duration::parse_nanos(text).map(Operand::Integer).ok_or_else(|| {
            QueryError::invalid(format_args!(
                "invalid duration value for search attribute ExecutionDuration: {text}"
            ))
        }),
        Written::Float(_) | Written::Bool(_) => Err(unexpected(written, "ExecutionDuration")),
    }
}

fn unexpected(written: &Written, attribute: &str) -> QueryError {
    let kind = written.type_name();
    let problem = format_args!("unexpected value type {kind} for search attribute {attribute}");
    QueryError::invalid(problem)
}

/// Keywords and statuses as a program in Go prints them.
fn as_go_prints(written: &Syntax) -> String {
    match written {
        Syntax::Literal(Literal::Text(text)) => text.clone(),
        Syntax::Literal(Literal::Integer(digits)) => {
            let name = digits.parse().ok().and_then(status::name_of);
            name.unwrap_or(digits).to_owned()
        }
        Syntax::Tuple(items) => {
            let items: Vec<_> = items.iter().map(as_go_prints).collect();
            format!("[{}]", items.join(" "))
        }
        other => other.to_string(),
    }
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

fn into_text(operand: Operand) -> Option<String> {
    match operand {
        Operand::Text(text) => Some(text),
        Operand::Integer(_) | Operand::Real(_) => None,
    }
}
