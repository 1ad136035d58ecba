//! `perennial operator search-attribute`.

use std::collections::{BTreeMap, HashMap};

use clap::{Subcommand, ValueEnum};
use perennial_proto::temporal::enums::v1::IndexedValueType;
use perennial_proto::temporal::operatorservice::v1::{
    AddSearchAttributesRequest, ListSearchAttributesRequest, ListSearchAttributesResponse,
    RemoveSearchAttributesRequest,
};

use crate::client::Client;
use crate::confirm::confirm;
use crate::failure::{Exit, ExitError, Usage};
use crate::output::{Column, Row, short_name};
use crate::session::Session;

/// Manage the search attributes of a namespace
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
    Remove(RemoveArgs),
}

const EXAMPLES: &str = r#"Examples:
  perennial operator search-attribute create --name Customer --type Keyword
  perennial operator search-attribute list
"#;

/// Add search attributes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct CreateArgs {
    /// Name; repeatable
    #[arg(long, value_name = "NAME", required = true)]
    name: Vec<String>,

    /// Type, one for each name; repeatable
    #[arg(long = "type", value_name = "TYPE", value_enum, ignore_case = true, required = true)]
    #[arg(id = "attribute_type")]
    types: Vec<Type>,
}

/// List search attributes, including the predefined ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator search-attribute list\n")]
struct ListArgs {}

/// Remove search attributes; workflows keep their values, but hidden
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  perennial operator search-attribute remove --name Customer\n")]
struct RemoveArgs {
    /// Name; repeatable
    #[arg(long, value_name = "NAME", required = true)]
    name: Vec<String>,

    /// Don't ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Type {
    Text,
    Keyword,
    Int,
    Double,
    Bool,
    Datetime,
    #[value(alias = "keyword-list")]
    KeywordList,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    match args.command {
        Command::Create(args) => create(args, session).await,
        Command::List(_) => list(session).await,
        Command::Remove(args) => remove(args, session).await,
    }
}

async fn create(args: CreateArgs, session: &mut Session) -> anyhow::Result<()> {
    if args.name.len() != args.types.len() {
        let (names, types) = (args.name.len(), args.types.len());
        let message =
            format!("each --name needs a --type, and there are {names} names and {types} types");
        return Err(Usage::new(message).into());
    }
    let known = fetch(&session.client).await?.custom_attributes;
    let mut search_attributes = HashMap::new();
    for (name, kind) in args.name.into_iter().zip(args.types) {
        let wanted = i32::from(code(kind));
        if let Some(present) = known.get(&name).filter(|&&present| present != wanted) {
            let message = format!(
                "search attribute {name} already exists and has different type {}",
                type_name(*present)
            );
            return Err(ExitError { exit: Exit::Conflict, message }.into());
        }
        search_attributes.insert(name, wanted);
    }
    let namespace = session.client.namespace.clone();
    let request = AddSearchAttributesRequest { search_attributes, namespace };
    session.client.operator().add_search_attributes(request).await?;
    session.output.success("Search attributes have been added")
}

async fn list(session: &mut Session) -> anyhow::Result<()> {
    let answer = fetch(&session.client).await?;
    session.output.message(&answer, |output| {
        let groups = [(&answer.custom_attributes, ""), (&answer.system_attributes, "system")];
        let rows = groups.into_iter().flat_map(|(attributes, whose)| {
            let attributes: BTreeMap<_, _> = attributes.iter().collect();
            attributes.into_iter().map(move |(name, kind)| {
                Row::from([name.clone(), type_name(*kind), whose.to_owned()])
            })
        });
        Ok(output.table(["Name", "Type", ""].map(Column::new).to_vec(), rows)?)
    })
}

async fn remove(args: RemoveArgs, session: &mut Session) -> anyhow::Result<()> {
    let question = format!("Remove the search attribute {}?", args.name.join(", "));
    confirm(&question, args.yes, &mut session.output)?;
    let request = RemoveSearchAttributesRequest {
        search_attributes: args.name,
        namespace: session.client.namespace.clone(),
    };
    session.client.operator().remove_search_attributes(request).await?;
    session.output.success("Search attributes have been removed")
}

async fn fetch(client: &Client) -> anyhow::Result<ListSearchAttributesResponse> {
    let request = ListSearchAttributesRequest { namespace: client.namespace.clone() };
    Ok(client.operator().list_search_attributes(request).await?.into_inner())
}

fn code(kind: Type) -> IndexedValueType {
    match kind {
        Type::Text => IndexedValueType::Text,
        Type::Keyword => IndexedValueType::Keyword,
        Type::Int => IndexedValueType::Int,
        Type::Double => IndexedValueType::Double,
        Type::Bool => IndexedValueType::Bool,
        Type::Datetime => IndexedValueType::Datetime,
        Type::KeywordList => IndexedValueType::KeywordList,
    }
}

fn type_name(code: i32) -> String {
    match IndexedValueType::try_from(code) {
        Ok(kind) => short_name(kind.as_str_name(), "INDEXED_VALUE_TYPE_"),
        Err(_) => code.to_string(),
    }
}
