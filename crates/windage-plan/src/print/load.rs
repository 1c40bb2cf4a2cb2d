//! Prints `[load]` and `[[regime]]`.

use std::path::Path;

use windage_model::LoadModel;

use super::toml_text::{Toml, duration, inline, list, quote, template};
use crate::load::{
    AUTO, BatchKind, Body, Field, Flow, Iterations, Load, Piece, Protocol, Request, Starts, Step,
    Table, Tls,
};
use crate::{Value, units};

pub(super) fn print(out: &mut Toml, load: &Load) {
    out.table("[load]");
    out.optional("regime", load.regime.as_deref().map(quote));
    out.entry("model", quote(load.model.as_str()));
    match load.model {
        LoadModel::Batch => {
            out.entry("batch", quote(load.batch.as_str()));
            match load.iterations {
                Iterations::Fixed(number) => out.entry("iterations", number),
                Iterations::Auto => out.entry("iterations", quote(AUTO)),
            }
            if load.batch == BatchKind::Resident {
                out.entry("flush", quote(load.flush.as_str()));
            }
        }
        LoadModel::Open | LoadModel::Closed => print_loop(out, load),
    }
    out.entry("timeout", duration(load.timeout));
    out.optional("cpus", load.cpus.as_deref().map(list));
    out.entry(
        "allow",
        list(load.allow.iter().map(|host| quote(&host.to_string()))),
    );
    // Subtables come last: keys after them would belong to them.
    for flow in &load.flows {
        print_flow(out, flow);
    }
}

/// Prints another load: the keys in which it may differ from the first.
pub(super) fn print_regime(out: &mut Toml, load: &Load) {
    out.table("[[regime]]");
    out.optional("name", load.regime.as_deref().map(quote));
    out.entry("model", quote(load.model.as_str()));
    if load.model == LoadModel::Open {
        print_starts(out, load);
        out.entry("connections_max", load.connections_max);
    }
    out.entry("connections", load.connections);
}

fn print_loop(out: &mut Toml, load: &Load) {
    if load.model == LoadModel::Open {
        print_starts(out, load);
    }
    out.entry("protocol", quote(load.protocol.as_str()));
    if load.protocol != Protocol::Http1 {
        out.entry("streams", load.streams);
    }
    out.entry("threads", load.threads);
    out.entry("connections", load.connections);
    if load.model == LoadModel::Open {
        out.entry("connections_max", load.connections_max);
    }
    out.optional("tls", load.tls.as_ref().map(tls));
    out.optional("unix", load.unix.as_ref().map(template));
    if let Some(request) = &load.request {
        for (key, value) in request_keys(request) {
            out.entry(key, value);
        }
    }
    if !load.fields.is_empty() {
        let fields = load.fields.iter();
        out.entry(
            "fields",
            inline(fields.map(|(name, given)| (name, field(given, &load.tables)))),
        );
    }
}

fn print_starts(out: &mut Toml, load: &Load) {
    match &load.starts {
        Starts::Steady => {
            let rate = load.rate_per_s.map(rate);
            out.optional("rate", rate);
        }
        Starts::Profile(pieces) => out.entry("profile", list(pieces.iter().map(piece))),
        Starts::Replay(replay) => {
            out.entry("replay", path(&replay.file));
            // The file contains every start.
            return;
        }
    }
    out.entry("arrivals", quote(load.arrivals.as_str()));
}

fn rate(rate_per_s: f64) -> String {
    quote(&units::print_rate(rate_per_s))
}

fn piece(piece: &Piece) -> String {
    let keys = [
        ("rate", rate(piece.from_per_s)),
        ("to", rate(piece.to_per_s)),
        ("for", duration(piece.lasts)),
    ];
    inline(keys)
}

fn tls(tls: &Tls) -> String {
    let ca = tls.ca.as_deref().map(|ca| ("ca", path(ca)));
    let server_name = tls.server_name.as_ref().map(|name| {
        let name = quote(&name.to_string());
        ("server_name", name)
    });
    let insecure = ("insecure", tls.insecure.to_string());
    inline(ca.into_iter().chain(server_name).chain([insecure]))
}

fn print_flow(out: &mut Toml, flow: &Flow) {
    out.table("[[load.flow]]");
    out.optional("name", flow.name.as_deref().map(quote));
    out.entry("weight", flow.weight);
    let steps: String = flow
        .steps
        .iter()
        .map(|given| format!("    {},\n", step(given)))
        .collect();
    out.entry("steps", format!("[\n{steps}]"));
}

fn step(step: &Step) -> String {
    let mut keys = request_keys(&step.request);
    keys.push(("think", duration(step.think)));
    inline(keys)
}

/// The keys of a request, in `[load]` or in a step.
fn request_keys(request: &Request) -> Vec<(&'static str, String)> {
    let line = format!("{} {}", request.method, request.url);
    let body = request.body.as_ref().map(|body| match body {
        Body::Text(text) => ("body", template(text)),
        Body::File { file, .. } => ("body_file", path(file)),
    });
    let headers = request.headers.iter().map(|(name, value)| match value {
        Value::Literal(value) => (name.as_str(), template(value)),
        Value::Environment { variable } => (name.as_str(), quote(&format!("${variable}"))),
    });
    let mut keys = vec![("request", quote(&line))];
    keys.extend(body);
    keys.push(("headers", inline(headers)));
    keys
}

fn field(field: &Field, tables: &[Table]) -> String {
    match field {
        Field::Counter { from, step } => format!("{{ counter = {from}, step = {step} }}"),
        Field::Random { low, high } => format!("{{ random = [{low}, {high}] }}"),
        Field::Column { table, column } => {
            let table = &tables[*table];
            inline([
                ("csv", path(&table.file)),
                ("column", quote(column)),
                ("order", quote(table.order.as_str())),
            ])
        }
    }
}

fn path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}
