//! `temporal.api.operatorservice.v1.OperatorService`: search attributes, and the deletion of namespaces.

use std::collections::BTreeSet;

use perennial_engine::run::Rejection;
use perennial_proto::store::{NamespaceRecord, SearchAttribute};
use perennial_proto::temporal::enums::v1::{IndexedValueType as Kind, NamespaceState};
use perennial_proto::temporal::operatorservice::v1::{
    AddSearchAttributesRequest, AddSearchAttributesResponse, ClusterMetadata,
    DeleteNamespaceRequest, DeleteNamespaceResponse, ListClustersRequest, ListClustersResponse,
    ListSearchAttributesRequest, ListSearchAttributesResponse, RemoveSearchAttributesRequest,
    RemoveSearchAttributesResponse,
};
use tonic::Status;

use crate::call::Call;
use crate::errors::{RpcResult, namespace_not_found, refused};
use crate::names;
use crate::search_attributes::{PREDEFINED, SYSTEM, columns_of, kind_name};
use crate::validate::invalid;
use crate::workflow::CLUSTER_NAME;

impl Call<'_> {
    /// Adds search attributes. They can be used when this returns.
    pub(crate) async fn add_search_attributes(
        &self,
        request: AddSearchAttributesRequest,
    ) -> RpcResult<AddSearchAttributesResponse> {
        let mut requested = Vec::with_capacity(request.search_attributes.len());
        for (name, kind) in request.search_attributes {
            names::check_search_attribute(&name).map_err(Status::invalid_argument)?;
            if is_reserved(&name) {
                return invalid(format!("Search attribute {name} is reserved by system."));
            }
            let Ok(kind) = Kind::try_from(kind) else {
                return invalid(format!("Unknown search attribute type: {kind}."));
            };
            requested.push((name, kind));
        }
        if requested.is_empty() {
            return invalid("SearchAttributes are not set on request.");
        }
        requested.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let key = self.namespace_key(&request.namespace)?;
        let change = move |record: &mut NamespaceRecord| add(record, requested);
        let updated = self.runtime().update_namespace(key, Box::new(change)).await;
        updated.map_err(refused)?;
        Ok(AddSearchAttributesResponse {})
    }

    pub(crate) async fn remove_search_attributes(
        &self,
        request: RemoveSearchAttributesRequest,
    ) -> RpcResult<RemoveSearchAttributesResponse> {
        if request.search_attributes.is_empty() {
            return invalid("SearchAttributes are not set on request.");
        }
        if let Some(name) = request.search_attributes.iter().find(|name| is_reserved(name)) {
            return invalid(format!("Unable to remove non-custom search attributes: {name}."));
        }
        let key = self.namespace_key(&request.namespace)?;
        let gone: BTreeSet<String> = request.search_attributes.into_iter().collect();
        let change = move |record: &mut NamespaceRecord| {
            record.search_attributes.retain(|attribute| !gone.contains(&attribute.name));
            Ok(())
        };
        let updated = self.runtime().update_namespace(key, Box::new(change)).await;
        updated.map_err(refused)?;
        Ok(RemoveSearchAttributesResponse {})
    }

    pub(crate) async fn list_search_attributes(
        &self,
        request: ListSearchAttributesRequest,
    ) -> RpcResult<ListSearchAttributesResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let custom = namespace.search_attributes.iter();
        let system = SYSTEM.into_iter().chain(PREDEFINED);
        Ok(ListSearchAttributesResponse {
            custom_attributes: custom
                .map(|attribute| (attribute.name.clone(), attribute.value_type))
                .collect(),
            system_attributes: system.map(|(name, kind)| (name.to_owned(), kind.into())).collect(),
            ..ListSearchAttributesResponse::default()
        })
    }

    /// Deletes a namespace. Its name is free at once; its data is removed in the background.
    pub(crate) async fn delete_namespace(
        &self,
        request: DeleteNamespaceRequest,
    ) -> RpcResult<DeleteNamespaceResponse> {
        let namespaces = self.runtime().namespaces();
        let record = match (request.namespace.as_str(), request.namespace_id.as_str()) {
            ("", "") => return invalid("Namespace not set on request."),
            ("", id) => namespaces.by_id(id).ok_or_else(|| namespace_not_found(id))?,
            (name, _) => namespaces.by_name(name).ok_or_else(|| namespace_not_found(name))?,
        };
        let short_id: String = record.id.chars().take(5).collect();
        let deleted_namespace = format!("{}-deleted-{short_id}", record.name);
        let name = deleted_namespace.clone();
        let now = self.runtime().now();
        let change = move |record: &mut NamespaceRecord| {
            record.name = name;
            record.state = NamespaceState::Deleted.into();
            record.deleted_at = now.0;
            Ok(())
        };
        let key = perennial_engine::NamespaceKey(record.key);
        let deleted = self.runtime().update_namespace(key, Box::new(change)).await;
        let deleted = deleted.map_err(refused)?;
        self.runtime().purge_namespace(NamespaceRecord::clone(&deleted));
        Ok(DeleteNamespaceResponse { deleted_namespace })
    }

    pub(crate) async fn list_clusters(
        &self,
        _: ListClustersRequest,
    ) -> RpcResult<ListClustersResponse> {
        let only = ClusterMetadata {
            cluster_name: CLUSTER_NAME.to_owned(),
            cluster_id: self.shared().config.cluster_id.clone(),
            initial_failover_version: 1,
            history_shard_count: 1,
            is_connection_enabled: true,
            ..ClusterMetadata::default()
        };
        Ok(ListClustersResponse { clusters: vec![only], ..ListClustersResponse::default() })
    }
}

/// Whether a name is reserved, so that no custom attribute may have it.
pub(crate) fn is_reserved(name: &str) -> bool {
    SYSTEM.iter().chain(&PREDEFINED).any(|(known, _)| *known == name)
        || name.starts_with("Temporal")
}

/// Adds the attributes that don't exist yet. Each gets the first free column of its type.
pub(crate) fn add(
    record: &mut NamespaceRecord,
    requested: Vec<(String, Kind)>,
) -> Result<(), Rejection> {
    for (name, kind) in requested {
        let present = record.search_attributes.iter().find(|attribute| attribute.name == name);
        match present {
            Some(present) if present.value_type == i32::from(kind) => continue,
            Some(_) => {
                return Err(Rejection::InvalidArgument(format!(
                    "Search attribute {name} already exists with another type; remove it first."
                )));
            }
            None => {}
        }
        let of_kind = record
            .search_attributes
            .iter()
            .filter(|attribute| attribute.value_type == i32::from(kind));
        let taken: BTreeSet<i32> = of_kind.map(|attribute| attribute.column).collect();
        let Some(column) = (1..=columns_of(kind)).find(|column| !taken.contains(column)) else {
            return Err(Rejection::InvalidArgument(format!(
                "Unable to create search attributes: cannot have more than {} search attribute of \
                 type {}.",
                columns_of(kind),
                kind_name(kind)
            )));
        };
        let value_type = kind.into();
        record.search_attributes.push(SearchAttribute { name, value_type, column });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(record: &mut NamespaceRecord, requested: &[(&str, Kind)]) -> Result<(), Rejection> {
        add(record, requested.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect())
    }

    fn columns(record: &NamespaceRecord) -> Vec<(&str, i32)> {
        let attributes = record.search_attributes.iter();
        attributes.map(|attribute| (attribute.name.as_str(), attribute.column)).collect()
    }

    #[test]
    fn each_attribute_gets_the_first_free_column_of_its_type() {
        let mut record = NamespaceRecord::default();
        added(&mut record, &[("A", Kind::Int), ("B", Kind::Int), ("C", Kind::Text)]).unwrap();
        assert_eq!(columns(&record), [("A", 1), ("B", 2), ("C", 1)]);
        record.search_attributes.retain(|attribute| attribute.name != "A");
        added(&mut record, &[("D", Kind::Int)]).unwrap();
        assert_eq!(columns(&record), [("B", 2), ("C", 1), ("D", 1)]);
    }

    #[test]
    fn adding_an_existing_attribute_changes_nothing() {
        let mut record = NamespaceRecord::default();
        added(&mut record, &[("A", Kind::Int)]).unwrap();
        added(&mut record, &[("A", Kind::Int)]).unwrap();
        assert_eq!(columns(&record), [("A", 1)]);
        assert!(added(&mut record, &[("A", Kind::Bool)]).is_err());
    }

    #[test]
    fn columns_of_a_type_run_out() {
        let mut record = NamespaceRecord::default();
        let four = [("A", Kind::Text), ("B", Kind::Text), ("C", Kind::Text), ("D", Kind::Text)];
        assert_eq!(
            added(&mut record, &four),
            Err(Rejection::InvalidArgument(
                "Unable to create search attributes: cannot have more than 3 search attribute of \
                 type Text."
                    .to_owned()
            ))
        );
    }
}
