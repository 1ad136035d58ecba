//! Who may connect, and which certificate is served.

use std::time::Duration;

use perennial_proto::perennial::DescribeServerRequest;
use perennial_proto::perennial::admin_service_client::AdminServiceClient;
use perennial_server::{ClientAuth, ConnectionLimits, ServerConfig, TlsConfig};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::authority::Authority;
use super::test_server::{Client, TestServer, call};

#[tokio::test]
async fn grpc_and_http_are_served_over_tls() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let client = Client::new(&ca, None);
    client.call(&server).await.unwrap();

    let mut stream = client.for_http().connect(server.http, "localhost").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    let request =
        "GET /api/v1/system-info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");

    let wrong_port = client.connect(server.http, "localhost").await.unwrap_err();
    assert!(wrong_port.to_string().contains("NoApplicationProtocol"), "{wrong_port}");
    server.stop().await;
}

#[tokio::test]
async fn plain_text_is_refused() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let texts = [
        (server.grpc, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (server.http, "GET /api/v1/system-info HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ];
    for (address, text) in texts {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server may reset the connection after its alert.
        let _ = stream.read_to_end(&mut answer).await;
        // At most a TLS alert (21): not a byte of HTTP.
        assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");
    }
    Client::new(&ca, None).call(&server).await.unwrap();
}

#[tokio::test]
async fn client_that_speaks_at_most_tls_1_1_is_refused() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    for minor in 0..=3 {
        // A ClientHello with a cipher suite, and extensions for curves, formats of points and signatures.
        let suites = [0xc0, 0x2b];
        let extensions = [0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0, 4, 0, 2, 4, 3];
        let body = [
            &[3, minor][..],
            &[7; 32],
            &[0],
            &[0, suites.len() as u8],
            &suites,
            &[1, 0],
            &[0, extensions.len() as u8],
            &extensions,
        ]
        .concat();
        let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
        let record = [&[22, 3, 1, 0, message.len() as u8][..], &message].concat();
        let mut stream = TcpStream::connect(server.grpc).await.unwrap();
        stream.write_all(&record).await.unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).await.unwrap();
        match minor {
            // The handshake (22) of TLS 1.2 goes on.
            3 => assert_eq!(answer[0], 22, "{answer:?}"),
            // An alert (21) that is fatal (2): protocol_version (70).
            _ => assert_eq!((answer[0], &answer[5..]), (21, &[2, 70][..]), "{answer:?}"),
        }
    }
}

#[tokio::test]
async fn client_certificate_is_required() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = Authority::new(folder.path(), "clients");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![clients.bundle("clients.pem", &[])],
        ..TlsConfig::default()
    };
    let server = TestServer::new(config).await;
    Client::new(&ca, Some(&clients.client("worker"))).call(&server).await.unwrap();
    let nobody = Client::new(&ca, None).call(&server).await.unwrap_err();
    assert!(nobody.contains("CertificateRequired"), "{nobody}");
    let stranger = Authority::new(folder.path(), "strangers").client("worker");
    let stranger = Client::new(&ca, Some(&stranger)).call(&server).await.unwrap_err();
    assert!(stranger.contains("UnknownCA"), "{stranger}");
    let mut expired = super::authority::params("worker");
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let expired = clients.issue(&expired);
    let expired = Client::new(&ca, Some(&expired)).call(&server).await.unwrap_err();
    assert!(expired.contains("CertificateExpired"), "{expired}");
}

#[tokio::test]
async fn client_certificate_can_be_optional_and_is_verified_if_there_is_one() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = Authority::new(folder.path(), "clients");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![clients.bundle("clients.pem", &[])],
        client_auth: ClientAuth::Optional,
    };
    let server = TestServer::new(config).await;
    Client::new(&ca, None).call(&server).await.unwrap();
    Client::new(&ca, Some(&clients.client("worker"))).call(&server).await.unwrap();
    let stranger = Authority::new(folder.path(), "strangers").client("worker");
    let stranger = Client::new(&ca, Some(&stranger)).call(&server).await.unwrap_err();
    assert!(stranger.contains("UnknownCA"), "{stranger}");
}

#[tokio::test]
async fn certificates_of_every_ca_in_every_bundle_are_accepted() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = ["a", "b", "c"].map(|name| Authority::new(folder.path(), name));
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![
            clients[0].bundle("1.pem", &[&clients[1]]),
            clients[2].bundle("2.pem", &[]),
        ],
        ..TlsConfig::default()
    };
    let server = TestServer::new(config).await;
    for authority in &clients {
        Client::new(&ca, Some(&authority.client("worker"))).call(&server).await.unwrap();
    }
}

#[tokio::test]
async fn server_that_the_client_does_not_trust_is_refused() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let other = Authority::new(folder.path(), "other servers");
    let refusal = Client::new(&other, None).call(&server).await.unwrap_err();
    assert!(refusal.contains("UnknownIssuer"), "{refusal}");
}

#[tokio::test]
async fn name_that_the_client_asks_for_chooses_the_certificate() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![
        ca.server("default", &["localhost"]),
        ca.server("shop", &["shop.example", "*.shop.example"]),
    ];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let client = Client::new(&ca, None);
    // The client checks the name.
    for name in ["localhost", "shop.example", "eu.shop.example"] {
        client.connect(server.grpc, name).await.unwrap();
    }
    let unknown = client.connect(server.grpc, "a.b.example").await.unwrap_err();
    assert!(unknown.to_string().contains("localhost"), "the default is served: {unknown}");
}

#[tokio::test]
async fn slow_handshake_delays_nobody_and_is_ended() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        ..TlsConfig::default()
    };
    let with = |handshake_time| ServerConfig {
        connections: ConnectionLimits { handshake_time, ..ConnectionLimits::default() },
        ..ServerConfig::default()
    };
    let patient = TestServer::with(config.clone(), with(Duration::from_secs(24 * 3_600))).await;
    let mut silent = Vec::new();
    for address in [patient.grpc, patient.http].repeat(20) {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let client = Client::new(&ca, None);
    client.call(&patient).await.unwrap();
    client.for_http().connect(patient.http, "localhost").await.unwrap();
    patient.stop().await;

    let strict = TestServer::with(config, with(Duration::from_millis(50))).await;
    for address in [strict.grpc, strict.http] {
        let mut silent = TcpStream::connect(address).await.unwrap();
        assert_eq!(silent.read(&mut [0; 16]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn many_calls_share_a_connection() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let certificates = vec![ca.server("server", &["localhost"])];
    let server = TestServer::new(TlsConfig { certificates, ..TlsConfig::default() }).await;
    let channel = Client::new(&ca, None).channel(&server).await.unwrap();
    let calls = (0..200).map(|_| tokio::spawn(call(channel.clone())));
    for answer in calls.collect::<Vec<_>>() {
        answer.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn server_describes_its_certificates() {
    let folder = tempdir().unwrap();
    let ca = Authority::new(folder.path(), "servers");
    let clients = Authority::new(folder.path(), "clients");
    let config = TlsConfig {
        certificates: vec![ca.server("server", &["localhost"])],
        client_cas: vec![clients.bundle("clients.pem", &[])],
        ..TlsConfig::default()
    };
    let server = TestServer::new(config).await;
    let client = Client::new(&ca, Some(&clients.client("worker")));
    let mut admin = AdminServiceClient::new(client.channel(&server).await.unwrap());
    let described = admin.describe_server(DescribeServerRequest {}).await.unwrap().into_inner();
    let described = described
        .certificates
        .into_iter()
        .map(|it| (it.file, it.subject, it.not_after.unwrap().seconds));
    let expected = server
        .tls
        .status()
        .into_iter()
        .map(|it| (it.file.display().to_string(), it.subject, it.not_after.as_second()));
    assert_eq!(described.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    drop(admin);
    server.stop().await;
}
