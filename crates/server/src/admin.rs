//! `perennial.v1.AdminService`: API keys and log levels. Its descriptions of the server and of the cluster are in
//! [`crate::describe_server`] and [`crate::describe_cluster`].

use std::collections::BTreeSet;

use perennial_engine::Time;
use perennial_identity::{Permission, Role, RoleSet, Scope};
use perennial_proto::perennial::{
    ApiKey as ShownKey, CreateApiKeyRequest, CreateApiKeyResponse, ListApiKeysRequest,
    ListApiKeysResponse, RevokeApiKeyRequest, RevokeApiKeyResponse, SetLogLevelsRequest,
    SetLogLevelsResponse,
};
use perennial_proto::store::ApiKeyRecord;
use tonic::Status;

use crate::access::Credentials;
use crate::access::new_key;
use crate::access::rights;
use crate::call::Call;
use crate::errors::{RpcResult, not_found, refused};

/// One request to this service. Each RPC is a method on it.
pub(crate) struct AdminCall<'a>(pub(crate) Call<'a>);

impl AdminCall<'_> {
    /// Creates an API key. Nobody can give away more than they administer.
    pub(crate) async fn create_api_key(
        &self,
        request: CreateApiKeyRequest,
    ) -> RpcResult<CreateApiKeyResponse> {
        if self.0.shared().config.access.credentials == Credentials::NotAsked {
            // Such a key would outlast the day on which the server begins to ask.
            return Err(Status::failed_precondition(
                "this server asks for no credentials, so it doesn't know who wants a key: start it with \
                 `--auth required`, and create the first key in its database file (`--db`)",
            ));
        }
        let runtime = self.0.runtime();
        let by = self.0.principal().to_string();
        let expires_at = request.expires_at.map(Time::from);
        let new =
            new_key::NewApiKey { name: request.name, permissions: request.permissions, expires_at };
        let (record, key) = new
            .issue(runtime.fresh_id(), runtime.now(), &by)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        self.check_administers(&record)?;
        self.0.api_keys().create(record.clone()).await.map_err(refused)?;
        tracing::info!(id = record.id, name = record.name, %by, "an API key was created");
        Ok(CreateApiKeyResponse { api_key: Some(shown(record)), secret: key.reveal().to_owned() })
    }

    /// Lists the keys that the caller administers.
    pub(crate) async fn list_api_keys(
        &self,
        _: ListApiKeysRequest,
    ) -> RpcResult<ListApiKeysResponse> {
        let mut records = self.0.api_keys().list().await.map_err(refused)?;
        records.retain(|record| self.check_administers(record).is_ok());
        Ok(ListApiKeysResponse { api_keys: records.into_iter().map(shown).collect() })
    }

    /// Revokes a key. A key that the caller doesn't administer is unknown to it.
    pub(crate) async fn revoke_api_key(
        &self,
        request: RevokeApiKeyRequest,
    ) -> RpcResult<RevokeApiKeyResponse> {
        let unknown = || not_found(format!("there is no API key with the id {:?}", request.id));
        let records = self.0.api_keys().list().await.map_err(refused)?;
        let record = records.iter().find(|record| record.id == request.id).ok_or_else(unknown)?;
        self.check_administers(record).map_err(|_| unknown())?;
        let by = self.0.principal().to_string();
        let revoked =
            self.0.api_keys().revoke(request.id.clone(), by.clone()).await.map_err(refused)?;
        tracing::info!(id = revoked.id, name = revoked.name, %by, "an API key was revoked");
        Ok(RevokeApiKeyResponse { api_key: Some(shown(revoked)) })
    }

    /// Sets what the server logs.
    pub(crate) async fn set_log_levels(
        &self,
        request: SetLogLevelsRequest,
    ) -> RpcResult<SetLogLevelsResponse> {
        let levels = self.0.shared().config.log_levels.as_ref().ok_or_else(|| {
            Status::failed_precondition("the program that runs this server chooses what is logged")
        })?;
        let by = self.0.principal().to_string();
        // Before: afterwards it might not be logged.
        tracing::warn!(levels = request.levels, %by, "the log levels are set");
        levels.set(&request.levels).map_err(Status::invalid_argument)?;
        Ok(SetLogLevelsResponse {})
    }

    /// Refuses a caller that isn't an admin wherever a key has a role.
    fn check_administers(&self, record: &ApiKeyRecord) -> RpcResult<()> {
        let admin = RoleSet::of(&[Role::Admin]);
        // What this version can't read is for admins of the whole server.
        let scope = |text: &String| text.parse().map_or(Scope::Server, |it: Permission| it.scope);
        let scopes: BTreeSet<_> = record.permissions.iter().map(scope).collect();
        scopes.into_iter().try_for_each(|scope| match scope {
            Scope::Server => rights::check_on_server(self.0.principal(), admin),
            Scope::Namespace(name) => self.0.require(admin, &name),
        })
    }
}

fn shown(record: ApiKeyRecord) -> ShownKey {
    let time = |nanos| Time(nanos).get().map(Into::into);
    ShownKey {
        created_at: time(record.created_at),
        expires_at: time(record.expires_at),
        last_used_at: time(record.last_used_at),
        revoked_at: time(record.revoked_at),
        id: record.id,
        name: record.name,
        permissions: record.permissions,
        created_by: record.created_by,
        revoked_by: record.revoked_by,
    }
}
