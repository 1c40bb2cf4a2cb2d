//! What an arm spends in each function beyond the baseline.

use std::collections::{BTreeMap, BTreeSet};

use crate::Stacks;

/// The confidence of an [`Added`]'s interval.
pub const CONFIDENCE: f64 = 0.95;
/// The normal distribution's two-sided quantile for it.
const Z: f64 = 1.959_963_984_540_054;

/// The samples of an arm, and the CPU per iteration while it was sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmProfile {
    /// The samples.
    pub stacks: Stacks,
    /// CPU per iteration (a request), in microseconds: what all samples together stand for.
    pub cpu_us: f64,
    /// Half of the 95 % interval of the difference to the baseline's CPU per iteration, in
    /// microseconds; 0 for the baseline, or if unknown.
    pub cpu_half_width_us: f64,
}

/// One function's CPU per iteration in an arm and in the baseline, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Added {
    /// In the arm.
    pub arm_us: f64,
    /// In the baseline.
    pub baseline_us: f64,
    /// Half of the 95 % interval of the difference.
    ///
    /// Each profile has a number of samples, of which a function has a share. Both shares are
    /// binomial; their errors use (k + ½)/(n + 1), so that a function that was never seen has an
    /// error too. Added to this is the error of the CPU per iteration, weighted by the function's
    /// share in the arm: a launch that is slower by luck is slower in every function.
    pub half_width_us: f64,
}

impl Added {
    /// Arm − baseline.
    #[must_use]
    pub fn us(&self) -> f64 {
        self.arm_us - self.baseline_us
    }

    /// Whether the interval contains zero: sampling alone may explain the difference.
    #[must_use]
    pub fn is_within_noise(&self) -> bool {
        self.us().abs() <= self.half_width_us
    }
}

/// A function and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCost {
    /// The name given by the profiler.
    pub function: String,
    /// In the function itself.
    pub itself: Added,
    /// In the function and everything that it called; a recursive function counts once.
    pub total: Added,
}

impl FunctionCost {
    /// Whether the arm spends more in it than sampling explains: in the function itself, or in
    /// total if the baseline has no such function. (Callers of everything, such as the program's
    /// main function, also have more in total, which says nothing.)
    #[must_use]
    pub fn is_added(&self) -> bool {
        let is_more = |added: &Added| added.us() > 0.0 && !added.is_within_noise();
        is_more(&self.itself) || (self.total.baseline_us == 0.0 && is_more(&self.total))
    }
}

/// The cost of each function in either profile. First come those in which the arm spends more than
/// sampling explains, the largest in total first; then the others, by what was added in the
/// function itself.
#[must_use]
pub fn added(arm: &ArmProfile, baseline: &ArmProfile) -> Vec<FunctionCost> {
    let mut functions: BTreeMap<&str, [Seen; 2]> = BTreeMap::new();
    count(&mut functions, 0, &arm.stacks);
    count(&mut functions, 1, &baseline.stacks);
    let scales = [arm, baseline].map(Scale::of);
    let cost = |of: [u64; 2]| {
        let [in_arm, in_baseline] = [0, 1].map(|which: usize| scales[which].part(of[which]));
        Added {
            arm_us: in_arm.us,
            baseline_us: in_baseline.us,
            half_width_us: (Z * in_arm.error_us.hypot(in_baseline.error_us))
                .hypot(in_arm.share * arm.cpu_half_width_us),
        }
    };
    let mut costs: Vec<FunctionCost> = functions
        .into_iter()
        .map(|(function, seen)| FunctionCost {
            function: function.to_owned(),
            itself: cost(seen.map(|seen| seen.itself)),
            total: cost(seen.map(|seen| seen.total)),
        })
        .collect();
    let keys = |cost: &FunctionCost| {
        let (total, itself) = (cost.total.us(), cost.itself.us());
        if cost.is_added() {
            (true, total, itself)
        } else {
            (false, itself, total)
        }
    };
    costs.sort_by(|a, b| {
        let ((a_added, a_first, a_next), (b_added, b_first, b_next)) = (keys(a), keys(b));
        let by_figure = b_first.total_cmp(&a_first).then(b_next.total_cmp(&a_next));
        b_added.cmp(&a_added).then(by_figure)
    });
    costs
}

/// Samples of one function.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    itself: u64,
    total: u64,
}

fn count<'a>(functions: &mut BTreeMap<&'a str, [Seen; 2]>, which: usize, stacks: &'a Stacks) {
    for (stack, seen) in stacks.iter() {
        let on_stack: BTreeSet<&str> = stack.split(';').collect();
        for function in on_stack {
            let of = &mut functions.entry(function).or_default()[which];
            of.total = of.total.saturating_add(seen);
        }
        if let Some(innermost) = stack.rsplit(';').next() {
            let of = &mut functions.entry(innermost).or_default()[which];
            of.itself = of.itself.saturating_add(seen);
        }
    }
}

/// The scale of a profile's samples.
struct Scale {
    samples: f64,
    cpu_us: f64,
}

struct Part {
    share: f64,
    us: f64,
    error_us: f64,
}

impl Scale {
    fn of(profile: &ArmProfile) -> Scale {
        Scale {
            samples: profile.stacks.samples() as f64,
            cpu_us: profile.cpu_us,
        }
    }

    fn part(&self, seen: u64) -> Part {
        if self.samples <= 0.0 {
            return Part {
                share: 0.0,
                us: 0.0,
                error_us: 0.0,
            };
        }
        let share = seen as f64 / self.samples;
        let smoothed = ((seen as f64 + 0.5) / (self.samples + 1.0)).min(1.0);
        let variance = smoothed * (1.0 - smoothed) / self.samples;
        Part {
            share,
            us: share * self.cpu_us,
            error_us: variance.sqrt() * self.cpu_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(text: &str, cpu_us: f64) -> ArmProfile {
        ArmProfile {
            stacks: Stacks::of_text(text),
            cpu_us,
            cpu_half_width_us: 0.0,
        }
    }

    fn of<'a>(costs: &'a [FunctionCost], function: &str) -> &'a FunctionCost {
        costs.iter().find(|cost| cost.function == function).unwrap()
    }

    #[test]
    fn shares_of_samples_are_shares_of_an_iteration() {
        let arm = profile("main;work 500\nmain;span 250\nmain;span;export 250\n", 80.0);
        let baseline = profile("main;work 900\nmain 100\n", 40.0);
        let costs = added(&arm, &baseline);
        let table = [
            ("work", (40.0, 36.0), (40.0, 36.0)),
            ("span", (20.0, 0.0), (40.0, 0.0)),
            ("export", (20.0, 0.0), (20.0, 0.0)),
            ("main", (0.0, 4.0), (80.0, 40.0)),
        ];
        for (function, itself, total) in table {
            let cost = of(&costs, function);
            let pair = |added: Added| (added.arm_us, added.baseline_us);
            assert_eq!(
                (pair(cost.itself), pair(cost.total)),
                (itself, total),
                "{function}"
            );
        }
        let order: Vec<_> = costs.iter().map(|cost| cost.function.as_str()).collect();
        assert_eq!(
            order,
            ["span", "export", "work", "main"],
            "by total, then by the function itself"
        );
        assert!(!of(&costs, "span").itself.is_within_noise());
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let arm = profile("main;f;f;f 10\nmain;f;g;f 10\n", 2.0);
        let costs = added(&arm, &profile("main 20", 1.0));
        assert_eq!(of(&costs, "f").total.arm_us, 2.0);
        assert_eq!(of(&costs, "f").itself.arm_us, 2.0);
        assert_eq!(of(&costs, "g").total.arm_us, 1.0);
    }

    #[test]
    fn a_new_caller_of_many_small_functions_counts_by_its_total() {
        let parts: String = (0..50).map(|n| format!("main;otel;part{n} 4\n")).collect();
        let costs = added(
            &profile(&(parts + "main 800\n"), 10.0),
            &profile("main 1000\n", 8.0),
        );
        let added: Vec<_> = costs.iter().filter(|cost| cost.is_added()).collect();
        assert_eq!(added[0].function, "otel", "{added:?}");
        assert!(
            added.iter().all(|cost| cost.function != "main"),
            "it calls everything"
        );
    }

    #[test]
    fn few_samples_say_little() {
        let table = [
            ("a 50\nb 50\n", "a 47\nb 53\n", true, "three of a hundred"),
            (
                "a 5000\nb 5000\n",
                "a 4700\nb 5300\n",
                false,
                "the same share of ten thousand",
            ),
            ("a 99\nb 1\n", "a 100\n", true, "seen once, then never"),
            ("a 70\nb 30\n", "a 100\n", false, "seen often, then never"),
        ];
        for (arm, baseline, is_within_noise, why) in table {
            let costs = added(&profile(arm, 10.0), &profile(baseline, 10.0));
            let of_b = of(&costs, "b").itself;
            assert_eq!(of_b.is_within_noise(), is_within_noise, "{why}: {of_b:?}");
        }
    }

    #[test]
    fn the_error_of_the_total_is_included() {
        let arm = ArmProfile {
            cpu_half_width_us: 6.0,
            ..profile("main;work 9000\nmain;span 1000\n", 100.0)
        };
        let costs = added(&arm, &profile("main;work 10000\n", 90.0));
        let all = of(&costs, "main").total;
        assert!(
            (all.half_width_us - 6.0).abs() < 0.02,
            "all samples, so only the error of the total: {all:?}"
        );
        let work = of(&costs, "work").itself;
        assert!(
            (5.4..5.5).contains(&work.half_width_us),
            "nine tenths of that error: {work:?}"
        );
        let span = of(&costs, "span").itself;
        assert!(
            (0.8..0.9).contains(&span.half_width_us),
            "hardly any of that error: {span:?}"
        );
    }

    #[test]
    fn no_samples_cost_nothing() {
        let costs = added(&profile("", 10.0), &profile("a 1\n", 10.0));
        assert_eq!(of(&costs, "a").itself.arm_us, 0.0);
        assert!(added(&profile("", 1.0), &profile("", 1.0)).is_empty());
    }

    /// About 95 % of the intervals contain the true difference of zero.
    #[test]
    fn intervals_cover() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for share in [0.02, 0.2, 0.6] {
            let mut drawn = || {
                let hits = (0..1000).filter(|_| uniform() < share).count();
                profile(&format!("f {hits}\ng {}\n", 1000 - hits), 100.0)
            };
            let trials = 1000;
            let held = (0..trials)
                .filter(|_| of(&added(&drawn(), &drawn()), "f").itself.is_within_noise())
                .count();
            assert!((930..=970).contains(&held), "{held} of {trials} at {share}");
        }
    }

    proptest! {
        #[test]
        fn costs_in_the_functions_themselves_add_up(
            arm in prop::collection::vec(("[a-e](;[a-e]){0,5}", 1u64..50), 1..12),
            baseline in prop::collection::vec(("[a-e](;[a-e]){0,5}", 1u64..50), 1..12),
        ) {
            let text = |stacks: &[(String, u64)]| -> String {
                stacks.iter().map(|(stack, seen)| format!("{stack} {seen}\n")).collect()
            };
            let costs = added(&profile(&text(&arm), 70.0), &profile(&text(&baseline), 30.0));
            let sum: f64 = costs.iter().map(|cost| cost.itself.us()).sum();
            prop_assert!((sum - 40.0).abs() < 1e-9, "{sum}");
            for cost in &costs {
                prop_assert!(cost.itself.arm_us <= cost.total.arm_us + 1e-12);
                prop_assert!(cost.total.arm_us <= 70.0 + 1e-9);
                prop_assert!(cost.total.half_width_us.is_finite());
            }
        }
    }
}
