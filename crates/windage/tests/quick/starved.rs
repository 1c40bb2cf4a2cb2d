//! A generator that has to wait for its core.

use std::path::Path;

use crate::contract;
use crate::plans::{BRIEF, Plan};
use crate::skip::skip;
use crate::workshop::Workshop;

#[test]
fn a_generator_that_shares_its_core_measures_cpu_alone() {
    if !Path::new("/proc/thread-self/schedstat").exists() {
        skip(
            "a_generator_that_shares_its_core_measures_cpu_alone",
            "the kernel does not count how long threads wait for a core",
        );
        return;
    }
    let shop = Workshop::new();
    let plan = Plan {
        window: "100ms",
        length: "3s",
        // The generator, the service and a busy program all want core 0.
        service: "name = 'busy'\n\
            shared = true\n\
            cpus = [0]\n\
            command = ['/bin/sh', '-c', 'while :; do :; done']\n\n\
            [[service]]\n\
            name = 'app'\n\
            cpus = [0]\n\
            command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
            ready = { http = '/healthz', within = '20s' }",
        load: "cpus = [0]",
        design: BRIEF,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let json = ended.code(0).json();
    contract::check(&json);
    let reasons = contract::reasons(&json);
    assert!(reasons.contains(&"generator_starved"), "{reasons:?}");
    let metrics = &json["arms"][2]["metrics"];
    for name in ["throughput", "response_time_p50"] {
        let metric = &metrics[name];
        assert!(metric["arm"].is_null(), "{name}: {metric}");
        assert_eq!(metric["missing"]["code"], "not_measured", "{metric}");
    }
    assert!(metrics["cpu_per_request"]["arm"].is_f64(), "{metrics}");
}
