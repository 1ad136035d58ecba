//! The server as a process: it says where it is, answers there, and ends when it is told to.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Server {
    process: Child,
    address: String,
    http_address: String,
}

impl Server {
    /// Starts one and reads where it listens.
    fn start(args: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_perennial"))
            .args(["server"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
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

    fn answers(&self) -> bool {
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

    /// Asks it to end, and returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.is_ok_and(|status| status.success()), "kill -TERM {id}");
        self.process.wait().expect("it can be waited for").code()
    }
}

#[test]
fn development_server_listens_where_it_says_and_ends_well() {
    let server = Server::start(&["start-dev", "--port", "0", "--headless"]);
    assert!(server.answers(), "{}", server.address);
    assert_eq!(server.stop(), Some(0));
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
