//! A first look at a plan: what can be known in about a minute of clock time.

use std::time::Duration;

use windage_plan::{Length, Plan};

use crate::lengths::expected_duration;

/// The clock time of a first look, without launches.
const LOOK: Duration = Duration::from_mins(1);
/// How long it may take if it has a verdict then.
const LOOK_WITH_VERDICT: Duration = Duration::from_mins(2);
/// The fewest launches: one shows no scatter between launches.
const FEWEST_ROUNDS: u32 = 2;

/// The plan for a first look. A verdict needs so many launches, so it has as many if that takes no
/// longer than two minutes, and otherwise what fits into one. Where arms can take turns, all load is
/// in turns: isolated windows have another drain in each launch.
#[must_use]
pub fn quick(plan: &Plan, launches_for_verdict: u32) -> Plan {
    let with_verdict = look(plan, launches_for_verdict, 1);
    let rounds = if expected_duration(&with_verdict) <= LOOK_WITH_VERDICT {
        launches_for_verdict
    } else {
        let of_one = expected_duration(&look(plan, 1, 1)).max(Duration::from_millis(1));
        let rounds = u32::try_from(LOOK.as_nanos() / of_one.as_nanos()).unwrap_or(u32::MAX);
        rounds.clamp(FEWEST_ROUNDS, launches_for_verdict)
    };
    // More blocks while there is time.
    let is_short = |blocks: &u32| expected_duration(&look(plan, rounds, *blocks + 1)) <= LOOK;
    let blocks = (1..).find(|blocks| !is_short(blocks)).unwrap_or(1);
    look(plan, rounds, blocks)
}

fn look(plan: &Plan, rounds: u32, blocks: u32) -> Plan {
    let mut plan = plan.clone();
    plan.profile = None;
    plan.design.stop = None;
    plan.design.rounds = rounds;
    plan.design.length = Length::Blocks(blocks);
    if let Some(turns) = &mut plan.design.interleaving {
        turns.isolated = 0.0;
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::RunOrder;
    use std::path::Path;

    /// A plan with that many treatments and those keys in `[design]`.
    fn plan(treatments: u32, service: &str, design: &str) -> Plan {
        let mut text = format!(
            "name = 'p'\n[[service]]\nname = 'app'\n{service}\n\
             [load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [design]\n{design}\n[[arm]]\nname = 'off'\nbaseline = true\n"
        );
        for arm in 0..treatments {
            text.push_str(&format!("[[arm]]\nname = 'arm {arm}'\n"));
        }
        Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
    }

    #[test]
    fn a_first_look_has_a_verdict_where_there_is_time_for_it() {
        let launched = "command = ['x', '{listen}']";
        // treatments, design, rounds, seconds at most, why
        let table = [
            (1, "", 13, 80, "the default"),
            (4, "", 13, 100, "more warm-ups"),
            (
                1,
                "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'",
                13,
                60,
                "as many blocks as fit",
            ),
            (1, "warmup = '5s'", 3, 60, "a launch takes 18 s"),
            (1, "drain = '30s'", 2, 150, "two launches at least"),
            (
                1,
                "stop = { metric = 'throughput', half_width = '1%', within = '9m' }",
                13,
                80,
                "of fixed length",
            ),
            (1, "order = 'sequential'", 13, 80, "isolated windows alone"),
        ];
        for (treatments, design, rounds, at_most_s, why) in table {
            let look = quick(&plan(treatments, launched, design), 13);
            assert_eq!(look.design.rounds, rounds, "{why}");
            let lasts = expected_duration(&look);
            assert!(lasts <= Duration::from_secs(at_most_s), "{why}: {lasts:?}");
            assert_eq!(look.design.stop, None, "{why}");
            let turns = look.design.interleaving;
            assert!(turns.is_none_or(|turns| turns.isolated == 0.0), "{why}");
        }
        let short = "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'";
        let look = quick(&plan(1, launched, short), 13);
        let longer = super::look(&look, 13, RunOrder::of(&look).blocks_per_round() + 1);
        assert!(expected_duration(&longer) > LOOK, "the minute is used");
    }
}
