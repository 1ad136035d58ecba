//! `perennial env`: the older presets file, with values for flags.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use crate::client::{Environment, HIDDEN, Presets, is_secret};
use crate::failure::{Exit, ExitError, Usage};
use crate::output::Column;
use crate::session::GlobalArgs;

/// Manage presets for flags, for --env (older; see `config`)
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show an environment or one of its values
    Get(KeyArgs),
    /// Set a value
    Set {
        #[command(flatten)]
        key: KeyArgs,

        /// Value
        #[arg(long, short, value_name = "TEXT")]
        value: Option<String>,

        /// Value, as a positional argument
        #[arg(value_name = "VALUE", conflicts_with = "value")]
        positional: Option<String>,
    },
    /// Remove an environment or one of its values
    Delete(KeyArgs),
    /// List the environments
    List,
}

#[derive(Debug, clap::Args)]
struct KeyArgs {
    /// ENVIRONMENT or ENVIRONMENT.FLAG; same as --env and --key
    #[arg(value_name = "ENV[.KEY]")]
    place: Option<String>,

    /// Name of a flag, without dashes
    #[arg(long, short, value_name = "NAME")]
    key: Option<String>,
}

const EXAMPLES: &str = r#"Examples:
  perennial env set --env prod --key address --value perennial.example:7233
  perennial env get --env prod
  perennial schedule list --env prod
"#;

/// Runs an `env` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let path = path(global)?;
    let mut presets = Presets::read(&path)?;
    let mut output = global.output();
    match args.command {
        Command::Get(place) => {
            let (name, key) = place.read(global);
            let values = presets.env.get(&name).ok_or_else(|| missing(&name))?;
            let mut list = output.list(vec![Column::new("Property"), Column::new("Value")]);
            let wanted = values.iter().filter(|(it, _)| key.as_ref().is_none_or(|key| key == *it));
            for (name, value) in wanted {
                // Shown only to those who ask for it by its name.
                let is_hidden = key.is_none() && is_secret(name);
                let value = if is_hidden { HIDDEN } else { value.as_str() };
                let record = json!({"property": name, "value": value});
                list.push_record(&record, |_| [name.clone(), value.to_owned()])?;
            }
            if list.finish()? == 0 {
                let key = key.unwrap_or_default();
                return Err(not_found(format!("the environment {name} has no {key}")));
            }
        }
        Command::Set { key, value, positional } => {
            let (name, key) = key.read(global);
            let key = key.ok_or_else(|| Usage::new("missing key: --key NAME"))?;
            let value = value.or(positional);
            let value = value.ok_or_else(|| Usage::new("missing value: --value TEXT"))?;
            presets.env.entry(name).or_default().insert(key, value);
            presets.write(&path)?;
        }
        Command::Delete(place) => {
            let (name, key) = place.read(global);
            let values = presets.env.get_mut(&name).ok_or_else(|| missing(&name))?;
            match key {
                Some(key) => drop(values.remove(&key)),
                None => drop(presets.env.remove(&name)),
            }
            presets.write(&path)?;
        }
        Command::List => {
            let mut list = output.list(vec![Column::new("Name")]);
            for name in presets.env.keys() {
                list.push_record(&json!({"name": name}), |_| [name.clone()])?;
            }
            list.finish()?;
        }
    }
    Ok(output.flush()?)
}

impl KeyArgs {
    /// The environment, and the key if given.
    fn read(&self, global: &GlobalArgs) -> (String, Option<String>) {
        let default = global.config.env_name(&Environment::of_process());
        let (name, key) =
            match self.place.as_deref().map(|it| it.split_once('.').unwrap_or((it, ""))) {
                Some((name, key)) => (name.to_owned(), Some(key.to_owned())),
                None => (default, None),
            };
        (name, self.key.clone().or(key).filter(|key| !key.is_empty()))
    }
}

fn path(global: &GlobalArgs) -> anyhow::Result<PathBuf> {
    let path = global.config.env_path(&Environment::of_process());
    Ok(path
        .ok_or_else(|| Usage::new("cannot determine the configuration folder; give --env-file"))?)
}

fn missing(name: &str) -> anyhow::Error {
    not_found(format!(
        "there is no environment {name:?}; `perennial env list` lists the environments"
    ))
}

fn not_found(message: String) -> anyhow::Error {
    ExitError { exit: Exit::NotFound, message }.into()
}
