//! Which of several services an arm's CPU is spent in.

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A service with load, and one without that works on its own in the second arm.
const SERVICES: &str = r#"name = 'app'
command = ['{windage}', '__calibration-service', '--listen', '{listen}']
ready = { http = '/healthz', within = '20s' }

[[service]]
name = 'beside'
command = ['/bin/sh', '-c', 'exec "$0" __calibration-service --listen "$1" $TIMER', '{windage}', '{listen}']
ready = { http = '/healthz', within = '20s' }"#;

#[test]
fn the_service_that_works_is_the_one_that_pays() {
    let shop = Workshop::new();
    let plan = Plan {
        service: SERVICES,
        request: "GET http://{app}/",
        arms: "[[arm]]\nname = 'on'\nenv = { TIMER = '--timer-iterations 200000 --timer-every 5' }",
        rounds: 2,
        length: "1200ms",
        design: "warmup = '50ms'\ndrain = '50ms'\nidle = '200ms'\nblock = '100ms'",
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let document = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    let arms = document["arms"].as_array().unwrap();
    for arm in arms {
        let services = arm["services"].as_array().unwrap();
        let us = |of: &serde_json::Value, key: &str| of["cpu"][key].as_f64().unwrap();
        // A third may follow: CPU of a thread that ran while it was read.
        let [app, beside, ..] = &services[..] else {
            panic!("{}: {services:?}", arm["id"]);
        };
        assert_eq!(
            (&app["service"], &beside["service"]),
            (&"app".into(), &"beside".into())
        );
        let whole = arm["metrics"]["cpu_per_request"]["arm"].as_f64().unwrap();
        let sum: f64 = services.iter().map(|of| us(of, "arm")).sum();
        assert!((sum / whole - 1.0).abs() < 1e-6, "{sum} of {whole}");
        let works = arm["id"] == "on";
        let share = us(beside, "arm") / whole;
        assert_eq!(works, share > 0.02, "{}: {share}", arm["id"]);
        let more = us(beside, "arm") - us(beside, "baseline");
        assert_eq!(works, more > 0.02 * whole, "{beside}");
    }
    let shown = shop.windage(&["report", &shop.run, "--all"]).code(0).stdout;
    for words in ["CPU by service", "beside"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
