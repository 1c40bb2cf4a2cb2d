//! Several loads in one run, and runs that are thorough.

use serde_json::Value;

use crate::contract;
use crate::plans::Plan;
use crate::workshop::Workshop;

/// A closed loop and, for a thorough run alone, a fixed rate.
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

fn measured(flags: &[&str]) -> (Workshop, Value) {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan());
    let mut args = vec!["run", "plan.toml", "--out", &shop.run, "--json"];
    args.extend(flags);
    let analysis = shop.windage(&args).code(0).json();
    contract::check(&analysis);
    (shop, analysis)
}

fn scope(analysis: &Value) -> &Value {
    &contract::arm(analysis, "same-again")["metrics"]["cpu_per_request"]["scope"]
}

#[test]
fn a_thorough_run_tells_both_loads_apart() {
    let (shop, analysis) = measured(&["--thorough"]);
    assert_eq!(analysis["regime"], "saturation");
    assert_eq!(scope(&analysis)["load"], "closed");
    let [half] = analysis["further"].as_array().unwrap().as_slice() else {
        panic!("{}", analysis["further"]);
    };
    assert_eq!(half["regime"], "fixed rate");
    let of_half = scope(half);
    assert_eq!(
        (&of_half["load"], &of_half["rate"]),
        (&"open".into(), &200.0.into())
    );
    // Each load has its own launches, answers and arms.
    for under in [&analysis, half] {
        assert_eq!(
            (
                &under["design"]["rounds"],
                &under["design"]["rounds_planned"]
            ),
            (&2.into(), &2.into())
        );
        let same = contract::arm(under, "same-again");
        assert_eq!(same["metrics"]["cpu_per_request"]["rounds"], 2);
        assert!(same["load"]["completed"].as_f64().unwrap() > 0.0, "{same}");
    }
    let rate = contract::arm(half, "off")["load"]["intended_per_s"]
        .as_f64()
        .unwrap();
    assert!((199.0..=201.0).contains(&rate), "{rate}");

    let page = shop.windage(&["report", &shop.run]).code(0);
    for part in ["saturation", "fixed rate"] {
        assert!(page.stdout.contains(part), "{part}: {}", page.stdout);
    }
    let again = shop.windage(&["report", &shop.run, "--json"]).code(0);
    assert_eq!(again.json(), analysis, "recomputed from the directory");
}

#[test]
fn a_usual_run_has_the_first_load_alone() {
    let (_shop, analysis) = measured(&[]);
    assert_eq!(analysis["regime"], Value::Null);
    assert_eq!(analysis["further"], serde_json::json!([]));
    assert_eq!(scope(&analysis)["load"], "closed");
}
