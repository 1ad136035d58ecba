//! `perennial completion`: shell completion scripts.

use std::io::Write;

use clap::{Command, ValueEnum};
use clap_complete::{Shell, generate};

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell that runs the script
    shell: ShellName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

const EXAMPLES: &str = r#"Examples:
  bash
    perennial completion bash > ~/.local/share/bash-completion/completions/perennial
  zsh
    perennial completion zsh > "${fpath[1]}/_perennial"
  fish
    perennial completion fish > ~/.config/fish/completions/perennial.fish
"#;

/// Writes the script.
pub(crate) fn run(args: &Args, mut command: Command, out: &mut impl Write) -> anyhow::Result<()> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Elvish => Shell::Elvish,
        ShellName::Fish => Shell::Fish,
        ShellName::PowerShell => Shell::PowerShell,
        ShellName::Zsh => Shell::Zsh,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "perennial", &mut script);
    Ok(out.write_all(&script)?)
}
