//! TLS between the real binaries: the server's flags, settings and signals, and the client's flags and profiles.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use tempfile::{TempDir, tempdir};

use crate::perennial::{perennial, said_by};

/// A folder with a CA for servers and one for clients, and certificates of both.
struct Certificates {
    folder: TempDir,
    server_ca: Issuer<'static, KeyPair>,
    client_ca: Issuer<'static, KeyPair>,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let ca = |name: &str| {
            let mut params = named(name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let pem = params.self_signed(&key).unwrap().pem();
            write(&folder.path().join(format!("{name}.pem")), &pem);
            Issuer::new(params, key)
        };
        let (server_ca, client_ca) = (ca("servers"), ca("clients"));
        let certificates = Self { folder, server_ca, client_ca };
        certificates.issue_server("shop.example");
        let worker = named("worker");
        certificates.issue("worker", &worker, &certificates.client_ca);
        certificates
    }

    fn issue_server(&self, name: &str) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        self.issue("server", &params, &self.server_ca);
    }

    fn issue(&self, file: &str, params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        write(&self.file(&format!("{file}.key")), &key.serialize_pem());
        write(&self.file(&format!("{file}.pem")), &certificate.pem());
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Arguments, with `DIR/` for the folder.
    fn args(&self, line: &str) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        line.split(' ').map(|arg| arg.replace("DIR", folder)).collect()
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A server in memory, killed at the end of the test. A test reads its log.
struct Server {
    process: Child,
    address: String,
    tls: String,
    log: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Server {
    fn start(args: &[String]) -> Self {
        let mut process = perennial(&["server"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        let mut told = |what: &str| {
            lines.find_map(|line| Some(line.strip_prefix(what)?.trim().to_owned())).unwrap()
        };
        let (address, tls) = (told("Perennial Server:"), told("Perennial TLS:"));
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, address, tls, log }
    }

    /// The output of a command against this server.
    fn says(&self, args: &[String]) -> String {
        let mut command = perennial(&[]);
        command.args(args).env("TEMPORAL_ADDRESS", &self.address);
        said_by(&mut command)
    }

    /// Reads the log up to a line with this text.
    fn wait_for_log(&mut self, text: &str) -> String {
        let mut lines = self.log.by_ref().map_while(Result::ok);
        lines.find(|line| line.contains(text)).unwrap_or_else(|| panic!("no line has {text:?}"))
    }

    fn hang_up(&self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SERVER: &str = "start-dev --port 0 --log-level info --tls-cert DIR/server.pem --tls-key DIR/server.key \
                      --tls-client-ca DIR/clients.pem";
const LIST: &str = "operator namespace describe default --output json";
const CLIENT: &str = "--tls-ca-path DIR/servers.pem --tls-server-name shop.example";
const WORKER: &str = "--tls-cert-path DIR/worker.pem --tls-key-path DIR/worker.key";

#[test]
fn client_with_a_certificate_is_served() {
    let certificates = Certificates::new();
    let mut server = Server::start(&certificates.args(SERVER));
    assert_eq!(server.tls, "clients need a certificate");
    let says = |line: String| server.says(&certificates.args(&line));
    let served = says(format!("{LIST} {CLIENT} {WORKER}"));
    assert!(served.contains("\"default\"") && !served.contains("exit"), "{served}");

    let anonymous = says(format!("{LIST} {CLIENT}"));
    assert!(anonymous.contains("-- exit 5 --"), "{anonymous}");
    assert!(anonymous.contains("need a client certificate? See --tls"), "{anonymous}");
    let other_name = says(format!("{LIST} --tls-ca-path DIR/servers.pem {WORKER}"));
    assert!(
        other_name.contains("-- exit 5 --") && other_name.contains("localhost"),
        "{other_name}"
    );
    let other_ca = says(format!("{LIST} --tls-ca-path DIR/clients.pem {WORKER}"));
    assert!(other_ca.contains("UnknownIssuer"), "{other_ca}");
    let plain = says(LIST.to_owned());
    assert!(plain.contains("-- exit 5 --"), "{plain}");
    let line = server.wait_for_log("refused the gRPC connection from 127.0.0.1:");
    assert!(line.ends_with(": the client has no certificate"), "{line}");
}

#[test]
fn optional_certificate_may_be_missing() {
    let certificates = Certificates::new();
    let server = Server::start(&certificates.args(&format!("{SERVER} --tls-client-auth optional")));
    assert_eq!(server.tls, "clients may have a certificate");
    let served = server.says(&certificates.args(&format!("{LIST} {CLIENT}")));
    assert!(served.contains("\"default\"") && !served.contains("exit"), "{served}");
}

#[test]
fn profile_and_environment_have_the_client_certificate() {
    let certificates = Certificates::new();
    let server = Server::start(&certificates.args(SERVER));
    let folder = certificates.folder.path().display();
    let profile = format!(
        r#"
        [profile.shop]
        address = "{}"
        [profile.shop.tls]
        server_name = "shop.example"
        server_ca_cert_path = "{folder}/servers.pem"
        client_cert_path = "{folder}/worker.pem"
        client_key_path = "{folder}/worker.key"
        "#,
        server.address
    );
    write(&certificates.file("temporal.toml"), &profile);
    let mut command = perennial(&[]);
    command
        .args(certificates.args(&format!("{LIST} --config-file DIR/temporal.toml --profile shop")));
    let served = said_by(&mut command);
    assert!(served.contains("\"default\"") && !served.contains("exit"), "{served}");

    let mut command = perennial(&[]);
    command
        .args(certificates.args(LIST))
        .env("TEMPORAL_ADDRESS", &server.address)
        .env("TEMPORAL_TLS_SERVER_NAME", "shop.example")
        .env("TEMPORAL_TLS_SERVER_CA_CERT_PATH", certificates.file("servers.pem"))
        .env("TEMPORAL_TLS_CLIENT_CERT_DATA", read(&certificates.file("worker.pem")))
        .env("TEMPORAL_TLS_CLIENT_KEY_DATA", read(&certificates.file("worker.key")));
    let served = said_by(&mut command);
    assert!(served.contains("\"default\"") && !served.contains("exit"), "{served}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn new_certificate_is_used_without_a_restart() {
    let certificates = Certificates::new();
    let mut server = Server::start(&certificates.args(SERVER));
    server.wait_for_log("the server has started");
    let served = |server: &Server, name: &str| {
        let line =
            format!("{LIST} --tls-ca-path DIR/servers.pem --tls-server-name {name} {WORKER}");
        !server.says(&certificates.args(&line)).contains("exit")
    };
    certificates.issue_server("new.example");
    server.wait_for_log("new connections use the new TLS certificates");
    assert!(served(&server, "new.example") && !served(&server, "shop.example"));
    server.hang_up();
    server.wait_for_log("the TLS certificates have not changed");

    write(&certificates.file("server.key"), "nothing");
    let error = server.wait_for_log("the new TLS files can't be used, the old ones stay in use");
    assert!(error.contains("there is no private key in"), "{error}");
    assert!(served(&server, "new.example"));
}

#[test]
fn certificate_that_expires_soon_is_in_the_log() {
    let certificates = Certificates::new();
    let mut params = named("server");
    let days = |days: u64| std::time::Duration::from_secs(days * 24 * 3_600);
    params.not_after = (std::time::SystemTime::now() + days(5)).into();
    certificates.issue("server", &params, &certificates.server_ca);
    let mut server = Server::start(&certificates.args(SERVER));
    let line = server.wait_for_log("expires in");
    assert!(line.contains("WARN") && line.contains("the certificate of `CN=server` in"), "{line}");
    assert!(
        line.contains("server.pem expires in 4 days, at ") && line.ends_with("replace the file"),
        "{line}"
    );
}

#[test]
fn settings_file_has_tls_and_bad_files_are_refused() {
    let certificates = Certificates::new();
    let folder = certificates.folder.path().display();
    let settings = format!(
        r#"
        db = "{folder}/perennial.db"
        port = 0
        http_port = 0

        [tls]
        certs = [{{ cert = "{folder}/server.pem", key = "{folder}/server.key" }}]
        client_cas = ["{folder}/clients.pem"]
        client_auth = "optional"
        "#
    );
    write(&certificates.file("perennial.toml"), &settings);
    let args = certificates.args("--config DIR/perennial.toml");
    let server = Server::start(&args);
    assert_eq!(server.tls, "clients may have a certificate");
    drop(server);

    let refused = |line: &str| {
        let mut command = perennial(&["server"]);
        command.args(certificates.args(line));
        said_by(&mut command).replace(certificates.folder.path().to_str().unwrap(), "DIR")
    };
    fs::set_permissions(certificates.file("server.key"), fs::Permissions::from_mode(0o604))
        .unwrap();
    assert_eq!(
        refused("--config DIR/perennial.toml"),
        "-- stderr --\nerror: the private key DIR/server.key is accessible to every user (mode 0604); run `chmod o-rwx`, or \
         set defaultMode: 0440 for a Kubernetes secret\n-- exit 1 --\n"
    );
    assert_eq!(
        refused("start-dev --tls-client-ca DIR/clients.pem"),
        "-- stderr --\nerror: client certificates need TLS, and there is no server certificate; give one with --tls-cert \
         and --tls-key\n-- exit 1 --\n"
    );
    assert_eq!(
        refused("--tls-cert DIR/server.pem"),
        "-- stderr --\nerror: --tls-cert is given once, --tls-key never: each certificate needs its key, in the same \
         order\n-- exit 2 --\n"
    );
}
