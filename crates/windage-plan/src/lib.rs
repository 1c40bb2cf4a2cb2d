//! Reads plans: strict TOML in, a checked [`Plan`] out. Errors point into the file.
//!
//! `docs/FORMAT.md` is the specification. A plan passes through wire types (strict, spanned),
//! resolving (every rule; reports as many problems at once as possible) and domain types (no
//! `Option` that means "the default"). All defaults are in this crate.
//!
//! This crate opens only the plan and the files that it names (templates, bodies, CSV files,
//! recorded arrivals). It doesn't resolve host names or start processes.

#![forbid(unsafe_code)]

mod address;
mod budget;
mod defaults;
mod expect;
mod list;
mod load;
mod plan;
mod print;
mod problem;
mod read;
mod resolve;
mod revisions;
#[cfg(test)]
mod schema;
mod sink;
mod stop;
mod switch;
mod template;
mod units;
mod value;
mod variables;
mod wire;
mod words;

pub use address::{Endpoint, Host};
pub use defaults::{FREE_DISK_BYTES_MIN, LOG_BYTES_MAX};
pub use list::listed_plans;
pub use load::{
    Arrivals, BatchKind, Body, Field, Flow, FlushWhen, Iterations, Load, Piece, Protocol, Replay,
    Request, RowOrder, Starts, Step, Table, Tls,
};
pub use plan::{
    Agent, Arm, Attach, Build, Checkout, ClusterPlace, Depth, Design, Interleaving, Length,
    ManifestFile, OnDeath, Origin, Plan, PodSource, Profile, Profiler, Ready, ReadyCheck, Service,
    ServiceName, StopPolicy, StopSignal, TemplateFile, Turn,
};
pub use problem::{PlanError, Problem, Problems};
pub use sink::{ArmBackend, Drops, RECEIVER_PLACEHOLDERS, SinkDetail, SinkPlan, ToldBy};
pub use stop::Stop;
pub use switch::Switch;
pub use template::{Segment, Template, TemplateError};
pub use value::{Value, environment_variable};
pub use variables::Variable;

/// The JSON Schema of plans, draft 7.
pub const SCHEMA: &str = include_str!("../plan.schema.json");

/// Placeholders that exist in every plan, so no service or factor may have these names.
pub const RESERVED_PLACEHOLDERS: [&str; 12] = [
    "listen",
    "port",
    "dir",
    "plan",
    "arm",
    "otlp_grpc",
    "otlp_http",
    "datadog",
    "zipkin",
    "remote_write",
    "windage",
    "launch",
];
