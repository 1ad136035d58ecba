//! Refusals of queries have the texts of Temporal's server.

use perennial_store::visibility::{Attributes, Query, ValueType};

/// Attributes named as Temporal's own tests name them, one a type.
fn attributes() -> Attributes {
    ValueType::ALL.into_iter().fold(Attributes::builtin(), |attributes, value_type| {
        let name = format!("Custom{value_type}Field");
        attributes.with_custom(name, value_type, 1).unwrap()
    })
}

fn refusal(query: &str) -> String {
    let message = Query::parse(query, &attributes()).unwrap_err().to_string();
    message.strip_prefix("invalid query: ").expect("every refusal begins so").to_owned()
}

fn check(refusals: &[(&str, &str)]) {
    for (query, message) in refusals {
        let refusal = refusal(query);
        let sentence = refusal.split("; create it with").next();
        assert_eq!(sentence, Some(*message), "{query:.99}");
    }
}

#[test]
fn positions_are_those_in_what_was_typed() {
    check(&[
        ("=", "malformed SQL query: syntax error at position 2"),
        ("  =", "malformed SQL query: syntax error at position 4"),
        ("group by", "malformed SQL query: syntax error at position 9"),
    ]);
}

#[test]
fn unknown_attribute_says_how_to_create_it() {
    assert_eq!(
        refusal("Foo = 1"),
        "invalid search attribute: Foo; create it with `perennial operator search-attribute create --name \
         Foo --type Keyword`, or with another type"
    );
    assert_eq!(refusal("a.`b c` = 1"), "invalid search attribute: a.b c");
}

#[test]
fn clauses_that_would_change_the_list_are_refused() {
    check(&[
        ("ORDER BY StartTime", "operation is not supported: 'ORDER BY' clause"),
        ("WorkflowId = 'x' order by RunId desc", "operation is not supported: 'ORDER BY' clause"),
        ("order by Foo", "invalid search attribute: Foo"),
        (
            "order by CustomTextField",
            "operation is not supported: unable to sort by search attribute type Text",
        ),
        ("WorkflowId = 'x' LIMIT 3", "operation is not supported: 'LIMIT' clause"),
        ("Foo = 1 limit 5, 3", "operation is not supported: 'LIMIT' clause"),
        ("RunId = 'x' having RunId = 'y'", "operation is not supported: 'HAVING' clause"),
        (
            "GROUP BY WorkflowType",
            "operation is not supported: 'GROUP BY' clause is not supported for search attribute \
             WorkflowType",
        ),
        (
            "GROUP BY ExecutionStatus, WorkflowType",
            "operation is not supported: 'GROUP BY' clause supports only a single field",
        ),
        (
            "group by (ExecutionStatus)",
            "invalid expression: must be a column name but was *sqlparser.ParenExpr",
        ),
    ]);
}

#[test]
fn what_is_not_in_the_language_is_refused_where_it_stops_making_sense() {
    check(&[
        ("WorkflowId = ", "malformed SQL query: syntax error at position 13"),
        ("WorkflowId = 'abc", "malformed SQL query: syntax error at position 18 near 'abc'"),
        ("WorkflowId == 'abc'", "malformed SQL query: syntax error at position 14"),
        ("WorkflowId in ()", "malformed SQL query: syntax error at position 17"),
        ("WorkflowId in 'a'", "malformed SQL query: syntax error at position 18 near 'a'"),
        ("WorkflowId in ('a','b',)", "malformed SQL query: syntax error at position 25"),
        ("WorkflowId = 'a' 'b'", "malformed SQL query: syntax error at position 21 near 'b'"),
        ("WorkflowId NOT NULL", "malformed SQL query: syntax error at position 20 near 'null'"),
        (
            "WorkflowId = 'a' xor true",
            "malformed SQL query: syntax error at position 21 near 'xor'",
        ),
        ("WorkflowId = 'a'; drop", "malformed SQL query: syntax error at position 23 near 'drop'"),
        ("AND RunId = 'x'", "malformed SQL query: syntax error at position 4 near 'and'"),
        ("(RunId = 'x'", "malformed SQL query: syntax error at position 13"),
        ("RunId = 'x')", "malformed SQL query: syntax error at position 13"),
        ("()", "malformed SQL query: syntax error at position 3"),
        ("limit 5", "malformed SQL query: syntax error at position 6 near 'limit'"),
        ("where RunId = 'x'", "malformed SQL query: syntax error at position 6 near 'where'"),
        (
            "group by ExecutionStatus group by RunId",
            "malformed SQL query: syntax error at position 31 near 'group'",
        ),
        ("RunId = 5a", "malformed SQL query: syntax error at position 10 near '5'"),
        ("RunId $ 'a'", "malformed SQL query: syntax error at position 8 near '$'"),
        ("é = 'a'", "malformed SQL query: syntax error at position 2 near '\u{fffd}'"),
        ("`` = 'abc'", "malformed SQL query: syntax error at position 3"),
        ("a.b.c.d = 'abc'", "malformed SQL query: syntax error at position 7"),
        ("select 1", "malformed SQL query: syntax error at position 7 near 'select'"),
        ("Key = 'a'", "malformed SQL query: syntax error at position 4 near 'key'"),
        ("f('a' as 'b', 'c' d,)", "malformed SQL query: syntax error at position 22"),
        ("f('a' as 5)", "malformed SQL query: syntax error at position 11 near '5'"),
    ]);
}

#[test]
fn an_expression_that_is_no_condition_is_refused_by_its_kind() {
    check(&[
        ("WorkflowId", "invalid expression: incomplete expression"),
        ("not WorkflowId", "invalid expression: incomplete expression"),
        ("1", "operation is not supported: expression of type *sqlparser.SQLVal"),
        (
            "RunId = 'x' and true",
            "operation is not supported: expression of type sqlparser.BoolVal",
        ),
        ("!(RunId = 'x')", "operation is not supported: expression of type *sqlparser.UnaryExpr"),
        (
            "exists (select 1)",
            "operation is not supported: expression of type *sqlparser.ExistsExpr",
        ),
        ("f(1)", "operation is not supported: function expression"),
        ("'a' = RunId", "invalid expression: must be a column name but was *sqlparser.SQLVal"),
        ("(RunId) = 'a'", "invalid expression: must be a column name but was *sqlparser.ParenExpr"),
        (
            "My-Field = 'x'",
            "invalid expression: must be a column name but was *sqlparser.BinaryExpr",
        ),
        (
            "RunId = 'a' is null",
            "invalid expression: must be a column name but was *sqlparser.ComparisonExpr",
        ),
        (
            "RunId is true",
            "invalid expression: 'IS' operator can only be used as 'IS NULL' or 'IS NOT NULL'",
        ),
    ]);
}

#[test]
fn a_value_that_is_none_is_refused_by_its_kind() {
    check(&[
        (
            "RunId = abc",
            "operation is not supported: column name on the right side of comparison expression (did \
             you forget to quote \"abc\"?)",
        ),
        ("RunId = null", "invalid expression: unexpected value type *sqlparser.NullVal"),
        ("RunId = ('a')", "invalid expression: unexpected value type *sqlparser.ParenExpr"),
        ("RunId = 1+1", "invalid expression: unexpected value type *sqlparser.BinaryExpr"),
        ("RunId in (select 1)", "invalid expression: unexpected value type *sqlparser.Subquery"),
        ("RunId = f(1)", "operation is not supported: nested func"),
        ("RunId = group_concat(a)", "operation is not supported: 'group_concat'"),
        ("RunId = ~1", "operation is not supported: unary operator \"~\""),
        ("RunId = -'a'", "invalid expression: unary operator not supported in \"-'a'\""),
        ("CustomIntField = 0x10", "invalid expression: unable to parse value \"0x10\""),
        ("CustomDoubleField = 1e400", "invalid expression: unable to parse value \"1e400\""),
        (
            "CustomTextField = ('a','b')",
            "invalid expression: unexpected value type (expected string, got ('a', 'b'))",
        ),
        (
            "CustomKeywordListField in ('a',('b','c'))",
            "invalid expression: unexpected value type in tuple (expected string, got ('b', 'c'))",
        ),
    ]);
}

#[test]
fn a_value_must_be_of_the_attributes_type() {
    let refused = |query: &str, name: &str, value_type: &str, value: &str| {
        let message = format!(
            "invalid expression: invalid value type for search attribute {name} of type \
             {value_type}: {value}"
        );
        assert_eq!(refusal(query), message, "{query}");
    };
    refused("WorkflowId = 1", "WorkflowId", "Keyword", "1 (type: int64)");
    refused("WorkflowId = -1.5", "WorkflowId", "Keyword", "1.5 (type: float64)");
    refused("WorkflowId = true", "WorkflowId", "Keyword", "true (type: bool)");
    refused("CustomIntField = 'a\"b'", "CustomIntField", "Int", r#""a\"b" (type: string)"#);
    refused("CustomBoolField in (true, 1)", "CustomBoolField", "Bool", "1 (type: int64)");
    refused("CustomTextField = 1", "CustomTextField", "Text", "1 (type: int64)");
    refused("StartTime > 1.5", "StartTime", "Datetime", "1.5 (type: float64)");
    refused("StartTime between 1 and true", "StartTime", "Datetime", "true (type: bool)");
    refused("ExecutionStatus = true", "ExecutionStatus", "Keyword", "true (type: bool)");
    check(&[
        ("StartTime > '2020-01-01'", "invalid expression: unable to parse datetime '2020-01-01'"),
        (
            "ExecutionStatus = 'running'",
            "invalid expression: invalid ExecutionStatus value 'running'",
        ),
        ("ExecutionStatus = 99", "invalid expression: invalid ExecutionStatus value 99"),
        (
            "ExecutionStatus = 1.5",
            "invalid expression: unexpected value type float64 for search attribute ExecutionStatus",
        ),
        (
            "ExecutionDuration > '01:99:00'",
            "invalid expression: invalid duration value for search attribute ExecutionDuration: \
             01:99:00",
        ),
        (
            "CustomTextField != ' '",
            "invalid expression: no tokens found filtering on Text type search attribute \
             CustomTextField",
        ),
        (
            "CustomTextField in ('a', '')",
            "invalid expression: no tokens found filtering on Text type search attribute \
             CustomTextField",
        ),
    ]);
}

#[test]
fn each_type_has_its_operators() {
    let unsupported = |operator: &str, value_type: &str| {
        format!(
            "operation is not supported: operator '{operator}' not supported for {value_type} type \
             search attribute 'Custom{value_type}Field'"
        )
    };
    for (query, operator, value_type) in [
        ("CustomKeywordField like 'a'", "LIKE", "Keyword"),
        ("CustomKeywordField not regexp 'a'", "NOT REGEXP", "Keyword"),
        ("CustomKeywordField <=> 'a'", "<=>", "Keyword"),
        ("CustomKeywordListField > 'a'", ">", "KeywordList"),
        ("CustomKeywordListField starts_with 'a'", "STARTS_WITH", "KeywordList"),
        ("CustomTextField < 'a'", "<", "Text"),
        ("CustomTextField not in ('a')", "NOT IN", "Text"),
        ("CustomIntField starts_with 1", "STARTS_WITH", "Int"),
        ("CustomDoubleField like 1", "LIKE", "Double"),
        ("CustomBoolField like true", "LIKE", "Bool"),
        ("CustomDatetimeField not starts_with 1", "NOT STARTS_WITH", "Datetime"),
    ] {
        assert_eq!(refusal(query), unsupported(operator, value_type), "{query}");
    }
    for value_type in ["Bool", "Text", "KeywordList"] {
        assert_eq!(
            refusal(&format!("Custom{value_type}Field between 'a' and 'b'")),
            format!(
                "invalid expression: cannot do range condition on search attribute \
                 'Custom{value_type}Field' of type {value_type}"
            )
        );
    }
    for (query, got) in [
        ("ExecutionStatus starts_with 'Running'", "Running"),
        ("ExecutionStatus starts_with 1", "Running"),
        (
            "ExecutionStatus starts_with 'WORKFLOW_EXECUTION_STATUS_RUNNING'",
            "WORKFLOW_EXECUTION_STATUS_RUNNING",
        ),
        ("WorkflowId starts_with ('a', ('b', 'c'))", "[a [b c]]"),
    ] {
        let problem = "right-hand side of \"starts_with\" operator must be a literal string";
        check(&[(query, &format!("invalid expression: {problem} (got: {got})"))]);
    }
}

#[test]
fn an_attribute_must_exist_and_is_looked_at_before_its_value() {
    check(&[
        ("Foo > abc", "invalid search attribute: Foo"),
        ("workflowid = 'a'", "invalid search attribute: workflowid"),
        ("Memo is null", "invalid search attribute: Memo"),
        ("a.`b c` = 1", "invalid search attribute: a.b c"),
        ("RunId = 'a' and Foo = 1", "invalid search attribute: Foo"),
    ]);
}

#[test]
fn depth_is_refused_before_it_hurts() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{}RunId = 'a'{}", open.repeat(depth), close.repeat(depth))
    };
    let chain = |length: usize| vec!["RunId = 'a'"; length].join(" or ");
    for query in [
        nested("(", ")", 199),
        nested("not ", "", 199),
        chain(995),
        format!("NOT ({})", chain(993)),
        format!("({}) or ({})", chain(900), chain(900)),
    ] {
        assert!(Query::parse(&query, &attributes()).is_ok(), "{query:.99}");
    }
    check(&[
        (&nested("(", ")", 200), "malformed SQL query: max nesting level reached at position 201"),
        (
            &nested("not ", "", 100_000),
            "malformed SQL query: max nesting level reached at position 800 near 'not'",
        ),
        (&chain(996), "malformed SQL query: max ast depth reached"),
        (&format!("NOT ({})", chain(994)), "malformed SQL query: max ast depth reached"),
        (&chain(100_000), "malformed SQL query: max ast depth reached"),
        (
            &format!("RunId = {}1", "- ".repeat(100_000)),
            "malformed SQL query: max nesting level reached at position 408",
        ),
    ]);
}
