//! Parses tokens into syntax: the part of MySQL's grammar that filters can use, and enough of the rest for helpful
//! refusals.

use super::error::QueryError;
use super::lex::{Kind, Lexer, Token, is_reserved};
use super::syntax::{Is, Literal, Name, Operator, Syntax};

/// A query's clauses, as written.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    pub(super) condition: Option<Syntax>,
    pub(super) group_by: Vec<Syntax>,
    pub(super) order_by: Vec<Syntax>,
    pub(super) limit: bool,
    pub(super) having: bool,
}

/// Parentheses and prefixes inside each other beyond this are refused, as Temporal's server does:
/// parsing, checking, asking and dropping all recurse no deeper.
const NESTING_MAX: usize = 200;

/// A tree deeper than this is refused, as Temporal's server does, with a chain of conditions counting
/// as deep as it is long. (Its limit is 1,000; the statement around a query takes five.)
const DEPTH_MAX: usize = 995;

/// Parses a query: a condition, or none, and the clauses that may follow it.
pub(super) fn parse(text: &str) -> Result<Clauses, QueryError> {
    let text = text.trim_end();
    let typed = text.trim_start();
    let has_condition = !typed.is_empty() && !starts_with_clause(typed);
    let mut lexer = Lexer::new(text, text.len() - typed.len());
    let token = lexer.next();
    Parser { lexer, token, nesting: 0 }.clauses(has_condition)
}

/// Whether the text begins with a clause. Temporal's server checks no more than this.
fn starts_with_clause(text: &str) -> bool {
    text.get(..8).is_some_and(|start| {
        start.eq_ignore_ascii_case("order by") || start.eq_ignore_ascii_case("group by")
    })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token,
    nesting: usize,
}

type Parsed<T = Syntax> = Result<T, QueryError>;

impl Parser<'_> {
    fn clauses(mut self, has_condition: bool) -> Parsed<Clauses> {
        let mut clauses = Clauses::default();
        if has_condition {
            clauses.condition = Some(self.expression()?);
        }
        if self.skip_word("group") {
            self.expect_word("by")?;
            clauses.group_by = self.expressions()?;
        }
        if self.skip_word("having") {
            self.expression()?;
            clauses.having = true;
        }
        if self.skip_word("order") {
            self.expect_word("by")?;
            clauses.order_by = self.order()?;
        }
        if self.skip_word("limit") {
            self.expression()?;
            if self.skip(",") || self.skip_word("offset") {
                self.expression()?;
            }
            clauses.limit = true;
        }
        self.skip(";");
        if self.token.kind != Kind::End {
            return Err(self.unexpected());
        }
        if clauses.condition.as_ref().is_some_and(|condition| condition.depth() > DEPTH_MAX) {
            return Err(QueryError::malformed("max ast depth reached"));
        }
        Ok(clauses)
    }

    fn expressions(&mut self) -> Parsed<Vec<Syntax>> {
        let mut items = vec![self.expression()?];
        while self.skip(",") {
            items.push(self.expression()?);
        }
        Ok(items)
    }

    fn order(&mut self) -> Parsed<Vec<Syntax>> {
        let mut items = Vec::new();
        loop {
            items.push(self.expression()?);
            if !self.skip_word("asc") {
                self.skip_word("desc");
            }
            if !self.skip(",") {
                return Ok(items);
            }
        }
    }

    fn expression(&mut self) -> Parsed {
        self.chain(
            Syntax::Or,
            |token| is_word(token, "or") || is_symbol(token, "||"),
            |parser| {
                parser.chain(
                    Syntax::And,
                    |token| is_word(token, "and") || is_symbol(token, "&&"),
                    Self::negation,
                )
            },
        )
    }

    fn chain(
        &mut self,
        join: fn(Vec<Syntax>) -> Syntax,
        joins: fn(&Token) -> bool,
        term: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let first = term(self)?;
        if !joins(&self.token) {
            return Ok(first);
        }
        let mut terms = vec![first];
        while joins(&self.token) {
            self.advance();
            terms.push(term(self)?);
        }
        Ok(join(terms))
    }

    fn negation(&mut self) -> Parsed {
        if !is_word(&self.token, "not") {
            return self.predicate();
        }
        let negated = self.nested(|parser| {
            parser.advance();
            parser.negation()
        })?;
        Ok(Syntax::Not(Box::new(negated)))
    }

    fn predicate(&mut self) -> Parsed {
        let mut predicate = if self.skip_word("exists") {
            self.subquery()?;
            Syntax::Other("*sqlparser.ExistsExpr")
        } else {
            let left = self.value()?;
            self.comparison(left)?
        };
        while self.skip_word("is") {
            predicate = Syntax::Is { left: Box::new(predicate), test: self.is_test()? };
        }
        Ok(predicate)
    }

    /// The comparison that follows a value, if there is one.
    fn comparison(&mut self, left: Syntax) -> Parsed {
        let operator = match &self.token.kind {
            Kind::Symbol("=") => Operator::Equal,
            Kind::Symbol("!=" | "<>") => Operator::NotEqual,
            Kind::Symbol("<") => Operator::Less,
            Kind::Symbol("<=") => Operator::LessOrEqual,
            Kind::Symbol(">") => Operator::Greater,
            Kind::Symbol(">=") => Operator::GreaterOrEqual,
            Kind::Symbol("<=>") => Operator::NullSafeEqual,
            Kind::Word(_) => return self.worded_comparison(left),
            _ => return Ok(left),
        };
        self.advance();
        let right = self.value()?;
        Ok(Syntax::Compare { left: Box::new(left), operator, right: Box::new(right) })
    }

    fn worded_comparison(&mut self, left: Syntax) -> Parsed {
        let negated = self.skip_word("not");
        let either = |plain, negation| if negated { negation } else { plain };
        let left = Box::new(left);
        if self.skip_word("between") {
            let low = Box::new(self.value()?);
            self.expect_word("and")?;
            let high = Box::new(self.value()?);
            return Ok(Syntax::Range { left, negated, low, high });
        }
        let (operator, right) = if self.skip_word("in") {
            (either(Operator::In, Operator::NotIn), self.tuple()?)
        } else if self.skip_word("starts_with") {
            (either(Operator::StartsWith, Operator::NotStartsWith), self.value()?)
        } else if self.skip_word("like") {
            let pattern = self.value()?;
            if self.skip_word("escape") {
                self.value()?;
            }
            (either(Operator::Like, Operator::NotLike), pattern)
        } else if self.skip_word("regexp") || self.skip_word("rlike") {
            (either(Operator::Regexp, Operator::NotRegexp), self.value()?)
        } else if negated {
            return Err(self.unexpected());
        } else {
            return Ok(*left);
        };
        Ok(Syntax::Compare { left, operator, right: Box::new(right) })
    }

    fn is_test(&mut self) -> Parsed<Is> {
        let negated = self.skip_word("not");
        if self.skip_word("null") {
            Ok(if negated { Is::NotNull } else { Is::Null })
        } else if self.skip_word("true") || self.skip_word("false") {
            Ok(Is::Boolean)
        } else {
            Err(self.unexpected())
        }
    }

    /// The list after IN.
    fn tuple(&mut self) -> Parsed {
        if self.token.kind == Kind::ListParameter {
            self.advance();
            return Ok(Syntax::Other("sqlparser.ListArg"));
        }
        if !is_symbol(&self.token, "(") {
            return Err(self.unexpected());
        }
        self.in_parentheses(|parser| {
            if is_word(&parser.token, "select") {
                parser.rest_of_subquery()?;
                return Ok(Syntax::Other("*sqlparser.Subquery"));
            }
            Ok(Syntax::Tuple(parser.expressions()?))
        })
    }

    /// A value, or several calculated with. Their precedence is of no interest: nothing calculated is
    /// ever accepted.
    fn value(&mut self) -> Parsed {
        let mut value = self.operand()?;
        loop {
            let arithmetic = match &self.token.kind {
                Kind::Symbol(symbol) => matches!(
                    *symbol,
                    "&" | "|" | "^" | "+" | "-" | "*" | "/" | "%" | "<<" | ">>" | "->" | "->>"
                ),
                Kind::Word(word) => ["div", "mod"].iter().any(|w| word.eq_ignore_ascii_case(w)),
                _ => false,
            };
            if arithmetic {
                self.advance();
                self.operand()?;
                value = Syntax::Other("*sqlparser.BinaryExpr");
            } else if self.skip_word("collate") {
                self.operand()?;
                value = Syntax::Other("*sqlparser.CollateExpr");
            } else {
                return Ok(value);
            }
        }
    }

    fn operand(&mut self) -> Parsed {
        let literal = match &self.token.kind {
            Kind::Text(text) => Literal::Text(text.clone()),
            Kind::Integer(digits) => Literal::Integer(digits.clone()),
            Kind::Float(digits) => Literal::Float(digits.clone()),
            Kind::OtherLiteral(text) => Literal::Other(text.clone()),
            Kind::Word(_) | Kind::Quoted(_) => return self.name_or_call(),
            Kind::Symbol("(") => return self.parenthesized(),
            Kind::Symbol("-") => return self.unary('-'),
            Kind::Symbol("+") => return self.unary('+'),
            Kind::Symbol("~") => return self.unary('~'),
            Kind::Symbol("!") => return self.unary('!'),
            Kind::Symbol(_) | Kind::ListParameter | Kind::End | Kind::Unreadable => {
                return Err(self.unexpected());
            }
        };
        self.advance();
        Ok(Syntax::Literal(literal))
    }

    fn name_or_call(&mut self) -> Parsed {
        for (word, meaning) in
            [("true", Syntax::Bool(true)), ("false", Syntax::Bool(false)), ("null", Syntax::Null)]
        {
            if self.skip_word(word) {
                return Ok(meaning);
            }
        }
        let mut parts = vec![self.name(false)?];
        while parts.len() < 3 && self.skip(".") {
            // After a dot every word is a name.
            parts.push(self.name(true)?);
        }
        if !is_symbol(&self.token, "(") {
            return Ok(Syntax::Column(Name(parts)));
        }
        self.in_parentheses(|parser| {
            if !is_symbol(&parser.token, ")") && !parser.skip("*") {
                parser.arguments()?;
            }
            Ok(())
        })?;
        let group_concat = parts.len() == 1 && parts[0].eq_ignore_ascii_case("group_concat");
        Ok(if group_concat { Syntax::GroupConcat } else { Syntax::Function })
    }

    /// The arguments of a function; each may have a name.
    fn arguments(&mut self) -> Parsed<()> {
        loop {
            self.expression()?;
            let named = self.skip_word("as");
            let name = match &self.token.kind {
                Kind::Text(_) | Kind::Quoted(_) => true,
                Kind::Word(word) => !is_reserved(word),
                _ => false,
            };
            if name {
                self.advance();
            } else if named {
                return Err(self.unexpected());
            }
            if !self.skip(",") {
                return Ok(());
            }
        }
    }

    fn name(&mut self, any_word: bool) -> Parsed<String> {
        let name = match &self.token.kind {
            Kind::Quoted(name) => name.clone(),
            Kind::Word(word) if any_word || !is_reserved(word) => word.clone(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(name)
    }

    fn parenthesized(&mut self) -> Parsed {
        self.in_parentheses(|parser| {
            if is_word(&parser.token, "select") {
                parser.rest_of_subquery()?;
                return Ok(Syntax::Other("*sqlparser.Subquery"));
            }
            let mut items = parser.expressions()?;
            Ok(match items.pop() {
                Some(only) if items.is_empty() => Syntax::Paren(Box::new(only)),
                last => Syntax::Tuple(items.into_iter().chain(last).collect()),
            })
        })
    }

    fn unary(&mut self, operator: char) -> Parsed {
        let operand = self.nested(|parser| {
            parser.advance();
            parser.operand()
        })?;
        Ok(match (operator, operand) {
            ('+', number @ Syntax::Literal(Literal::Integer(_))) => number,
            ('-', Syntax::Literal(Literal::Integer(digits))) => {
                let negative = digits.strip_prefix('-').map(str::to_owned);
                Syntax::Literal(Literal::Integer(negative.unwrap_or(format!("-{digits}"))))
            }
            (operator, operand) => Syntax::Unary { operator, operand: Box::new(operand) },
        })
    }

    fn subquery(&mut self) -> Parsed<()> {
        if !is_symbol(&self.token, "(") {
            return Err(self.unexpected());
        }
        self.in_parentheses(|parser| {
            if is_word(&parser.token, "select") {
                parser.rest_of_subquery()
            } else {
                Err(parser.unexpected())
            }
        })
    }

    /// Skips to the parenthesis that ends it: no subquery is ever accepted.
    fn rest_of_subquery(&mut self) -> Parsed<()> {
        let mut open = 0_usize;
        loop {
            match self.token.kind {
                Kind::End | Kind::Unreadable => return Err(self.unexpected()),
                Kind::Symbol(")") if open == 0 => return Ok(()),
                Kind::Symbol(")") => open -= 1,
                Kind::Symbol("(") => open += 1,
                _ => {}
            }
            self.advance();
        }
    }

    fn in_parentheses<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nested(|parser| {
            parser.advance();
            let inner = inside(parser)?;
            if parser.skip(")") { Ok(inner) } else { Err(parser.unexpected()) }
        })
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting == NESTING_MAX {
            return Err(self.token.error("max nesting level reached"));
        }
        let inner = inside(self)?;
        self.nesting -= 1;
        Ok(inner)
    }

    fn advance(&mut self) {
        self.token = self.lexer.next();
    }

    fn skip(&mut self, symbol: &str) -> bool {
        let here = is_symbol(&self.token, symbol);
        if here {
            self.advance();
        }
        here
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let here = is_word(&self.token, word);
        if here {
            self.advance();
        }
        here
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.skip_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> QueryError {
        self.token.error("syntax error")
    }
}

fn is_symbol(token: &Token, symbol: &str) -> bool {
    matches!(token.kind, Kind::Symbol(found) if found == symbol)
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(&token.kind, Kind::Word(found) if found.eq_ignore_ascii_case(word))
}
