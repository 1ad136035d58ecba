//! The examples in README.md and docs/calendar.md print what the pages show.

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn every_example_in_the_readme_prints_what_it_says() {
    assert_eq!(check_examples("README.md"), 1);
}

#[test]
fn every_example_in_the_calendar_docs_prints_what_it_says() {
    assert_eq!(check_examples("docs/calendar.md"), 5);
}

#[test]
fn the_readme_names_the_demo_and_the_test_command() {
    let readme = read("README.md");
    for command in ["cargo run --release -- demo", "cargo xtask test"] {
        assert!(readme.contains(&format!("```sh\n{command}\n```")), "{command}");
    }
}

/// Runs each example of a page, and returns how many there are.
fn check_examples(page: &str) -> usize {
    let examples = examples(&read(page));
    for Example { command, output } in &examples {
        assert_eq!(run(command), output.trim_end(), "$ {command}");
    }
    examples.len()
}

fn read(page: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(page)).unwrap()
}

struct Example {
    command: String,
    output: String,
}

/// The commands in `console` blocks (after `$ `), with the lines they print.
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
