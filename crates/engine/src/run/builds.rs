//! The worker builds that have run a workflow, as search attributes list them.

use perennial_proto::temporal::common::v1::{SearchAttributes, WorkerVersionStamp};
use perennial_proto::temporal::enums::v1::IndexedValueType as Kind;
use serde_json::json;

use super::Run;
use crate::fields::json_payload;
use crate::search_attributes::VALUE_BYTES_MAX;

/// First entry of the list if the last workflow task wasn't completed in versioned mode.
const UNVERSIONED: &str = "unversioned";

impl Run {
    /// Adds the build that completed a workflow task. Drops the oldest builds when the list is too long.
    pub(super) fn note_build(&mut self, stamp: Option<&WorkerVersionStamp>) {
        let is_versioned = stamp.is_some_and(|stamp| stamp.use_versioning);
        let mode = if is_versioned { "versioned" } else { UNVERSIONED };
        let told = stamp.filter(|stamp| !stamp.build_id.is_empty());
        let build = told.map(|stamp| format!("{mode}:{}", stamp.build_id));
        let builds = &mut self.head.build_ids;
        let is_first_unversioned = builds.first().is_some_and(|first| first == UNVERSIONED);
        if is_first_unversioned != is_versioned
            && build.as_ref().is_none_or(|it| builds.contains(it))
        {
            return;
        }
        builds.retain(|build| build != UNVERSIONED);
        if !is_versioned {
            builds.insert(0, UNVERSIONED.to_owned());
        }
        builds.extend(build.filter(|build| !builds.contains(build)));
        let oldest = usize::from(!is_versioned);
        while json!(builds).to_string().len() > VALUE_BYTES_MAX && oldest < builds.len() {
            builds.remove(oldest);
        }
    }

    /// Adds the search attributes `BuildIds` and `BinaryChecksums`.
    pub(super) fn show_builds(&self, shown: &mut SearchAttributes) {
        let mut show = |name: &str, values: &[&str]| {
            let payload = json_payload(&json!(values), Some(Kind::KeywordList));
            shown.indexed_fields.insert(name.to_owned(), payload);
        };
        let builds: Vec<_> = self.head.build_ids.iter().map(String::as_str).collect();
        if !builds.is_empty() {
            show("BuildIds", &builds);
        }
        let points = self.head.reset_points.iter().flat_map(|points| &points.points);
        let with_checksum = points.filter(|point| !point.binary_checksum.is_empty());
        let with_checksum: Vec<_> = with_checksum.collect();
        // Checksums of earlier runs in the chain are listed only after a worker with a checksum has worked on this
        // run.
        if with_checksum.iter().any(|point| point.run_id == self.head.run_id) {
            let checksums: Vec<_> =
                with_checksum.iter().map(|point| point.binary_checksum.as_str()).collect();
            show("BinaryChecksums", &checksums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(stamps: &[Option<(&str, bool)>]) -> Vec<String> {
        let mut run = Run::empty(crate::EntityKey(1), Default::default(), Default::default());
        for stamp in stamps {
            let stamp = stamp.map(|(build_id, use_versioning)| WorkerVersionStamp {
                build_id: build_id.to_owned(),
                use_versioning,
            });
            run.note_build(stamp.as_ref());
        }
        run.head.build_ids
    }

    #[test]
    fn each_build_is_listed_once_behind_the_mode() {
        assert_eq!(builds(&[None]), ["unversioned"]);
        assert_eq!(builds(&[Some(("", false))]), ["unversioned"]);
        let seen = [Some(("b1", false)), Some(("b2", false)), None, Some(("b1", false))];
        assert_eq!(builds(&seen), ["unversioned", "unversioned:b1", "unversioned:b2"]);
        assert_eq!(builds(&[Some(("b1", true))]), ["versioned:b1"]);
    }

    #[test]
    fn oldest_builds_are_forgotten_when_the_list_is_too_long() {
        let names: Vec<_> = (0..30).map(|n| format!("{n:0>100}")).collect();
        let seen: Vec<_> = names.iter().map(|name| Some((name.as_str(), false))).collect();
        let kept = builds(&seen);
        assert!(json!(kept).to_string().len() <= VALUE_BYTES_MAX);
        assert_eq!(kept[0], "unversioned");
        assert_eq!(kept.last().unwrap(), &format!("unversioned:{:0>100}", 29));
    }
}
