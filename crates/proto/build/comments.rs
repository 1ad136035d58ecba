//! What the `.proto` files say in words.

use std::collections::BTreeMap;

use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// Numbers of the fields of descriptors, by which a place in a file is told.
const FILE_MESSAGE: i32 = 4;
const FILE_SERVICE: i32 = 6;
const MESSAGE_FIELD: i32 = 2;
const MESSAGE_NESTED: i32 = 3;
const SERVICE_METHOD: i32 = 2;

/// The comments on messages, fields, services and methods, by their full names.
pub(crate) fn of(files: &FileDescriptorSet) -> BTreeMap<String, String> {
    let mut comments = BTreeMap::new();
    for file in &files.file {
        let places = file.source_code_info.iter().flat_map(|info| &info.location);
        for place in places {
            let words = place.leading_comments.as_deref().or(place.trailing_comments.as_deref());
            let text = words.map(plain).filter(|text| !text.is_empty());
            if let (Some(text), Some(name)) = (text, named(file, &place.path)) {
                comments.insert(name, text);
            }
        }
    }
    comments
}

/// Without the marks of the comment, and without what is said to a linter.
fn plain(comment: &str) -> String {
    let mut text = String::new();
    let mut rest = comment;
    while let Some((before, after)) = rest.split_once("(--") {
        text.push_str(before);
        rest = after.split_once("--)").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    lines.join("\n").trim().to_owned()
}

fn named(file: &FileDescriptorProto, path: &[i32]) -> Option<String> {
    let package = file.package();
    match *path {
        [FILE_MESSAGE, index, ref rest @ ..] => {
            within(file.message_type.get(at(index)?)?, package, rest)
        }
        [FILE_SERVICE, index, ref rest @ ..] => {
            let service = file.service.get(at(index)?)?;
            let name = format!("{package}.{}", service.name());
            match *rest {
                [] => Some(name),
                [SERVICE_METHOD, method] => {
                    Some(format!("{name}.{}", service.method.get(at(method)?)?.name()))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn within(message: &DescriptorProto, parent: &str, path: &[i32]) -> Option<String> {
    let name = format!("{parent}.{}", message.name());
    match *path {
        [] => Some(name),
        [MESSAGE_FIELD, index] => Some(format!("{name}.{}", message.field.get(at(index)?)?.name())),
        [MESSAGE_NESTED, index, ref rest @ ..] => {
            within(message.nested_type.get(at(index)?)?, &name, rest)
        }
        _ => None,
    }
}

fn at(index: i32) -> Option<usize> {
    usize::try_from(index).ok()
}
