//! Posts JSON to a codec server.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, anyhow};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::CodecSettings;
use crate::client::settings::Tls;
use crate::client::tls;
use crate::failure::Usage;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// The longest time that an answer may take, from the connection's start to the last byte.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a refusal is shown, in characters.
const REFUSAL_CHARS_MAX: usize = 200;

/// An address to which JSON is posted, and the headers that go with it.
pub(super) struct HttpEndpoint {
    pub(super) url: String,
    uri: Uri,
    headers: HeaderMap,
    tls: Option<TlsConnector>,
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HttpEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpEndpoint {
    pub(super) fn new(
        url: &str,
        settings: &CodecSettings,
        namespace: &str,
    ) -> anyhow::Result<Self> {
        let refused = |why: &str| Usage::new(format!("--codec-endpoint can't be used: {why}"));
        let uri: Uri = url.parse().map_err(|_| refused("write http://… or https://…"))?;
        let authority = uri.authority().ok_or_else(|| refused("write http://… or https://…"))?;
        if authority.as_str().contains('@') {
            return Err(refused("it has credentials; give them with --codec-auth").into());
        }
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => Some(tls::connector(&Tls::default(), b"http/1.1")?),
            Some(_) | None => return Err(refused("write http://… or https://…").into()),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut insert = |name: &str, value: &str| {
            let invalid =
                || Usage::new(format!("the header {name:?} for the codec server is invalid"));
            let key: HeaderName = name.parse().map_err(|_| invalid())?;
            let mut value: HeaderValue = value.parse().map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(key, value);
            anyhow::Ok(())
        };
        insert(HOST.as_str(), authority.as_str())?;
        insert("x-namespace", namespace)?;
        if let Some(auth) = &settings.auth {
            insert(AUTHORIZATION.as_str(), auth.reveal())?;
        }
        for (name, value) in &settings.headers {
            insert(name, value.reveal())?;
        }
        Ok(Self { url: url.to_owned(), uri, headers, tls })
    }

    /// Posts `body`, and returns the body of a good answer.
    pub(super) async fn post(&self, body: String) -> anyhow::Result<Bytes> {
        match tokio::time::timeout(TIMEOUT, self.send(body)).await {
            Ok(answer) => answer,
            Err(_) => Err(anyhow!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }

    async fn send(&self, body: String) -> anyhow::Result<Bytes> {
        let host = self.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let connection = TcpStream::connect((host, port)).await.context("cannot connect")?;
        let Some(connector) = &self.tls else { return self.exchange(body, connection).await };
        let name = ServerName::try_from(host.to_owned()).context("the host has no valid name")?;
        let connection = connector.connect(name, connection).await.context("TLS failed")?;
        self.exchange(body, connection).await
    }

    /// Asks once. Redirects aren't followed: they could lead payloads and credentials to another host.
    async fn exchange(
        &self,
        body: String,
        connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> anyhow::Result<Bytes> {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(connection)).await?;
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path).body(Full::new(Bytes::from(body)))?;
        request.headers_mut().clone_from(&self.headers);
        let answer = async {
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body =
                body.map_err(|error| anyhow!("the answer can't be read: {error}"))?.to_bytes();
            if status == StatusCode::OK {
                return Ok(body);
            }
            let said = String::from_utf8_lossy(&body);
            let said: String = said.chars().take(REFUSAL_CHARS_MAX).collect();
            let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            Err(anyhow!("the answer is {status}: {}", said.trim()))
        };
        // The connection moves only while it is polled, and may end before the answer is read.
        let (mut answer, mut connection) = (pin!(answer), pin!(connection));
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            ended = &mut connection => {
                ended?;
                answer.await
            }
        }
    }
}
