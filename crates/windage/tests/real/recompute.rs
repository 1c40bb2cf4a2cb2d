//! The guide's script computes the headline figure from exported tables alone.

use std::fs;
use std::process::Command;

use crate::alone;
use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

const PAGE: &str = include_str!("../../../../docs/guide/recompute.md");
/// The script prints four decimals.
const ROUNDING: f64 = 0.000_051;

/// `WINDAGE_TEST_PYTHON` names a Python with pandas and scipy.
#[test]
fn the_guides_script_agrees_with_the_analysis() {
    let python = std::env::var_os("WINDAGE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let imports = Command::new(&python)
        .args(["-c", "import pandas, scipy"])
        .output();
    if !imports.is_ok_and(|of| of.status.success()) {
        return skip(
            "recompute",
            "no Python with pandas and scipy (WINDAGE_TEST_PYTHON)",
        );
    }
    let _machine = alone();
    let shop = Workshop::new();
    let plan = Plan {
        arms: "[[arm]]\nname = 'otel'",
        rounds: 5,
        length: "3s",
        design: "warmup = '50ms'\ndrain = '100ms'\nidle = '100ms'\nturn = 20\nblock = '200ms'",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    shop.windage(&["run", "plan.toml", "--out", &shop.run, "--quiet"])
        .code(0);
    for table in ["launches", "blocks", "windows"] {
        let file = format!("{table}.csv");
        shop.windage(&["report", &shop.run, "--format", table, "--out", &file])
            .code(0);
    }
    fs::write(shop.dir().join("recompute.py"), script()).unwrap();
    let analysis = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    for arm in ["control", "otel"] {
        let output = Command::new(&python)
            .args(["recompute.py", arm])
            .current_dir(shop.dir())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let arms = analysis["arms"].as_array().unwrap();
        let of_arm = arms.iter().find(|of| of["id"] == arm).unwrap();
        let metric = &of_arm["metrics"]["cpu_per_request"];
        for (unit, name, scale) in [("us", "difference", 1.0), ("%", "relative", 100.0)] {
            let found = figures(&printed, unit);
            let expected =
                ["estimate", "low", "high"].map(|end| metric[name][end].as_f64().unwrap() * scale);
            for (found, expected) in found.into_iter().zip(expected) {
                let differs = (found - expected).abs();
                assert!(differs < ROUNDING, "{arm} {name}: {metric}\n{printed}");
            }
        }
    }
}

/// The page's only block of Python.
fn script() -> &'static str {
    let (_, rest) = PAGE.split_once("```python\n").unwrap();
    rest.split_once("```").unwrap().0
}

/// The three figures of the line that begins with this unit.
fn figures(printed: &str, unit: &str) -> [f64; 3] {
    let mut lines = printed.lines().map(str::split_whitespace);
    let line = lines.find_map(|mut words| (words.next() == Some(unit)).then_some(words));
    let figures: Vec<f64> = line.unwrap().map(|of| of.parse().unwrap()).collect();
    figures.try_into().unwrap()
}
