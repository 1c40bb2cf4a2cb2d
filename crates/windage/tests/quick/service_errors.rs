//! A service that answers every request with an error.

use crate::contract;
use crate::plans::{BRIEF, Plan};
use crate::workshop::Workshop;

#[test]
fn a_service_that_answers_only_errors_ends_the_run_with_its_answer() {
    let shop = Workshop::new();
    let plan = Plan {
        service: "name = 'app'\n\
            command = ['/bin/sh', '-c', 'echo no such table; exec \"$@\"', 'app', \
            '{windage}', '__demo-service', '--listen', '{listen}']\n\
            ready = { http = '/healthz', within = '20s' }",
        request: "GET http://{app}/nowhere",
        design: BRIEF,
        rounds: 3,
        ..Plan::default()
    };
    let run = shop.start_plan(&plan.text()).end().code(4);
    let run = run.says(&[
        "was answered 404 Not Found",
        "no such path",
        "no such table",
    ]);
    assert!(!run.stdout.contains("Δ"), "no table: {}", run.stdout);
    assert!(run.stdout.contains("404 Not Found"), "{}", run.stdout);
    let json = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    let reasons = contract::reasons(&json);
    assert!(reasons.contains(&"service_errors"), "{reasons:?}");
    assert_eq!(json["design"]["rounds"], 1, "the first round was the last");
}
