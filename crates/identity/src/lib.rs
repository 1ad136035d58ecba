//! Who makes a request, and what they may do: roles, grants and principals, and the credentials that prove them.
//!
//! Knows no RPC and no transport: the server decides which roles a call needs.
//!
//! Start reading at [`Principal`].

mod api_key;
mod bearer;
pub mod certificate;
mod grants;
pub mod jwt;
mod principal;
mod role;

pub use api_key::{ApiKey, ApiKeyHash};
pub use bearer::bearer_token;
pub use grants::{Grants, InvalidPermission, Permission, Scope};
pub use principal::{Credential, Ended, Principal, RevocationSwitch};
pub use role::{InvalidRole, Role, RoleSet};
