//! Budgets and claims: which arms they are about, and runs that end when budgets are decided.

use std::path::Path;
use std::time::Duration;

use windage_model::{Limit, Says};
use windage_plan::Plan;

const MINIMAL: &str = include_str!("plans/minimal.toml");
const BUDGETS: &str = include_str!("plans/budgets.toml");
const CLAIMS: &str = include_str!("plans/claims.toml");

fn parse(text: &str) -> Plan {
    Plan::parse(text, "plan.toml", Path::new("/"))
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn claims_are_about_the_arms_that_they_name() {
    let claims = parse(CLAIMS).claims;
    let about = claims.iter().map(|claim| {
        let arms: Vec<u16> = claim.arms.iter().map(|arm| arm.0).collect();
        (arms, claim.says, claim.is_comparable())
    });
    let percent = Limit::Percent;
    let expected = [
        (
            vec![2],
            Says::About {
                value: percent(21.6),
                tolerance: percent(3.0),
            },
            true,
        ),
        (vec![2, 3], Says::AtMost(Limit::InUnit(75e6)), true),
        (vec![2, 3], Says::AtLeast(percent(100.0)), true),
    ];
    assert_eq!(about.collect::<Vec<_>>(), expected);
}

#[test]
fn budgets_hold_for_the_arms_that_they_name() {
    let budgets = parse(BUDGETS).budgets;
    let arms = |at: usize| -> Vec<u16> { budgets[at].arms.iter().map(|arm| arm.0).collect() };
    // The baseline is 0, the control 1.
    assert_eq!(arms(0), [2, 3, 4], "every arm with telemetry");
    assert_eq!(arms(1), [3, 4], "all levels of an arm that is swept");
    assert_eq!(arms(2), [2]);
}

#[test]
fn an_override_counts_until_its_last_day() {
    let mut plan = parse(BUDGETS);
    assert_eq!(plan.end_overrides("2027-01-31"), [""; 0]);
    assert_eq!(plan.budgets[2].limit(), Limit::InUnit(20_971_520.0));
    let ended = plan.end_overrides("2027-02-01");
    let [why] = &ended[..] else {
        panic!("one has ended: {ended:?}")
    };
    for words in ["`rss_peak`", "2027-01-31", "its buffer of 4 MiB", "renew"] {
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(plan.budgets[2].limit(), Limit::InUnit(16_777_216.0));
}

#[test]
fn a_plan_is_checked_until_its_budgets_are_decided() {
    let five = Duration::from_mins(5);
    let mut plan =
        parse(&BUDGETS.replace("stop = { budgets = true, within = \"5m\" }", "rounds = 3"));
    plan.stop_when_budgets_are_decided(five).unwrap();
    assert_eq!(plan.design, parse(BUDGETS).design, "as if the plan said so");
    let sequential = format!(
        "{MINIMAL}[[arm]]\nname = 'on'\n[[budget]]\nmetric = 'cpu_per_request'\n\
         at_most = '5%'\n[design]\norder = 'sequential'\n"
    );
    let table = [
        (MINIMAL.to_owned(), "no [[budget]]"),
        (sequential, "sequential"),
    ];
    for (text, why) in table {
        let refused = parse(&text)
            .stop_when_budgets_are_decided(five)
            .unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
