//! `[profile]`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::checker::{Checker, INSTANT};
use crate::plan::{Profile, Profiler};
use crate::wire::{PlanFile, Text};
use crate::{Problem, defaults, units};

/// The longest profile.
const LASTS: RangeInclusive<Duration> = INSTANT..=Duration::from_mins(10);
/// Above this rate the profiler costs more than the program that it samples.
const RATE_HZ: RangeInclusive<f64> = 1.0..=10_000.0;

pub(super) fn resolve(checker: &mut Checker<'_>, file: &PlanFile) -> Option<Profile> {
    let given = file.profile.as_ref()?.get_ref();
    let with = checker.word("with", Some(&given.with), Profiler::PySpy, Profiler::WORDS);
    let program = given.program.as_ref();
    if let Some(program) = program {
        checker.no_nul(program);
    }
    let lasts = given.lasts.as_ref();
    Some(Profile {
        with,
        program: program.map_or(with.as_str(), |p| p.get_ref()).to_owned(),
        lasts: checker.duration("for", lasts, defaults::PROFILED_FOR, LASTS),
        rate_hz: given
            .rate
            .as_ref()
            .map_or(defaults::PROFILE_RATE_HZ, |rate| rate_hz(checker, rate)),
    })
}

fn rate_hz(checker: &mut Checker<'_>, rate: &Text) -> u32 {
    let problem = match units::parse_rate(rate.get_ref()) {
        Ok(rate) if RATE_HZ.contains(&rate) && rate.fract() == 0.0 => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number within bounds"
            )]
            return rate as u32;
        }
        Ok(_) => Problem::new(
            rate.span(),
            "a profile's `rate` must be a whole number of samples between 1/s and 10000/s",
            "out of bounds",
        ),
        Err(message) => Problem::new(rate.span(), message, "not a rate"),
    };
    checker.report(problem);
    defaults::PROFILE_RATE_HZ
}
