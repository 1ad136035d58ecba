//! Rust source as the rules see it: without comments, literals and tests, line for line.

/// The source with comments, strings and characters turned into spaces. Lines stay where they were.
pub(crate) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after_word = code.chars().next_back().is_some_and(is_identifier);
        let hidden =
            if after_word { None } else { raw_string_len(rest) }.or_else(|| hidden_len(rest));
        if let Some(hidden) = hidden {
            code.extend(rest[..hidden].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[hidden..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Code with everything under `#[cfg(test)]` turned into spaces, and the names of the modules that
/// are compiled for tests only but stand in files of their own.
pub(crate) fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut shipped = String::with_capacity(code.len());
    let mut test_modules = Vec::new();
    let mut rest = code;
    let first_test = |rest: &str| TEST_ONLY.iter().filter_map(|sign| rest.find(sign)).min();
    while let Some(at) = first_test(rest) {
        let item = &rest[at..];
        let item = &item[..item_len(item)];
        shipped.push_str(&rest[..at]);
        shipped.extend(item.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        test_modules.extend(module_in_own_file(item));
        rest = &rest[at + item.len()..];
    }
    shipped.push_str(rest);
    (shipped, test_modules)
}

/// Every path that `use` declarations bring in, groups written out, with its line from 1.
pub(crate) fn used_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("use ").filter(|(at, _)| is_word(code, *at, "use ")) {
        let line = code[..at].matches('\n').count() + 1;
        let tree = code[at + "use ".len()..].split(';').next().unwrap_or_default();
        let mut expanded = Vec::new();
        expand("", tree, &mut expanded);
        paths.extend(expanded.into_iter().map(|path| (line, path)));
    }
    paths
}

/// Whether `word`, found in `text` at byte `at`, stands by itself: `rand::` isn't part of
/// `operand::`.
pub(crate) fn is_word(text: &str, at: usize, word: &str) -> bool {
    let touches = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(is_identifier) && outer.is_some_and(is_identifier)
    };
    let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
    !touches(word.chars().next(), before) && !touches(word.chars().next_back(), after)
}

const TEST_ONLY: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test"];

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of the comment, string or character literal that `rest` begins with.
fn hidden_len(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        Some(rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        Some(block_comment_len(rest))
    } else if let Some(inner) = rest.strip_prefix('"') {
        Some(1 + escaped_len(inner, '"'))
    } else if let Some(inner) = rest.strip_prefix('\'') {
        // `'a'` and `'\n'` are characters; `'a` alone is a lifetime.
        let mut chars = inner.chars();
        let is_escape = chars.next()? == '\\';
        let is_character = is_escape || chars.next() == Some('\'');
        is_character.then(|| 1 + escaped_len(inner, '\''))
    } else {
        None
    }
}

fn raw_string_len(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let inner = &rest[prefix.len()..];
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let opening = prefix.len() + hashes + 1;
    let closing = format!("\"{}", "#".repeat(hashes));
    Some(rest[opening..].find(&closing).map_or(rest.len(), |at| opening + at + closing.len()))
}

/// Comments nest: `/* a /* b */ c */` is one.
fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length up to and with the closing quote, which a backslash before it would hide.
fn escaped_len(inner: &str, quote: char) -> usize {
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    inner.len()
}

/// Length of the item with its attributes: up to its block's end or its semicolon.
fn item_len(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in item.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if c == '}' && depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// `laws` for `#[cfg(test)] mod laws;`.
fn module_in_own_file(item: &str) -> Option<String> {
    let declaration = item.strip_suffix(';')?;
    let (before, name) = declaration.trim_end().rsplit_once("mod ")?;
    (!before.ends_with(is_identifier)).then(|| name.trim().to_owned())
}

/// Writes `a::{b, c::d}` out as `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        paths.push(format!("{prefix}{tree}"));
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let mut depth = 0_usize;
    let parts = group.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.trim().is_empty()) {
        expand(&prefix, part, paths);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_code(source: &str, code: &str) {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&code_only(source)), squeezed(code));
        assert_eq!(code_only(source).lines().count(), source.lines().count());
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        check_code("a(); // b()\nc();", "a(); c();");
        check_code("a(); /* b()\n /* c() */ d() */ e();", "a(); e();");
        check_code(r#"let s = "\" b() // "; c();"#, "let s = ; c();");
        check_code("let s = br#\"\" b() \"#; c();", "let s = ; c();");
        check_code("let c = '\"'; b('\\'', 'ø');", "let c = ; b( , );");
    }

    #[test]
    fn lifetimes_and_names_ending_in_r_are_code() {
        check_code(
            "fn f<'a>(x: &'a str) -> Iter<'a, T> {}",
            "fn f<'a>(x: &'a str) -> Iter<'a, T> {}",
        );
        check_code("for\"x\" in r", "for in r");
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_left_out() {
        let source =
            "a();\n#[cfg(test)]\nfn t(x: [u8; 2]) { b(); }\nc();\n#[cfg(test)]\nmod laws;\nd();";
        let (shipped, modules) = without_tests(source);
        assert_eq!(shipped.split_whitespace().collect::<Vec<_>>(), ["a();", "c();", "d();"]);
        assert_eq!(shipped.lines().count(), source.lines().count());
        assert_eq!(modules, ["laws"]);
    }

    #[test]
    fn groups_of_used_paths_are_written_out() {
        assert_eq!(
            used_paths("\nuse std::{env, io::{self, Read}};"),
            ["std::env", "std::io::self", "std::io::Read"].map(|path| (2, path.to_owned()))
        );
    }
}
