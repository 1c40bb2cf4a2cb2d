//! The real binary from end to end, without any installed program: the subjects are the built-in
//! service and shell scripts.

// clippy.toml allows it in functions marked `#[test]`, but not in those that they share.
#![allow(clippy::unwrap_used)]

mod agent_attachment;
mod attached;
mod batch;
mod batch_protocol;
mod budgets;
mod by_service;
mod clean;
mod compare;
mod contract;
mod cpu_limits;
mod deaths;
mod demo;
mod doctor;
mod export;
mod faulty_backends;
mod files;
mod full_disk;
mod history;
mod interruption;
mod ladder;
mod leftovers;
mod live_view;
mod load_failures;
mod load_servers;
mod load_verb;
mod log_limit;
mod metrics;
mod otel_filter;
mod outside_load;
mod plans;
mod profile;
mod proxies;
mod refusals;
mod regimes;
mod reports;
mod revisions;
mod scrape;
mod secrets;
mod serve;
mod service_errors;
mod shell_agents;
mod sink_verb;
mod skip;
mod starved;
mod stops;
mod trust;
mod users;
mod verbs;
mod whole_run;
mod workshop;
