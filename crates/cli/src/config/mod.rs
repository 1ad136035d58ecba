//! `perennial config`: profiles in the configuration file, shared with Temporal's tools and SDKs.

mod file;
mod property;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use self::file::ProfileFile;
use self::property::Property;
use crate::client::Environment;
use crate::failure::Usage;
use crate::output::Column;
use crate::session::GlobalArgs;

/// Manage connection profiles, for --profile
///
/// A profile has an address, a namespace, keys and TLS settings. The file is temporalio/temporal.toml in the
/// user's configuration folder, or the one given by --config-file or TEMPORAL_CONFIG_FILE. The official SDKs
/// read it too.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a profile or one of its properties
    Get {
        /// Property
        #[arg(long, short, value_name = "NAME")]
        prop: Option<Property>,
    },
    /// Set a property of a profile
    Set {
        /// Property: address, namespace, api_key, tls, tls.…, codec.…, grpc_meta.…
        #[arg(long, short, value_name = "NAME")]
        prop: Property,

        /// Value
        #[arg(long, short, value_name = "TEXT")]
        value: String,
    },
    /// Remove a property of a profile
    Delete {
        /// Property
        #[arg(long, short, value_name = "NAME")]
        prop: Property,
    },
    /// Remove the profile given by --profile
    DeleteProfile,
    /// List the profiles
    List,
}

const EXAMPLES: &str = r#"Examples:
  perennial config set --profile prod --prop address --value perennial.example:7233
  perennial config set --profile prod --prop api_key --value "$KEY"
  perennial config get --profile prod
  perennial schedule list --profile prod
"#;

/// Runs a `config` command.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let path = path(global, &environment)?;
    let (name, named) = global.config.profile_name(&environment);
    let mut file = ProfileFile::read(path)?;
    let mut output = global.output();
    match args.command {
        Command::Get { prop: Some(prop) } => {
            let Some(value) = file.get(&name, &prop)? else {
                return Err(Usage::new(format!("the profile {name} has no {prop}")).into());
            };
            let record = json!({"property": prop.to_string(), "value": value});
            output.record(&record, |output| Ok(output.line(&value)?))?;
        }
        Command::Get { prop: None } => {
            let (document, properties) = file.properties(&name)?;
            output.record(&document, |output| {
                let columns = vec![Column::new("Property"), Column::new("Value")];
                Ok(output.table(columns, properties.into_iter().map(|(k, v)| [k, v].into()))?)
            })?;
        }
        Command::Set { prop, value } => file.set(&name, &prop, &value)?,
        Command::Delete { prop } => file.delete(&name, &prop)?,
        Command::DeleteProfile if !named => {
            return Err(Usage::new("missing profile: --profile NAME").into());
        }
        Command::DeleteProfile => file.delete_profile(&name)?,
        Command::List => {
            let mut list = output.list(vec![Column::new("Name")]);
            for name in file.profiles() {
                list.push_record(&json!({"name": name}), |_| [name.clone()])?;
            }
            if list.finish()? == 0 {
                output.note(format!("there are no profiles in {}", file.path().display()))?;
            }
        }
    }
    Ok(output.flush()?)
}

fn path(global: &GlobalArgs, environment: &Environment) -> anyhow::Result<PathBuf> {
    let found = global.config.config_path(environment);
    let nowhere = || Usage::new("cannot determine the configuration folder; give --config-file");
    Ok(found.ok_or_else(nowhere)?.0)
}
