//! Whatever stands in the file of what was kept of histograms, a report is made; what is taken from
//! it reads the same when it is kept again.
//!
//! The input's first byte says what the rest is: `=` the file as it is, `+` the times in it, for
//! which this makes all before and the checksum, so that the fuzzer gets behind them.

#![no_main]

use std::fs;
use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use windage_fuzz::kept::KeptRun;

static RECORDED: OnceLock<KeptRun> = OnceLock::new();

fuzz_target!(|input: &[u8]| -> Corpus {
    let recorded = RECORDED.get_or_init(KeptRun::new);
    let file = match input.split_first() {
        Some((b'=', file)) => file.to_vec(),
        Some((b'+', times)) => recorded.file_of(times),
        _ => return Corpus::Reject,
    };
    fs::write(recorded.path(), file).expect("a file is written");
    let run = recorded.run();
    let Some(kept) = run.kept() else {
        return Corpus::Keep;
    };
    let detailed = windage_analysis::detailed(run).expect("the run is sound");
    assert_eq!(detailed.analysis.arms.len(), run.manifest().arms.len());
    // Shown, not compared: ratios may be NaN, which equals nothing.
    let shown = format!("{kept:?}");
    run.keep(kept).expect("what was read can be kept");
    let again = run.kept().expect("what was kept is read again");
    assert!(format!("{again:?}") == shown, "it reads differently");
    Corpus::Keep
});
