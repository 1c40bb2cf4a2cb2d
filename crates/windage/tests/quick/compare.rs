//! Comparisons of two runs of one plan.

use std::fs;

use serde_json::Value;

use crate::plans::Plan;
use crate::workshop::Workshop;

fn measure(shop: &Workshop, run: &str, plan: &Plan, code: i32) {
    let file = format!("{run}.toml");
    shop.write(&file, &plan.text());
    let args = ["run", &file, "--out", run, "--quiet"];
    shop.windage(&args).code(code);
}

fn codes(document: &Value) -> Vec<&str> {
    let warnings = document["warnings"].as_array().unwrap();
    let codes = warnings.iter().map(|warning| warning["code"].as_str());
    codes.map(Option::unwrap).collect()
}

#[test]
fn the_later_run_is_compared_with_the_earlier() {
    let shop = Workshop::new();
    measure(&shop, "then", &Plan::default(), 0);
    let later = Plan {
        window: "25ms",
        ..Plan::default()
    };
    measure(&shop, "now", &later, 0);
    let compare = |args: &[&str]| shop.windage(&[&["compare"], args].concat());

    let document = compare(&["then", "now", "--json"]).code(0).json();
    assert_eq!(
        (&document["schema"], &document["comparison"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&document["a"]["run"], &document["b"]["run"]),
        (&"then".into(), &"now".into())
    );
    let arm = &document["loads"][0]["arms"][2];
    assert_eq!(arm["id"], "same-again");
    let metric = &arm["metrics"]["cpu_per_request"];
    let number = |value: &Value| value.as_f64().unwrap();
    let moved =
        number(&metric["b"]["relative"]["estimate"]) - number(&metric["a"]["relative"]["estimate"]);
    let change = &metric["change"]["relative"];
    assert!((number(&change["estimate"]) - moved).abs() < 1e-12);
    assert!(number(&change["low"]) < moved && moved < number(&change["high"]));
    let windows: Vec<_> = document["differs"]["design"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    let window = windows.iter().find(|of| of["key"] == "window").unwrap();
    assert_eq!(
        (&window["a"], &window["b"]),
        (&"0.02 s".into(), &"0.025 s".into())
    );
    let plan = document["plan_diff"].as_array().unwrap();
    assert!(
        plan.iter()
            .any(|line| line["tag"] == "insert" && line["text"] == "window = \"25ms\"")
    );

    let table: [(&[&str], &[&str]); 5] = [
        (
            &["then", "now"],
            &[
                "two runs compared",
                "\nA  then, ",
                "\nB  now, ",
                "CPU per request",
                "Same, again",
                "windage compare then now",
            ],
        ),
        (
            &[
                "then",
                "now",
                "--metric",
                "throughput",
                "--metric",
                "rss_steady",
            ],
            &["\nThroughput ", "RSS, steady"],
        ),
        (
            &["then", "now", "--format", "markdown"],
            &["# small, two runs", "| Differs: design | A | B |"],
        ),
        (
            &["then", "now", "--format", "csv"],
            &["a_run,b_run,plan,", "\nthen,now,small,,same-again,"],
        ),
        (
            &["then", "now", "--format", "page"],
            &["{\"page\":1,\"comparison\":{"],
        ),
    ];
    for (args, parts) in table {
        let ended = compare(args).code(0);
        for part in parts {
            assert!(
                ended.stdout.contains(part),
                "{part:?} of {args:?} not in {}",
                ended.stdout
            );
        }
        assert_eq!(ended.stderr, "", "{args:?}");
    }
    let ended = compare(&["then", "now", "--format", "html", "-o", "page.html"]).code(0);
    assert_eq!(ended.stdout, "");
    let page = fs::read_to_string(shop.dir().join("page.html")).unwrap();
    assert!(page.contains("data-kind=\"comparison\"") && page.contains("two runs compared"));

    let document = compare(&["now", "now", "--json"]).code(0).json();
    assert!(codes(&document).contains(&"same_run"));
    assert_eq!(
        (&document["comparable"], &document["plan_diff"]),
        (&"with_care".into(), &Value::Array(vec![]))
    );
    check_refusals(&shop);
}

fn check_refusals(shop: &Workshop) {
    let table: [(&[&str], &[&str]); 4] = [
        (&["then", "nowhere"], &["nowhere", "windage run"]),
        (
            &["then", "now", "--metric", "latency"],
            &["latency", "no such metric", "cpu_per_request"],
        ),
        (
            &["then", "now", "--metric", "cpu_per_iteration"],
            &["--metric cpu_per_iteration", "neither run"],
        ),
        (&["then"], &["<B>"]),
    ];
    for (args, words) in table {
        let ended = shop.windage(&[&["compare"], args].concat());
        assert_eq!(ended.code(2).says(words).stdout, "", "{args:?}");
    }
}

#[test]
fn a_void_run_is_compared_without_verdicts() {
    let shop = Workshop::new();
    measure(&shop, "sound", &Plan::default(), 0);
    // The path does not exist, so every answer is a 404.
    let void = Plan {
        request: "GET http://{app}/nowhere",
        ..Plan::default()
    };
    measure(&shop, "void", &void, 4);
    let ended = shop
        .windage(&["compare", "sound", "void", "--json"])
        .code(4);
    let document = ended.json();
    assert_eq!(document["comparable"], "no");
    assert_eq!(codes(&document)[0], "void");
    let arms = document["loads"][0]["arms"].as_array().unwrap();
    for metric in arms
        .iter()
        .flat_map(|arm| arm["metrics"].as_object().unwrap().values())
    {
        assert!(metric["verdict"].is_null());
    }
    let text = shop.windage(&["compare", "sound", "void"]).code(4).stdout;
    assert!(text.contains("can't be compared"), "{text}");
}

#[test]
fn runs_are_found_elsewhere_and_other_baselines_are_not_compared() {
    let shop = Workshop::new();
    let plan = Plan::default().text();
    let run = |plan: &str, out: &str| {
        shop.write("plan.toml", plan);
        let args = ["run", "plan.toml", "--out", out, "--quiet"];
        shop.windage(&args).code(0);
    };
    run(&plan, "elsewhere/then");
    run(&plan.replace("'off'", "'bare'"), "other");
    let report = |run: &str| shop.windage(&["report", run]).code(0).stdout;
    assert!(report("elsewhere/then").contains("windage report elsewhere/then --all"));
    let ended = shop.windage(&["compare", "elsewhere/then", "other"]);
    let text = ended.code(3).stdout;
    for words in ["can't be compared", "windage compare elsewhere/then other"] {
        assert!(text.contains(words), "{words:?} not in {text}");
    }
}
