//! A journal is read up to its last complete block wherever it was cut, damaged blocks are left out,
//! and nothing is accepted from a record with a wrong checksum.
//!
//! The input's first byte says what the rest is: `=` the file as it is; `+` records for which the
//! target makes the frames, so that the fuzzer gets past the checksums. Each of those begins with
//! its kind and the length of its payload, one byte each.

use std::fs;
use std::sync::OnceLock;

use crate::folder::Folder;
use crate::{Corpus, frames};
use windage_record::{Journal, RecordError, Recorded};

static FOLDER: OnceLock<Folder> = OnceLock::new();

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let file = match input.split_first() {
        Some((b'=', file)) => file.to_vec(),
        Some((b'+', records)) => frames::file_of(records),
        _ => return Corpus::Reject,
    };
    let folder = FOLDER.get_or_init(Folder::new);
    let path = folder.run.path().join("journal.bin");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a written journal");
        Journal::read(&folder.run)
    };
    let recorded = match read(&file) {
        Ok(recorded) => recorded,
        Err(error) => {
            // Otherwise the frames would never be read.
            let is_other = matches!(error, RecordError::OtherFormat { .. });
            assert!(input[0] == b'=' || !is_other, "{error}");
            // Errors are shown to people and contain parts of the input.
            return Corpus::Keep;
        }
    };
    let kept = kept_bytes(&file, &recorded);
    assert!(
        frames::is_end(&file, kept),
        "kept up to {kept}, where no complete record ends: {:?}",
        recorded.cut
    );
    let again = read(&file[..kept]).expect("a readable journal");
    // Compared as text: evidence may be NaN, which equals nothing.
    let same = format!("{:?}", again.entries) == format!("{:?}", recorded.entries);
    assert!(same, "the kept part reads differently");
    assert_eq!((again.cut, again.ending), (None, recorded.ending));
    assert_eq!(again.losses, recorded.losses);
    Corpus::Keep
}

fn kept_bytes(file: &[u8], recorded: &Recorded) -> usize {
    let Some(cut) = recorded.cut else {
        return file.len();
    };
    assert!(cut.bytes > 0, "an empty cut");
    assert_eq!(cut.at_byte + cut.bytes, file.len() as u64, "{cut:?}");
    usize::try_from(cut.at_byte).expect("a place in the file")
}
