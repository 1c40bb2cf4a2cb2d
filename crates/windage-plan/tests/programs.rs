//! Plans of batch programs, their stages and their profiles.

mod mistaken;

use std::time::Duration;

use mistaken::{mistakes, read};
use windage_plan::{Iterations, ReadyCheck};

const GOOD: &str = r#"name = "sdk"

[[service]]
name = "job"
command = ["python3", "batch.py"]
env = { PYTHONHASHSEED = "{launch}" }
ready = { within = "20s" }

[load]
model = "batch"
batch = "resident"
iterations = "auto"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "No-op provider"
args = { job = ["noop"] }

[[arm]]
name = "recording"
args = { job = ["recording"] }
adds_to = "No-op provider"
expect = { spans_per_request = 23, events_per_request = 22 }

[[arm]]
name = "whole"
args = { job = ["recording"] }
same_as = "recording"

[profile]
with = "py-spy"
for = "3s"
"#;

mistakes! {
    a_number_of_iterations_that_is_none: "\"auto\"" => "\"many\"";
    no_iterations: "\"auto\"" => "0";
    as_many_as_fit_of_a_process: "\"resident\"" => "\"process\"";
    a_flush_of_a_process: "\"resident\"\niterations = \"auto\"" => "\"process\"\nflush = \"window\"";
    a_flush_that_never_comes: "\"auto\"" => "\"auto\"\nflush = \"never\"";
    iterations_of_requests: "model = \"batch\"\nbatch = \"resident\"" => "model = \"closed\"\nrequest = \"GET http://127.0.0.1:9/\"";
    adds_to_nobody: "adds_to = \"No-op provider\"" => "adds_to = \"noop-provder\"";
    adds_to_itself: "adds_to = \"No-op provider\"" => "adds_to = \"recording\"";
    stages_in_a_circle: "args = { job = [\"noop\"] }" => "args = { job = [\"noop\"] }\nadds_to = \"recording\"";
    a_baseline_that_adds: "baseline = true" => "baseline = true\nadds_to = \"recording\"";
    the_same_as_itself: "same_as = \"recording\"" => "same_as = \"whole\"";
    the_same_as_nobody: "same_as = \"recording\"" => "same_as = \"recoding\"";
    events_that_are_no_number: "events_per_request = 22" => "events_per_request = \"some\"";
    a_factor_that_is_called_launch: "args = { job = [\"noop\"] }" => "args = { job = [\"{launch}\"] }\nsweep = { launch = [1, 2] }";
    a_profiler_that_nobody_knows: "\"py-spy\"" => "\"pyspy\"";
    a_profile_of_no_time: "for = \"3s\"" => "for = \"0s\"";
    a_profile_of_half_a_sample: "for = \"3s\"" => "rate = \"0.5/s\"";
}

#[test]
fn keys_of_batch_programs_are_resolved() {
    let plan = read(GOOD).unwrap();
    assert_eq!(plan.load.iterations, Iterations::Auto);
    let ready = &plan.services[0].ready;
    assert_eq!(
        (&ready.check, ready.within),
        (&ReadyCheck::None, Duration::from_secs(20))
    );
    let named = |id: &str| {
        let arm = plan.arms.iter().find(|arm| arm.id.as_str() == id).unwrap();
        let id = |named: &Option<windage_model::ArmId>| named.as_ref().map(ToString::to_string);
        (id(&arm.adds_to), id(&arm.same_as))
    };
    let noop = Some("no-op-provider".to_owned());
    assert_eq!(named("recording"), (noop, None));
    assert_eq!(named("whole"), (None, Some("recording".to_owned())));
    let expect = plan.arms.iter().find_map(|arm| arm.expect).unwrap();
    assert_eq!(
        (expect.spans_per_request, expect.events_per_request),
        (Some(23.0), Some(22.0))
    );
    let profile = plan.profile.as_ref().unwrap();
    assert_eq!(
        (profile.program.as_str(), profile.lasts, profile.rate_hz),
        ("py-spy", Duration::from_secs(3), 250)
    );
}

#[test]
fn resolved_plans_read_back_the_same() {
    let plan = read(GOOD).unwrap();
    let resolved = plan.to_resolved_toml();
    let again = read(&resolved).unwrap();
    assert_eq!(again.to_resolved_toml(), resolved);
    assert_eq!(again.load.iterations, plan.load.iterations);
    assert_eq!(again.services[0].ready, plan.services[0].ready);
    assert_eq!(again.profile, plan.profile);
    for (one, other) in again.arms.iter().zip(&plan.arms) {
        assert_eq!(
            (&one.id, &one.adds_to, &one.same_as, one.expect),
            (&other.id, &other.adds_to, &other.same_as, other.expect)
        );
    }
}
