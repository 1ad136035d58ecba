//! `cargo xtask sbom`: a software bill of materials of the binary, in CycloneDX 1.5.
//!
//! It has no time and no random number, so the same lock file gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::repository::Repository;
use crate::{process, usage};

pub(crate) const HELP: &str = "\
Write a software bill of materials of the binary: CycloneDX 1.5, as JSON.

Usage: cargo xtask sbom [--target TRIPLE] [--output FILE]

  --target TRIPLE    Platform of the binary (default: this machine's)
  --output FILE      File to write (default: perennial.cdx.json in the folder for build results)

It lists each crate that is compiled into the binary, and each crate of macros that its code uses, with version, licence,
package URL and the checksum of Cargo.lock. Crates for tests and for build scripts are left out.
";

/// The package whose binary is shipped.
const BINARY: &str = "perennial-cli";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    let mut output = repository.target.join("perennial.cdx.json");
    let mut target = None;
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        match (flag.as_str(), rest.next()) {
            ("--target", Some(triple)) => target = Some(triple.clone()),
            ("--output", Some(file)) => output = file.into(),
            _ => return Ok(usage(&format!("`{flag}` is unknown, or lacks its value"), HELP)),
        }
    }
    let document = describe(repository, target)?;
    let mut text = serde_json::to_string_pretty(&document).context("cannot write JSON")?;
    text.push('\n');
    fs::write(&output, text).with_context(|| format!("cannot write {}", output.display()))?;
    println!("{}", output.display());
    Ok(ExitCode::SUCCESS)
}

fn describe(repository: &Repository, target: Option<String>) -> Result<Value> {
    let target = target.map_or_else(host, Ok)?;
    let metadata = process::output(process::cargo(&repository.root).args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        &target,
    ]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).context("`cargo metadata` didn't print JSON")?;
    let lock = repository.root.join("Cargo.lock");
    let lock =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    document(&metadata, &checksums(&lock))
}

/// The platform of this machine's compiler.
fn host() -> Result<String> {
    let said = process::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` didn't name its host")
}

/// Checksums by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").map(|package| {
        let value = |key: &str| {
            let quoted = package.lines().find_map(|line| line.strip_prefix(key))?;
            Some(quoted.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.flatten().collect()
}

/// The document, from the output of `cargo metadata`.
fn document(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|it| (text(&it["id"]), it)).collect();
    let mut edges = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        // Those without a kind are for the code itself; the others are for tests or for build scripts.
        let shipped = list(&node["deps"]).into_iter().filter(|dependency| {
            list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
        });
        let uses: BTreeSet<_> = shipped.map(|dependency| text(&dependency["pkg"])).collect();
        edges.insert(text(&node["id"]), uses);
    }
    let root = packages.values().find(|package| package["name"] == BINARY);
    let root = root.with_context(|| format!("there is no package {BINARY}"))?;
    let mut found = BTreeSet::new();
    let mut open = vec![text(&root["id"])];
    while let Some(id) = open.pop() {
        if !found.contains(&id) {
            open.extend(edges.get(&id).into_iter().flatten().cloned());
            found.insert(id);
        }
    }

    let reference = |id: &String| {
        let package = packages.get(id).with_context(|| format!("{id} is no package"))?;
        anyhow::Ok(purl(package))
    };
    let (mut components, mut dependencies) = (BTreeMap::new(), BTreeMap::new());
    for id in &found {
        let name = reference(id)?;
        let uses: Result<BTreeSet<_>> =
            edges.get(id).into_iter().flatten().map(reference).collect();
        dependencies.insert(name.clone(), json!({ "ref": name, "dependsOn": uses? }));
        let package = &packages[id];
        if package["name"] != BINARY {
            components.insert(name, component(package, checksums, "library"));
        }
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root, checksums, "application") },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>, kind: &str) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // The slash is the older way to write OR.
        let expression = licence.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    } else if let Some(file) = package["license_file"].as_str() {
        let name = format!("{file} in the crate");
        component["licenses"] = json!([{ "license": { "name": name } }]);
    }
    if let Some(checksum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

/// The package URL, which is also the reference inside the document.
fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_in_the_binary_is_listed_with_licence_and_checksum() {
        let repository = Repository::here().unwrap();
        let document = describe(&repository, None).unwrap();
        assert_eq!(document, describe(&repository, None).unwrap(), "it is the same each time");
        assert_eq!(
            (&document["bomFormat"], &document["specVersion"]),
            (&json!("CycloneDX"), &json!("1.5"))
        );
        assert_eq!(document["metadata"]["component"]["name"], BINARY);

        let components = document["components"].as_array().unwrap();
        let mut references: BTreeSet<&str> = BTreeSet::new();
        for component in components {
            let name = component["name"].as_str().unwrap();
            assert!(references.insert(component["bom-ref"].as_str().unwrap()), "{name} twice");
            assert_eq!(component["bom-ref"], component["purl"]);
            let licence = &component["licenses"][0];
            let licence = licence["expression"].as_str().or(licence["license"]["name"].as_str());
            assert!(licence.is_some_and(|it| !it.is_empty() && !it.contains('/')), "{component}");
            let is_ours = name.starts_with("perennial-");
            let checksum = component["hashes"][0]["content"].as_str().unwrap_or_default();
            assert_eq!(checksum.len(), if is_ours { 0 } else { 64 }, "{name}");
        }
        for (name, is_in) in
            [("tonic", true), ("perennial-server", true), ("expect-test", false), ("xtask", false)]
        {
            assert_eq!(components.iter().any(|it| it["name"] == name), is_in, "{name}");
        }

        references.insert(document["metadata"]["component"]["bom-ref"].as_str().unwrap());
        let dependencies = document["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), references.len());
        for dependency in dependencies {
            let uses =
                dependency["dependsOn"].as_array().unwrap().iter().chain([&dependency["ref"]]);
            for reference in uses {
                assert!(references.contains(reference.as_str().unwrap()), "{reference}");
            }
        }
    }
}
