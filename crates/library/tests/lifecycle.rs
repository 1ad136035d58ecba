//! Perennial as a program meets it: opened, closed, opened again.
#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

use std::path::Path;

use perennial_library::{Config, OpenError, Perennial, SqliteOptions, Storage};

fn on_file(path: &Path) -> Config {
    Config::new(Storage::File { path: path.to_owned(), options: SqliteOptions::default() })
}

fn namespace_names(perennial: &Perennial) -> Vec<String> {
    let namespaces = perennial.runtime().namespaces();
    ["default", "shop"]
        .into_iter()
        .filter_map(|name| namespaces.by_name(name))
        .map(|record| record.name.clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn file_keeps_its_namespaces_for_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perennial.db");
    let mut config = on_file(&path);
    config.namespaces.push("shop".to_owned());
    let first = Perennial::open(config).await.unwrap();
    assert_eq!(namespace_names(&first), ["default", "shop"]);
    first.close().await.unwrap();

    let second = Perennial::open(on_file(&path)).await.unwrap();
    assert_eq!(namespace_names(&second), ["default", "shop"]);
    second.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_open_releases_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perennial.db");
    let mut config = on_file(&path);
    config.namespaces.push(String::new());
    match Perennial::open(config).await {
        Err(OpenError::Namespace { name, .. }) => assert_eq!(name, ""),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a namespace without a name was created"),
    }
    Perennial::open(on_file(&path)).await.unwrap().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn file_in_use_is_not_opened_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perennial.db");
    let first = Perennial::open(on_file(&path)).await.unwrap();
    assert!(matches!(Perennial::open(on_file(&path)).await, Err(OpenError::Store(_))));
    first.close().await.unwrap();
}
