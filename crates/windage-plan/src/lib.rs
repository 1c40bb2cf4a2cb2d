//! Plans: strict TOML in, a checked [`Plan`] out; errors point into the file.
//!
//! `docs/FORMAT.md` is the specification. The way down is wire types (strict, spanned) →
//! resolving (every rule, as many problems as can be told at once) → domain types (no `Option`
//! that means "the default"). Defaults live here and nowhere else.
//!
//! Besides the plan and the templates that it names, nothing here opens a file; nothing looks
//! up a host name or starts a process.

mod address;
mod defaults;
mod expect;
mod plan;
mod print;
mod problem;
mod resolve;
mod template;
mod units;
mod wire;

pub use address::{Endpoint, Host};
pub use plan::{
    Arm, Arrivals, Attach, BatchKind, Build, Design, Expect, HeaderValue, Length, Load, OnDeath,
    Origin, Plan, Ready, ReadyCheck, Request, Service, ServiceName, StopPolicy, StopSignal,
    TemplateFile,
};
pub use problem::{PlanError, Problem, Problems};
pub use template::{Template, TemplateError};

/// Names that mean something in every plan, so that no service and no factor may take them.
pub const RESERVED_PLACEHOLDERS: [&str; 7] = [
    "listen",
    "port",
    "dir",
    "plan",
    "arm",
    "otlp_http",
    "windage",
];
