//! A filter finds the same rows in memory and in each database, and no text makes the parser fail.

use std::sync::LazyLock;

use perennial_store::visibility::{
    AttributeColumn, Attributes, Closed, Execution, ExecutionKey, Predefined, Query, Row, Value,
    ValueType, Values,
};
use perennial_store::{EntityWrite, Listed, MemoryStore, SqliteStore, Store};
use proptest::prelude::*;

use crate::conformance::backends::{Backend, Postgres};
use crate::writing::{NAMESPACE, Owner, new_run};

static ATTRIBUTES: LazyLock<Attributes> = LazyLock::new(|| {
    ValueType::ALL.into_iter().fold(Attributes::builtin(), |attributes, value_type| {
        attributes.with_custom(format!("My{value_type}"), value_type, 1).unwrap()
    })
});

const WORDS: [&str; 14] = [
    "",
    "a",
    "A",
    "ab",
    "abc",
    "b",
    "ac",
    "b%",
    "b_",
    "it's",
    "q\"\\",
    "é",
    "a\u{10ffff}",
    "foo bar",
];
const INTEGERS: [i64; 8] = [i64::MIN, -2, 0, 1, 2, 3, 9_007_199_254_740_993, i64::MAX];
const REALS: [f64; 7] = [-1.5, -0.0, 0.1, 1.0, 2.5, 9_007_199_254_740_992.0, 1e300];
/// Nanoseconds: two within one microsecond, one before the epoch.
const TIMES: [i64; 6] = [-1, 0, 1_000, 1_999, 1_577_836_800_000_000_000, 1_577_836_800_123_456_789];
const TEXTS: [&str; 7] =
    ["", "--", "Hello, World", "brown-fox", "fox brown", "naïve café", "world 世界"];

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(&WORDS[..]).prop_map(str::to_owned)
}

fn value(value_type: ValueType) -> BoxedStrategy<Value> {
    match value_type {
        ValueType::Keyword => word().prop_map(Value::Keyword).boxed(),
        ValueType::KeywordList => {
            prop::collection::vec(word(), 0..4).prop_map(Value::KeywordList).boxed()
        }
        ValueType::Text => {
            prop::sample::select(&TEXTS[..]).prop_map(|text| Value::Text(text.to_owned())).boxed()
        }
        ValueType::Int => prop::sample::select(&INTEGERS[..]).prop_map(Value::Int).boxed(),
        ValueType::Double => prop_oneof![
            prop::sample::select(&REALS[..]).prop_map(Value::Double),
            Just(Value::Double(f64::NAN))
        ]
        .boxed(),
        ValueType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        ValueType::Datetime => prop::sample::select(&TIMES[..]).prop_map(Value::Datetime).boxed(),
    }
}

fn values() -> impl Strategy<Value = Values> {
    let columns: Vec<_> = ValueType::ALL
        .into_iter()
        .map(|value_type| AttributeColumn::Custom { value_type, number: 1 })
        .chain([
            AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision),
            AttributeColumn::Predefined(Predefined::BuildIds),
        ])
        .collect();
    let set: Vec<_> = columns
        .iter()
        .map(|column| prop::option::weighted(0.6, value(column.value_type())))
        .collect();
    set.prop_map(move |set| {
        let mut values = Values::default();
        for (column, value) in columns.iter().zip(set) {
            if let Some(value) = value {
                values.set(*column, value).unwrap();
            }
        }
        values
    })
}

fn row() -> impl Strategy<Value = Row> {
    let key =
        || (word(), word()).prop_map(|(workflow_id, run_id)| ExecutionKey { workflow_id, run_id });
    let time = || prop::sample::select(&TIMES[..]);
    let number = || prop::sample::select(&INTEGERS[..]);
    let closed = (time(), number(), number(), number(), number()).prop_map(
        |(time_nanos, duration, length, size, transitions)| Closed {
            time_nanos,
            execution_duration_nanos: duration,
            history_length: length,
            history_size_bytes: size,
            state_transition_count: transitions,
        },
    );
    (
        (word(), word(), word()),
        (0..9_i32, time(), time()),
        prop::option::of(closed),
        prop::option::of(key()),
        key(),
        values(),
    )
        .prop_map(|(names, (status, start, execution), closed, parent, root, values)| Row {
            namespace: 1,
            execution: Execution {
                run_key: 0,
                workflow_id: names.0,
                run_id: String::new(),
                workflow_type: names.1,
                task_queue: names.2,
                status,
                start_time_nanos: start,
                execution_time_nanos: execution,
                closed,
                parent,
                root,
                memo: vec![1],
                search_attributes: vec![2],
            },
            values,
        })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// An attribute and a value for it, as a query writes them.
fn operand(value_type: ValueType) -> BoxedStrategy<String> {
    let numbers = || {
        let integers = prop::sample::select(&INTEGERS[..]).prop_map(|integer| integer.to_string());
        let reals = prop::sample::select(&REALS[..]).prop_map(|real| format!("{real:?}"));
        prop_oneof![integers, reals]
    };
    match value_type {
        ValueType::Keyword | ValueType::KeywordList => {
            word().prop_map(|text| quoted(&text)).boxed()
        }
        ValueType::Text => {
            prop::sample::select(&["hello", "HELLO nothing", "brown-fox", "--", "cafe", "wor"][..])
                .prop_map(quoted)
                .boxed()
        }
        ValueType::Int | ValueType::Double => numbers().boxed(),
        ValueType::Bool => any::<bool>().prop_map(|value| value.to_string()).boxed(),
        ValueType::Datetime => prop_oneof![
            prop::sample::select(&TIMES[..]).prop_map(|nanos| nanos.to_string()),
            Just("'2020-01-01T01:00:00.123456+01:00'".to_owned()),
            Just("'1970-01-01T00:00:00Z'".to_owned()),
        ]
        .boxed(),
    }
}

fn attribute() -> impl Strategy<Value = (&'static str, ValueType)> {
    use ValueType::*;
    prop::sample::select(
        &[
            ("WorkflowId", Keyword),
            ("WorkflowType", Keyword),
            ("TaskQueue", Keyword),
            ("RunId", Keyword),
            ("StartTime", Datetime),
            ("ExecutionTime", Datetime),
            ("CloseTime", Datetime),
            ("ExecutionDuration", Int),
            ("HistoryLength", Int),
            ("HistorySizeBytes", Int),
            ("StateTransitionCount", Int),
            ("ParentWorkflowId", Keyword),
            ("ParentRunId", Keyword),
            ("RootWorkflowId", Keyword),
            ("RootRunId", Keyword),
            ("TemporalNamespaceDivision", Keyword),
            ("BuildIds", KeywordList),
            ("MyKeyword", Keyword),
            ("MyKeywordList", KeywordList),
            ("MyText", Text),
            ("MyInt", Int),
            ("MyDouble", Double),
            ("MyBool", Bool),
            ("MyDatetime", Datetime),
        ][..],
    )
}

fn condition() -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(&["=", "!=", "<", "<=", ">", ">=", "<>"][..]);
    let typed = attribute().prop_flat_map(move |(name, value_type)| {
        let operand = move || operand(value_type);
        let several = prop_oneof![
            9 => prop::collection::vec(operand(), 1..4),
            1 => prop::collection::vec(operand(), 60..70),
        ];
        let shape = prop::sample::select(
            &[
                "compare",
                "in",
                "not in",
                "between",
                "not between",
                "starts_with",
                "not starts_with",
            ][..],
        );
        (Just(name), comparison.clone(), operand(), operand(), several, shape).prop_map(
            |(name, comparison, low, high, several, shape)| match shape {
                "compare" => format!("{name} {comparison} {low}"),
                "in" | "not in" => format!("{name} {shape} ({})", several.join(", ")),
                "between" | "not between" => format!("{name} {shape} {low} and {high}"),
                _ => format!("{name} {shape} {low}"),
            },
        )
    });
    let null = (attribute(), any::<bool>())
        .prop_map(|((name, _), not)| format!("{name} is {}null", if not { "not " } else { "" }));
    let status = (comparison_of_status(), 0..9_i32)
        .prop_map(|(comparison, status)| format!("ExecutionStatus {comparison} {status}"));
    prop_oneof![8 => typed, 2 => null, 1 => status]
}

fn comparison_of_status() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["=", "!=", "<", ">="][..])
}

fn query() -> impl Strategy<Value = String> {
    condition().prop_recursive(4, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} AND {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} OR {right}")),
            inner.clone().prop_map(|inner| format!("NOT ({inner})")),
            inner.prop_map(|inner| format!("({inner})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_says_in_memory_what_it_says_in_sqlite(
        rows in prop::collection::vec(row(), 1..40),
        queries in prop::collection::vec(query(), 60),
    ) {
        agrees_with_memory(&SqliteStore::in_memory().unwrap(), rows, &queries)?;
    }

    #[test]
    fn a_filter_says_in_memory_what_it_says_in_postgres(
        rows in prop::collection::vec(row(), 1..40),
        queries in prop::collection::vec(query(), 60),
    ) {
        agrees_with_memory(Postgres::fresh().store(), rows, &queries)?;
    }

    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,60}") {
        let _ = Query::parse(&text, &ATTRIBUTES);
    }

    #[test]
    fn no_sequence_of_words_breaks_the_parser(
        words in prop::collection::vec(prop::sample::select(&[
            "RunId", "MyInt", "MyText", "`x", "'a'", "\"", "\\", "1", "-", "1.5", "0x", "e", "(", ")",
            ",", "=", "!=", "!", "<=>", "and", "or", "not", "in", "is", "null", "true", "between",
            "starts_with", "like", "escape", "select", "exists", "group", "order", "by", "limit",
            "having", ";", ".", "::a", "?", "/*", "*/", "--", "#", "f(", "é", "\0",
        ][..]), 0..25),
        spaced in any::<bool>(),
    ) {
        let _ = Query::parse(&words.join(if spaced { " " } else { "" }), &ATTRIBUTES);
    }
}

/// Lists by all queries, in pages, and counts.
fn agrees_with_memory(
    store: &dyn Store,
    mut rows: Vec<Row>,
    queries: &[String],
) -> Result<(), TestCaseError> {
    let memory = MemoryStore::new();
    for (key, row) in (1..).zip(&mut rows) {
        row.execution.run_key = key;
        row.execution.run_id = format!("{}{key}", row.execution.task_queue);
    }
    let runs: Vec<_> = rows
        .into_iter()
        .map(|row| EntityWrite {
            visibility: Some(Listed::Row(Box::new(row.clone()))),
            ..new_run(row.execution.run_key, "order")
        })
        .collect();
    Owner::first(&memory).commit(runs.clone());
    Owner::first(store).commit(runs);
    // Refused queries are skipped: they have tests of their own.
    for (text, query) in
        queries.iter().filter_map(|text| Some((text, Query::parse(text, &ATTRIBUTES).ok()?)))
    {
        prop_assert_eq!(listed(store, &query), listed(&memory, &query), "{}", text);
        let [found, expected]: [&dyn Store; 2] = [store, &memory];
        let [found, expected] = [found, expected].map(|it| it.count(NAMESPACE, &query).unwrap());
        prop_assert_eq!(found, expected, "{}", text);
    }
    Ok(())
}

/// Everything that a query finds, seven at a time.
fn listed(store: &dyn Store, query: &Query) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(NAMESPACE, query, 7, after.as_ref()).unwrap();
        found.extend(page.executions.into_iter().map(|execution| execution.run_id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}
