//! The generator's own CPU as a control variate: noise that it has met as well is taken out.
//!
//! The generator does the same work for every arm, next to the subject and at the same time, so
//! that it meets much of the same noise. But an arm may change what the generator pays (a header,
//! a packet, a probe on the socket), and no run can show by itself that it does not: the plan has
//! to say by how much at most (`design.generator_moved_at_most`), and that stands in the interval.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Metric, Order};
use windage_record::Manifest;
use windage_stats::{
    Adjusted, Confidence, Independence, Paired, TwoLevel, TwoLevelError, admit, two_level,
};

use crate::analyse::Run;
use crate::blocks::Reading;
use crate::compare::{Comparison, Ratios, launches, log_ratio};
use crate::conclude::interval;
use crate::windows::Windows;
use crate::{CovariateUse, Gain};

/// Bytes of a request that differ by less are the same work for the generator.
const SAME_WORK: f64 = 0.001;

impl Run<'_> {
    /// The comparison with the generator's share of the noise taken out, where the plan allows it
    /// and nothing speaks against it; else as it was.
    pub(crate) fn with_covariate(
        &self,
        plain: Comparison,
        arm: ArmIndex,
        reading: Reading,
        offset: impl Fn(u32) -> f64,
    ) -> Comparison {
        let bound = self.rules.generator_moved_at_most;
        let Some(share) = bound.filter(|_| can_ask(&self.records.manifest, arm)) else {
            return plain;
        };
        let of_launches = self.paired(arm, reading);
        let independence = Independence {
            equal_work: equal_work(&self.records.windows, arm),
            // Downwards a share is the longer way: ln(1 − s) is farther from nil than ln(1 + s).
            moved_at_most: -(-share).ln_1p(),
        };
        let pairs: Vec<Vec<Paired>> = of_launches.values().cloned().collect();
        let admitted = admit(&pairs, independence);
        let outcome = admitted.map(|adjusted| {
            let numbers = of_launches.into_keys();
            let ratios: Ratios = numbers.zip(adjusted.launches.iter().cloned()).collect();
            (launches(&ratios, offset), adjusted)
        });
        match outcome {
            Err(refused) => Comparison {
                covariate: Some(CovariateUse {
                    of: Metric::GeneratorCpuPerRequest,
                    outcome: Err(refused),
                }),
                ..plain
            },
            Ok((launches, adjusted)) => {
                let location = two_level(&launches).map(|mut location| {
                    location.allowance = adjusted.allowance;
                    location
                });
                Comparison {
                    covariate: self.gain(&plain, &location, &adjusted),
                    location,
                    ..plain
                }
            }
        }
    }

    fn paired(&self, arm: ArmIndex, reading: Reading) -> BTreeMap<u32, Vec<Paired>> {
        let mut pairs: BTreeMap<u32, Vec<Paired>> = BTreeMap::new();
        for half in self.blocks.halves(arm) {
            let of = |reading| log_ratio(&half, reading).unwrap_or(f64::NAN);
            pairs.entry(half.launch).or_default().push(Paired {
                value: of(reading),
                covariate: of(Reading::GeneratorCpuUs),
            });
        }
        pairs
    }

    fn gain(
        &self,
        plain: &Comparison,
        location: &Result<TwoLevel, TwoLevelError>,
        adjusted: &Adjusted,
    ) -> Option<CovariateUse> {
        let at_95 = |location| interval(location, Confidence::P95, self.rules);
        let without = at_95(plain.location.as_ref().ok()?)?;
        let with = at_95(location.as_ref().ok()?)?;
        Some(CovariateUse {
            of: Metric::GeneratorCpuPerRequest,
            outcome: Ok(Gain {
                correlation: adjusted.correlation,
                coefficient: adjusted.coefficient,
                narrower: 1.0 - with.half_width() / without.half_width(),
                shift: adjusted.shift,
                without: without.map(f64::exp_m1),
            }),
        })
    }
}

/// The baseline has nothing to compare, and sequential windows have no pairs.
fn can_ask(manifest: &Manifest, arm: ArmIndex) -> bool {
    arm != ArmIndex::BASELINE && manifest.design.order == Order::Mirrored
}

/// Whether a request is as many bytes for the arm as for the baseline, either way.
fn equal_work(windows: &Windows, arm: ArmIndex) -> bool {
    let of_a_request = |of: ArmIndex| {
        let exchanges = &windows.arms.get(of.get())?.load.exchanges;
        let (sent, completed) = (exchanges.sent as f64, exchanges.completed as f64);
        let bytes = [
            exchanges.sent_bytes as f64 / sent,
            exchanges.received_bytes as f64 / completed,
        ];
        bytes.iter().all(|b| b.is_finite()).then_some(bytes)
    };
    let both = of_a_request(arm).zip(of_a_request(ArmIndex::BASELINE));
    both.is_some_and(|(arm, baseline)| {
        let mut sides = arm.into_iter().zip(baseline);
        sides.all(|(arm, baseline)| (arm - baseline).abs() <= SAME_WORK * baseline)
    })
}
