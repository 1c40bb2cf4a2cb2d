//! Where the time goes: what was sampled of each arm, against the baseline.

use windage_model::{ArmId, Interval, Role};
use windage_profile::{Added, ArmProfile as Weighed, CONFIDENCE, FunctionCost, Stacks, added};
use windage_record::{ProfileFailure, Profiled, RecordedProfile};

use crate::Analysis;

/// Functions kept of an arm; its stacks have all.
const FUNCTIONS: usize = 25;

/// The profile of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmProfile {
    /// How it was taken. Its stacks are in `outcome`.
    pub taken: RecordedProfile,
    /// What it says, or why there is none.
    pub outcome: Result<Sampled, ProfileFailure>,
}

impl ArmProfile {
    /// Whose it is.
    #[must_use]
    pub fn arm(&self) -> &ArmId {
        &self.taken.arm
    }
}

/// What a profile says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Stacks, and the CPU that an iteration (a request) took while it was profiled.
    pub profile: Weighed,
    /// How long the arm had load meanwhile, in seconds.
    pub lasts_s: f64,
    /// Iterations or requests that were completed meanwhile.
    pub iterations: u64,
    /// What the arm adds to the baseline: the functions with the most added to themselves, the
    /// largest first. Empty for the baseline and where that has no profile.
    pub functions: Vec<FunctionCost>,
    /// How many functions there are in either profile, of which those are the first.
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
        method: "difference of two binomial shares of samples".to_owned(),
    }
}

/// The profiles of an analysis's arms under its load, in the arms' order.
pub(crate) fn of_load(analysis: &Analysis, recorded: &[RecordedProfile]) -> Vec<ArmProfile> {
    let of_arm = |id: &ArmId| {
        let mut all = recorded.iter().filter(|one| one.regime == analysis.regime);
        all.find(|one| one.arm == *id)
    };
    let weighed: Vec<_> = analysis
        .arms
        .iter()
        .filter_map(|arm| Some((arm.role, of_arm(&arm.id)?)))
        .map(|(role, taken)| (role, taken, weighed(taken)))
        .collect();
    let baseline = weighed.iter().find(|(role, ..)| *role == Role::Baseline);
    let baseline = baseline.and_then(|(.., weighed)| weighed.as_ref().ok().map(|(w, _)| w));
    weighed
        .iter()
        .map(|(role, taken, weighed)| ArmProfile {
            taken: without_stacks(taken),
            outcome: match weighed {
                Ok((weighed, profiled)) => {
                    let against = baseline.filter(|_| *role != Role::Baseline);
                    Ok(sampled(weighed, profiled, against))
                }
                Err(why) => Err(why.clone()),
            },
        })
        .collect()
}

fn sampled(weighed: &Weighed, profiled: &Profiled, baseline: Option<&Weighed>) -> Sampled {
    let mut functions = baseline.map_or_else(Vec::new, |baseline| added(weighed, baseline));
    let functions_compared = functions.len();
    functions.truncate(FUNCTIONS);
    Sampled {
        profile: weighed.clone(),
        lasts_s: profiled.lasts_ns as f64 / 1e9,
        iterations: profiled.iterations,
        functions,
        functions_compared,
    }
}

/// A profile with what it stands for, or why it stands for nothing.
fn weighed(taken: &RecordedProfile) -> Result<(Weighed, &Profiled), ProfileFailure> {
    let profiled = taken.outcome.as_ref().map_err(Clone::clone)?;
    let failed = |text: &str, remedy: &str| ProfileFailure {
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    };
    let stacks = Stacks::of_text(&profiled.collapsed);
    if stacks.samples() == 0 {
        let remedy = "look longer or more often: `profile.for`, `profile.rate`";
        return Err(failed("no sample was taken", remedy));
    }
    if profiled.iterations == 0 {
        let remedy = "look longer: `profile.for`";
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
    Ok((Weighed { stacks, cpu_us }, profiled))
}

/// The text of the stacks is there once, as stacks.
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

    fn ids(analysis: &Analysis) -> [String; 3] {
        [0, 1, 2].map(|index: usize| analysis.arms[index].id.to_string())
    }

    #[test]
    fn arms_are_held_against_the_baseline() {
        let analysis = analysis();
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
            "it is not compared with itself"
        );
        assert_eq!(of_treatment.arm().as_str(), treatment);
        let sampled = of_treatment.outcome.as_ref().unwrap();
        assert_eq!((sampled.profile.cpu_us, sampled.lasts_s), (80.0, 2.0));
        assert_eq!(sampled.functions_compared, 3);
        assert_eq!(sampled.functions[0].function, "span");
        let of_span = interval(&sampled.functions[0].itself);
        assert_eq!(of_span.estimate, 40.0);
        assert!(of_span.excludes_nil() && of_span.high < 45.0, "{of_span:?}");
    }

    #[test]
    fn what_stands_for_nothing_says_why() {
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
                panic!("it is told of")
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
