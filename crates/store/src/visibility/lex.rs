//! Splits text into tokens, as MySQL and Temporal's server do.

use super::error::QueryError;

/// Splits a query into tokens, one at a time. An invalid token is an error only when it is reached.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    parameters: usize,
}

/// A token of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// What an error quotes: nothing for punctuation.
    near: String,
    /// Where an error says the token is: one past its last byte, counted from 1 in what was typed. (Temporal's
    /// server counts in the statement that it wraps around it.)
    position: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A word as it was typed, keywords too.
    Word(String),
    /// A name in backquotes, never a keyword.
    Quoted(String),
    Text(String),
    Integer(String),
    Float(String),
    /// `0x1F`, `:name`, `?`: valid tokens that no filter can use.
    OtherLiteral(String),
    /// `::name`.
    ListParameter,
    /// Punctuation of one or more characters.
    Symbol(&'static str),
    End,
    /// An invalid byte, or quotes that aren't closed.
    Unreadable,
}

impl Token {
    pub(super) fn error(&self, problem: &str) -> QueryError {
        let Self { near, position, .. } = self;
        if near.is_empty() {
            QueryError::malformed(format_args!("{problem} at position {position}"))
        } else {
            QueryError::malformed(format_args!("{problem} at position {position} near '{near}'"))
        }
    }
}

/// Words that are never a name, unless in backquotes: those of the statements around conditions too.
const RESERVED: [&str; 85] = [
    "add",
    "all",
    "alter",
    "analyze",
    "and",
    "as",
    "asc",
    "auto_increment",
    "between",
    "boolean",
    "by",
    "case",
    "collate",
    "column",
    "constraint",
    "create",
    "cross",
    "databases",
    "default",
    "delete",
    "desc",
    "describe",
    "distinct",
    "div",
    "drop",
    "else",
    "end",
    "escape",
    "exists",
    "explain",
    "extended",
    "false",
    "for",
    "force",
    "from",
    "full",
    "group",
    "having",
    "ignore",
    "in",
    "index",
    "inner",
    "insert",
    "into",
    "is",
    "join",
    "key",
    "like",
    "limit",
    "lock",
    "maxvalue",
    "natural",
    "next",
    "not",
    "null",
    "on",
    "or",
    "order",
    "outer",
    "processlist",
    "regexp",
    "rename",
    "rlike",
    "schema",
    "select",
    "separator",
    "set",
    "show",
    "sql_cache",
    "sql_no_cache",
    "starts_with",
    "straight_join",
    "stream",
    "table",
    "tables",
    "then",
    "to",
    "true",
    "union",
    "unique",
    "update",
    "use",
    "using",
    "when",
    "where",
];

const SYMBOLS: [&str; 29] = [
    "->>", "<=>", "->", "<=", "<>", "<<", ">=", ">>", "!=", "&&", "||", "=", "<", ">", ",", ";",
    "(", ")", "+", "-", "*", "/", "%", "^", "~", "!", "&", "|", ".",
];

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text: text.as_bytes(), at, parameters: 0 }
    }

    pub(super) fn next(&mut self) -> Token {
        if let Err(unclosed) = self.skip_blanks_and_comments() {
            return self.token(Kind::Unreadable, &unclosed);
        }
        let Some(&first) = self.text.get(self.at) else { return self.token(Kind::End, b"") };
        match first {
            b'x' | b'X' | b'b' | b'B' if self.text.get(self.at + 1) == Some(&b'\'') => {
                self.digits_in_quotes(if first.eq_ignore_ascii_case(&b'x') { 16 } else { 2 })
            }
            _ if is_letter(first) => {
                let word = self.take_while(|byte| is_letter(byte) || byte.is_ascii_digit());
                let text = lossy(word);
                let near = if is_reserved(&text) { text.to_lowercase() } else { text.clone() };
                self.token(Kind::Word(text), near.as_bytes())
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) => self.number(),
            b'\'' | b'"' => self.string(first),
            b'`' => self.quoted_name(),
            b':' => self.named_parameter(),
            b'?' => {
                self.at += 1;
                self.parameters += 1;
                let name = format!(":v{}", self.parameters);
                self.token(Kind::OtherLiteral(name.clone()), name.as_bytes())
            }
            _ => self.symbol(first),
        }
    }

    fn token(&self, kind: Kind, near: &[u8]) -> Token {
        Token { kind, near: lossy(near), position: self.at + 1 }
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| !keep(*byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// An error is a comment without an end.
    fn skip_blanks_and_comments(&mut self) -> Result<(), Vec<u8>> {
        loop {
            self.take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
            let rest = &self.text[self.at..];
            if rest.starts_with(b"/*") {
                let end = rest[2..].windows(2).position(|pair| pair == b"*/");
                self.at += end.map_or(rest.len(), |end| end + 4);
                end.ok_or_else(|| rest.to_vec())?;
            } else if [&b"--"[..], b"//", b"#"].iter().any(|opening| rest.starts_with(opening)) {
                self.take_while(|byte| byte != b'\n');
            } else {
                return Ok(());
            }
        }
    }

    /// `x'1F'` and `b'01'`, which Temporal's server reads as plain numbers.
    fn digits_in_quotes(&mut self, base: u32) -> Token {
        self.at += 2;
        let digits = self.take_while(|byte| char::from(byte).is_digit(base));
        if self.text.get(self.at) != Some(&b'\'') {
            return self.token(Kind::Unreadable, digits);
        }
        self.at += 1;
        if base == 16 && !digits.len().is_multiple_of(2) {
            return self.token(Kind::Unreadable, digits);
        }
        self.token(Kind::OtherLiteral(lossy(digits)), digits)
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        let mut kind: fn(String) -> Kind = Kind::Integer;
        if self.text[start..].starts_with(b"0x") || self.text[start..].starts_with(b"0X") {
            self.at += 2;
            self.take_while(|byte| byte.is_ascii_hexdigit());
            kind = Kind::OtherLiteral;
        } else {
            self.take_while(|byte| byte.is_ascii_digit());
            if self.text.get(self.at) == Some(&b'.') {
                kind = Kind::Float;
                self.at += 1;
                self.take_while(|byte| byte.is_ascii_digit());
            }
            if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
                kind = Kind::Float;
                self.at += 1;
                if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                    self.at += 1;
                }
                self.take_while(|byte| byte.is_ascii_digit());
            }
        }
        let digits = &self.text[start..self.at];
        if self.text.get(self.at).copied().is_some_and(is_letter) {
            return self.token(Kind::Unreadable, digits);
        }
        self.token(kind(lossy(digits)), digits)
    }

    /// A quote inside is doubled or follows a backslash.
    fn string(&mut self, quote: u8) -> Token {
        let mut value = Vec::new();
        self.at += 1;
        loop {
            value.extend(self.take_while(|byte| byte != quote && byte != b'\\'));
            let (stop, next) = (self.text.get(self.at), self.text.get(self.at + 1));
            match (stop, next) {
                (Some(b'\\'), Some(&escaped)) => value.push(unescape(escaped)),
                (Some(_), Some(&next)) if next == quote => value.push(quote),
                (Some(&stop), _) if stop == quote => {
                    self.at += 1;
                    return self.token(Kind::Text(lossy(&value)), &value);
                }
                _ => {
                    self.at = self.text.len();
                    return self.token(Kind::Unreadable, &value);
                }
            }
            self.at += 2;
        }
    }

    /// A backquote inside is doubled.
    fn quoted_name(&mut self) -> Token {
        let mut name = Vec::new();
        self.at += 1;
        loop {
            name.extend(self.take_while(|byte| byte != b'`'));
            if self.at == self.text.len() {
                return self.token(Kind::Unreadable, &name);
            }
            self.at += 1;
            if self.text.get(self.at) != Some(&b'`') {
                break;
            }
            name.push(b'`');
            self.at += 1;
        }
        let kind = if name.is_empty() { Kind::Unreadable } else { Kind::Quoted(lossy(&name)) };
        self.token(kind, &name)
    }

    fn named_parameter(&mut self) -> Token {
        let start = self.at;
        let colons = self.take_while(|byte| byte == b':').len().min(2);
        self.at = start + colons;
        if !self.text.get(self.at).copied().is_some_and(is_letter) {
            return self.token(Kind::Unreadable, &self.text[start..self.at]);
        }
        self.take_while(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'.');
        let name = &self.text[start..self.at];
        let kind = if colons == 2 { Kind::ListParameter } else { Kind::OtherLiteral(lossy(name)) };
        self.token(kind, name)
    }

    fn symbol(&mut self, first: u8) -> Token {
        let rest = &self.text[self.at..];
        match SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol.as_bytes())) {
            Some(symbol) => {
                self.at += symbol.len();
                self.token(Kind::Symbol(symbol), b"")
            }
            None => {
                self.at += 1;
                self.token(Kind::Unreadable, &[first])
            }
        }
    }
}

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'@'
}

fn unescape(escaped: u8) -> u8 {
    match escaped {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        itself => itself,
    }
}

/// Queries are UTF-8 and are cut between characters, but an error may quote one byte of several.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut lexer = Lexer::new(text, 0);
        let mut kinds = Vec::new();
        loop {
            let kind = lexer.next().kind;
            if matches!(kind, Kind::End | Kind::Unreadable) {
                kinds.extend((kind == Kind::Unreadable).then_some(kind));
                return kinds;
            }
            kinds.push(kind);
        }
    }

    fn text(value: &str) -> Vec<Kind> {
        vec![Kind::Text(value.to_owned())]
    }

    #[test]
    fn strings_have_either_quote_and_mysql_escapes() {
        assert_eq!(kinds("'a'"), text("a"));
        assert_eq!(kinds("\"it's\""), text("it's"));
        assert_eq!(kinds("'it''s'"), text("it's"));
        assert_eq!(kinds(r"'it\'s'"), text("it's"));
        assert_eq!(kinds(r"'a\\b\n\t\0\z\%'"), text("a\\b\n\t\0z%"));
        assert_eq!(kinds("''''"), text("'"));
        assert_eq!(kinds("''"), text(""));
        assert_eq!(kinds(r"'\é'"), text("é"));
        assert_eq!(kinds(r"'a\"), [Kind::Unreadable]);
        assert_eq!(kinds("'a"), [Kind::Unreadable]);
    }

    #[test]
    fn numbers_end_where_letters_begin() {
        assert_eq!(kinds("12"), [Kind::Integer("12".to_owned())]);
        assert_eq!(kinds("1."), [Kind::Float("1.".to_owned())]);
        assert_eq!(kinds(".5e-3"), [Kind::Float(".5e-3".to_owned())]);
        assert_eq!(kinds("1e"), [Kind::Float("1e".to_owned())]);
        assert_eq!(kinds("0x1F"), [Kind::OtherLiteral("0x1F".to_owned())]);
        assert_eq!(kinds("5a"), [Kind::Unreadable]);
    }

    #[test]
    fn comments_are_blanks() {
        assert_eq!(kinds("-- a\n'b' # c\n// d\n/* e */"), text("b"));
        assert_eq!(kinds("'b' /* c"), [text("b"), vec![Kind::Unreadable]].concat());
        assert_eq!(kinds("/*/"), [Kind::Unreadable]);
    }

    #[test]
    fn names_in_backquotes_may_hold_anything() {
        assert_eq!(kinds("`a-b``c`"), [Kind::Quoted("a-b`c".to_owned())]);
        assert_eq!(kinds("``"), [Kind::Unreadable]);
        assert_eq!(kinds("`a"), [Kind::Unreadable]);
    }

    #[test]
    fn longer_symbols_come_first() {
        let symbols = ["<=>", "<=", "<>", "!=", "->>"].map(Kind::Symbol);
        assert_eq!(kinds("<=> <= <> != ->>"), symbols);
    }
}
