//! Generates the messages Perennial stores, and clients of Temporal's services and its own. Servers go by the
//! descriptors.
//!
//! Temporal's messages are mapped to the types of `temporalio-protos`, so there is one copy of each. The
//! descriptors that crate publishes have lost what the files say about HTTP, so its files are read again.

#[path = "build/comments.rs"]
mod comments;

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use protox::Compiler;

const PROTO_FOLDER: &str = "../../proto";
const FILES: [&str; 15] = [
    "perennial/node/v1/node.proto",
    "perennial/store/v1/api_key.proto",
    "perennial/store/v1/batch.proto",
    "perennial/store/v1/message.proto",
    "perennial/store/v1/run.proto",
    "perennial/store/v1/schedule.proto",
    "perennial/v1/admin_service.proto",
    "perennial/v1/audit.proto",
    "perennial/v1/schedule_service.proto",
    "google/rpc/status.proto",
    "temporal/api/errordetails/v1/message.proto",
    "temporal/api/operatorservice/v1/service.proto",
    "temporal/api/sdk/v1/workflow_metadata.proto",
    "temporal/api/testservice/v1/service.proto",
    "temporal/api/workflowservice/v1/service.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO_FOLDER}");
    println!("cargo:rerun-if-changed=build");
    let temporal = temporal_files()?;
    let mut compiler = Compiler::new([
        PathBuf::from(PROTO_FOLDER),
        temporal.join("api_upstream"),
        temporal.join("testsrv_upstream"),
        temporal,
    ])?;
    compiler.include_imports(true).open_files(FILES)?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Other ways of encoding leave out options that aren't protobuf's own, such as those for HTTP.
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
    let files = compiler.include_source_info(true).file_descriptor_set();
    let comments = serde_json::to_vec(&comments::of(&files))?;
    let mut packed =
        GzEncoder::new(fs::File::create(out.join("comments.gz"))?, Compression::best());
    packed.write_all(&comments)?;
    packed.finish()?;

    let mut config = tonic_prost_build::Config::new();
    config.enable_type_names();
    tonic_prost_build::configure()
        .build_client(true)
        .build_server(false)
        // Clients take whatever channel they are given: this crate opens no connections.
        .build_transport(false)
        // Without it the mapping of `.google.protobuf` below is refused as a duplicate.
        .compile_well_known_types(true)
        // Equal labels are equal bytes.
        .btree_map(".perennial.v1.ScheduleExtensions.labels")
        .extern_path(".temporal.api", "::temporalio_protos::temporal::api")
        .extern_path(".google.protobuf", "::prost_wkt_types")
        .compile_fds_with_config(files, config)?;
    Ok(())
}

/// The folder with the `.proto` files that `temporalio-protos` was generated from.
fn temporal_files() -> Result<PathBuf, Box<dyn Error>> {
    // What is being built has been downloaded. Asked for more than that (the dependencies of other
    // platforms), cargo may want the network.
    let metadata = metadata(&["--offline"]).or_else(|_| metadata(&[]))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let manifest = packages
        .iter()
        .find(|package| package["name"] == "temporalio-protos")
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or("cargo metadata doesn't know temporalio-protos")?;
    Ok(Path::new(manifest).with_file_name("protos"))
}

fn metadata(more: &[&str]) -> Result<serde_json::Value, Box<dyn Error>> {
    let output = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--filter-platform", &env::var("TARGET")?])
        .args(more)
        .current_dir(env::var("CARGO_MANIFEST_DIR")?)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo metadata` failed: {said}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
