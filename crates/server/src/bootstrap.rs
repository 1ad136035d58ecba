//! Creates namespaces and search attributes that a server needs before its first request.

use perennial_engine::run::Rejection;
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::enums::v1::{IndexedValueType, NamespaceState};
use perennial_runtime::{Refusal, Runtime};

use crate::names;
use crate::operator;
use crate::search_attributes;

/// A search attribute to create: its name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSearchAttribute {
    name: String,
    kind: IndexedValueType,
}

impl NewSearchAttribute {
    /// An attribute with the type of this name, as in `Keyword`. `None` if there is no such type.
    ///
    /// ```
    /// use perennial_server::NewSearchAttribute;
    ///
    /// assert!(NewSearchAttribute::new("City", "Keyword").is_some());
    /// assert!(NewSearchAttribute::new("City", "Place").is_none());
    /// ```
    pub fn new(name: impl Into<String>, kind: &str) -> Option<Self> {
        let kind = search_attributes::kind_named(kind)?;
        Some(Self { name: name.into(), kind })
    }
}

/// Attempts while other nodes, which start at the same time, create the same.
const ATTEMPTS_MAX: usize = 10;

/// Creates a namespace unless it exists, and the search attributes that it lacks.
pub async fn ensure_namespace(
    runtime: &Runtime,
    name: &str,
    attributes: &[NewSearchAttribute],
) -> Result<(), Refusal> {
    for _ in 1..ATTEMPTS_MAX {
        match try_to_ensure(runtime, name, attributes).await {
            Err(Refusal::Unavailable(_) | Refusal::Rejected(Rejection::FailedPrecondition(_)))
                if runtime.is_clustered() =>
            {
                runtime.reload_namespaces().await?;
            }
            ensured => return ensured,
        }
    }
    try_to_ensure(runtime, name, attributes).await
}

async fn try_to_ensure(
    runtime: &Runtime,
    name: &str,
    attributes: &[NewSearchAttribute],
) -> Result<(), Refusal> {
    const RETENTION: Span = Span::seconds(24 * 3_600);
    let present = runtime.namespaces().by_name(name).cloned();
    let record = match present {
        Some(record) => record,
        None => {
            names::check_namespace(name).map_err(Rejection::InvalidArgument)?;
            let record = NamespaceRecord {
                id: runtime.fresh_id(),
                name: name.to_owned(),
                state: NamespaceState::Registered.into(),
                retention_nanos: RETENTION.0,
                created_at: runtime.now().0,
                ..NamespaceRecord::default()
            };
            runtime.register_namespace(record).await?
        }
    };
    if attributes.is_empty() {
        return Ok(());
    }
    for attribute in attributes {
        names::check_search_attribute(&attribute.name).map_err(Rejection::InvalidArgument)?;
    }
    let requested: Vec<_> = attributes.iter().map(|new| (new.name.clone(), new.kind)).collect();
    if let Some((name, _)) = requested.iter().find(|(name, _)| operator::is_reserved(name)) {
        let message = format!("Search attribute {name} is reserved by system.");
        return Err(Rejection::InvalidArgument(message).into());
    }
    let change = move |record: &mut NamespaceRecord| operator::add(record, requested);
    runtime.update_namespace(NamespaceKey(record.key), Box::new(change)).await?;
    Ok(())
}
