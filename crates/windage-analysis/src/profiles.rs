//! Where the CPU time goes: profiles of the arms, compared with the baseline.

use windage_model::{ArmId, Interval, LoadModel, Method, Metric, Role};
use windage_profile::{Added, ArmProfile as Weighed, CONFIDENCE, FunctionCost, Stacks, added};
use windage_record::{ProfileFailure, RecordedProfile};

use crate::{Analysis, ArmAnalysis};

/// How many functions of an arm are kept; its stacks have all of them.
const FUNCTIONS: usize = 25;

/// The profile of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmProfile {
    /// How it was recorded. Its stacks are in `outcome`.
    pub taken: RecordedProfile,
    /// The profile, or why there is none.
    pub outcome: Result<Sampled, ProfileFailure>,
}

impl ArmProfile {
    /// The arm.
    #[must_use]
    pub fn arm(&self) -> &ArmId {
        &self.taken.arm
    }
}

/// The results of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Stacks, and the CPU per iteration (request) that they divide up: as measured, with its
    /// interval; where nothing was measured, as during profiling.
    pub profile: Weighed,
    /// Whether that CPU is the measured one.
    pub is_scale_measured: bool,
    /// CPU per iteration (request) during profiling, in microseconds.
    pub profiled_cpu_us: f64,
    /// How long the arm had load during profiling, in seconds.
    pub lasts_s: f64,
    /// Iterations or requests completed during profiling.
    pub iterations: u64,
    /// What the arm adds to the baseline, in the order of [`windage_profile::added`]. Empty for the
    /// baseline, and where the baseline has no profile.
    pub functions: Vec<FunctionCost>,
    /// In how many functions the arm spends more than sampling explains, those that were not kept
    /// included.
    pub functions_added: usize,
    /// How many functions there are in either profile, including those in `functions`.
    pub functions_compared: usize,
}

/// The interval of what is added in a function.
#[must_use]
pub fn interval(added: &Added) -> Interval {
    Interval {
        estimate: added.us(),
        low: added.us() - added.half_width_us,
        high: added.us() + added.half_width_us,
        confidence: CONFIDENCE,
        method: Method::Binomial,
    }
}

/// The profiles of an analysis's arms under its load, in the order of the arms.
pub(crate) fn of_load(analysis: &Analysis, recorded: &[RecordedProfile]) -> Vec<ArmProfile> {
    let under_load = recorded.iter().filter(|one| one.regime == analysis.regime);
    let taken: Vec<(&ArmAnalysis, &RecordedProfile)> = analysis
        .arms
        .iter()
        .filter_map(|arm| Some((arm, under_load.clone().find(|one| one.arm == arm.id)?)))
        .collect();
    let mut profiles: Vec<ArmProfile> = taken
        .iter()
        .map(|(_, taken)| ArmProfile {
            taken: without_stacks(taken),
            outcome: sampled(taken),
        })
        .collect();
    let baseline = taken.iter().position(|(arm, _)| arm.role == Role::Baseline);
    let Some(baseline) = baseline.filter(|at| profiles[*at].outcome.is_ok()) else {
        return profiles;
    };
    scale_by_measured(analysis, &taken, &mut profiles);
    let against = profiles[baseline].outcome.clone();
    let others = profiles
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| *i != baseline);
    for (_, profile) in others {
        if let (Ok(sampled), Ok(against)) = (&mut profile.outcome, &against) {
            sampled.functions = added(&sampled.profile, &against.profile);
            let functions = sampled.functions.iter();
            sampled.functions_added = functions.filter(|cost| cost.is_added()).count();
            sampled.functions_compared = sampled.functions.len();
            sampled.functions.truncate(FUNCTIONS);
        }
    }
    profiles
}

/// Scales samples to the measured CPU, where it was measured for every arm: in windows no profiler
/// paused the program, and there were many launches.
fn scale_by_measured(
    analysis: &Analysis,
    taken: &[(&ArmAnalysis, &RecordedProfile)],
    profiles: &mut [ArmProfile],
) {
    let cpu = match analysis.design.load {
        LoadModel::Batch => Metric::CpuPerIteration,
        LoadModel::Closed | LoadModel::Open => Metric::CpuPerRequest,
    };
    let baseline_us = analysis.baseline().and_then(|baseline| {
        let of_cpu = baseline.metrics.get(&cpu)?;
        of_cpu.arm.or(of_cpu.baseline)
    });
    let measured = |arm: &ArmAnalysis| {
        if arm.role == Role::Baseline {
            return Some((baseline_us?, 0.0));
        }
        let difference = arm.metrics.get(&cpu)?.difference.as_ref().ok()?;
        let more = &difference.absolute;
        Some((baseline_us? + more.estimate, more.half_width()))
    };
    let all: Option<Vec<_>> = taken.iter().map(|(arm, _)| measured(arm)).collect();
    let is_sound =
        |(us, half_width): &(f64, f64)| *us > 0.0 && us.is_finite() && half_width.is_finite();
    let Some(all) = all.filter(|all| all.iter().all(is_sound)) else {
        return;
    };
    for (profile, (cpu_us, cpu_half_width_us)) in profiles.iter_mut().zip(all) {
        if let Ok(sampled) = &mut profile.outcome {
            sampled.profile.cpu_us = cpu_us;
            sampled.profile.cpu_half_width_us = cpu_half_width_us;
            sampled.is_scale_measured = true;
        }
    }
}

/// The results of a profile, or why there are none.
fn sampled(taken: &RecordedProfile) -> Result<Sampled, ProfileFailure> {
    let profiled = taken.outcome.as_ref().map_err(Clone::clone)?;
    let failed = |text: &str, remedy: &str| ProfileFailure {
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    };
    let stacks = Stacks::of_text(&profiled.collapsed);
    if stacks.samples() == 0 {
        let remedy = "profile for longer or at a higher rate: `profile.for`, `profile.rate`";
        return Err(failed("no sample was taken", remedy));
    }
    if profiled.iterations == 0 {
        let remedy = "profile for longer: `profile.for`";
        return Err(failed(
            "nothing was completed while it was profiled",
            remedy,
        ));
    }
    let Some(cpu_ns) = profiled.cpu_ns else {
        let remedy = "let windage launch the service";
        return Err(failed("the arm's CPU is not counted", remedy));
    };
    let cpu_us = cpu_ns as f64 / 1e3 / profiled.iterations as f64;
    Ok(Sampled {
        profile: Weighed {
            stacks,
            cpu_us,
            cpu_half_width_us: 0.0,
        },
        is_scale_measured: false,
        profiled_cpu_us: cpu_us,
        lasts_s: profiled.lasts_ns as f64 / 1e9,
        iterations: profiled.iterations,
        functions: Vec::new(),
        functions_added: 0,
        functions_compared: 0,
    })
}

/// The record without its stacks' text, which is kept as parsed stacks.
fn without_stacks(taken: &RecordedProfile) -> RecordedProfile {
    let mut taken = taken.clone();
    if let Ok(profiled) = &mut taken.outcome {
        profiled.collapsed = String::new();
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixture::records;
    use windage_record::Profiled;

    fn taken(arm: &str, collapsed: &str, iterations: u64, cpu_ns: Option<u64>) -> RecordedProfile {
        RecordedProfile {
            regime: None,
            arm: ArmId::from_text(arm).unwrap(),
            profiler: "perf".to_owned(),
            version: None,
            rate_hz: 250,
            outcome: Ok(Profiled {
                lasts_ns: 2_000_000_000,
                iterations,
                cpu_ns,
                collapsed: collapsed.to_owned(),
                ..Profiled::default()
            }),
        }
    }

    fn analysis() -> Analysis {
        let records = records(2).gathered();
        analyse(&records, std::iter::empty(), std::iter::empty())
    }

    /// An analysis in which nothing was measured.
    fn unmeasured() -> Analysis {
        let mut analysis = analysis();
        analysis.arms.iter_mut().for_each(|arm| arm.metrics.clear());
        analysis
    }

    fn ids(analysis: &Analysis) -> [String; 3] {
        [0, 1, 2].map(|index: usize| analysis.arms[index].id.to_string())
    }

    #[test]
    fn arms_are_compared_with_the_baseline() {
        let analysis = unmeasured();
        let [baseline, control, treatment] = ids(&analysis);
        let recorded = [
            taken(
                &treatment,
                "main;work 500\nmain;span 500\n",
                1000,
                Some(80_000_000),
            ),
            taken(&baseline, "main;work 1000\n", 1000, Some(40_000_000)),
            RecordedProfile {
                regime: Some("another load".to_owned()),
                ..taken(&control, "main 1\n", 1, Some(1))
            },
        ];
        let [of_baseline, of_treatment] = &of_load(&analysis, &recorded)[..] else {
            panic!("two arms have a profile under this load")
        };
        let of_baseline = of_baseline.outcome.as_ref().unwrap();
        assert_eq!(of_baseline.profile.cpu_us, 40.0);
        assert!(
            of_baseline.functions.is_empty(),
            "the baseline is not compared with itself"
        );
        assert_eq!(of_treatment.arm().as_str(), treatment);
        let sampled = of_treatment.outcome.as_ref().unwrap();
        assert_eq!((sampled.profile.cpu_us, sampled.lasts_s), (80.0, 2.0));
        assert_eq!(sampled.functions_compared, 3);
        assert_eq!(sampled.functions[0].function, "span");
        let of_span = interval(&sampled.functions[0].itself);
        assert_eq!(of_span.estimate, 40.0);
        assert!(
            of_span.excludes_zero() && of_span.high < 45.0,
            "{of_span:?}"
        );
    }

    #[test]
    fn samples_are_scaled_to_the_measured_cpu() {
        let analysis = analysis();
        let [baseline, _, treatment] = ids(&analysis);
        let recorded = [
            taken(&baseline, "main;work 10000\n", 1, Some(1_000)),
            taken(
                &treatment,
                "main;work 9000\nmain;span 1000\n",
                1,
                Some(99_000),
            ),
        ];
        let profiles = of_load(&analysis, &recorded);
        let of = |index: usize| profiles[index].outcome.as_ref().unwrap();
        assert!(of(0).is_scale_measured && of(1).is_scale_measured);
        assert_eq!((of(0).profiled_cpu_us, of(1).profiled_cpu_us), (1.0, 99.0));
        let primary = &analysis.arms[2].metrics[&analysis.primary];
        let measured = &primary.difference.as_ref().unwrap().absolute;
        let functions = &of(1).functions;
        let whole = functions
            .iter()
            .find(|cost| cost.function == "main")
            .unwrap();
        let whole = interval(&whole.total);
        assert!(
            (whole.estimate - measured.estimate).abs() < 1e-9,
            "{whole:?} {measured:?}"
        );
        let ratio = whole.half_width() / measured.half_width();
        assert!((0.99..1.2).contains(&ratio), "{whole:?} {measured:?}");
    }

    #[test]
    fn a_failed_profile_says_why() {
        let analysis = analysis();
        let [baseline, control, treatment] = ids(&analysis);
        let refused = ProfileFailure {
            text: "it may not attach".to_owned(),
            remedy: "run as root".to_owned(),
        };
        let table = [
            (taken(&treatment, "", 9, Some(9)), "no sample"),
            (
                taken(&treatment, "main 9\n", 0, Some(9)),
                "nothing was completed",
            ),
            (taken(&treatment, "main 9\n", 9, None), "not counted"),
            (
                RecordedProfile {
                    outcome: Err(refused.clone()),
                    ..taken(&treatment, "", 9, None)
                },
                "may not attach",
            ),
        ];
        for (recorded, why) in table {
            let [profile] = &of_load(&analysis, &[recorded])[..] else {
                panic!("a failure is reported")
            };
            let failure = profile.outcome.as_ref().unwrap_err();
            assert!(failure.text.contains(why), "{failure:?}");
        }
        let alone = [
            RecordedProfile {
                outcome: Err(refused),
                ..taken(&baseline, "", 9, None)
            },
            taken(&control, "main 9\n", 9, Some(9)),
        ];
        let of_control = &of_load(&analysis, &alone)[1].outcome;
        let sampled = of_control.as_ref().unwrap();
        assert!(
            sampled.functions.is_empty(),
            "there is nothing to compare with"
        );
    }

    #[test]
    fn the_most_added_are_kept() {
        let analysis = analysis();
        let [baseline, _, treatment] = ids(&analysis);
        let many: String = (1..=40).map(|n| format!("main;f{n} {n}\n")).collect();
        let recorded = [
            taken(&baseline, "main 10\n", 1, Some(1000)),
            taken(&treatment, &many, 1, Some(1000)),
        ];
        let of_treatment = &of_load(&analysis, &recorded)[1].outcome;
        let sampled = of_treatment.as_ref().unwrap();
        assert_eq!(sampled.functions.len(), FUNCTIONS);
        assert_eq!(sampled.functions_compared, 41);
        assert_eq!(sampled.functions[0].function, "f40");
    }
}
