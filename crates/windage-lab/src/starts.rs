//! Converts the plan's load to the generator's schedule.

use std::sync::Arc;
use std::time::Duration;

use windage_load::{Piece, Profile, ProfileError, Rhythm, Schedule, TurnRhythm};
use windage_model::LoadModel;
use windage_plan::{Arrivals, Load};

use crate::LabError;

/// The most pieces or recorded starts in one stretch of load. Only a warm-up repeats so often, and
/// it is warm long before.
const REPEATED_MAX: usize = 4_000_000;

/// How the starts of a load follow one another, in every stretch of it.
#[derive(Debug)]
pub(crate) struct Starts {
    kind: Kind,
    arrivals: Arrivals,
}

#[derive(Debug)]
enum Kind {
    Closed,
    Steady {
        rate_per_s: f64,
    },
    Profile(Vec<Piece>),
    Replay {
        offsets_ns: Arc<[u64]>,
        every: Duration,
    },
}

impl Starts {
    pub(crate) fn new(load: &Load) -> Starts {
        let kind = match (&load.starts, load.model) {
            (_, LoadModel::Closed | LoadModel::Batch) => Kind::Closed,
            (windage_plan::Starts::Steady, LoadModel::Open) => Kind::Steady {
                rate_per_s: load.rate_per_s.unwrap_or(0.0),
            },
            (windage_plan::Starts::Profile(pieces), LoadModel::Open) => {
                Kind::Profile(pieces.iter().map(piece).collect())
            }
            (windage_plan::Starts::Replay(replay), LoadModel::Open) => Kind::Replay {
                offsets_ns: Arc::clone(&replay.offsets_ns),
                every: replay.repeats_after,
            },
        };
        Starts {
            kind,
            arrivals: load.arrivals,
        }
    }

    /// The rhythm of a stretch. Profiles and recordings start at its beginning, and repeat if the
    /// stretch is longer; `seed` draws random arrivals.
    pub(crate) fn rhythm(&self, lasts: Duration, seed: u64) -> Result<Rhythm, LabError> {
        let is_random = self.arrivals == Arrivals::Poisson;
        let schedule = match &self.kind {
            Kind::Closed => return Ok(Rhythm::Closed { lasts }),
            Kind::Steady { rate_per_s } if is_random => Schedule::poisson(*rate_per_s, seed),
            Kind::Steady { rate_per_s } => Schedule::constant(*rate_per_s),
            Kind::Profile(pieces) => {
                let profile = repeated_pieces(pieces, lasts)
                    .map_err(|why| LabError::Unsupported(format!("`load.profile`: {why}")))?;
                if is_random {
                    Schedule::poisson_profile(&profile, seed)
                } else {
                    Schedule::profile(&profile)
                }
            }
            Kind::Replay { offsets_ns, every } => {
                Schedule::replay(repeated_offsets(offsets_ns, *every, lasts))
                    .map_err(|why| LabError::Unsupported(format!("`load.replay`: {why}")))?
            }
        };
        Ok(Rhythm::Open { schedule, lasts })
    }

    /// The same for arms that take turns: their number, not the time, ends it.
    pub(crate) fn turn_rhythm(&self, lasts: Duration, seed: u64) -> Result<TurnRhythm, LabError> {
        // Profiles and recordings must not end before the last turn.
        let rhythm = self.rhythm(lasts.saturating_mul(2), seed)?;
        Ok(match rhythm {
            Rhythm::Closed { .. } => TurnRhythm::Closed,
            Rhythm::Open { schedule, .. } => TurnRhythm::Open { schedule },
        })
    }
}

fn piece(planned: &windage_plan::Piece) -> Piece {
    Piece {
        from_per_s: planned.from_per_s,
        to_per_s: planned.to_per_s,
        lasts: planned.lasts,
    }
}

fn repeated_pieces(pieces: &[Piece], lasts: Duration) -> Result<Profile, ProfileError> {
    let every = pieces.iter().map(|piece| piece.lasts).sum();
    Profile::new(&pieces.repeat(times(every, lasts, pieces.len())))
}

/// The recording itself if it is long enough; it is shared, not copied.
fn repeated_offsets(offsets_ns: &Arc<[u64]>, every: Duration, lasts: Duration) -> Arc<[u64]> {
    let times = times(every, lasts, offsets_ns.len());
    if times == 1 {
        return Arc::clone(offsets_ns);
    }
    let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    (0..times as u64)
        .flat_map(|time| {
            let from_ns = time.saturating_mul(every_ns);
            offsets_ns
                .iter()
                .map(move |at_ns| from_ns.saturating_add(*at_ns))
        })
        .collect()
}

/// How often `items` that take `every` are needed for `lasts`.
fn times(every: Duration, lasts: Duration, items: usize) -> usize {
    let needed = lasts.as_nanos().div_ceil(every.as_nanos().max(1));
    let most = REPEATED_MAX / items.max(1);
    usize::try_from(needed)
        .unwrap_or(usize::MAX)
        .min(most)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use windage_plan::{Plan, Replay};

    const MS: Duration = Duration::from_millis(1);

    fn load(starts: &str) -> Load {
        let text = format!(
            "name = \"t\"\n[[service]]\nname = \"app\"\ncommand = [\"x\", \"{{listen}}\"]\n\
             [load]\n{starts}\nrequest = \"GET http://{{app}}/\"\n\
             [[arm]]\nname = \"off\"\nbaseline = true\n[design]\nwindow = \"10ms\"\n"
        );
        Plan::parse(&text, "t.toml", Path::new("/"))
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
            .load
    }

    /// Starts within the stretch, as the generator uses them.
    fn starts_ns(load: &Load, lasts: Duration, seed: u64) -> Vec<u64> {
        match Starts::new(load).rhythm(lasts, seed).unwrap() {
            Rhythm::Closed { .. } => panic!("an open load"),
            Rhythm::Open { schedule, lasts } => schedule
                .take_while(|at_ns| u128::from(*at_ns) < lasts.as_nanos())
                .collect(),
        }
    }

    #[test]
    fn a_closed_load_has_no_schedule() {
        let starts = Starts::new(&load("model = \"closed\""));
        let rhythm = starts.rhythm(MS, 1).unwrap();
        assert!(matches!(rhythm, Rhythm::Closed { lasts } if lasts == MS));
    }

    #[test]
    fn a_rate_is_kept_for_as_long_as_is_asked() {
        let constant = load("model = \"open\"\nrate = \"2000/s\"");
        assert_eq!(starts_ns(&constant, MS, 1), [0, 500_000]);
        let poisson = load("model = \"open\"\nrate = \"2000/s\"\narrivals = \"poisson\"");
        let drawn = |seed| starts_ns(&poisson, 100 * MS, seed);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn a_profile_repeats_in_a_longer_stretch() {
        let profile = load(
            "model = \"open\"\nprofile = [{ rate = \"1000/s\", for = \"4ms\" }, \
             { rate = \"0/s\", for = \"6ms\" }]",
        );
        let ms = |list: &[u64]| list.iter().map(|ms| ms * 1_000_000).collect::<Vec<_>>();
        let table: [(u32, &[u64]); 4] = [
            (2, &[0, 1]),
            (10, &[0, 1, 2, 3]),
            (12, &[0, 1, 2, 3, 10, 11]),
            (24, &[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]),
        ];
        for (lasts_ms, expected) in table {
            assert_eq!(
                starts_ns(&profile, lasts_ms * MS, 1),
                ms(expected),
                "{lasts_ms} ms"
            );
        }
    }

    #[test]
    fn a_recording_repeats_in_a_longer_stretch() {
        let mut recorded = load("model = \"open\"\nrate = \"1/s\"");
        recorded.starts = windage_plan::Starts::Replay(Replay {
            file: PathBuf::from("arrivals.csv"),
            offsets_ns: Arc::from([1, 3]),
            repeats_after: Duration::from_nanos(10),
        });
        let nanos = Duration::from_nanos;
        assert_eq!(starts_ns(&recorded, nanos(10), 1), [1, 3]);
        assert_eq!(starts_ns(&recorded, nanos(2), 1), [1]);
        assert_eq!(starts_ns(&recorded, nanos(22), 1), [1, 3, 11, 13, 21]);
    }

    #[test]
    fn turns_have_starts_for_twice_as_long_as_expected() {
        let turn_starts_ms =
            |load: &Load, lasts: Duration| match Starts::new(load).turn_rhythm(lasts, 1).unwrap() {
                TurnRhythm::Closed => None,
                TurnRhythm::Open { schedule } => {
                    let starts_ms = schedule.map(|at_ns| at_ns / 1_000_000);
                    // A steady rate has no end.
                    Some(Vec::from_iter(starts_ms.take(6)))
                }
            };
        let profile = "profile = [{ rate = \"1000/s\", for = \"2ms\" }, \
                       { rate = \"0/s\", for = \"8ms\" }]";
        type Row = (&'static str, u32, Option<&'static [u64]>, &'static str);
        let table: [Row; 5] = [
            (
                "model = \"closed\"",
                10,
                None,
                "each answer starts the next",
            ),
            (
                "model = \"open\"\nrate = \"1000/s\"",
                2,
                Some(&[0, 1, 2, 3, 4, 5]),
                "a steady rate goes on",
            ),
            (
                "model = \"open\"\nPROFILE",
                5,
                Some(&[0, 1]),
                "once through the profile",
            ),
            (
                "model = \"open\"\nPROFILE",
                10,
                Some(&[0, 1, 10, 11]),
                "a slow block finds more starts",
            ),
            (
                "model = \"open\"\nPROFILE",
                15,
                Some(&[0, 1, 10, 11, 20, 21]),
                "and a longer one as well",
            ),
        ];
        for (starts, lasts_ms, expected, why) in table {
            let load = load(&starts.replace("PROFILE", profile));
            let found = turn_starts_ms(&load, lasts_ms * MS);
            assert_eq!(found.as_deref(), expected, "{why}");
        }
    }

    #[test]
    fn repeats_are_bounded() {
        assert_eq!(times(MS, Duration::from_secs(1), 10), 1000);
        assert_eq!(times(MS, Duration::ZERO, 10), 1);
        assert_eq!(times(Duration::ZERO, MS, 10), 400_000);
        let day = Duration::from_secs(86_400);
        assert_eq!(
            times(Duration::from_nanos(1), day, 1000),
            REPEATED_MAX / 1000
        );
        assert_eq!(times(MS, day, 2 * REPEATED_MAX), 1, "once in any case");
    }
}
