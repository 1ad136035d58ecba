//! Edits the configuration file. Comments and the formatting of everything else are preserved.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, value};

use super::property::{Kind, Property};
use crate::client::{HIDDEN, error_without_text, is_secret, write_private};
use crate::failure::{Exit, ExitError, Usage};

/// The file's content and path.
pub(super) struct ProfileFile {
    path: PathBuf,
    document: DocumentMut,
}

impl ProfileFile {
    /// Reads the file. A missing file counts as empty.
    pub(super) fn read(path: PathBuf) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            let error = error_without_text(&text, error.message(), error.span());
            Usage::new(format!("{}: {error}", path.display()))
        })?;
        Ok(ProfileFile { path, document })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn profiles(&self) -> Vec<String> {
        let profiles = self.document.get("profile").and_then(Item::as_table_like);
        profiles.map(|it| it.iter().map(|(name, _)| name.to_owned()).collect()).unwrap_or_default()
    }

    /// The property's value as text.
    pub(super) fn get(&self, profile: &str, property: &Property) -> anyhow::Result<Option<String>> {
        let mut item = self.profile(profile)?;
        for name in &property.path {
            match item.get(name) {
                Some(inner) => item = inner,
                None if property.kind == Kind::Section => return Ok(Some("false".to_owned())),
                None => return Ok(None),
            }
        }
        Ok(Some(match property.kind {
            Kind::Section => {
                let disabled = item.get("disabled").and_then(Item::as_bool);
                (!disabled.unwrap_or_default()).to_string()
            }
            Kind::Text | Kind::Flag => text(item),
        }))
    }

    /// All properties of a profile: as one JSON document, and as lines.
    pub(super) fn properties(
        &self,
        profile: &str,
    ) -> anyhow::Result<(Value, Vec<(String, String)>)> {
        let item = self.profile(profile)?;
        let mut lines = Vec::new();
        let document = walk(item, "", &mut lines);
        lines.sort();
        Ok((document, lines))
    }

    pub(super) fn set(
        &mut self,
        profile: &str,
        property: &Property,
        text: &str,
    ) -> anyhow::Result<()> {
        let flag = || {
            text.parse::<bool>()
                .map_err(|_| Usage::new(format!("{property} is true or false, not {text:?}")))
        };
        let new = match property.kind {
            Kind::Text => value(text),
            Kind::Flag => value(flag()?),
            Kind::Section if flag()? => Item::Table(Table::new()),
            Kind::Section => return self.delete(profile, property),
        };
        let profiles = implicit_table(self.document.as_table_mut(), "profile")?;
        profiles.set_implicit(true);
        let mut table = implicit_table(profiles, profile)?;
        let Some((last, sections)) = property.path.split_last() else { return Ok(()) };
        for section in sections {
            table = implicit_table(table, section)?;
        }
        if property.kind != Kind::Section || !table.contains_key(last) {
            table.insert(last, new);
        }
        self.write()
    }

    /// Removes a property. A missing property is no error.
    pub(super) fn delete(&mut self, profile: &str, property: &Property) -> anyhow::Result<()> {
        self.profile(profile)?;
        let mut item = &mut self.document["profile"][profile];
        let Some((last, sections)) = property.path.split_last() else { return Ok(()) };
        for section in sections {
            match item.get_mut(section) {
                Some(inner) => item = inner,
                None => return Ok(()),
            }
        }
        if let Some(table) = item.as_table_like_mut() {
            table.remove(last);
        }
        self.write()
    }

    pub(super) fn delete_profile(&mut self, profile: &str) -> anyhow::Result<()> {
        self.profile(profile)?;
        if let Some(profiles) = self.document["profile"].as_table_like_mut() {
            profiles.remove(profile);
        }
        self.write()
    }

    fn profile(&self, name: &str) -> anyhow::Result<&Item> {
        let found = self.document.get("profile").and_then(|profiles| profiles.get(name));
        let missing = || ExitError {
            exit: Exit::NotFound,
            message: format!("there is no profile {name:?} in {}", self.path.display()),
        };
        Ok(found.ok_or_else(missing)?)
    }

    fn write(&self) -> anyhow::Result<()> {
        write_private(&self.path, &self.document.to_string())
    }
}

fn implicit_table<'t>(table: &'t mut Table, name: &str) -> anyhow::Result<&'t mut Table> {
    let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let no_table = || Usage::new(format!("{name} in the configuration file is not a table"));
    Ok(item.as_table_mut().ok_or_else(no_table)?)
}

fn text(item: &Item) -> String {
    match item.as_str() {
        Some(text) => text.to_owned(),
        None => item.to_string().trim().to_owned(),
    }
}

fn walk(item: &Item, prefix: &str, lines: &mut Vec<(String, String)>) -> Value {
    let Some(table) = item.as_table_like() else {
        // Shown only to those who ask for it by its name.
        if is_secret(prefix) {
            lines.push((prefix.to_owned(), HIDDEN.to_owned()));
            return HIDDEN.into();
        }
        lines.push((prefix.to_owned(), text(item)));
        return match (item.as_bool(), item.as_integer()) {
            (Some(flag), _) => flag.into(),
            (None, Some(number)) => number.into(),
            (None, None) => text(item).into(),
        };
    };
    if prefix == "tls" {
        lines.push((prefix.to_owned(), "true".to_owned()));
    }
    let mut object = Map::new();
    for (name, inner) in table.iter() {
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        object.insert(name.to_owned(), walk(inner, &path, lines));
    }
    Value::Object(object)
}
