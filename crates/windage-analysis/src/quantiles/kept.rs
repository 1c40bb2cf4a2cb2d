//! Stretches compared, as they are kept beside the logs that they were gathered of.

use windage_record::{KeptTimes, KeptTrack};

use super::{Finished, OfLaunches, Quantiles, Stretch, Track, asked};
use crate::gathered::Gathered;

impl Finished {
    /// What there is to be kept.
    pub(crate) fn to_kept(&self) -> KeptTimes {
        let of_track = |track: &Track| {
            let of_arm = track.ratios.iter().map(|of_launches| {
                let of_launches = of_launches.iter();
                let ratios = of_launches.map(|(launch, ratios)| (*launch, ratios.clone()));
                ratios.collect()
            });
            KeptTrack {
                quantile: track.quantile,
                ratios: of_arm.collect(),
            }
        };
        let of_arm = |times: &Gathered| times.counters().collect();
        KeptTimes {
            tracks: self.tracks.iter().map(of_track).collect(),
            whole: self.whole.iter().map(of_arm).collect(),
        }
    }

    /// What was kept; `None` if it is of other quantiles or arms, or nothing that could have been
    /// gathered.
    pub(crate) fn of_kept(
        kept: KeptTimes,
        arms: usize,
        quantiles: Quantiles,
        further: &[f64],
    ) -> Option<Finished> {
        let asked: Vec<_> = asked(quantiles, further).collect();
        if kept.tracks.len() != asked.len() || kept.whole.len() != arms {
            return None;
        }
        let tracks = kept.tracks.into_iter().zip(asked).map(|(track, asked)| {
            let (quantile, metric) = asked;
            let is_asked = track.quantile == quantile && track.ratios.len() == arms;
            let ratios = track.ratios.into_iter().map(of_launches);
            Some(Track {
                metric,
                quantile,
                gathering: Stretch::default(),
                ratios: is_asked.then(|| ratios.collect::<Option<_>>())??,
            })
        });
        let of_arm = |counters: &Vec<(u32, u64)>| Gathered::of_counters(counters);
        Some(Finished {
            tracks: tracks.collect::<Option<_>>()?,
            whole: kept.whole.iter().map(of_arm).collect::<Option<_>>()?,
        })
    }
}

/// `None` for what no log ratios are.
fn of_launches(kept: Vec<(u32, Vec<f64>)>) -> Option<OfLaunches> {
    let rise = kept.is_sorted_by(|(a, _), (b, _)| a < b);
    let some = |ratios: &Vec<f64>| !ratios.is_empty() && ratios.iter().all(|r| r.is_finite());
    let exist = kept.iter().all(|(_, ratios)| some(ratios));
    (rise && exist).then(|| kept.into_iter().collect())
}
