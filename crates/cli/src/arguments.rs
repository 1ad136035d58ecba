//! Rewrites the command line before clap parses it: alternative spellings, and presets for flags.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use clap::Command;

use crate::client::{ConfigArgs, Environment, Presets, is_secret, warn_if_exposed};

/// Splits `schedule:history` into `schedule history`, if it is the first argument that is no flag.
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

/// Replaces underscores in flags: `--workflow_id`, as in tctl, becomes `--workflow-id`. Values after `--` or
/// `=` stay as they are.
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

/// Reads presets from the older presets file: values of flags, for the environment that `--env` names, or for
/// `default`. Clap needs them before it parses, because a preset can replace a required flag.
pub(crate) fn presets(arguments: &[OsString]) -> anyhow::Result<BTreeMap<String, String>> {
    let config = ConfigArgs {
        env: value_of("--env", arguments),
        env_file: value_of("--env-file", arguments).map(Into::into),
        ..ConfigArgs::default()
    };
    let environment = Environment::of_process();
    let Some(path) = config.env_path(&environment) else { return Ok(BTreeMap::new()) };
    let mut presets = Presets::read(&path)?;
    let presets = presets.env.remove(&config.env_name(&environment)).unwrap_or_default();
    if presets.keys().any(|name| is_secret(name)) {
        warn_if_exposed(&path);
    }
    Ok(presets)
}

/// Makes the presets the default values of the command's flags.
pub(crate) fn with_presets(command: Command, presets: &BTreeMap<String, String>) -> Command {
    if presets.is_empty() {
        return command;
    }
    command
        .mut_args(|argument| match argument.get_long().and_then(|name| presets.get(name)) {
            Some(value) => {
                let secret = argument.get_long().is_some_and(is_secret);
                argument.default_value(value.clone()).required(false).hide_default_value(secret)
            }
            None => argument,
        })
        .mut_subcommands(|inner| match inner.get_name() {
            // `env` and `config` manage presets and profiles; `server` has its own settings.
            "env" | "config" | "server" => inner,
            _ => with_presets(inner, presets),
        })
}

fn value_of(flag: &str, arguments: &[OsString]) -> Option<String> {
    let mut arguments = arguments.iter().filter_map(|it| it.to_str());
    while let Some(argument) = arguments.next() {
        if argument == flag {
            return arguments.next().map(str::to_owned);
        }
        if let Some(value) = argument.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.to_owned());
        }
    }
    None
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

    #[test]
    fn presets_are_values_of_flags_unless_others_are_given() {
        let argument = |name: &'static str| clap::Arg::new(name).long(name).required(true);
        let command = || {
            let list = Command::new("list").arg(argument("address")).arg(argument("task-queue"));
            Command::new("perennial").subcommand(list)
        };
        let presets = BTreeMap::from([
            ("address".to_owned(), "preset:1".to_owned()),
            ("task-queue".to_owned(), "q".to_owned()),
        ]);
        let read = |line: &[&str]| {
            let matches = with_presets(command(), &presets).try_get_matches_from(line).unwrap();
            let (_, list) = matches.subcommand().unwrap();
            ["address", "task-queue"].map(|it| list.get_one::<String>(it).unwrap().clone())
        };
        assert_eq!(read(&["perennial", "list"]), ["preset:1", "q"]);
        assert_eq!(read(&["perennial", "list", "--address=given:2"]), ["given:2", "q"]);
    }
}
