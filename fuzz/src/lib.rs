//! The checks of `windage-fuzz-targets` as programs of libFuzzer.

/// The program of the target with that name.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| -> libfuzzer_sys::Corpus {
            $crate::worth(windage_fuzz_targets::$name::check(input))
        });
    };
}

/// A check's result, as libFuzzer has it.
#[must_use]
pub fn worth(checked: windage_fuzz_targets::Corpus) -> libfuzzer_sys::Corpus {
    match checked {
        windage_fuzz_targets::Corpus::Keep => libfuzzer_sys::Corpus::Keep,
        windage_fuzz_targets::Corpus::Reject => libfuzzer_sys::Corpus::Reject,
    }
}
