//! The command line before it is read: other ways of saying the same, and presets.

use std::ffi::{OsStr, OsString};

use clap::Command;

/// `schedule:history` is `schedule history`: the first argument that names a group and a command of it.
pub(crate) fn split_group(arguments: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let Some(place) = arguments.iter().skip(1).position(|it| !is_flag(it)).map(|n| n + 1) else {
        return arguments;
    };
    let Some((group, rest)) = arguments[place].to_str().and_then(|text| text.split_once(':'))
    else {
        return arguments;
    };
    if command.find_subcommand(group).is_none() {
        return arguments;
    }
    let split = std::iter::once(group).chain(rest.split(':')).map(OsString::from);
    let mut expanded = arguments[..place].to_vec();
    expanded.extend(split);
    expanded.extend_from_slice(&arguments[place + 1..]);
    expanded
}

/// `--workflow_id` is `--workflow-id`, as tctl's users type it. What comes after `--` or `=` is no flag.
pub(crate) fn dash_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let values = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    let dashed = arguments.into_iter().enumerate().map(|(n, argument)| {
        let Some(text) = argument.to_str().filter(|it| n < values && it.starts_with("--")) else {
            return argument;
        };
        let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c));
        match is_name {
            true => OsString::from(name.replace('_', "-") + value),
            false => argument,
        }
    });
    dashed.collect()
}

fn is_flag(argument: &OsStr) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> String {
        let command = Command::new("perennial").subcommand(Command::new("schedule"));
        let arguments = line.split(' ').map(OsString::from).collect();
        let split = split_group(arguments, &command);
        split.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn flags_may_have_underscores() {
        let dash = |line: &str| {
            let dashed = dash_flags(line.split(' ').map(OsString::from).collect());
            dashed.join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(dash("p --workflow_id a_b --run_id=c_d"), "p --workflow-id a_b --run-id=c_d");
        assert_eq!(dash("p -- --workflow_id"), "p -- --workflow_id");
        assert_eq!(dash("p --{\"a_b\":1}"), "p --{\"a_b\":1}");
    }

    #[test]
    fn a_group_and_its_command_may_be_one_word() {
        assert_eq!(split("perennial schedule:history x:y"), "perennial schedule history x:y");
        assert_eq!(
            split("perennial --color=never schedule:list"),
            "perennial --color=never schedule list"
        );
        assert_eq!(split("perennial schedule history a:b"), "perennial schedule history a:b");
        assert_eq!(split("perennial localhost:7233"), "perennial localhost:7233");
        assert_eq!(split("perennial"), "perennial");
    }
}
