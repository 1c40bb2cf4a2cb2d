//! A histogram log is read to its end whatever its lines hold, and yields counts at rising times.
//!
//! The input's first byte says what the rest is: `=` the log as it is; `+` an uncompressed
//! histogram without its cookie and length, from which the target makes the line, so that the
//! fuzzer gets past compression and base64.

use std::fs;
use std::io::Write;
use std::sync::OnceLock;

use crate::folder::Folder;
use crate::{Corpus, frames};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::{Compression, write::ZlibEncoder};
use windage_record::{Timing, read_histograms};

const PLAIN_COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// What precedes the counts, without cookie and length.
const HEADER_BYTES: usize = 32;

static FOLDER: OnceLock<Folder> = OnceLock::new();

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let log = match input.split_first() {
        Some((b'=', log)) => log.to_vec(),
        Some((b'+', histogram)) if histogram.len() >= HEADER_BYTES => line_of(histogram),
        _ => return Corpus::Reject,
    };
    let folder = FOLDER.get_or_init(|| {
        let folder = Folder::new();
        let journal = frames::file_of(&frames::MARK);
        fs::write(folder.run.path().join("journal.bin"), journal).expect("a written journal");
        folder
    });
    let path = folder.run.path().join(Timing::ResponseTime.file_name());
    fs::write(path, &log).expect("a written log");
    let lines = log.iter().filter(|&&byte| byte == b'\n').count();

    let intervals = read_histograms(&folder.run, Timing::ResponseTime).expect("an open log");
    let mut found = 0;
    for interval in intervals {
        found += 1;
        let Ok((tag, times)) = interval else {
            continue;
        };
        assert!(!tag.arm.is_empty());
        let counts = times.counts();
        assert!(counts.is_sorted_by(|a, b| a.ns < b.ns), "{counts:?}");
        let sum: u64 = counts.iter().map(|counted| counted.count).sum();
        assert_eq!(sum, times.len());
    }
    assert!(found <= lines, "{found} intervals on {lines} lines");
    Corpus::Keep
}

fn line_of(histogram: &[u8]) -> Vec<u8> {
    let mut plain = PLAIN_COOKIE.to_be_bytes().to_vec();
    plain.extend(length_of(&histogram[HEADER_BYTES..]));
    plain.extend(histogram);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let body = encoder
        .write_all(&plain)
        .and_then(|()| encoder.finish())
        .expect("writing to memory");

    let mut packed = COMPRESSED_COOKIE.to_be_bytes().to_vec();
    packed.extend(length_of(&body));
    packed.extend(body);
    format!(
        "Tag=off.0.0.0,3.000,0.100,2.000,{}\n",
        BASE64.encode(packed)
    )
    .into_bytes()
}

fn length_of(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len())
        .expect("a short input")
        .to_be_bytes()
}
