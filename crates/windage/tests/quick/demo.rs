//! The demo. Its test takes the longest of all, and tests start in the order of their names: here it runs beside
//! others.

use std::fs;

use crate::contract;
use crate::workshop::Workshop;

#[test]
fn the_demo_delivers_all_telemetry() {
    let shop = Workshop::new();
    let demo = ["demo", "--for", "3s", "--json", "--out", &shop.run];
    let ended = shop.windage(&demo).code(0);
    let analysis = contract::checked(&ended);
    let ids = analysis.under_first_load.arms.iter();
    let ids: Vec<&str> = ids.map(|arm| arm.id.as_str()).collect();
    let arms = [
        "off",
        "control",
        "sdk-sampling-0.0",
        "sdk-sampling-0.1",
        "sdk-sampling-1.0",
    ];
    assert_eq!(ids, arms);
    let tenth = contract::arm(&analysis, "sdk-sampling-0.1");
    assert_eq!(tenth.levels["sampling"], 0.1);

    let fidelity = |id| contract::arm(&analysis, id).fidelity.as_ref().unwrap();
    assert_eq!(fidelity("sdk-sampling-0.0").delivered, 0);
    let all = fidelity("sdk-sampling-1.0");
    assert_eq!(all.of, "traces");
    let (expected, delivered) = (all.expected.unwrap(), all.delivered as f64);
    assert!(delivered > 100.0, "{all:?}");
    // A bounded queue may lose items on a busy machine, but a wrong count is never explained by
    // loss.
    let failed = fs::read_dir(shop.of_run("logs")).unwrap().any(|log| {
        !fs::read_to_string(log.unwrap().path())
            .unwrap()
            .trim()
            .lines()
            .all(|line| line.starts_with("listening on"))
    });
    assert!(failed || expected == delivered, "{all:?}");
    assert_eq!(
        contract::reasons(&ended.json()).contains(&"telemetry_lost"),
        expected != delivered,
        "{all:?}"
    );
}
