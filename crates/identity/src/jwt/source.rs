//! Loads key sets from files and over HTTPS.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::header::{ACCEPT, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::config::{JwksSource, check_url};

/// The largest key set, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The longest time that an answer may take, from the connection's start to the last byte.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Loads the text of a key set. The error says what failed.
pub(super) async fn load(source: &JwksSource) -> Result<Vec<u8>, String> {
    match source {
        JwksSource::File(path) => {
            let path = path.clone();
            blocking(move || read(&path)).await
        }
        JwksSource::Url { url, ca_file } => {
            let uri = check_url(url)?;
            let fetched = tokio::time::timeout(TIMEOUT, fetch(&uri, ca_file.clone()));
            match fetched.await {
                Ok(answer) => answer.map_err(|error| format!("{url}: {error}")),
                Err(_) => Err(format!("{url}: no answer within {} s", TIMEOUT.as_secs())),
            }
        }
    }
}

/// Checks the file with certificates of authorities, if the source has one.
pub(super) async fn check_authorities(source: &JwksSource) -> Result<(), String> {
    match source {
        JwksSource::Url { ca_file: Some(path), .. } => {
            let path = path.clone();
            blocking(move || authorities_of_file(&path)).await.map(|_| ())
        }
        JwksSource::Url { ca_file: None, .. } | JwksSource::File(_) => Ok(()),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut text).map_err(failed)?;
    match text.len() > MAX_BYTES {
        true => Err(format!("{} is larger than {MAX_BYTES} bytes", path.display())),
        false => Ok(text),
    }
}

async fn fetch(uri: &Uri, ca_file: Option<PathBuf>) -> Result<Vec<u8>, String> {
    let host = uri.host().ok_or("the address names no host")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_https = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
    let connection = TcpStream::connect((host, port))
        .await
        .map_err(|error| format!("cannot connect: {error}"))?;
    if !is_https {
        return get(uri, connection).await;
    }
    // They are read each time, so certificates on the disk can be replaced.
    let roots = blocking(move || match ca_file {
        Some(path) => authorities_of_file(&path),
        None => authorities_of_system(),
    })
    .await?;
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let connection = TlsConnector::from(Arc::new(config))
        .connect(name, connection)
        .await
        .map_err(|error| format!("TLS failed: {error}"))?;
    get(uri, connection).await
}

/// Asks once. Redirects aren't followed: they could lead to a host nobody has configured.
async fn get(
    uri: &Uri,
    connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Vec<u8>, String> {
    let failed = |error: hyper::Error| format!("HTTP failed: {error}");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(connection)).await.map_err(failed)?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, uri.authority().map_or("", |authority| authority.as_str()))
        .header(ACCEPT, "application/jwk-set+json, application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(failed)?;
        if answer.status() != hyper::StatusCode::OK {
            let status = answer.status();
            let advice = if status.is_redirection() { "; redirects are not followed" } else { "" };
            return Err(format!("the answer is {status}{advice}"));
        }
        let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
        Ok(body.map_err(|error| format!("HTTP failed: {error}"))?.to_bytes().to_vec())
    };
    // The connection moves only while it is polled, and may end before the answer is read.
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        ended = &mut connection => match ended {
            Ok(()) => answer.await,
            Err(error) => Err(failed(error)),
        },
    }
}

fn authorities_of_file(path: &Path) -> Result<RootCertStore, String> {
    let failed = |error: String| format!("{}: {error}", path.display());
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("it has no certificate in PEM".to_owned())),
        false => Ok(roots),
    }
}

fn authorities_of_system() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    match (roots.is_empty(), found.errors.first()) {
        (false, _) => Ok(roots),
        (true, Some(error)) => Err(format!("the system's certificates can't be read: {error}")),
        (true, None) => {
            Err("the system has no certificates of authorities; name a CA file".to_owned())
        }
    }
}
