//! Registers, describes, lists and updates namespaces.

use std::collections::HashMap;
use std::sync::Arc;

use perennial_engine::run::{self, Rejection};
use perennial_engine::{NamespaceKey, Span};
use perennial_proto::Duration;
use perennial_proto::store::NamespaceRecord;
use perennial_proto::temporal::enums::v1::{ArchivalState, IndexedValueType, NamespaceState};
use perennial_proto::temporal::namespace::v1::namespace_info::{Capabilities, Limits};
use perennial_proto::temporal::namespace::v1::{BadBinaries, NamespaceConfig, NamespaceInfo};
use perennial_proto::temporal::replication::v1::{
    ClusterReplicationConfig, NamespaceReplicationConfig,
};
use perennial_proto::temporal::workflowservice::v1::{
    DeprecateNamespaceRequest, DeprecateNamespaceResponse, DescribeNamespaceRequest,
    DescribeNamespaceResponse, ListNamespacesRequest, ListNamespacesResponse,
    RegisterNamespaceRequest, RegisterNamespaceResponse, UpdateNamespaceRequest,
    UpdateNamespaceResponse,
};

use super::system::CLUSTER_NAME;
use crate::call::Call;
use crate::errors::{RpcResult, namespace_already_exists, namespace_not_found, refused};
use crate::names;
use crate::search_attributes::kind_name;
use crate::server::ServerConfig;
use crate::tokens::{PageTokens, Purpose};
use crate::validate::invalid;
use tonic::Status;

/// The shortest retention of closed runs.
const RETENTION_MIN: Span = Span::seconds(24 * 3_600);

impl Call<'_> {
    pub(crate) async fn register_namespace(
        &self,
        request: RegisterNamespaceRequest,
    ) -> RpcResult<RegisterNamespaceResponse> {
        let name = request.namespace;
        names::check_namespace(&name).map_err(Status::invalid_argument)?;
        let retention = retention(request.workflow_execution_retention_period.as_ref())?;
        if request.is_global_namespace {
            return invalid("Cannot register global namespace when not enabled");
        }
        if self.runtime().namespaces().by_name(&name).is_some() {
            return Err(namespace_already_exists(&name));
        }
        let record = NamespaceRecord {
            id: self.runtime().fresh_id(),
            name: name.clone(),
            state: NamespaceState::Registered.into(),
            description: request.description,
            owner_email: request.owner_email,
            data: request.data,
            retention_nanos: retention.0,
            created_at: self.runtime().now().0,
            ..NamespaceRecord::default()
        };
        let registered = self.runtime().register_namespace(record).await;
        match registered {
            Ok(_) => Ok(RegisterNamespaceResponse {}),
            // Another request registered it meanwhile.
            Err(_) if self.runtime().namespaces().by_name(&name).is_some() => {
                Err(namespace_already_exists(&name))
            }
            Err(refusal) => Err(refused(refusal)),
        }
    }

    pub(crate) async fn describe_namespace(
        &self,
        request: DescribeNamespaceRequest,
    ) -> RpcResult<DescribeNamespaceResponse> {
        let namespaces = self.runtime().namespaces();
        let record = match (request.namespace.as_str(), request.id.as_str()) {
            ("", "") => return invalid("Namespace not set on request."),
            ("", id) => namespaces.by_id(id).ok_or_else(|| namespace_not_found(id))?,
            (name, "") => namespaces.by_name(name).ok_or_else(|| namespace_not_found(name))?,
            _ => {
                return invalid(
                    "GetNamespace operation failed. Both ID and Name specified in request.",
                );
            }
        };
        Ok(describe(record, self.runtime().limits(), &self.shared().config))
    }

    pub(crate) async fn list_namespaces(
        &self,
        request: ListNamespacesRequest,
    ) -> RpcResult<ListNamespacesResponse> {
        const PAGE_MAX: usize = 1_000;
        let requested = usize::try_from(request.page_size).ok().filter(|size| *size > 0);
        let size = requested.map_or(100, |size| size.min(PAGE_MAX));
        // The token holds the name of the page's last namespace.
        let keys = self.token_keys().await?;
        let pages = PageTokens::of_filter(keys, Purpose::ListNamespaces, NamespaceKey(0), "");
        let after = pages.after_name(&request.next_page_token)?;
        let namespaces = self.runtime().namespaces();
        let rest = namespaces.iter().filter(|record| after.is_empty() || record.name > after);
        let mut rest = rest.filter(|record| self.may_see(&record.name)).peekable();
        let page: Vec<&Arc<NamespaceRecord>> = rest.by_ref().take(size).collect();
        let last = page.last().filter(|_| rest.peek().is_some());
        let next_page_token = pages.next(last.map(|last| last.name.clone().into_bytes()));
        let (limits, config) = (self.runtime().limits(), &self.shared().config);
        Ok(ListNamespacesResponse {
            namespaces: page.into_iter().map(|record| describe(record, limits, config)).collect(),
            next_page_token,
        })
    }

    /// Whether the caller may know of a namespace: any role in it is enough.
    fn may_see(&self, namespace: &str) -> bool {
        !self.principal().grants.in_namespace(namespace).is_empty()
    }

    pub(crate) async fn update_namespace(
        &self,
        request: UpdateNamespaceRequest,
    ) -> RpcResult<UpdateNamespaceResponse> {
        if request.namespace.is_empty() {
            return invalid("Namespace not set on request.");
        }
        let key = self.namespace_key(&request.namespace)?;
        let retention = match &request.config {
            Some(NamespaceConfig { workflow_execution_retention_ttl: Some(duration), .. }) => {
                Some(retention(Some(duration))?)
            }
            _ => None,
        };
        let info = request.update_info;
        let change = move |record: &mut NamespaceRecord| {
            if let Some(info) = info {
                if !info.description.is_empty() {
                    record.description = info.description;
                }
                if !info.owner_email.is_empty() {
                    record.owner_email = info.owner_email;
                }
                record.data.extend(info.data);
                if info.state != i32::from(NamespaceState::Unspecified) {
                    record.state = next_state(record.state, info.state)?;
                }
            }
            if let Some(retention) = retention {
                record.retention_nanos = retention.0;
            }
            Ok(())
        };
        let updated = self.runtime().update_namespace(key, Box::new(change)).await;
        let updated = updated.map_err(refused)?;
        let DescribeNamespaceResponse { namespace_info, config, replication_config, .. } =
            describe(&updated, self.runtime().limits(), &self.shared().config);
        Ok(UpdateNamespaceResponse {
            namespace_info,
            config,
            replication_config,
            ..UpdateNamespaceResponse::default()
        })
    }

    pub(crate) async fn deprecate_namespace(
        &self,
        request: DeprecateNamespaceRequest,
    ) -> RpcResult<DeprecateNamespaceResponse> {
        if request.namespace.is_empty() {
            return invalid("Namespace not set on request.");
        }
        let key: NamespaceKey = self.namespace_key(&request.namespace)?;
        let change = |record: &mut NamespaceRecord| {
            record.state = NamespaceState::Deprecated.into();
            Ok(())
        };
        let updated = self.runtime().update_namespace(key, Box::new(change)).await;
        updated.map_err(refused)?;
        Ok(DeprecateNamespaceResponse {})
    }
}

fn retention(duration: Option<&Duration>) -> RpcResult<Span> {
    let retention = Span::of(duration);
    if retention < RETENTION_MIN {
        return invalid("A valid retention period is not set on request.");
    }
    Ok(retention)
}

/// Checks a change of state: from registered to deprecated to deleted, and not back.
fn next_state(present: i32, requested: i32) -> Result<i32, Rejection> {
    let state = |state| NamespaceState::try_from(state).unwrap_or(NamespaceState::Unspecified);
    let allowed = match (state(present), state(requested)) {
        (NamespaceState::Registered, requested) => requested != NamespaceState::Unspecified,
        (present, requested) => present == requested || requested == NamespaceState::Deleted,
    };
    if allowed {
        Ok(requested)
    } else {
        Err(Rejection::InvalidArgument("Invalid namespace state update.".to_owned()))
    }
}

fn describe(
    record: &NamespaceRecord,
    limits: &run::Limits,
    config: &ServerConfig,
) -> DescribeNamespaceResponse {
    let cluster = ClusterReplicationConfig {
        cluster_name: CLUSTER_NAME.to_owned(),
        ..ClusterReplicationConfig::default()
    };
    DescribeNamespaceResponse {
        namespace_info: Some(NamespaceInfo {
            name: record.name.clone(),
            state: record.state,
            description: record.description.clone(),
            owner_email: record.owner_email.clone(),
            data: record.data.clone(),
            id: record.id.clone(),
            capabilities: Some(capabilities(config)),
            limits: Some(Limits {
                blob_size_limit_error: bytes(limits.payload_bytes),
                memo_size_limit_error: bytes(limits.memo_bytes),
                workflow_task_completion_size_limit_error: bytes(limits.completion_bytes),
            }),
            supports_schedules: true,
        }),
        config: Some(NamespaceConfig {
            workflow_execution_retention_ttl: Some(Span(record.retention_nanos).into()),
            bad_binaries: Some(BadBinaries::default()),
            history_archival_state: ArchivalState::Disabled.into(),
            visibility_archival_state: ArchivalState::Disabled.into(),
            custom_search_attribute_aliases: aliases(record),
            ..NamespaceConfig::default()
        }),
        replication_config: Some(NamespaceReplicationConfig {
            active_cluster_name: CLUSTER_NAME.to_owned(),
            clusters: vec![cluster],
            ..NamespaceReplicationConfig::default()
        }),
        ..DescribeNamespaceResponse::default()
    }
}

/// The capabilities of every namespace. A flag is true only if the feature works.
fn capabilities(config: &ServerConfig) -> Capabilities {
    Capabilities {
        eager_workflow_start: true,
        sync_update: true,
        async_update: true,
        workflow_pause: true,
        // The SDK then relies on the server to end its polls.
        worker_poll_complete_on_shutdown: config.ends_polls_of_leaving_workers,
        poller_autoscaling: true,
        workflow_task_completion_pagination: true,
        ..Capabilities::default()
    }
}

/// The attributes by their columns, named as in Temporal: `Keyword01`.
fn aliases(record: &NamespaceRecord) -> HashMap<String, String> {
    let attributes = record.search_attributes.iter();
    let named = attributes.filter_map(|attribute| {
        let kind = IndexedValueType::try_from(attribute.value_type).ok()?;
        let column = format!("{}{:02}", kind_name(kind), attribute.column);
        Some((column, attribute.name.clone()))
    });
    named.collect()
}

fn bytes(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_state_never_goes_back() {
        use NamespaceState::{Deleted, Deprecated, Registered};
        let next = |from: NamespaceState, to: NamespaceState| next_state(from as i32, to as i32);
        assert!(next(Registered, Deprecated).is_ok());
        assert!(next(Deprecated, Deleted).is_ok());
        assert_eq!(
            next(Deprecated, Registered),
            Err(Rejection::InvalidArgument("Invalid namespace state update.".to_owned()))
        );
    }

    #[test]
    fn retention_is_at_least_a_day() {
        assert!(retention(None).is_err());
        assert!(retention(Some(&Duration { seconds: 10, nanos: 0 })).is_err());
        assert!(retention(Some(&Duration { seconds: 86_400, nanos: 0 })).is_ok());
    }
}
