//! `windage run PLAN --dry-run`: what would be launched, for how long and under which load.

use std::path::Path;

use windage_lab::{Program, expected_duration, programs, run_order};
use windage_model::LoadModel;
use windage_plan::{Attach, Iterations, Load, Origin, Plan};

use crate::progress::left::spoken;

/// One paragraph for each plan.
pub(super) fn text(plans: &[Plan], executable: &Path) -> String {
    let plans: Vec<String> = plans.iter().map(|plan| of_plan(plan, executable)).collect();
    plans.join("\n")
}

fn of_plan(plan: &Plan, executable: &Path) -> String {
    let mut out = format!("{}: nothing is launched (--dry-run)\n", plan.name);
    for command in &plan.build.commands {
        out += &format!("  build: {command}\n");
    }
    for service in &plan.services {
        if let Origin::Attach(attach) = &service.origin {
            out += &format!("  attaches to `{}`: {}\n", service.name, target(attach));
        }
    }
    for service in &plan.services {
        if let Some(pod) = &service.pod {
            let node = match (&plan.cluster.node, &plan.cluster.image) {
                (Some(name), _) => format!("node {name}"),
                (None, Some(_)) => "a node that the scheduler chooses".to_owned(),
                (None, None) => "the node of this machine".to_owned(),
            };
            let manifest = pod.manifest.path.display();
            out += &format!(
                "  pods of `{}`, one for each arm: {manifest}, on {node}\n",
                service.name
            );
        }
    }
    if let Some(image) = &plan.cluster.image {
        out += &format!(
            "  Windage itself, in a pod of {image}: a Job with the plan (ConfigMap) and an account that may make, \
             read and delete pods of the namespace (ServiceAccount, Role, RoleBinding)\n"
        );
    }
    for program in programs(plan, executable) {
        out += &of_program(&program);
    }
    for arm in &plan.arms {
        for (service, every) in &arm.scrape {
            let every = humantime::format_duration(*every);
            out += &format!("  scrapes `{service}` (arm {}) every {every}\n", arm.id);
        }
    }
    for load in plan.loads() {
        out += &of_load(load, plan);
    }
    out + &of_design(plan)
}

fn target(attach: &Attach) -> String {
    match attach {
        Attach::Pid(pid) => format!("process {pid}"),
        Attach::Cgroup(directory) => format!("control group {}", directory.display()),
        Attach::Unit(unit) => format!("unit {unit}"),
        Attach::Url(address) => format!("what listens on {address}"),
    }
}

fn of_program(of: &Program) -> String {
    let what = if of.is_agent { "agent" } else { "service" };
    let arms: Vec<&str> = of.arms.iter().map(|arm| arm.as_str()).collect();
    let whose = match arms[..] {
        [] => "one for all arms".to_owned(),
        [arm] => format!("arm {arm}"),
        _ => format!("arms {}", arms.join(", ")),
    };
    // A script of several lines takes one.
    let quoted = |word: &String| match word.contains(char::is_whitespace) {
        true => format!("{word:?}"),
        false => word.clone(),
    };
    let command: Vec<String> = of.command.iter().map(quoted).collect();
    let mut out = format!(
        "  {what} `{}` ({whose}): {}\n",
        of.service,
        command.join(" ")
    );
    if !of.variables.is_empty() {
        out += &format!("    variables: {}\n", of.variables.join(", "));
    }
    if let Some(user) = &of.user {
        out += &format!("    user: {user}\n");
    }
    if let Some(cpus) = &of.cpus {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        out += &format!("    cores: {}\n", cpus.join(", "));
    }
    out
}

fn of_load(load: &Load, plan: &Plan) -> String {
    let name = load.regime.as_ref();
    let name = name.map_or_else(String::new, |name| format!(" `{name}`"));
    let how = match load.model {
        LoadModel::Open => {
            let rate = load.rate_per_s.unwrap_or_default();
            format!("open loop, {rate} requests per second and arm")
        }
        LoadModel::Closed => "closed loop, as fast as answers come".to_owned(),
        LoadModel::Batch => match load.iterations {
            Iterations::Fixed(number) => format!("batch program, {number} iterations per window"),
            Iterations::Auto => "batch program, as many iterations as fill a window".to_owned(),
        },
    };
    let mut out = format!("  load{name}: {how}\n");
    if let Some(request) = load.summary() {
        out += &format!("    {request}, {} connections per arm\n", load.connections);
    }
    if plan.arms.iter().any(|arm| arm.backend.is_some()) {
        out += "    telemetry goes to Windage's receivers\n";
    }
    out
}

fn of_design(plan: &Plan) -> String {
    let (order, design) = (run_order(plan), &plan.design);
    let turns = order.turn_blocks_per_round();
    let windows = order.blocks_per_round().saturating_sub(turns);
    let mut blocks = Vec::new();
    if windows > 0 {
        let length = humantime::format_duration(design.window);
        let in_block = order.block(0).len();
        let blocks_of = counted(windows);
        blocks.push(format!("{blocks_of} of {in_block} windows of {length}"));
    }
    if let Some(interleaving) = design.interleaving.filter(|_| turns > 0) {
        let length = humantime::format_duration(interleaving.block);
        blocks.push(format!("{} of turns of {length}", counted(turns)));
    }
    let lasts = spoken(expected_duration(plan));
    let at_most = design.stop.map_or("about", |_| "at most");
    format!(
        "  rounds: {}, each with fresh launches of all arms and {}\n  lasts {at_most} {lasts}, and \
         launches\n",
        order.rounds(),
        blocks.join(" and "),
    )
}

fn counted(blocks: u32) -> String {
    match blocks {
        1 => "1 block".to_owned(),
        several => format!("{several} blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_would_be_launched_and_no_value_of_a_variable() {
        let text = r#"
            name = "shop"
            [build]
            commands = ["make app"]
            [[service]]
            name = "db"
            command = ["bin/db", "{listen}"]
            shared = true
            [[service]]
            name = "app"
            command = ["{plan}/bin/app", "--greeting", "good day", "{listen}", "{db}"]
            env = { API_TOKEN = "$TOKEN_OF_SHOP", LEVEL = "hidden" }
            user = "nobody"
            cpus = [1]
            metrics = "/metrics"
            [[agent]]
            name = "watcher"
            command = ["watcher", "--pid", "{app.pid}"]
            ready = { log = "up" }
            [load]
            model = "open"
            rate = "500/s"
            request = "GET http://{app}/orders/17"
            [[arm]]
            name = "off"
            baseline = true
            [[arm]]
            name = "sdk"
            env = { SDK = "on", ENDPOINT = "{otlp_http}" }
            scrape = { app = "15s" }
            [[arm]]
            name = "watched"
            agents = ["watcher"]
            [design]
            for = "60s"
        "#;
        let plan = Plan::parse(text, "plan.toml", Path::new("/plans")).unwrap();
        let shown = super::text(&[plan], Path::new("/bin/windage"));
        assert!(
            !shown.contains("hidden") && !shown.contains("TOKEN_OF_SHOP"),
            "{shown}"
        );
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_service_that_runs_already_and_one_that_stops_early() {
        let text = r#"
            name = "running"
            [[service]]
            name = "app"
            attach = { pid = 4711 }
            listen = "127.0.0.1:8080"
            [load]
            model = "closed"
            request = "GET http://{app}/"
            [[arm]]
            name = "off"
            baseline = true
            switch = ["true"]
            [[arm]]
            name = "on"
            switch = ["true"]
            [design]
            stop = { metric = "throughput", half_width = "1%", within = "5m" }
        "#;
        let plan = Plan::parse(text, "plan.toml", Path::new("/plans")).unwrap();
        insta::assert_snapshot!(super::text(&[plan], Path::new("/bin/windage")));
    }
}
