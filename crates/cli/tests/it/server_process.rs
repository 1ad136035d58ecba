//! The server process: prints its address, serves requests, and stops on a signal.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
    http_address: String,
}

impl Server {
    /// Starts one and reads where it listens.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_perennial"))
            .args(["server"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let said = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut lines = said.lines().map_while(Result::ok);
        let mut told = |what: &str| {
            let place = lines.find_map(|line| Some(line.strip_prefix(what)?.trim().to_owned()));
            place.unwrap_or_else(|| panic!("the server doesn't say {what}"))
        };
        let address = told("Perennial Server:");
        let http_address = told("Perennial HTTP:");
        Self { process, address, http_address }
    }

    pub(crate) fn answers(&self) -> bool {
        TcpStream::connect(&self.address).is_ok() && self.answers_over_http()
    }

    fn answers_over_http(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(&self.http_address) else {
            return false;
        };
        let head =
            "GET /api/v1/system-info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(head.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200 OK")
    }

    /// Waits for its end; returns its exit code and output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let mut errors = self.process.stderr.take().expect("it is piped");
        errors.read_to_string(&mut said).expect("it says text");
        (self.process.wait().expect("it can be waited for").code(), said)
    }

    /// Stops the server, and returns its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.terminate();
        self.process.wait().expect("it can be waited for").code()
    }

    pub(crate) fn terminate(&self) {
        let id = self.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.is_ok_and(|status| status.success()), "kill -TERM {id}");
    }
}

#[test]
fn development_server_listens_where_it_says_and_ends_well() {
    let server = Server::start(&["start-dev", "--port", "0", "--headless"]);
    assert!(server.answers(), "{}", server.address);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn line_of_the_log_names_the_call_that_it_was_written_in() {
    let log = ["--log-format", "json", "--log-level", "debug"];
    let server = Server::start(&[&["start-dev", "--port", "0"], &log[..]].concat());
    let mut stream = TcpStream::connect(&server.http_address).unwrap();
    let request = "GET /api/v1/namespaces/shop HTTP/1.1\r\nHost: localhost\r\n\
                   x-request-id: order-7\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("perennial-request-id: order-7\r\n"), "{answer}");
    server.terminate();
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    let lines = said.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<_> = lines.filter(|line| line["span"]["request_id"] == "order-7").collect();
    let answered = lines.iter().find(|line| line["fields"]["message"] == "answered a call");
    let answered = answered.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(answered["fields"]["code"], "NotFound");
    assert_eq!(answered["span"]["rpc"], "DescribeNamespace");
    assert_eq!(answered["span"]["namespace"], "shop");
    assert_eq!(answered["span"]["principal"], "anonymous");
}

#[test]
fn server_keeps_its_file_for_the_next_one() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("server-{}.db", std::process::id()));
    let file = file.to_str().unwrap();
    for _ in 0..2 {
        let ports = ["--port", "0", "--http-port", "0"];
        let server = Server::start(&[&["--db", file, "--log-level", "never"], &ports[..]].concat());
        assert!(server.answers(), "{}", server.address);
        assert_eq!(server.stop(), Some(0));
    }
}

/// A server with its file in a temporary folder.
fn on_file(name: &str) -> (Server, PathBuf) {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("perennial.db");
    let ports = ["--port", "0", "--http-port", "0"];
    let server = Server::start(&[&["--db", file.to_str().unwrap()], &ports[..]].concat());
    (server, file)
}

#[test]
fn server_ends_with_a_failure_when_its_database_is_removed() {
    let (server, file) = on_file("removed");
    assert!(server.answers(), "{}", server.address);
    fs::remove_file(&file).unwrap();
    let (code, said) = server.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("was removed, renamed or replaced"), "{said}");
}

#[test]
fn second_server_on_a_file_is_refused_with_who_has_it() {
    let (server, file) = on_file("taken");
    let link = file.with_file_name("link.db");
    fs::hard_link(&file, &link).unwrap();
    for name in [&file, &link] {
        let refused = Command::new(env!("CARGO_BIN_EXE_perennial"))
            .args(["server", "--port", "0", "--no-http", "--db"])
            .arg(name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        let who = format!("process {} has the file open", server.process.id());
        assert!(said.contains(&who), "{said}");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn server_without_its_redo_file_starts_only_when_told_to() {
    let (mut server, file) = on_file("damaged");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    fs::remove_file(file.with_file_name("perennial.db-redo")).unwrap();
    let args = ["--db", file.to_str().unwrap(), "--port", "0", "--http-port", "0"];
    let refused =
        Command::new(env!("CARGO_BIN_EXE_perennial")).arg("server").args(args).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("--discard-damaged-redo"), "{said}");
    let server = Server::start(&[&args[..], &["--discard-damaged-redo"]].concat());
    assert_eq!(server.stop(), Some(0));
}
