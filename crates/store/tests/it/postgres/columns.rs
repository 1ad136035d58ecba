//! The table of lists has a column for every attribute.

use perennial_store::visibility::{AttributeColumn, Attributes, Query, Value, ValueType};
use perennial_store::{EntityWrite, Listed};

use crate::conformance::backends::{Backend, Postgres};
use crate::conformance::lists::listed;
use crate::writing::{NAMESPACE, Owner, new_run};

#[test]
fn every_attribute_has_a_column_of_its_type() {
    let postgres = Postgres::fresh();
    let mut row = listed(1, "order", None);
    let mut attributes = Attributes::builtin();
    let mut names = Vec::new();
    for column in AttributeColumn::all() {
        let value = match column.value_type() {
            ValueType::Keyword => Value::Keyword("a".to_owned()),
            ValueType::KeywordList => Value::KeywordList(vec!["a".to_owned()]),
            ValueType::Text => Value::Text("a".to_owned()),
            ValueType::Int => Value::Int(i64::MAX),
            ValueType::Double => Value::Double(1.5),
            ValueType::Bool => Value::Bool(true),
            ValueType::Datetime => Value::Datetime(i64::MAX),
        };
        row.values.set(column, value).unwrap();
        match column {
            AttributeColumn::Predefined(predefined) => names.push(predefined.name().to_owned()),
            AttributeColumn::Custom { value_type, number } => {
                let name = format!("My{value_type}{number}");
                attributes = attributes.with_custom(name.clone(), value_type, number).unwrap();
                names.push(name);
            }
        }
    }
    let visibility = Some(Listed::Row(Box::new(row)));
    let store = postgres.store();
    Owner::first(store).commit(EntityWrite { visibility, ..new_run(1, "order") });
    for name in names {
        // Naming the division finds runs in a division too.
        let text = format!("{name} IS NOT NULL AND TemporalNamespaceDivision = 'a'");
        let query = Query::parse(&text, &attributes).unwrap();
        assert_eq!(store.count(NAMESPACE, &query).unwrap().total, 1, "{name}");
    }
}
