//! The real binary, asking for credentials, called over gRPC and HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use bytes::{Buf, BufMut, Bytes};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use super::tokens::{AUDIENCE, ISSUER, Issuer};
use crate::perennial::perennial;

/// A server with the namespaces `shop` and `bank`, and an admin's key.
pub(super) struct SecuredServer {
    process: Child,
    pub(super) address: String,
    pub(super) http_address: String,
    pub(super) issuer: Issuer,
    pub(super) admin_key: String,
    folder: tempfile::TempDir,
}

impl SecuredServer {
    pub(super) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(super) fn start_with(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let issuer = Issuer::new(folder.path());
        let db = folder.path().join("perennial.db");
        let db = db.to_str().unwrap();
        let created = perennial(&["operator", "api-key", "create", "--db", db, "--name", "admin"])
            .args(["--role", "admin", "--whole-server", "--output", "json"])
            .output()
            .unwrap();
        assert!(created.status.success(), "{created:?}");
        let created: serde_json::Value = serde_json::from_slice(&created.stdout).unwrap();
        let admin_key = created["secret"].as_str().unwrap().to_owned();
        let mut process = perennial(&["server", "--db", db, "--port", "0", "--http-port", "0"])
            .args(["--auth", "required", "--namespace", "shop", "--namespace", "bank"])
            .args(["--token-issuer", ISSUER, "--token-audience", AUDIENCE, "--token-keys"])
            .arg(&issuer.keys_file)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut place = |what: &str| {
            let mut lines = lines.by_ref().map_while(Result::ok);
            lines.find_map(|line| Some(line.strip_prefix(what)?.trim().to_owned())).unwrap()
        };
        let address = place("Perennial Server:");
        let http_address = place("Perennial HTTP:");
        Self { process, address, http_address, issuer, admin_key, folder }
    }

    /// A file of the test.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// The JSON output of a command with the admin's key.
    pub(super) fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_slice(&self.run(args)).unwrap()
    }

    /// Runs a command with the admin's key.
    pub(super) fn run(&self, args: &[&str]) -> Vec<u8> {
        let output = perennial(args)
            .args(["--address", &self.address, "--tls=false", "--api-key", &self.admin_key])
            .args(["--output", "json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// A new API key.
    pub(super) fn api_key(&self, name: &str, permission: &str) -> String {
        let create = ["operator", "api-key", "create", "--name", name, "--permission", permission];
        self.json(&create)["secret"].as_str().unwrap().to_owned()
    }

    /// The status of an HTTP request.
    pub(super) fn http_status(&self, method: &str, path: &str, token: Option<&str>) -> u16 {
        let mut stream = TcpStream::connect(&self.http_address).unwrap();
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\
             Content-Length: 2\r\n\r\n{{}}",
            authorization.unwrap_or_default()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for SecuredServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Calls an RPC with its message as bytes.
pub(super) async fn call(
    channel: &Channel,
    path: &str,
    token: Option<&str>,
    message: Bytes,
) -> Result<Bytes, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let mut request = Request::new(message);
    request.set_timeout(std::time::Duration::from_secs(60));
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
    }
    let path = path.parse().unwrap();
    client.unary(request, path, BytesCodec).await.map(|response| response.into_inner())
}

/// The code of a result.
pub(super) fn code(result: &Result<Bytes, Status>) -> Code {
    result.as_ref().map_or_else(Status::code, |_| Code::Ok)
}

struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
