//! `perennial operator api-key`.

use std::ffi::OsString;

use anyhow::Context;
use clap::Subcommand;
use jiff::Timestamp;
use perennial_engine::Time;
use perennial_library::{NewApiKey, SqliteOptions};
use perennial_proto::perennial::{
    ApiKey, CreateApiKeyRequest, ListApiKeysRequest, RevokeApiKeyRequest,
};

use crate::client::{ConnectionArgs, Environment, Settings};
use crate::confirm::confirm;
use crate::database::{self, Fsync};
use crate::output::{Card, Column, Output, Row, instant, stamp};
use crate::session::{self, GlobalArgs, Session};

/// Create, list and revoke API keys
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(CreateArgs),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Revoke(RevokeArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator api-key create --db perennial.db --name first --role admin --whole-server
  perennial operator api-key create --name ci --role worker --namespace default
  perennial operator api-key list
  perennial operator api-key revoke 0197…
"#;

/// Create an API key, and show it once
///
/// The first key is created in the database file (--db) while no server runs. Later ones are created by
/// whoever is an admin of the namespaces that they are for.
#[derive(Debug, clap::Args)]
#[command(after_help = CREATE_EXAMPLES)]
struct CreateArgs {
    /// Name, for people; it is also shown as the author of changes
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Role in the namespace: read, worker, write or admin
    #[arg(long, value_name = "ROLE", required_unless_present = "permission")]
    role: Option<String>,

    /// The role holds on the whole server instead of in one namespace
    #[arg(long, requires = "role")]
    whole_server: bool,

    /// A role in a namespace, as in `shop:worker`, or `*:read` for the whole server; repeatable
    #[arg(long, value_name = "NAMESPACE:ROLE", value_delimiter = ',')]
    permission: Vec<String>,

    /// How long the key is valid, as in `90d` [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = perennial_calendar::parse_duration)]
    expires_in: Option<std::time::Duration>,

    /// Create it in this database: a file on which no server runs, or postgres://user@host/database, whose
    /// servers know it when they are started again
    #[arg(long, value_name = "FILE|URL")]
    db: Option<OsString>,
}

const CREATE_EXAMPLES: &str = r#"Examples:
  perennial operator api-key create --db perennial.db --name first --role admin --whole-server
  perennial operator api-key create --name ci --role worker --namespace default --expires-in 90d
  perennial operator api-key create --name dashboards --permission 'shop:read,bank:read'
"#;

/// List API keys, also expired and revoked ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator api-key list\n")]
struct ListArgs {}

/// Revoke an API key; polls of its holders end at once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator api-key revoke 0197…\n")]
struct RevokeArgs {
    /// Id of the key, from `api-key list`
    #[arg(value_name = "ID")]
    id: String,

    /// Don't ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(
    args: Args,
    connection: ConnectionArgs,
    global: &GlobalArgs,
) -> anyhow::Result<()> {
    match args.command {
        Command::Create(args) if args.db.is_some() => create_offline(args, connection, global),
        Command::Create(args) => {
            session::run(global, connection, async |session| create(args, session).await)
        }
        Command::List(_) => session::run(global, connection, list),
        Command::Revoke(args) => {
            session::run(global, connection, async |session| revoke(args, session).await)
        }
    }
}

impl CreateArgs {
    /// The permissions of the key, with its role in `namespace`.
    fn permissions(&self, namespace: &str) -> Vec<String> {
        let place = if self.whole_server { "*" } else { namespace };
        let by_role = self.role.iter().map(|role| format!("{place}:{role}"));
        by_role.chain(self.permission.iter().cloned()).collect()
    }

    fn expires_at(&self) -> anyhow::Result<Option<Timestamp>> {
        let Some(length) = self.expires_in else { return Ok(None) };
        let at = Timestamp::now().checked_add(length);
        Ok(Some(at.context("--expires-in is too long")?))
    }
}

fn create_offline(
    args: CreateArgs,
    connection: ConnectionArgs,
    global: &GlobalArgs,
) -> anyhow::Result<()> {
    let settings = Settings::resolve(connection, &global.config, &Environment::of_process())?;
    let expires_at = args.expires_at()?;
    let new = NewApiKey {
        permissions: args.permissions(&settings.namespace),
        expires_at: expires_at.map(|at| Time::from(stamp(at))),
        name: args.name,
    };
    let db = args.db.unwrap_or_default();
    let mut output = global.output();
    let permissions = new.permissions.clone();
    let storage = database::storage(db, SqliteOptions::default(), Fsync::MayBeOff)?;
    let created = perennial_library::create_api_key(storage, new)?;
    write_new(&mut output, &created.id, &permissions, created.key.reveal())?;
    Ok(output.flush()?)
}

async fn create(args: CreateArgs, session: &mut Session) -> anyhow::Result<()> {
    let request = CreateApiKeyRequest {
        permissions: args.permissions(&session.client.namespace),
        expires_at: args.expires_at()?.map(stamp),
        name: args.name,
    };
    let answer = session.client.admin().create_api_key(request).await?.into_inner();
    let key = answer.api_key.unwrap_or_default();
    write_new(&mut session.output, &key.id, &key.permissions, &answer.secret)
}

/// Shows a new key.
fn write_new(
    output: &mut Output,
    id: &str,
    permissions: &[String],
    secret: &str,
) -> anyhow::Result<()> {
    let record = serde_json::json!({ "id": id, "permissions": permissions, "secret": secret });
    output.record(&record, |output| {
        let mut card = Card::default();
        card.field("Key", secret).field("Id", id).field("Permissions", permissions.join(", "));
        output.card(&card)?;
        Ok(output.note("Keep it: it can't be shown again.")?)
    })
}

async fn list(session: &mut Session) -> anyhow::Result<()> {
    let answer = session.client.admin().list_api_keys(ListApiKeysRequest {}).await?.into_inner();
    session.output.message(&answer, |output| {
        let times = &output.times;
        let show = |time: &Option<perennial_proto::Timestamp>| times.show(instant(time.as_ref()));
        let rows = answer.api_keys.iter().map(|key| {
            Row::from([
                key.id.clone(),
                key.name.clone(),
                key.permissions.join(", "),
                state(key).to_owned(),
                show(&key.expires_at),
                show(&key.last_used_at),
                key.created_by.clone(),
            ])
        });
        let rows: Vec<_> = rows.collect();
        let columns = ["Id", "Name", "Permissions", "State", "Expires", "Last used", "Created by"];
        Ok(output.table(columns.map(Column::new).to_vec(), rows)?)
    })
}

fn state(key: &ApiKey) -> &'static str {
    let has_expired = instant(key.expires_at.as_ref()).is_some_and(|at| at <= Timestamp::now());
    match (&key.revoked_at, has_expired) {
        (Some(_), _) => "revoked",
        (None, true) => "expired",
        (None, false) => "valid",
    }
}

async fn revoke(args: RevokeArgs, session: &mut Session) -> anyhow::Result<()> {
    let question = format!("Revoke the API key {}? What uses it stops working.", args.id);
    confirm(&question, args.yes, &mut session.output)?;
    let request = RevokeApiKeyRequest { id: args.id };
    let revoked = session.client.admin().revoke_api_key(request).await?.into_inner();
    let name = revoked.api_key.unwrap_or_default().name;
    session.output.success(format!("The API key {name} is revoked"))
}
