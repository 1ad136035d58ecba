//! Opens the gRPC connection.

use std::io;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use super::settings::Settings;
use super::tls;
use crate::failure::{Unreachable, Usage};

/// Default timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of HTTP/2 keep-alive pings.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// Connects to the server. The error says why it can't be reached.
pub(super) async fn connect(
    settings: &Settings,
    connect_timeout: Option<Duration>,
) -> anyhow::Result<Channel> {
    let host_port = HostPort::read(&settings.address)?;
    let within = connect_timeout.filter(|it| !it.is_zero()).unwrap_or(CONNECT_TIMEOUT);
    let authority = settings.authority.clone().unwrap_or_else(|| host_port.authority());
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let origin: Uri = format!("{scheme}://{authority}")
        .parse()
        .map_err(|_| Usage::new(format!("{authority:?} is not a valid :authority")))?;
    // The connector below does TLS, so tonic's transport gets an `http` address.
    let endpoint = Endpoint::from_shared(format!("http://{}", host_port.authority()))
        .map_err(|_| not_an_address(&settings.address))?
        .origin(origin)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .user_agent(concat!("perennial-cli/", env!("CARGO_PKG_VERSION")))?;

    let tls = match &settings.tls {
        None => None,
        Some(tls) => {
            let name = tls.server_name.clone().unwrap_or_else(|| host_port.host.clone());
            let name = ServerName::try_from(name.clone())
                .map_err(|_| Usage::new(format!("{name:?} is not a valid server name")))?;
            Some((tls::connector(tls, b"h2")?, name))
        }
    };
    let connecting = endpoint
        .connect_with_connector(service_fn(move |_: Uri| open(host_port.clone(), tls.clone())));
    match tokio::time::timeout(within, connecting).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(Unreachable::because(settings, innermost(&error)).into()),
        Err(_) => {
            let why = format!("no answer within {within:?}");
            Err(Unreachable::because(settings, why).into())
        }
    }
}

type Tls = Option<(TlsConnector, ServerName<'static>)>;

async fn open(host_port: HostPort, tls: Tls) -> io::Result<TokioIo<Box<dyn Stream>>> {
    let stream = TcpStream::connect((host_port.host.as_str(), host_port.port)).await?;
    stream.set_nodelay(true)?;
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(stream),
        Some((connector, name)) => Box::new(connector.connect(name, stream).await?),
    };
    Ok(TokioIo::new(stream))
}

trait Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}
impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Stream for S {}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    fn read(address: &str) -> anyhow::Result<Self> {
        let bare = address.trim();
        let bare = ["http://", "https://", "dns:///"]
            .iter()
            .find_map(|scheme| bare.strip_prefix(scheme))
            .unwrap_or(bare)
            .trim_end_matches('/');
        let (host, port) = match bare.rsplit_once(':') {
            // An IPv6 address without a port has colons too.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().map_err(|_| not_an_address(address))?)
            }
            _ => (bare, 7233),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['/', ' ']) {
            return Err(not_an_address(address).into());
        }
        Ok(HostPort { host: host.to_owned(), port })
    }

    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

fn not_an_address(address: &str) -> Usage {
    Usage::new(format!("{address:?} is not an address; write HOST:PORT, such as localhost:7233"))
}

/// The root cause: tonic's own message is only "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let check = |text, authority: &str| {
            assert_eq!(HostPort::read(text).unwrap().authority(), authority);
        };
        check("localhost:7000", "localhost:7000");
        check("localhost", "localhost:7233");
        check("https://cloud.example:443/", "cloud.example:443");
        check("[::1]:7000", "[::1]:7000");
        check("::1", "[::1]:7233");
        assert!(HostPort::read("localhost:port").is_err());
        assert!(HostPort::read(":7233").is_err());
    }
}
