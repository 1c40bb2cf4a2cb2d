//! When an open load's requests start: `rate`, `profile` or `replay`, and `arrivals`.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::wire::Spanned;

use crate::load::{Arrivals, Piece, Replay, Starts};
use crate::resolve::checker::{Checker, HOUR, INSTANT};
use crate::resolve::file::MAX_DATA_BYTES;
use crate::wire::{self, Text};
use crate::{Problem, units};

/// Up to here an `f64` of seconds resolves nanoseconds, and no recording is as long.
const MAX_OFFSET_S: f64 = 100.0 * 86_400.0;
const NS_PER_S: f64 = 1e9;

/// The schedule of the starts, and their mean rate per second.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    load: &wire::Load,
    window: Option<Duration>,
) -> (Starts, Option<f64>) {
    only_one(checker, load);
    let rate_per_s = load.rate.as_ref().and_then(|text| checker.rate(text));
    if let Some(profile) = &load.profile {
        let pieces = pieces(checker, profile, window);
        let mean_per_s = mean_per_s(&pieces);
        return (Starts::Profile(pieces), Some(mean_per_s));
    }
    if let Some(path) = &load.replay {
        let (replay, mean_per_s) = replay(checker, path, window);
        return (Starts::Replay(replay), Some(mean_per_s));
    }
    (Starts::Steady, rate_per_s)
}

pub(super) fn arrivals(checker: &mut Checker<'_>, load: &wire::Load) -> Arrivals {
    if let (Some(arrivals), Some(_)) = (&load.arrivals, &load.replay) {
        let message = "`arrivals` can't be combined with `replay`";
        checker.report(
            Problem::new(arrivals.span(), message, "the file contains every start")
                .help("remove `arrivals`"),
        );
    }
    checker.word(
        "arrivals",
        load.arrivals.as_ref(),
        Arrivals::Constant,
        Arrivals::WORDS,
    )
}

fn only_one(checker: &mut Checker<'_>, load: &wire::Load) {
    let keys: [(&str, Option<Range<usize>>); 3] = [
        ("rate", load.rate.as_ref().map(Text::span)),
        ("profile", load.profile.as_ref().map(Spanned::span)),
        ("replay", load.replay.as_ref().map(Text::span)),
    ];
    let mut given = keys
        .into_iter()
        .filter_map(|(key, span)| Some((key, span?)));
    let first = given.next();
    if let (Some((first, _)), Some((second, span))) = (first, given.next()) {
        let message =
            format!("`{second}` and `{first}` can't be combined: both set when requests start");
        checker.report(
            Problem::new(span, message, format!("conflicts with `{first}`"))
                .help("keep exactly one of `rate`, `profile` and `replay`"),
        );
    }
}

fn pieces(
    checker: &mut Checker<'_>,
    profile: &Spanned<Vec<wire::Piece>>,
    window: Option<Duration>,
) -> Vec<Piece> {
    let before = checker.problems.len();
    let pieces: Vec<Piece> = profile
        .get_ref()
        .iter()
        .map(|given| piece(checker, given))
        .collect();
    if checker.problems.len() > before {
        return pieces;
    }
    if pieces.iter().all(|p| p.from_per_s + p.to_per_s <= 0.0) {
        let message = "the profile has no rate above 0/s";
        checker.report(Problem::new(profile.span(), message, "no requests").help(
            "such as profile = [{ rate = \"1000/s\", for = \"50ms\" }, { rate = \
                 \"1000/s\", to = \"5000/s\", for = \"50ms\" }]",
        ));
        return pieces;
    }
    let lasts = length(&pieces);
    if let Some(window) = window.filter(|window| *window != lasts) {
        let (lasts, window) = (units::print_duration(lasts), units::print_duration(window));
        let message = format!("the profile lasts {lasts}, but a window lasts {window}");
        checker.report(
            Problem::new(profile.span(), message, "not as long as a window").help(format!(
                "make them the same: window = \"{lasts}\" in `[design]`, or change a piece's `for`"
            )),
        );
    }
    pieces
}

fn piece(checker: &mut Checker<'_>, piece: &wire::Piece) -> Piece {
    let from_per_s = rate_or_zero(checker, &piece.rate);
    Piece {
        from_per_s,
        to_per_s: match &piece.to {
            Some(to) => rate_or_zero(checker, to),
            None => from_per_s,
        },
        lasts: checker.duration("for", Some(&piece.lasts), INSTANT, INSTANT..=HOUR),
    }
}

/// A rate of a profile, which may be zero.
fn rate_or_zero(checker: &mut Checker<'_>, text: &Text) -> f64 {
    units::parse_rate_or_zero(text.get_ref()).unwrap_or_else(|message| {
        checker.report(Problem::new(text.span(), message, "not a usable rate"));
        0.0
    })
}

fn length(pieces: &[Piece]) -> Duration {
    pieces
        .iter()
        .fold(Duration::ZERO, |sum, piece| sum.saturating_add(piece.lasts))
}

/// Starts of all pieces over their length.
fn mean_per_s(pieces: &[Piece]) -> f64 {
    let starts: f64 = pieces
        .iter()
        .map(|p| f64::midpoint(p.from_per_s, p.to_per_s) * p.lasts.as_secs_f64())
        .sum();
    starts / length(pieces).as_secs_f64()
}

fn replay(checker: &mut Checker<'_>, path: &Text, window: Option<Duration>) -> (Replay, f64) {
    let mut offsets_ns = recorded(checker, path);
    let mut mean_per_s = 0.0;
    if let (Some(offsets_ns), Some(window)) = (&mut offsets_ns, window) {
        let is_within = |at_ns: &u64| u128::from(*at_ns) < window.as_nanos();
        offsets_ns.truncate(offsets_ns.partition_point(is_within));
        mean_per_s = offsets_ns.len() as f64 / window.as_secs_f64();
        if offsets_ns.is_empty() {
            let window = units::print_duration(window);
            let message = format!("`{}` has no start within a window", path.get_ref());
            checker.report(
                Problem::new(path.span(), message, format!("a window lasts {window}"))
                    .help("let the recording begin at 0, or use a longer `window` in `[design]`"),
            );
        }
    }
    let replay = Replay {
        file: PathBuf::from(path.get_ref()),
        offsets_ns: offsets_ns.unwrap_or_default().into(),
        repeats_after: window.unwrap_or_default(),
    };
    (replay, mean_per_s)
}

fn recorded(checker: &mut Checker<'_>, path: &Text) -> Option<Vec<u64>> {
    let text = checker.file_text("recorded starts", path, MAX_DATA_BYTES)?;
    match offsets_ns(&text) {
        Ok(offsets_ns) => Some(offsets_ns),
        Err((line, why)) => {
            let message = format!("{}:{line}: {why}", path.get_ref());
            checker.report(Problem::new(path.span(), message, "in this file").help(
                "one start per line: seconds from the beginning, such as 0.0125, never \
                 decreasing",
            ));
            None
        }
    }
}

/// The starts of a recording, or the number of its first bad line and what is wrong with it. In
/// lines with commas the first value counts; a first line without a number is a heading.
fn offsets_ns(text: &str) -> Result<Vec<u64>, (usize, String)> {
    let mut offsets_ns = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let value = line.split(',').next().unwrap_or(line).trim();
        let is_heading = number == 1 && value.parse::<f64>().is_err();
        if line.trim().is_empty() || is_heading {
            continue;
        }
        let at_ns = value
            .parse::<f64>()
            .ok()
            .filter(|at_s| (0.0..=MAX_OFFSET_S).contains(at_s))
            .map(|at_s| (at_s * NS_PER_S).round() as u64)
            .ok_or_else(|| (number, format!("`{value}` is not a number of seconds")))?;
        if offsets_ns.last().is_some_and(|before| at_ns < *before) {
            let why = format!("`{value}` is earlier than the line before it");
            return Err((number, why));
        }
        offsets_ns.push(at_ns);
    }
    Ok(offsets_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_read_line_by_line() {
        let table: [(&str, Result<&[u64], usize>); 10] = [
            ("0\n0.5\n1\n", Ok(&[0, 500_000_000, 1_000_000_000])),
            ("0.000000001\r\n\n 1e-3 \n", Ok(&[1, 1_000_000])),
            ("0.1\n0.1", Ok(&[100_000_000, 100_000_000])),
            ("", Ok(&[])),
            ("seconds\n0", Ok(&[0])),
            ("at,path\n0.5,/a\n1,/b", Ok(&[500_000_000, 1_000_000_000])),
            ("0\nseconds", Err(2)),
            ("0\n-1", Err(2)),
            ("0\nnan", Err(2)),
            ("1\n\n0.5", Err(3)),
        ];
        for (text, expected) in table {
            let read = offsets_ns(text).map_err(|(line, _)| line);
            assert_eq!(read.as_deref(), expected.as_deref(), "{text:?}");
        }
    }

    #[test]
    fn the_mean_of_a_profile_weighs_pieces_by_their_length() {
        let piece = |from_per_s, to_per_s, ms| Piece {
            from_per_s,
            to_per_s,
            lasts: Duration::from_millis(ms),
        };
        let pieces = [piece(1000.0, 1000.0, 50), piece(1000.0, 5000.0, 50)];
        assert!((mean_per_s(&pieces) - 2000.0).abs() < 1e-9);
        let burst = [piece(0.0, 0.0, 75), piece(4000.0, 4000.0, 25)];
        assert!((mean_per_s(&burst) - 1000.0).abs() < 1e-9);
    }
}
