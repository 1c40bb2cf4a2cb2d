//! The proxies' experiments, shortened, and mistakes that users make in them.

use std::fs;
use std::path::Path;

use windage_analysis::wire::ArmWire;

use crate::measurements::{arm, fidelity, measured, relative_cpu};
use crate::workshop::{Ended, Workshop};
use crate::{alone, experiment};

/// Tolerance for spans that ended in measured windows, compared with the requests answered in them:
/// at the edge of a window the two may fall on different sides.
const AT_EDGES: f64 = 0.01;

fn in_windows(arm: &ArmWire) -> (f64, f64, f64) {
    let fidelity = fidelity(arm);
    let counted = fidelity.in_windows.as_ref().unwrap();
    let sd = fidelity.sampling_sd.unwrap();
    (counted.delivered as f64, counted.expected.unwrap(), sd)
}

#[test]
fn haproxys_filter_costs_by_its_rate_and_delivers() {
    let analysis = measured("haproxy/cmp.toml", "30s");
    let rates = ["0.0", "10.0", "50.0", "100.0"];
    let arms = rates.map(|rate| arm(&analysis, &format!("filter-rate-{rate}")));
    let costs = arms.map(relative_cpu);
    assert!(costs.is_sorted(), "the cost grows with the rate: {costs:?}");
    assert!(costs[3] > 0.5, "{costs:?}");
    for (rate, arm) in rates.iter().zip(arms) {
        let (delivered, expected, sd) = in_windows(arm);
        let bound = 4.0 * sd + AT_EDGES * expected;
        // On a fast processor, more traces than the tracer holds fall into one of its seconds.
        let dropped = if *rate == "100.0" { 0.05 } else { 0.0 };
        let within = expected - bound - dropped * expected..=expected + bound;
        assert!(within.contains(&delivered), "{rate}: {arm:?}");
    }
    assert!(in_windows(arms[3]).0 > 1000.0, "{:?}", arms[3]);
    let filter = &arms[0].versions["filter"];
    assert!(
        filter.starts_with("open"),
        "the report names the filter: {filter}"
    );
    let curve = &analysis.under_first_load.curves[0];
    assert_eq!(curve.factor, "rate", "{curve:?}");
    assert_eq!(curve.points.len(), 7, "{curve:?}");
}

#[test]
fn haproxy_is_switched_between_rates_while_it_runs() {
    let analysis = measured("haproxy/live/cmp.toml", "6s");
    let (none, some, all) = (
        arm(&analysis, "filter-rate-0.0"),
        arm(&analysis, "filter-rate-10.0"),
        arm(&analysis, "filter-rate-100.0"),
    );
    assert_eq!(in_windows(none).0, 0.0, "{none:?}");
    let share = in_windows(some).0 / in_windows(all).0;
    // Windows with fewer traces answer more requests.
    assert!((0.1..0.4).contains(&share), "{share}");
    assert!(relative_cpu(all) > relative_cpu(some));
}

#[test]
fn envoy_and_caddy_deliver_what_their_sampling_asks_for() {
    for (plan, length, all, none) in [
        (
            "envoy/plan.toml",
            "6s",
            "tracing-rate-100.0",
            "tracing-rate-0.0",
        ),
        // The experiment takes this up: unsampled requests cost half as much as sampled ones.
        (
            "caddy/plan.toml",
            "30s",
            "tracing-ratio-1.0",
            "tracing-ratio-0.0",
        ),
    ] {
        let analysis = measured(plan, length);
        let (all, none) = (arm(&analysis, all), arm(&analysis, none));
        assert_eq!(fidelity(none).delivered, 0, "{plan}");
        assert!(fidelity(all).delivered > 1000, "{plan}: {all:?}");
        assert!(relative_cpu(all) > relative_cpu(none), "{plan}");
    }
}

/// Runs the plan `cmp.toml` or `live/cmp.toml` with a replacement in one of its files.
fn changed(plan: &str, file: &str, from: &str, to: &str) -> Ended {
    let _alone = alone();
    let shop = Workshop::new();
    let copy = shop.dir().join("haproxy");
    copy_folder(&experiment("haproxy"), &copy);
    let path = copy.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no `{from}`");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    let plan = copy.join(plan).display().to_string();
    let args = ["run", &plan, "--for", "2s", "--rounds", "1", "--out"];
    shop.windage(&[&args[..], &[&shop.run]].concat())
}

/// Copies a folder of plans; paths that lead above it stay valid.
fn copy_folder(from: &Path, to: &Path) {
    let root = experiment("..").canonicalize().unwrap();
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = fs::read_to_string(&path).unwrap();
            let up = format!("{}/", root.display());
            fs::write(&copy, text.replace("../../../", &up).replace("../../", &up)).unwrap();
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

#[test]
fn a_configuration_refused_by_haproxy_is_shown_with_its_line() {
    let ended = changed(
        "cmp.toml",
        "haproxy.cfg",
        "default_backend pages",
        "default_backand pages",
    );
    ended
        .code(5)
        .says(&["unknown keyword 'default_backand'", "default_backand pages"]);
}

#[test]
fn a_rate_out_of_range_is_refused_by_haproxy_before_the_launch() {
    let ended = changed("cmp.toml", "cmp.toml", "75.0, 50.0", "150.0, 50.0");
    ended.code(5).says(&["150.0", "rate-limit"]);
}

#[test]
fn a_rate_that_the_admin_socket_refuses_ends_the_run_with_its_answer() {
    let ended = changed("live/cmp.toml", "live/cmp.toml", "[100.0,", "[150.0,");
    ended.code(5).says(&["flt-ot rate 150.0", "rate limit"]);
}

#[test]
fn a_missing_tracer_is_named_with_its_package() {
    let ended = changed(
        "cmp.toml",
        "filter.sh",
        "libdd_opentracing_plugin.so",
        "libgone.so",
    );
    ended
        .code(5)
        .says(&["libgone.so", "apt-get install haproxy libdd-opentracing0"]);
}
