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
