//! How the environment says the server is reached: in plain text, or with TLS, a client certificate and an API key.

use std::env;
use std::fs;

use temporalio_client::{ClientTlsOptions, ConnectionOptions, TlsOptions, Url};

/// The options of a connection. TEMPORAL_ADDRESS names the server; TEMPORAL_TLS_… and TEMPORAL_API_KEY are the
/// credentials.
pub(crate) fn options() -> ConnectionOptions {
    let address = env::var("TEMPORAL_ADDRESS").expect("TEMPORAL_ADDRESS names the server");
    let file = |variable: &str| {
        let path = env::var(variable).ok()?;
        Some(fs::read(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}")))
    };
    let server_ca = file("TEMPORAL_TLS_SERVER_CA_CERT_PATH");
    let scheme = if server_ca.is_some() { "https" } else { "http" };
    let target = Url::parse(&format!("{scheme}://{address}")).expect("the address is host:port");
    let certificate = file("TEMPORAL_TLS_CLIENT_CERT_PATH");
    let identity = certificate.zip(file("TEMPORAL_TLS_CLIENT_KEY_PATH"));
    let tls = server_ca.map(|server_ca| {
        let client = identity.map(|(certificate, key)| {
            ClientTlsOptions::builder().client_cert(certificate).client_private_key(key).build()
        });
        TlsOptions::builder()
            .server_root_ca_cert(server_ca)
            .maybe_client_tls_options(client)
            .build()
    });
    ConnectionOptions::new(target)
        .maybe_tls_options(tls)
        .maybe_api_key(env::var("TEMPORAL_API_KEY").ok())
        .build()
}
