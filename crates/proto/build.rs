//! Generates the messages Perennial stores and the server side of Temporal's services.
//!
//! `temporalio-protos` publishes the descriptors it was generated from. Our own files import Temporal's
//! through them, and Temporal's messages are mapped to that crate's types, so there is one copy of each.

use std::collections::HashSet;
use std::env;
use std::error::Error;
use std::fs;

use prost::Message;
use prost_types::FileDescriptorSet;
use protox::file::{ChainFileResolver, DescriptorSetFileResolver, IncludeFileResolver};

const PROTO_FOLDER: &str = "../../proto";
const OUR_FILES: [&str; 6] = [
    "perennial/store/v1/batch.proto",
    "perennial/store/v1/message.proto",
    "perennial/store/v1/run.proto",
    "perennial/store/v1/schedule.proto",
    "perennial/v1/audit.proto",
    "perennial/v1/schedule_service.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO_FOLDER}");
    let temporal = fs::read(env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")?)?;

    let mut resolver = ChainFileResolver::new();
    resolver.add(IncludeFileResolver::new(PROTO_FOLDER.into()));
    resolver.add(DescriptorSetFileResolver::decode(temporal.as_slice())?);
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_files(OUR_FILES)?;

    let mut files = compiler.file_descriptor_set();
    let known: HashSet<String> = files.file.iter().map(|file| file.name().to_owned()).collect();
    let temporal = FileDescriptorSet::decode(temporal.as_slice())?;
    files.file.extend(temporal.file.into_iter().filter(|file| !known.contains(file.name())));

    let descriptors = std::path::PathBuf::from(env::var("OUT_DIR")?).join("descriptors.bin");
    fs::write(descriptors, files.encode_to_vec())?;

    tonic_prost_build::configure()
        .build_client(false)
        .build_server(true)
        // Without it the mapping of `.google.protobuf` below is refused as a duplicate.
        .compile_well_known_types(true)
        // Equal labels are equal bytes.
        .btree_map(".perennial.v1.ScheduleExtensions.labels")
        .extern_path(".temporal.api", "::temporalio_protos::temporal::api")
        .extern_path(".coresdk", "::temporalio_protos::coresdk")
        .extern_path(".google.protobuf", "::prost_wkt_types")
        .compile_fds(files)?;
    Ok(())
}
