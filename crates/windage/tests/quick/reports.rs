//! Reports of sweeps, and of several runs at once.

use std::fs;

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A factor that the service ignores, because the test is about the report.
const SWEPT: &str = "[[arm]]\nname = 'filter'\nenv = { RATE = '{rate}' }\n\
    sweep = { rate = [100.0, 10.0, 0.0] }\n\n[[arm]]\nname = 'disabled'";

fn measure(shop: &Workshop, name: &str, arms: &str) {
    let plan = Plan {
        name,
        arms,
        ..Plan::default()
    };
    let file = format!("{name}.toml");
    shop.write(&file, &plan.text());
    shop.windage(&["run", &file, "--out", name, "--quiet"])
        .code(0);
}

#[test]
fn sweeps_and_several_runs_have_their_own_formats() {
    let shop = Workshop::new();
    measure(&shop, "swept", SWEPT);
    measure(&shop, "again", SWEPT);
    measure(&shop, "plain", Plan::default().arms);
    let summary = ["\nSummary\n", "swept: rate 100.0", "again: rate 100.0"];
    let table: [(&[&str], &[&str]); 14] = [
        (
            &["swept", "--format", "guide"],
            &["rate ", "\n100.0 ", "\ndisabled ", "\noff ", "within 5 %"],
        ),
        (
            &["swept", "--format", "guide", "--budget", "2%"],
            &["Key observations", "2 % of CPU per request"],
        ),
        (&["swept", "again", "--format", "guide"], &summary),
        (&["swept", "again"], &summary),
        (
            &["swept", "plain", "--format", "summary"],
            &["swept: rate 100.0", "plain: Same, again", "shell 1.2"],
        ),
        (
            &["swept", "plain", "--format", "markdown"],
            &["# swept", "# plain", "## Summary", "| Cost |"],
        ),
        (
            &["swept", "plain", "--format", "csv"],
            &["swept,swept,filter-rate-100.0,", "plain,plain,same-again,"],
        ),
        (
            &["swept", "--format", "curves"],
            &["run,plan,regime,factor,of,", "swept,swept,,rate,filter,"],
        ),
        (
            &["swept", "--format", "stages", "--within", "20ms"],
            &["run,plan,regime,metric,unit,from,kind,arm,against,"],
        ),
        (
            &["swept", "--format", "bill"],
            &["run,plan,regime,arm,role,line,baseline_us_per_request,"],
        ),
        (
            &["swept", "--format", "svg", "--picture", "curve"],
            &["<svg ", "swept: CPU", "rate, attempted", "</svg>"],
        ),
        (
            &["swept", "--format", "bpf"],
            &["run,plan,regime,arm,line,program,type,count,"],
        ),
        (
            &["swept", "--format", "bencher"],
            &["swept: filter", "overhead of cpu_per_request, %"],
        ),
        (
            &["swept", "plain", "--format", "benchmark-action"],
            &["swept: filter", "plain: Same, again", "\"unit\": \"%\""],
        ),
    ];
    for (args, parts) in table {
        let ended = shop.windage(&[&["report"], args].concat()).code(0);
        for part in parts {
            let text = format!("\n{}", ended.stdout);
            assert!(text.contains(part), "{part:?} of {args:?} not in {text}");
        }
        assert_eq!(ended.stderr, "", "{args:?}");
        assert!(!ended.stdout.contains('\u{1b}'), "{args:?}");
    }
    let document = shop.windage(&["report", "swept", "plain", "--json"]);
    let document = document.code(0).json();
    let plans: Vec<_> = (0..2).map(|i| &document["runs"][i]["plan"]).collect();
    assert_eq!(plans, ["swept", "plain"]);
    check_refusals(&shop);
}

fn check_refusals(shop: &Workshop) {
    let table: [(&[&str], &[&str]); 11] = [
        (
            &["swept", "plain", "--format", "guide"],
            &["run plain", "sweep = { rate", "--format terminal"],
        ),
        (
            &["swept", "plain", "--format", "html", "-o", "page"],
            &["--format html", "one run", "markdown"],
        ),
        (
            &["swept", "plain", "--format", "page"],
            &["--format page", "one run", "markdown"],
        ),
        (
            &["swept", "plain", "--format", "svg"],
            &["--format svg", "one run", "markdown"],
        ),
        (
            &["swept", "--theme", "dark"],
            &["--theme", "--format svg", "png"],
        ),
        (
            &["plain", "--format", "png", "--picture", "curve"],
            &["no curve", "forest"],
        ),
        (
            &["swept", "--budget", "2%"],
            &["--budget", "--format guide"],
        ),
        (
            &["swept", "--format", "guide", "--budget", "0%"],
            &["--budget", "greater than zero"],
        ),
        (
            &["swept", "plain", "--format", "junit"],
            &["run swept", "[[budget]]"],
        ),
        (&["swept", "--format", "annotations"], &["[[budget]]"]),
        (&["swept", "nowhere"], &["nowhere"]),
    ];
    for (args, words) in table {
        let ended = shop.windage(&[&["report"], args].concat());
        assert_eq!(ended.code(2).says(words).stdout, "", "{args:?}");
    }
    let page = fs::exists(shop.dir().join("page")).unwrap();
    assert!(!page, "nothing was written");
}
