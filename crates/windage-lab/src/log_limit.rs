//! Keeps the logs of services below a size.
//!
//! Services write into their logs directly: a pipe through Windage would cost CPU on the measured
//! machine, and a full one would stop the service. So logs are looked at between blocks. Of one that
//! is too long, the first half and the last lines stay. The service notices nothing, because its log
//! is open to append to: it goes on at the new end. A program that opens its log once more, other than
//! to append to, goes on at its old place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use windage_model::{ArmId, Warning};
use windage_plan::LOG_BYTES_MAX;

use crate::instance::services_of;
use crate::process_set::Instance;
use crate::rig::Setting;

/// The line in place of what was left out.
pub(crate) const LEFT_OUT: &str =
    "[windage: the middle of this log was left out, because the log was too long]";
/// How much of a log's end stays.
const LAST_BYTES: u64 = 64 << 10;

/// What was left out of the logs of a launch, by service.
#[derive(Debug, Default)]
pub(crate) struct LogLimit(BTreeMap<String, LeftOut>);

#[derive(Debug, Default)]
struct LeftOut {
    /// In the order of the plan; empty for a service that all arms share.
    arms: BTreeSet<usize>,
    bytes: u64,
}

impl LogLimit {
    /// Shortens the logs of a set of processes that have become too long.
    pub(crate) fn look(&mut self, setting: &Setting<'_>, launch: u32, instance: &Instance) {
        for service in services_of(
            setting.plan,
            instance.part(),
            instance.arms.first().copied(),
        ) {
            let name = service.name.as_str();
            let log = setting.run.log_path(launch, &instance.name, name);
            // A service that is attached has no log. If a log can't be shortened, the run is in no
            // danger: there is a check of the free disk before every round.
            let left_out = shorten(&log, LOG_BYTES_MAX).unwrap_or(0);
            if left_out > 0 {
                let of_service = self.0.entry(name.to_owned()).or_default();
                of_service.bytes += left_out;
                of_service
                    .arms
                    .extend(instance.arms.iter().map(|arm| arm.get()));
            }
        }
    }

    /// One warning for each service whose logs were shortened.
    pub(crate) fn warnings(self, arms: &[ArmId]) -> impl Iterator<Item = Warning> {
        self.0.into_iter().map(|(service, left_out)| {
            let ids = left_out.arms.iter().filter_map(|arm| arms.get(*arm));
            Warning::LogCut {
                service,
                arms: ids.map(ToString::to_string).collect(),
                left_out_bytes: left_out.bytes,
                limit_bytes: LOG_BYTES_MAX,
            }
        })
    }
}

/// Leaves out the middle of a log that is longer than `bytes_max`; returns how many bytes.
fn shorten(log: &Path, bytes_max: u64) -> io::Result<u64> {
    if fs::symlink_metadata(log)?.len() <= bytes_max {
        return Ok(0);
    }
    let mut file = windage_files::append(log)?;
    let length = file.metadata()?.len();
    let last = last_lines(log, length, LAST_BYTES.min(bytes_max / 4))?;
    let first_bytes = bytes_max / 2;
    file.set_len(first_bytes)?;
    // What the service writes meanwhile may be lost: a log without end is not exact anyway.
    file.write_all(&[b"\n", LEFT_OUT.as_bytes(), b"\n", &last].concat())?;
    Ok(length - first_bytes - last.len() as u64)
}

/// The whole lines among the last bytes of a log.
fn last_lines(log: &Path, length: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = windage_files::open(log)?;
    file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
    let mut last = Vec::new();
    file.take(bytes).read_to_end(&mut last)?;
    let begin = last.iter().position(|byte| *byte == b'\n');
    Ok(last.split_off(begin.map_or(0, |at| at + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 4000;

    #[test]
    fn a_long_log_keeps_its_first_half_and_its_last_lines() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut service = windage_files::append(&log).unwrap();
        let mut line = 0;
        let mut written = String::new();
        let mut write = |until_bytes: usize, written: &mut String| {
            let mut more = String::new();
            while written.len() + more.len() < until_bytes {
                more += &format!("line {line}\n");
                line += 1;
            }
            service.write_all(more.as_bytes()).unwrap();
            *written += &more;
        };
        write(3990, &mut written);
        assert_eq!(shorten(&log, MAX).unwrap(), 0, "short enough");
        assert_eq!(windage_files::read_to_string(&log).unwrap(), written);
        for longer in [10_000, 20_000] {
            write(longer, &mut written);
            let before = windage_files::read(&log).unwrap();
            let left_out = shorten(&log, MAX).unwrap();
            let after = windage_files::read_to_string(&log).unwrap();
            assert!(after.len() as u64 <= MAX, "{}", after.len());
            let (first, last) = after.split_once(&format!("\n{LEFT_OUT}\n")).unwrap();
            assert!(!last.contains(LEFT_OUT), "once is enough");
            assert!(written.starts_with(first) && first.len() == 2000);
            assert!(last.starts_with("line ") && written.ends_with(last));
            assert!((900..=1000).contains(&last.len()), "{}", last.len());
            assert_eq!(left_out as usize, before.len() - first.len() - last.len());
        }
        write(20_010, &mut written);
        let after = windage_files::read_to_string(&log).unwrap();
        let end = &written[written.len() - 900..];
        assert!(after.ends_with(end), "the service goes on at the new end");
    }

    #[test]
    fn one_line_without_an_end_is_shortened_too() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::write(&log, "x".repeat(10_000)).unwrap();
        assert_eq!(shorten(&log, MAX).unwrap(), 10_000 - 2000 - 1000);
        let missing = shorten(&dir.path().join("missing"), MAX).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(!dir.path().join("missing").exists());
    }
}
