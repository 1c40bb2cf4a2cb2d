//! Plans: strict TOML in, a checked [`Plan`] out; errors point into the file.
//!
//! `docs/FORMAT.md` is the specification. The way down is wire types (strict, spanned) →
//! resolving (every rule, as many problems as can be told at once) → domain types (no `Option`
//! that means "the default"). Defaults live here and nowhere else.
//!
//! Besides the plan and the files that it is made of (templates, bodies, CSV files, recorded
//! arrivals) nothing here opens a file; nothing looks up a host name or starts a process.

mod address;
mod defaults;
mod expect;
mod load;
mod plan;
mod print;
mod problem;
mod resolve;
mod sink;
mod stop;
mod switch;
mod template;
mod units;
mod wire;
mod words;

pub use address::{Endpoint, Host};
pub use load::{
    Arrivals, BatchKind, Body, Field, Flow, FlushWhen, HeaderValue, Iterations, Load, Piece,
    Protocol, Replay, Request, RowOrder, Starts, Step, Table, Tls, environment_variable,
};
pub use plan::{
    Agent, Arm, Attach, Build, Depth, Design, Expect, Length, OnDeath, Origin, Plan, Profile,
    Profiler, Ready, ReadyCheck, Service, ServiceName, StopPolicy, StopSignal, TemplateFile,
};
pub use problem::{PlanError, Problem, Problems};
pub use sink::{ArmBackend, Drops, RECEIVER_PLACEHOLDERS, SinkDetail, SinkPlan, ToldBy};
pub use stop::Stop;
pub use switch::Switch;
pub use template::{Segment, Template, TemplateError};

/// Names that mean something in every plan, so that no service and no factor may take them.
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
