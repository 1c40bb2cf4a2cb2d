//! Bodies kept on disk for inspection: a ring of files.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::Protocol;
use crate::exchange::Form;

/// Where bodies are kept, and how many bytes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepOptions {
    /// The directory, created if missing; each arm and protocol has a subdirectory.
    pub dir: PathBuf,
    /// What the files of one subdirectory may take; the oldest are deleted.
    pub max_bytes: u64,
}

/// The files of one protocol of one arm.
#[derive(Debug)]
pub(crate) struct Keep {
    dir: PathBuf,
    protocol: Protocol,
    max_bytes: u64,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    files: VecDeque<(PathBuf, u64)>,
    bytes: u64,
    count: u64,
}

impl Keep {
    /// Creates the directory.
    pub(crate) fn new(options: &KeepOptions, arm: usize, protocol: Protocol) -> io::Result<Keep> {
        let dir = options.dir.join(format!("{arm}-{protocol}"));
        windage_files::create_dir_all(&dir)?;
        Ok(Keep {
            dir,
            protocol,
            max_bytes: options.max_bytes,
            ring: Mutex::default(),
        })
    }

    /// Keeps a decompressed body. A body that can't be written is not kept; that is no reason to
    /// refuse the delivery.
    pub(crate) fn put(&self, form: Form, body: &[u8]) {
        // The least disk space that a file takes.
        const BLOCK_BYTES: u64 = 4096;
        let bytes = (body.len() as u64).next_multiple_of(BLOCK_BYTES);
        if body.is_empty() || bytes > self.max_bytes {
            return;
        }
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        while ring.bytes + bytes > self.max_bytes {
            let Some((oldest, its_bytes)) = ring.files.pop_front() else {
                break;
            };
            let _ = fs::remove_file(oldest);
            ring.bytes -= its_bytes;
        }
        ring.count += 1;
        let path = self.file(ring.count, form);
        if windage_files::write(&path, body).is_ok() {
            ring.files.push_back((path, bytes));
            ring.bytes += bytes;
        } else {
            let _ = fs::remove_file(path);
        }
    }

    fn file(&self, count: u64, form: Form) -> PathBuf {
        let (kind, ending) = match (form, self.protocol) {
            (Form::OtlpProtobuf(signal), _) => (signal.as_str(), "pb"),
            (Form::OtlpJson(signal), _) => (signal.as_str(), "json"),
            (Form::Text, Protocol::Datadog) => ("body", "msgpack"),
            (Form::Text, Protocol::RemoteWrite) => ("series", "snappy"),
            (Form::Text, _) => ("spans", "json"),
        };
        self.dir.join(format!("{count:08}-{kind}.{ending}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;

    #[test]
    fn the_oldest_bodies_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let options = KeepOptions {
            dir: dir.path().join("kept"),
            max_bytes: 10_000,
        };
        let keep = Keep::new(&options, 3, Protocol::OtlpHttp).unwrap();
        let form = Form::OtlpProtobuf(Signal::Traces);
        keep.put(form, &[1; 10_001]);
        keep.put(form, &[]);
        for size in [5000, 30, 20] {
            keep.put(form, &vec![7; size]);
        }
        let mut names: Vec<_> = fs::read_dir(options.dir.join("3-otlp-http"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["00000002-traces.pb", "00000003-traces.pb"]);
    }
}
