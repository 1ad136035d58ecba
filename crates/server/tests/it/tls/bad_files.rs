//! Files that the server refuses at its start, and what it says.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use perennial_server::{CertificateFiles, Tls, TlsConfig};
use rcgen::KeyPair;
use tempfile::{TempDir, tempdir};

use super::authority::{Authority, ca_params, params, replace};

/// A folder with a server's certificate and the CA of its clients, before a test breaks them.
struct Scene {
    folder: TempDir,
    ca: Authority,
    files: CertificateFiles,
}

impl Scene {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let ca = Authority::new(folder.path(), "servers");
        let files = ca.server("server", &["localhost"]);
        Self { folder, ca, files }
    }

    /// The refusal, with `DIR` for the folder.
    fn refusal(&self, client_cas: &[&str]) -> String {
        let config = TlsConfig {
            certificates: vec![self.files.clone()],
            client_cas: client_cas.iter().map(|file| self.folder.path().join(file)).collect(),
            ..TlsConfig::default()
        };
        let error = Tls::load(config).err().expect("the files are bad").to_string();
        error.replace(self.folder.path().to_str().unwrap(), "DIR")
    }
}

#[test]
fn missing_file_is_named() {
    let scene = Scene::new();
    fs::remove_file(&scene.files.key).unwrap();
    assert_eq!(
        scene.refusal(&[]),
        "cannot read DIR/server.key: No such file or directory (os error 2); check the path, and that the server's user \
         may read it"
    );
    fs::remove_file(&scene.files.certificate).unwrap();
    fs::create_dir(&scene.files.certificate).unwrap();
    assert_eq!(
        scene.refusal(&[]),
        "cannot read DIR/server.pem: it is not a file; check the path, and that the server's user may read it"
    );
}

#[test]
fn file_without_a_certificate_or_key_is_named() {
    let scene = Scene::new();
    replace(&scene.files.key, "nothing");
    assert_eq!(
        scene.refusal(&[]),
        "there is no private key in DIR/server.key; it needs a PEM block `BEGIN PRIVATE KEY`, not encrypted"
    );
    replace(&scene.files.certificate, "nothing");
    assert_eq!(
        scene.refusal(&[]),
        "there is no certificate in DIR/server.pem; it needs a PEM block `BEGIN CERTIFICATE`"
    );
    replace(&scene.files.certificate, "-----BEGIN CERTIFICATE-----\n!\n");
    assert!(scene.refusal(&[]).starts_with("DIR/server.pem is not valid PEM: "));
    replace(
        &scene.files.certificate,
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    assert!(scene.refusal(&[]).starts_with("a certificate in DIR/server.pem can't be used: "));
    replace(&scene.files.certificate, &"x".repeat(1024 * 1024 + 1));
    assert_eq!(
        scene.refusal(&[]),
        "DIR/server.pem is larger than 1048576 bytes: it holds no PEM certificates or key"
    );
}

#[test]
fn key_of_another_certificate_is_refused() {
    let scene = Scene::new();
    replace(&scene.files.key, &KeyPair::generate().unwrap().serialize_pem());
    assert_eq!(
        scene.refusal(&[]),
        "the private key in DIR/server.key does not fit the certificate in DIR/server.pem; the server's certificate comes \
         first in its file"
    );
}

#[test]
fn expired_certificate_is_refused() {
    let scene = Scene::new();
    let mut expired = params("server");
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    scene.ca.issue(&expired).write(scene.folder.path(), "server");
    assert_eq!(
        scene.refusal(&[]),
        "the certificate of `CN=server` in DIR/server.pem has expired at 2020-01-01T00:00:00Z; renew or remove it, or \
         check this machine's clock"
    );
}

#[test]
fn bad_ca_of_clients_is_refused() {
    let scene = Scene::new();
    let mut expired = ca_params("old clients");
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let expired = Authority::with(scene.folder.path(), expired);
    scene.ca.bundle("bundle.pem", &[&expired]);
    assert_eq!(
        scene.refusal(&["bundle.pem"]),
        "the certificate of `CN=old clients` in DIR/bundle.pem has expired at 2020-01-01T00:00:00Z; renew or remove it, or \
         check this machine's clock"
    );
    scene.ca.client("worker").write(scene.folder.path(), "client");
    assert_eq!(
        scene.refusal(&["client.pem"]),
        "the certificate of `CN=worker` in DIR/client.pem is not a CA certificate; give the CA that issued the \
         certificates of clients"
    );
    assert!(scene.refusal(&["missing.pem"]).starts_with("cannot read DIR/missing.pem: "));
}

#[test]
fn client_ca_without_a_server_certificate_is_refused() {
    let scene = Scene::new();
    let client_cas = vec![scene.ca.bundle("clients.pem", &[])];
    let refused = Tls::load(TlsConfig { client_cas, ..TlsConfig::default() });
    assert_eq!(
        refused.err().unwrap().to_string(),
        "client certificates need TLS, and there is no server certificate; give one with --tls-cert and --tls-key"
    );
}

#[test]
fn key_that_every_user_can_read_is_refused() {
    let scene = Scene::new();
    fs::set_permissions(&scene.files.key, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        scene.refusal(&[]),
        "the private key DIR/server.key is accessible to every user (mode 0644); run `chmod o-rwx`, or set defaultMode: \
         0440 for a Kubernetes secret"
    );
}

#[test]
fn expiries_are_listed() {
    let scene = Scene::new();
    let client_cas = vec![scene.ca.bundle("clients.pem", &[])];
    let certificates = vec![scene.files.clone()];
    let tls = Tls::load(TlsConfig { certificates, client_cas, ..TlsConfig::default() }).unwrap();
    let listed: Vec<_> = tls.status().into_iter().map(|it| (it.file, it.subject)).collect();
    let expected = [("server.pem", "CN=rcgen self signed cert"), ("clients.pem", "CN=servers")]
        .map(|(file, subject)| (scene.folder.path().join(file), subject.to_owned()));
    assert_eq!(listed, expected);
}
