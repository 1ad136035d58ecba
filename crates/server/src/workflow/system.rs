//! Version, capabilities and cluster of this server.

use perennial_proto::temporal::workflowservice::v1::get_system_info_response::Capabilities;
use perennial_proto::temporal::workflowservice::v1::{
    GetClusterInfoRequest, GetClusterInfoResponse, GetSearchAttributesRequest,
    GetSearchAttributesResponse, GetSystemInfoRequest, GetSystemInfoResponse,
};

use crate::call::Call;
use crate::errors::RpcResult;
use crate::search_attributes::{PREDEFINED, SYSTEM};

/// The version of Temporal's server that this one behaves like. Clients compare it as semver.
pub const SERVER_VERSION: &str = "1.32.0";

/// The name of the cluster.
pub(crate) const CLUSTER_NAME: &str = "active";

impl Call<'_> {
    pub(crate) async fn get_system_info(
        &self,
        _: GetSystemInfoRequest,
    ) -> RpcResult<GetSystemInfoResponse> {
        // A flag is true only if the feature works.
        let capabilities = Capabilities {
            signal_and_query_header: true,
            internal_error_differentiation: true,
            activity_failure_include_heartbeat: true,
            encoded_failure_attributes: true,
            upsert_memo: true,
            eager_workflow_start: true,
            sdk_metadata: true,
            count_group_by_execution_status: true,
            supports_schedules: true,
            // An exception: the server doesn't route tasks by build, and refuses workers with versioning. But
            // without this flag several SDKs don't send their build.
            build_id_based_versioning: true,
            nexus: false,
            ..Capabilities::default()
        };
        Ok(GetSystemInfoResponse {
            server_version: SERVER_VERSION.to_owned(),
            capabilities: Some(capabilities),
        })
    }

    pub(crate) async fn get_cluster_info(
        &self,
        _: GetClusterInfoRequest,
    ) -> RpcResult<GetClusterInfoResponse> {
        let config = &self.shared().config;
        let below = |name: &str, version: &str| (name.to_owned(), format!("<{version}"));
        Ok(GetClusterInfoResponse {
            supported_clients: [
                below("temporal-cli", "2.0.0"),
                below("temporal-go", "2.0.0"),
                below("temporal-java", "2.0.0"),
                below("temporal-php", "2.0.0"),
                below("temporal-server", "2.0.0"),
                below("temporal-typescript", "2.0.0"),
                below("temporal-ui", "3.0.0"),
            ]
            .into(),
            server_version: SERVER_VERSION.to_owned(),
            cluster_id: config.cluster_id.clone(),
            cluster_name: CLUSTER_NAME.to_owned(),
            history_shard_count: 1,
            persistence_store: config.store_name.clone(),
            visibility_store: config.store_name.clone(),
            initial_failover_version: 1,
            failover_version_increment: 10,
            ..GetClusterInfoResponse::default()
        })
    }

    pub(crate) async fn get_search_attributes(
        &self,
        _: GetSearchAttributesRequest,
    ) -> RpcResult<GetSearchAttributesResponse> {
        let all = SYSTEM.into_iter().chain(PREDEFINED);
        Ok(GetSearchAttributesResponse {
            keys: all.map(|(name, kind)| (name.to_owned(), kind.into())).collect(),
        })
    }
}
