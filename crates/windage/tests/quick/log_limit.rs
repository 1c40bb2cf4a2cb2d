//! A service that writes much into its log.

use std::fs;

use crate::contract;
use crate::plans::Plan;
use crate::workshop::{Ended, Workshop};

/// Measures the built-in service, which in one arm writes this many bytes first.
fn run(shop: &Workshop, bytes: u64) -> Ended {
    let service = format!(
        r#"name = 'app'
command = ['/bin/sh', '-c', '''
if [ -n "$NOISY" ]; then yes windage | head -c {bytes}; echo the last line; fi
exec "$@"
''', 'app', '{{windage}}', '__demo-service', '--listen', '{{listen}}']
ready = {{ http = '/healthz', within = '20s' }}"#
    );
    let plan = Plan {
        service: &service,
        arms: "[[arm]]\nname = 'noisy'\nenv = { NOISY = '1' }",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    ended.code(0)
}

#[test]
fn a_long_log_is_shortened_with_a_warning() {
    let shop = Workshop::new();
    let analysis = run(&shop, 80_000_000).json();
    contract::check(&analysis);
    let reasons = analysis["validity"]["reasons"].as_array().unwrap();
    let mut cut = reasons.iter().filter(|of| of["code"] == "log_cut");
    let evidence = &cut.next().unwrap()["evidence"];
    assert_eq!(cut.next(), None, "one warning for both launches");
    assert_eq!(evidence["service"], "app");
    assert_eq!(evidence["arms"].as_array().unwrap(), &["noisy"]);
    // Half of the limit and some lines are left of 80 MB.
    let left_out = evidence["left_out_bytes"].as_f64().unwrap();
    assert!(
        (95e6..96e6).contains(&left_out),
        "{left_out} in two launches"
    );
    let mut logs = shop.logs_of("app");
    logs.retain(|log| log.len() > 1_000_000);
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert!(log.len() < 33_000_000 && log.contains("was left out"));
        assert!(log.contains("\nthe last line\n"), "its end stays");
    }
}

#[test]
fn a_log_of_the_allowed_length_stays_as_it_is() {
    let shop = Workshop::new();
    let analysis = run(&shop, 1_000_000).json();
    assert!(!contract::reasons(&analysis).contains(&"log_cut"));
    let logs = fs::read_dir(shop.of_run("logs")).unwrap().flatten();
    let lengths = logs.filter_map(|log| Some(log.metadata().ok()?.len()));
    assert_eq!(lengths.filter(|bytes| *bytes > 1_000_000).count(), 2);
}
