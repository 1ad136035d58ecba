//! The syntax tree of a query, before attributes and types are checked.

use std::fmt;

/// An expression. Chains of AND and of OR are flat, however long: depth comes from parentheses and
/// prefixes alone, and `grammar` bounds those.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Syntax {
    And(Vec<Syntax>),
    Or(Vec<Syntax>),
    Not(Box<Syntax>),
    Paren(Box<Syntax>),
    Compare {
        left: Box<Syntax>,
        operator: Operator,
        right: Box<Syntax>,
    },
    Range {
        left: Box<Syntax>,
        negated: bool,
        low: Box<Syntax>,
        high: Box<Syntax>,
    },
    Is {
        left: Box<Syntax>,
        test: Is,
    },
    Column(Name),
    Literal(Literal),
    Bool(bool),
    Null,
    Tuple(Vec<Syntax>),
    Unary {
        operator: char,
        operand: Box<Syntax>,
    },
    Function,
    GroupConcat,
    /// SQL that no filter can use, by the type name Temporal's server reports.
    Other(&'static str),
}

/// An operator between a column and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    NullSafeEqual,
    In,
    NotIn,
    StartsWith,
    NotStartsWith,
    Like,
    NotLike,
    Regexp,
    NotRegexp,
}

impl Operator {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::NullSafeEqual => "<=>",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::StartsWith => "starts_with",
            Self::NotStartsWith => "not starts_with",
            Self::Like => "like",
            Self::NotLike => "not like",
            Self::Regexp => "regexp",
            Self::NotRegexp => "not regexp",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Null,
    NotNull,
    /// `IS TRUE` and the like.
    Boolean,
}

/// A name, possibly of several parts: `a.b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) Vec<String>);

impl Name {
    /// As a search attribute is called: backquotes in it don't count.
    pub(super) fn attribute(&self) -> String {
        self.0.join(".").replace('`', "")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// Digits, perhaps after a minus sign.
    Integer(String),
    Float(String),
    /// Something that is read as a number if it looks like one, and refused otherwise.
    Other(String),
}

impl Syntax {
    /// The depth of the tree if every AND and OR had two operands, joined from the left.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::And(terms) | Self::Or(terms) => {
                let below =
                    |(index, term): (usize, &Self)| terms.len() - index.max(1) + term.depth();
                terms.iter().enumerate().map(below).max().unwrap_or(1)
            }
            Self::Not(inner) | Self::Paren(inner) => 1 + inner.depth(),
            _ => 1,
        }
    }

    /// The name Temporal's server has for this kind of expression.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::And(_) => "*sqlparser.AndExpr",
            Self::Or(_) => "*sqlparser.OrExpr",
            Self::Not(_) => "*sqlparser.NotExpr",
            Self::Paren(_) => "*sqlparser.ParenExpr",
            Self::Compare { .. } => "*sqlparser.ComparisonExpr",
            Self::Range { .. } => "*sqlparser.RangeCond",
            Self::Is { .. } => "*sqlparser.IsExpr",
            Self::Column(_) => "*sqlparser.ColName",
            Self::Literal(_) => "*sqlparser.SQLVal",
            Self::Bool(_) => "sqlparser.BoolVal",
            Self::Null => "*sqlparser.NullVal",
            Self::Tuple(_) => "sqlparser.ValTuple",
            Self::Unary { .. } => "*sqlparser.UnaryExpr",
            Self::Function => "*sqlparser.FuncExpr",
            Self::GroupConcat => "*sqlparser.GroupConcatExpr",
            Self::Other(name) => name,
        }
    }
}

/// SQL for messages. Parts that aren't values are abbreviated.
impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => name.fmt(f),
            Self::Literal(Literal::Text(text)) => write!(f, "'{}'", text.replace('\'', "\\'")),
            Self::Literal(Literal::Integer(text) | Literal::Float(text) | Literal::Other(text)) => {
                f.write_str(text)
            }
            Self::Bool(value) => value.fmt(f),
            Self::Null => f.write_str("null"),
            Self::Paren(inner) => write!(f, "({inner})"),
            Self::Tuple(items) => {
                f.write_str("(")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Unary { operator, operand } => {
                let space = if matches!(**operand, Self::Unary { .. }) { " " } else { "" };
                write!(f, "{operator}{space}{operand}")
            }
            Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::Compare { .. }
            | Self::Range { .. }
            | Self::Is { .. }
            | Self::Function
            | Self::GroupConcat
            | Self::Other(_) => f.write_str("..."),
        }
    }
}

/// Each part in backquotes if it could not be typed without.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            let plain = part.starts_with(|c: char| c.is_ascii_alphabetic() || "_@".contains(c))
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "_@".contains(c));
            if plain {
                write!(f, "{dot}{part}")?;
            } else {
                write!(f, "{dot}`{}`", part.replace('`', "``"))?;
            }
        }
        Ok(())
    }
}
