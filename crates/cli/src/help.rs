//! Keeps the help of command groups to one screen.
//!
//! A group such as `perennial schedule` inherits some thirty global flags. The help of a group lists only
//! its commands and examples. The help of each command lists all its flags.

use clap::Command;

/// Clap's default template without the flags.
const GROUP_TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

Commands:
{subcommands}{after-help}";

/// Shortens the help of all command groups.
pub(crate) fn shorten_groups(command: Command) -> Command {
    let name = command.get_name().to_owned();
    shorten(command, &name)
}

/// `path` is the full name of the command: `perennial operator namespace`.
fn shorten(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        shorten(inner, &path)
    });
    // `perennial server` also runs without a subcommand, so its own flags have to be shown.
    if !command.has_subcommands() || !command.is_subcommand_required_set() {
        return command;
    }
    let hint = format!("Show all flags of a command: {path} <COMMAND> --help\n");
    let after_help = match command.get_after_help() {
        Some(text) => format!("{}\n\n{hint}", text.to_string().trim_end()),
        None => hint,
    };
    command.help_template(GROUP_TEMPLATE).after_help(after_help)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    const SCREEN_LINES: usize = 40;

    fn check(command: &mut Command) {
        if command.is_subcommand_required_set() {
            let help = command.render_long_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= SCREEN_LINES, "{lines} lines:\n{help}");
        }
        command.get_subcommands_mut().for_each(check);
    }

    #[test]
    fn the_help_of_every_group_fits_one_screen() {
        let mut command = shorten_groups(crate::Cli::command()).term_width(100);
        command.build();
        check(&mut command);
    }
}
