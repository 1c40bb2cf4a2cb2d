//! Every fuzz target's check, on all seeds of the target.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use windage_fuzz_targets::Corpus;

/// A test for each target.
macro_rules! replayed {
    ($($target:ident)*) => {
        const REPLAYED: &[&str] = &[$(stringify!($target)),*];

        $(
            #[test]
            fn $target() {
                replay(stringify!($target), windage_fuzz_targets::$target::check);
            }
        )*
    };
}

replayed! {
    datadog
    exposition
    grpc
    histograms
    http2
    http_response
    index
    journal
    manifest
    otlp
    otlp_json
    plan
    procfs
    remote_write
    stacks
    table
    zipkin
}

/// The folder with the seeds and the programs of the targets.
fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn replay(target: &str, check: fn(&[u8]) -> Corpus) {
    let seeds = files_of(&fuzz().join("seeds").join(target));
    assert!(!seeds.is_empty());
    for path in seeds {
        let seed = fs::read(&path).unwrap();
        let checked = catch_unwind(|| check(&seed));
        let is_sound = matches!(checked, Ok(Corpus::Keep));
        assert!(is_sound, "{}: {checked:?}", path.display());
    }
}

#[test]
fn every_target_is_replayed() {
    let stems = |folder: &str| -> BTreeSet<String> {
        let files = files_of(&fuzz().join(folder));
        let stem = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        files.iter().map(stem).collect()
    };
    let replayed: BTreeSet<String> = REPLAYED.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(stems("fuzz_targets"), replayed);
    assert_eq!(stems("seeds"), replayed);
}
