//! `perennial database`, and the value of `--db`.

mod storage;

use std::ffi::OsString;

use clap::Subcommand;
use perennial_library::{PostgresOptions, SchemaVersion, SqliteOptions, Storage, migrate};
use serde_json::json;

pub(crate) use self::storage::{Fsync, storage};
use crate::failure::Usage;
use crate::output::Card;
use crate::session::GlobalArgs;

/// Show and upgrade the tables of a PostgreSQL database
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = r#"Examples:
  perennial database status --db postgres://perennial@localhost/perennial
  perennial database migrate --db postgres://owner@localhost/perennial
"#;

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the version of the tables
    Status(DatabaseArgs),
    /// Create the tables, or upgrade them to the version that this program needs
    ///
    /// A server does so when it starts. This command is for a server whose account may not change tables.
    Migrate(DatabaseArgs),
}

#[derive(Debug, clap::Args)]
struct DatabaseArgs {
    /// As in postgres://user@host/database
    #[arg(long, value_name = "URL", env = "PERENNIAL_DB", hide_env = true, hide_env_values = true)]
    db: OsString,
}

pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    match args.command {
        Command::Status(args) => show(&args.postgres()?, global),
        Command::Migrate(args) => {
            let postgres = args.postgres()?;
            migrate(&postgres)?;
            show(&postgres, global)
        }
    }
}

impl DatabaseArgs {
    fn postgres(self) -> Result<PostgresOptions, Usage> {
        match storage(self.db, SqliteOptions::default(), Fsync::MayBeOff)? {
            Storage::Postgres(options) => Ok(*options),
            Storage::Memory | Storage::File { .. } | Storage::Store(_) => Err(Usage::new(
                "--db: this command is for PostgreSQL; a database file is upgraded when a server opens it",
            )),
        }
    }
}

fn show(postgres: &PostgresOptions, global: &GlobalArgs) -> anyhow::Result<()> {
    let SchemaVersion { found, newest } = perennial_library::schema_version(postgres)?;
    let state = match found {
        0 => "missing",
        _ if found < newest => "old",
        _ if found == newest => "up to date",
        _ => "newer than this program",
    };
    let record = json!({
        "database": postgres.to_string(), "version": found, "newest": newest, "state": state,
    });
    let mut output = global.output();
    output.record(&record, |output| {
        let mut card = Card::default();
        card.field("Database", postgres.to_string())
            .field("Tables", state)
            .field("Version", found.to_string())
            .field("This program's", newest.to_string());
        output.card(&card)?;
        if found < newest {
            output.note("Start a server, or run `perennial database migrate`.")?;
        }
        Ok(())
    })?;
    Ok(output.flush()?)
}
