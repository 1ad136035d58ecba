//! The README shows what the binary prints.

#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn every_example_in_the_readme_prints_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let examples = examples(&readme);
    assert!(examples.len() >= 4, "the README has examples");
    for Example { command, output } in examples {
        assert_eq!(run(&command), output.trim_end(), "$ {command}");
    }
}

struct Example {
    command: String,
    output: String,
}

/// What stands in `console` blocks: a command after `$ `, and the lines it prints.
fn examples(markdown: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_console = false;
    let mut continues = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if !in_console {
            continue;
        } else if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { command: command.to_owned(), output: String::new() });
            continues = line.ends_with('\\');
        } else if let Some(example) = examples.last_mut() {
            let text = if continues { &mut example.command } else { &mut example.output };
            if continues {
                text.push('\n');
            }
            text.push_str(line);
            continues = continues && line.ends_with('\\');
            if !continues {
                text.push('\n');
            }
        }
    }
    examples
}

fn run(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_perennial")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([binary.to_owned()].into_iter().chain(env::split_paths(&path)));
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("PATH", path.unwrap())
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
