//! Several regimes in one run, and thorough runs.

use windage_analysis::wire::{AnalysisWire, ArmWire, UnderLoadWire};

use windage_record::Entry;

use crate::batch_protocol::journal;
use crate::contract;
use crate::plans::Plan;
use crate::workshop::Workshop;

/// A closed loop and, only for a thorough run, a fixed rate.
fn plan() -> String {
    let arms = "[[arm]]\nname = 'Same, again'\n\n[[regime]]\nname = 'fixed rate'\n\
        thorough = true\nmodel = 'open'\nrate = '200/s'";
    let design =
        "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'\n[design.thorough]\nfor = '1200ms'";
    let load = "regime = 'saturation'";
    Plan {
        load,
        arms,
        design,
        ..Plan::default()
    }
    .text()
}

fn measured(flags: &[&str]) -> (Workshop, AnalysisWire) {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan());
    let mut args = vec!["run", "plan.toml", "--out", &shop.run, "--json"];
    args.extend(flags);
    let analysis = contract::checked(&shop.windage(&args).code(0));
    (shop, analysis)
}

fn arm<'a>(under: &'a UnderLoadWire, id: &str) -> &'a ArmWire {
    under.arms.iter().find(|arm| arm.id == id).unwrap()
}

/// Its model and rate.
fn scope(under: &UnderLoadWire) -> (&str, Option<f64>) {
    let scope = &arm(under, "same-again").metrics["cpu_per_request"].scope;
    (&scope.load, scope.rate)
}

#[test]
fn a_thorough_run_reports_each_regime() {
    let (shop, analysis) = measured(&["--thorough"]);
    let full = &analysis.under_first_load;
    assert_eq!(full.regime.as_deref(), Some("saturation"));
    assert_eq!(scope(full).0, "closed");
    let [half] = &analysis.other_loads[..] else {
        panic!("{:?}", analysis.other_loads);
    };
    assert_eq!(half.regime.as_deref(), Some("fixed rate"));
    assert_eq!(scope(half), ("open", Some(200.0)));
    // Each regime has its own launches, answers and arms.
    for under in [full, half] {
        let design = &under.design;
        assert_eq!((design.rounds, design.rounds_planned), (2, 2));
        let same = arm(under, "same-again");
        assert_eq!(same.metrics["cpu_per_request"].rounds, 2);
        assert!(same.load.as_ref().unwrap().completed > 0, "{same:?}");
    }
    let rate = arm(half, "off").load.as_ref().unwrap().intended_per_s;
    assert!((199.0..=201.0).contains(&rate.unwrap()), "{rate:?}");

    let page = shop.windage(&["report", &shop.run]).code(0);
    for part in ["saturation", "fixed rate"] {
        assert!(page.stdout.contains(part), "{part}: {}", page.stdout);
    }
    let again = shop.windage(&["report", &shop.run, "--json"]).code(0);
    assert_eq!(again.analysis(), analysis, "recomputed from the directory");
}

#[test]
fn a_usual_run_has_only_the_first_regime() {
    let (_shop, analysis) = measured(&[]);
    assert_eq!(analysis.under_first_load.regime, None);
    assert!(analysis.other_loads.is_empty());
    assert_eq!(scope(&analysis.under_first_load).0, "closed");
}

#[test]
fn a_warm_up_can_have_a_rate_of_its_own() {
    let shop = Workshop::new();
    let design = "warmup = '300ms'\nwarmup_rate = '2000/s'\ndrain = '50ms'\nidle = '50ms'";
    let plan = Plan {
        design,
        ..Plan::default()
    };
    let closed = "model = 'closed'\n";
    let rising = "model = 'open'\nprofile = [{ rate = '0/s', to = '200/s', for = '20ms' }]\n";
    shop.write("plan.toml", &plan.text().replace(closed, rising));
    let run = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let analysis = contract::checked(&run.code(0));
    let launches = journal(&shop).into_iter().filter_map(|entry| match entry {
        Entry::LaunchStarted(launch) => Some(launch),
        _ => None,
    });
    let warmed: Vec<u64> = launches
        .flat_map(|launch| launch.arms)
        .map(|arm| arm.warmup_completed)
        .collect();
    assert_eq!(warmed.len(), 6, "two launches of three arms");
    // 600 requests; the profile has 100 per second, which makes 30.
    assert!(warmed.iter().all(|done| *done > 500), "{warmed:?}");
    let off = arm(&analysis.under_first_load, "off");
    let intended_per_s = off.load.as_ref().unwrap().intended_per_s.unwrap();
    assert!((90.0..=110.0).contains(&intended_per_s), "{intended_per_s}");
}
