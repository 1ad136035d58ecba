//! The visibility table: writing, paging, counting.

use rusqlite::Connection;

use crate::visibility::{
    AttributeColumn, Attributes, Closed, Execution, ExecutionKey, Group, GroupKey, Position,
    Predefined, Query, Row, Value, ValueType, Values, sqlite,
};

const SECOND: i64 = 1_000_000_000;

fn open() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sqlite::CREATE_TABLE).unwrap();
    connection.execute_batch(sqlite::ADD_LABELS).unwrap();
    connection.execute_batch(sqlite::DROP_ATTRIBUTE_INDEXES).unwrap();
    connection
}

fn running(run_key: i64, start_seconds: i64) -> Row {
    let run_id = format!("run-{run_key}");
    Row {
        namespace: 1,
        execution: Execution {
            run_key,
            workflow_id: format!("order-{run_key}"),
            run_id: run_id.clone(),
            workflow_type: "Order".to_owned(),
            task_queue: "orders".to_owned(),
            status: 1,
            start_time_nanos: start_seconds * SECOND,
            execution_time_nanos: start_seconds * SECOND,
            closed: None,
            parent: None,
            root: ExecutionKey { workflow_id: format!("order-{run_key}"), run_id },
            memo: b"memo".to_vec(),
            search_attributes: b"attributes".to_vec(),
        },
        values: Values::default(),
    }
}

fn completed(run_key: i64, start_seconds: i64, close_seconds: i64) -> Row {
    let mut row = running(run_key, start_seconds);
    row.execution.status = 2;
    row.execution.closed = Some(Closed {
        time_nanos: close_seconds * SECOND,
        execution_duration_nanos: (close_seconds - start_seconds) * SECOND,
        history_length: 11,
        history_size_bytes: 1_200,
        state_transition_count: 4,
    });
    row
}

fn query(text: &str) -> Query {
    Query::parse(text, &Attributes::builtin()).unwrap()
}

fn list(connection: &Connection, text: &str) -> Vec<Execution> {
    let page = sqlite::list(connection, 1, &query(text).filter, None, 1_000).unwrap();
    assert_eq!(page.next, None);
    page.executions
}

#[test]
fn a_listed_run_is_the_written_one_to_the_microsecond() {
    let connection = open();
    let mut row = completed(7, 100, 160);
    row.execution.parent =
        Some(ExecutionKey { workflow_id: "parent".to_owned(), run_id: "run".to_owned() });
    row.execution.start_time_nanos += 123_456_789;
    sqlite::put(&connection, &row).unwrap();
    row.execution.start_time_nanos -= 789;
    assert_eq!(list(&connection, ""), [row.execution]);
}

#[test]
fn a_row_is_replaced_and_deleted_by_its_key() {
    let connection = open();
    sqlite::put(&connection, &running(1, 5)).unwrap();
    sqlite::put(&connection, &completed(1, 5, 6)).unwrap();
    assert_eq!(list(&connection, "ExecutionStatus = 'Running'"), []);
    assert_eq!(list(&connection, "ExecutionStatus = 'Completed'"), [completed(1, 5, 6).execution]);
    sqlite::delete(&connection, 1).unwrap();
    assert_eq!(list(&connection, ""), []);
}

#[test]
fn a_namespace_sees_its_own_runs_only() {
    let connection = open();
    let mut elsewhere = running(2, 5);
    elsewhere.namespace = 2;
    sqlite::put(&connection, &running(1, 5)).unwrap();
    sqlite::put(&connection, &elsewhere).unwrap();
    let everything = query("RunId = 'run-1' or RunId = 'run-2'").filter;
    assert_eq!(sqlite::count(&connection, 1, &everything).unwrap(), 1);
    assert_eq!(sqlite::count(&connection, 2, &everything).unwrap(), 1);
}

#[test]
fn pages_of_any_size_make_the_list_even_when_times_tie() {
    let connection = open();
    let mut rows: Vec<_> =
        (0..30)
            .map(|key| {
                if key % 3 == 0 { running(key, key % 4) } else { completed(key, key % 4, key % 5) }
            })
            .collect();
    for row in &rows {
        sqlite::put(&connection, row).unwrap();
    }
    rows.sort_by_key(|row| Position::of(&row.execution));
    let expected: Vec<_> = rows.into_iter().map(|row| row.execution).collect();
    let filter = query("").filter;
    for limit in [1, 2, 7, 29, 30, 31] {
        let mut listed = Vec::new();
        let mut token: Option<Vec<u8>> = None;
        loop {
            let after = token.as_deref().map(|token| Position::from_token(token).unwrap());
            let page = sqlite::list(&connection, 1, &filter, after.as_ref(), limit).unwrap();
            assert!(page.executions.len() <= limit);
            listed.extend(page.executions);
            token = page.next.map(|next| next.to_token());
            if token.is_none() {
                break;
            }
        }
        assert_eq!(listed, expected, "pages of {limit}");
    }
}

/// How SQLite goes about a statement.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    plan.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_page_seeks_its_place_in_the_index() {
    let connection = open();
    sqlite::put(&connection, &running(1, 5)).unwrap();
    let steps = plan(
        &connection,
        "SELECT * FROM visibility WHERE namespace = 1 \
         AND coalesce(close_time, 9223372036854775807) <= 5 \
         ORDER BY coalesce(close_time, 9223372036854775807) DESC, start_time DESC, run_id",
    );
    assert_eq!(
        steps,
        ["SEARCH visibility USING INDEX visibility_listed (namespace=? AND <expr><?)"]
    );
}

#[test]
fn a_custom_attribute_has_an_index_once_a_run_has_a_value_of_it() {
    let connection = open();
    let find = |column: &str, value: &str| {
        let sql = format!("SELECT * FROM visibility WHERE namespace = 1 AND {column} = {value}");
        plan(&connection, &sql).join("; ")
    };
    sqlite::put(&connection, &running(1, 5)).unwrap();
    assert!(!find("Keyword01", "'a'").contains("visibility_Keyword01"));
    let values = [
        (ValueType::Keyword, Value::Keyword("a".to_owned())),
        (ValueType::Int, Value::Int(1)),
        (ValueType::Double, Value::Double(0.5)),
        (ValueType::Datetime, Value::Datetime(SECOND)),
        (ValueType::Bool, Value::Bool(true)),
        (ValueType::Text, Value::Text("some words".to_owned())),
        (ValueType::KeywordList, Value::KeywordList(vec!["a".to_owned()])),
    ];
    for run_key in 2..4 {
        let mut row = running(run_key, 5);
        for (value_type, value) in values.clone() {
            let column = AttributeColumn::Custom { value_type, number: 1 };
            row.values.set(column, value).unwrap();
        }
        sqlite::put(&connection, &row).unwrap();
    }
    for (column, value) in
        [("Keyword01", "'a'"), ("Int01", "1"), ("Double01", "0.5"), ("Datetime01", "1000000")]
    {
        let index = format!("INDEX visibility_{column} (namespace=? AND {column}=?)");
        let steps = find(column, value);
        assert!(steps.contains(&index), "{column}: {steps}");
    }
}

#[test]
fn runs_in_a_division_show_only_when_it_is_named() {
    let connection = open();
    let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
    let mut inside = running(2, 5);
    inside.values.set(division, Value::Keyword("scheduler".to_owned())).unwrap();
    sqlite::put(&connection, &running(1, 5)).unwrap();
    sqlite::put(&connection, &inside).unwrap();
    let ids = |text| -> Vec<_> { list(&connection, text).into_iter().map(|e| e.run_key).collect() };
    assert_eq!(ids(""), [1]);
    assert_eq!(ids("WorkflowType = 'Order' OR RunId = 'x'"), [1]);
    assert_eq!(ids("TemporalNamespaceDivision = 'scheduler'"), [2]);
    assert_eq!(ids("NamespaceDivision is null or NamespaceDivision is not null"), [1, 2]);
}

#[test]
fn counts_are_split_by_status_or_division() {
    let connection = open();
    for key in 0..5 {
        sqlite::put(&connection, &completed(key, 1, 2)).unwrap();
    }
    sqlite::put(&connection, &running(5, 1)).unwrap();
    let groups = |text| {
        let Query { filter, group_by } = query(text);
        sqlite::count_groups(&connection, 1, &filter, group_by.unwrap()).unwrap()
    };
    assert_eq!(
        groups("GROUP BY ExecutionStatus"),
        [
            Group { key: GroupKey::Status(1), count: 1 },
            Group { key: GroupKey::Status(2), count: 5 },
        ]
    );
    assert_eq!(
        groups("CloseTime is not null group by TemporalNamespaceDivision"),
        [Group { key: GroupKey::Division(None), count: 5 }]
    );
}

#[test]
fn the_largest_queries_the_language_allows_are_answered() {
    let connection = open();
    sqlite::put(&connection, &running(1, 5)).unwrap();
    let count = |text: &str| sqlite::count(&connection, 1, &query(text).filter).unwrap();
    assert_eq!(count(&vec!["RunId = 'run-1'"; 995].join(" or ")), 1);
    let many: Vec<_> = (0..100_000).map(|key| format!("'run-{key}'")).collect();
    assert_eq!(count(&format!("RunId in ({})", many.join(", "))), 1);
    // As deep as it goes, and every level a real one.
    let open = "(RunId = 'x' or NOT (StartTime is null or ".repeat(66);
    assert_eq!(count(&format!("{open}RunId = 'run-1'{}", "))".repeat(66))), 1);
    let wide = "(RunId = 'x' or RunId = 'y' or RunId = 'z' or ".repeat(198);
    assert_eq!(count(&format!("{wide}RunId = 'run-1'{}", ")".repeat(198))), 1);
}

#[test]
fn the_table_has_a_column_for_everything_a_query_can_name() {
    let connection = open();
    for column in AttributeColumn::all() {
        let mut row = running(1, 5);
        let name = match column {
            AttributeColumn::Predefined(predefined) => predefined.name().to_owned(),
            AttributeColumn::Custom { value_type, number } => format!("{value_type}{number:02}"),
        };
        row.values.set(column, sample(column)).unwrap();
        sqlite::put(&connection, &row).unwrap();
        let filter = query(&format!("{name} is not null and {OTHERS}")).filter;
        assert_eq!(sqlite::count(&connection, 1, &filter).unwrap(), 1, "{name}");
    }
}

/// Keeps the division out of it.
const OTHERS: &str = "(NamespaceDivision is null or NamespaceDivision is not null)";

fn sample(column: AttributeColumn) -> Value {
    match column.value_type() {
        ValueType::Keyword => Value::Keyword("a".to_owned()),
        ValueType::KeywordList => Value::KeywordList(vec!["a".to_owned()]),
        ValueType::Text => Value::Text("a".to_owned()),
        ValueType::Int => Value::Int(1),
        ValueType::Double => Value::Double(1.0),
        ValueType::Bool => Value::Bool(true),
        ValueType::Datetime => Value::Datetime(1),
    }
}
