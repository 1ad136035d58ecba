//! Who calls, and whether they may: credentials to principals, and what each RPC needs.
//!
//! A listener asks [`Authenticator`] who calls, before it reads the message. The table of RPCs asks [`rights`] whether
//! the caller may, after the message is decoded and before the RPC begins. Nothing below this crate knows of either.

pub(crate) mod api_keys;
mod authenticator;
mod config;
pub(crate) mod limits;
pub(crate) mod new_key;
mod peer;
pub(crate) mod rights;

pub(crate) use authenticator::{Authenticator, Caller};
pub use config::{AccessConfig, CertificateRule, Credentials};
pub use limits::{CallLimits, NamespaceLimits, PrincipalLimits, UsageLimits};
pub use new_key::{InvalidApiKey, NewApiKey};
