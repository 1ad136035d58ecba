//! Values in queries, before they are checked against the type of their attribute.

use super::error::QueryError;
use super::syntax::{Literal, Syntax};

/// A value in a query, with the type that its own spelling tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

impl Written {
    pub(super) fn read(literal: &Literal) -> Result<Self, QueryError> {
        let number = match literal {
            Literal::Text(text) => return Ok(Self::Text(text.clone())),
            Literal::Integer(digits) | Literal::Float(digits) | Literal::Other(digits) => digits,
        };
        // A number that doesn't fit an integer is a float.
        let integer = number.parse().map(Self::Integer).ok();
        let float = || number.parse().ok().filter(|float: &f64| float.is_finite()).map(Self::Float);
        integer.or_else(float).ok_or_else(|| {
            let shown = Syntax::Literal(literal.clone()).to_string();
            QueryError::invalid(format_args!("unable to parse value {shown:?}"))
        })
    }

    /// The name Temporal's server has for a value of this kind.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Integer(_) => "int64",
            Self::Float(_) => "float64",
            Self::Bool(_) => "bool",
        }
    }
}

/// As Temporal's server, written in Go, shows a value in its messages.
impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(integer) => integer.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Float(float) => {
                let scientific = format!("{float:e}");
                let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
                let exponent: i32 = exponent.parse().unwrap_or(0);
                let sign = if exponent < 0 { '-' } else { '+' };
                match exponent {
                    -4..6 => float.fmt(f),
                    _ => write!(f, "{digits}e{sign}{:02}", exponent.abs()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_integers_if_they_fit() {
        let read = |digits: &str| Written::read(&Literal::Float(digits.to_owned()));
        assert_eq!(read("-7"), Ok(Written::Integer(-7)));
        assert_eq!(read("1."), Ok(Written::Float(1.0)));
        assert_eq!(read(".5"), Ok(Written::Float(0.5)));
        assert_eq!(read("9223372036854775808"), Ok(Written::Float(9_223_372_036_854_775_808.0)));
        for digits in ["1e", "1e400", "0x10", ":v1"] {
            let error = read(digits).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("invalid query: invalid expression: unable to parse value \"{digits}\"")
            );
        }
    }

    #[test]
    fn floats_read_as_go_writes_them() {
        let shown = |float: f64| Written::Float(float).to_string();
        assert_eq!(shown(1.5), "1.5");
        assert_eq!(shown(1000.0), "1000");
        assert_eq!(shown(0.0001), "0.0001");
        assert_eq!(shown(0.000_012_34), "1.234e-05");
        assert_eq!(shown(1_234_567.5), "1.2345675e+06");
        assert_eq!(shown(1e20), "1e+20");
    }
}
