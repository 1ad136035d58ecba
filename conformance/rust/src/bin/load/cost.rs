//! CPU time, bytes written and RSS of a process, as the kernel counts them.

use std::fs;
use std::time::Duration;

#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: Duration,
    pub(crate) bytes_written: u64,
    /// What it holds now.
    pub(crate) resident_bytes: u64,
}

/// The unit of `/proc/<pid>/stat` on every Linux that people run.
const TICKS_A_SECOND: u64 = 100;

impl Cost {
    pub(crate) fn of(process: u32) -> Self {
        let read = |file: &str| {
            let path = format!("/proc/{process}/{file}");
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
        };
        // The name in brackets may hold spaces: the numbers are counted from behind it.
        let stat = read("stat");
        let behind_name = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        let number = |index: usize| -> u64 {
            behind_name.split(' ').nth(index).and_then(|it| it.parse().ok()).unwrap_or_default()
        };
        let line = |text: &str, name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        Self {
            cpu: Duration::from_millis((number(11) + number(12)) * 1_000 / TICKS_A_SECOND),
            bytes_written: line(&read("io"), "write_bytes:"),
            resident_bytes: line(&read("status"), "VmRSS:") * 1024,
        }
    }

    pub(crate) fn minus(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            bytes_written: self.bytes_written.saturating_sub(before.bytes_written),
            resident_bytes: self.resident_bytes,
        }
    }
}
