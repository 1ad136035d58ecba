//! What a call needs: roles in the namespace that it is about, or on the whole server.
//!
//! The table of RPCs has a column with these. HTTP paths other than those of RPCs, reflection and documents, need
//! credentials and no role; `/healthz`, `/readyz` and gRPC health need nothing.

use perennial_identity::{Principal, Role, RoleSet};
use perennial_proto::temporal::errordetails::v1::PermissionDeniedFailure;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;
use tonic::{Code, Status};

use crate::errors::{RpcResult, with_detail};

/// What a call needs. Any of the roles is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Valid credentials, whatever they grant.
    Credentials,
    /// A role in the namespace that the request is about.
    InNamespace(RoleSet),
    /// A role for the whole server.
    OnServer(RoleSet),
}

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// The namespace with this name. A request that leaves it empty is about all of them.
    Namespace(&'a str),
    /// The namespace with this name, or with this id if the name is empty.
    NamespaceOrId(&'a str, &'a str),
    /// The namespace with this name. If it is empty, that of the task: who reads the token checks it.
    TokenOr(&'a str),
}

/// What an operation of a batch job needs in its namespace: as much as the RPC that does it to a single workflow.
pub(crate) fn of_batch_operation(operation: &Operation) -> RoleSet {
    match operation {
        Operation::TerminationOperation(_)
        | Operation::SignalOperation(_)
        | Operation::CancellationOperation(_)
        | Operation::DeletionOperation(_)
        | Operation::ResetOperation(_)
        | Operation::UpdateWorkflowOptionsOperation(_)
        | Operation::UnpauseActivitiesOperation(_)
        | Operation::ResetActivitiesOperation(_)
        | Operation::UpdateActivityOptionsOperation(_) => RoleSet::of(&[Role::Write]),
        _ => RoleSet::of(&[Role::Admin]),
    }
}

/// Refuses a principal without any of `roles` in a namespace. The answer is the same whether the namespace exists or
/// not.
pub(crate) fn check_in_namespace(
    principal: &Principal,
    roles: RoleSet,
    namespace: &str,
) -> RpcResult<()> {
    if principal.grants.in_namespace(namespace).intersects(roles) {
        return Ok(());
    }
    let place = match namespace {
        "" => "on the whole server, because the request names no namespace".to_owned(),
        name => format!("in the namespace {name:?}"),
    };
    Err(denied(principal, roles, &place))
}

/// Refuses a principal without any of `roles` for the whole server.
pub(crate) fn check_on_server(principal: &Principal, roles: RoleSet) -> RpcResult<()> {
    if principal.grants.on_server().intersects(roles) {
        return Ok(());
    }
    Err(denied(principal, roles, "on the whole server"))
}

fn denied(principal: &Principal, roles: RoleSet, place: &str) -> Status {
    let roles: Vec<_> = roles.iter().map(Role::name).collect();
    let reason = format!("{principal} needs the role {} {place}", roles.join(" or "));
    let message = format!("Request unauthorized: {reason}.");
    let detail = PermissionDeniedFailure { reason };
    with_detail(Code::PermissionDenied, message, "PermissionDeniedFailure", &detail)
}

#[cfg(test)]
mod tests {
    use perennial_identity::{Credential, Permission};

    use super::*;

    fn principal(permission: &str) -> Principal {
        let grants = [permission.parse::<Permission>().unwrap()].into_iter().collect();
        Principal::new(Credential::ApiKey, "ci", grants)
    }

    #[test]
    fn refusal_is_the_same_for_unknown_and_forbidden_namespaces() {
        let roles = RoleSet::of(&[Role::Read, Role::Worker]);
        let refusal = check_in_namespace(&principal("bank:admin"), roles, "shop").unwrap_err();
        assert_eq!(refusal.code(), Code::PermissionDenied);
        assert_eq!(
            refusal.message(),
            "Request unauthorized: api-key:ci needs the role read or worker in the namespace \
             \"shop\"."
        );
        assert!(check_in_namespace(&principal("shop:worker"), roles, "shop").is_ok());
    }

    #[test]
    fn request_about_all_namespaces_needs_a_role_of_the_server() {
        let roles = RoleSet::of(&[Role::Write]);
        assert!(check_in_namespace(&principal("shop:admin"), roles, "").is_err());
        assert!(check_in_namespace(&principal("*:write"), roles, "").is_ok());
        assert!(check_on_server(&principal("shop:admin"), roles).is_err());
        assert!(check_on_server(&principal("*:admin"), roles).is_ok());
    }
}
