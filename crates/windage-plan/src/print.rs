//! Prints a plan as TOML, with every default spelled out.

mod load;
mod sink;
mod switch;
mod toml_text;

use std::collections::BTreeMap;
use std::time::Duration;

use windage_model::{ArmId, ArmIndex, Budget, Claim, Facility, LevelValue, Role, Says, Until};

use crate::plan::{
    Arm, Attach, ClusterPlace, Design, Length, Origin, Plan, PodSource, Profile, Ready, ReadyCheck,
    Service,
};
use crate::{Stop, Template, Turn, Value, budget, defaults, units};
use toml_text::{Toml, duration, inline, list, quote, template};

impl Plan {
    /// The plan as TOML with every default spelled out and sweeps expanded, for the run directory.
    /// Parsing it in the same folder gives an equal plan except for [`source`](Plan::source).
    /// Values from the environment stay `$NAME`.
    #[must_use]
    pub fn to_resolved_toml(&self) -> String {
        let mut out = Toml::default();
        out.comment("The resolved plan: defaults spelled out, sweeps expanded.");
        out.comment("Relative paths start at the folder of the plan that it was made from.");
        out.entry("name", quote(&self.name));
        out.optional("about", self.about.as_deref().map(quote));
        out.table("[build]");
        out.entry(
            "commands",
            list(self.build.commands.iter().map(|c| quote(c))),
        );
        out.entry("within", duration(self.build.within));
        let versions = self.build.versions.iter();
        out.entry(
            "versions",
            inline(versions.map(|(of, command)| (of, quote(command)))),
        );
        if self.cluster != ClusterPlace::default() {
            out.table("[cluster]");
            out.optional("context", self.cluster.context.as_deref().map(quote));
            out.optional("namespace", self.cluster.namespace.as_deref().map(quote));
            out.optional("node", self.cluster.node.as_deref().map(quote));
            out.optional("image", self.cluster.image.as_deref().map(quote));
            let pull_secret = self.cluster.pull_secret.as_deref();
            out.optional("pull_secret", pull_secret.map(quote));
        }
        for service in &self.services {
            print_program(&mut out, service, None);
        }
        for agent in &self.agents {
            print_program(&mut out, &agent.service, Some(&agent.needs));
        }
        load::print(&mut out, &self.load);
        for load in &self.other_loads {
            load::print_regime(&mut out, load);
        }
        let control_shares = match self.arms.as_slice() {
            [baseline, control, ..] => baseline.instance == control.instance,
            _ => false,
        };
        for (index, arm) in self.arms.iter().enumerate() {
            // Reading adds the control.
            if index != ArmIndex::CONTROL.get() {
                print_arm(&mut out, arm, control_shares);
            }
        }
        for budget in &self.budgets {
            print_budget(&mut out, budget, &self.arms);
        }
        for claim in &self.claims {
            print_claim(&mut out, claim, &self.arms);
        }
        sink::print(&mut out, self.sink.as_ref());
        if let Some(profile) = &self.profile {
            print_profile(&mut out, profile);
        }
        print_design(&mut out, &self.design, !self.agents.is_empty());
        out.text
    }
}

/// Prints a service, or an agent with its needs.
fn print_program(out: &mut Toml, service: &Service, needs: Option<&[Facility]>) {
    let header = if needs.is_some() {
        "[[agent]]"
    } else {
        "[[service]]"
    };
    out.table(header);
    out.entry("name", quote(service.name.as_str()));
    match &service.origin {
        Origin::Command(_) if service.pod.is_some() => {}
        Origin::Command(words) => out.entry("command", templates(words)),
        Origin::Attach(attach) => out.entry(
            "attach",
            match attach {
                Attach::Pid(pid) => format!("{{ pid = {pid} }}"),
                Attach::Cgroup(path) => {
                    format!("{{ cgroup = {} }}", quote(&path.to_string_lossy()))
                }
                Attach::Unit(unit) => format!("{{ unit = {} }}", quote(unit)),
                Attach::Url(endpoint) => {
                    format!("{{ url = {} }}", quote(&format!("http://{endpoint}")))
                }
            },
        ),
    }
    out.optional("pod", service.pod.as_ref().map(pod));
    out.optional(
        "listen",
        service.listen.map(|listen| quote(&listen.to_string())),
    );
    out.optional("cwd", service.cwd.as_ref().map(template));
    let files = service.files.iter().map(|file| {
        let path = quote(&file.template.to_string_lossy());
        format!(
            "{{ template = {path}, to = {} }}",
            quote(&file.to.to_string_lossy())
        )
    });
    out.optional("cpus", service.cpus.as_deref().map(list));
    match needs {
        Some(needs) => out.entry("needs", list(needs.iter().map(|n| quote(n.as_str())))),
        None => out.entry("shared", service.shared),
    }
    out.optional("ready", ready(&service.ready));
    // Services that are already running have no environment or files, and are not stopped.
    if service.pod.is_some() {
        out.entry("env", env(&service.env));
        out.entry(
            "stop",
            format!("{{ within = {} }}", duration(service.stop.within)),
        );
        sink::print_drops(out, service);
    } else if matches!(service.origin, Origin::Command(_)) {
        out.entry("env", env(&service.env));
        out.entry("clean_env", service.clean_env);
        out.optional("user", service.user.as_deref().map(quote));
        out.entry("files", list(files));
        out.entry("ports", list(service.ports.iter().map(|port| quote(port))));
        let check = &service.check;
        out.optional("check", (!check.is_empty()).then(|| templates(check)));
        let (signal, within) = (service.stop.signal.as_str(), duration(service.stop.within));
        out.entry(
            "stop",
            format!("{{ signal = {}, within = {within} }}", quote(signal)),
        );
        sink::print_drops(out, service);
    }
}

fn pod(pod: &PodSource) -> String {
    let manifest = quote(&pod.manifest.path.to_string_lossy());
    let container = pod.container.as_deref().map(quote);
    let container = container
        .map(|of| format!(", container = {of}"))
        .unwrap_or_default();
    format!(
        "{{ manifest = {manifest}, port = {}{container} }}",
        pod.port
    )
}

fn ready(ready: &Ready) -> Option<String> {
    let check = match &ready.check {
        ReadyCheck::Http { path } => format!("http = {}", template(path)),
        ReadyCheck::Tcp => "tcp = true".to_owned(),
        ReadyCheck::Log { pattern } => format!("log = {}", quote(pattern)),
        ReadyCheck::Metric { name } => format!("metric = {}", quote(name)),
        ReadyCheck::Delay(delay) => format!("delay = {}", duration(*delay)),
        ReadyCheck::None if ready.within == defaults::READY_WITHIN => return None,
        ReadyCheck::None => return Some(format!("{{ within = {} }}", duration(ready.within))),
    };
    Some(format!(
        "{{ {check}, within = {} }}",
        duration(ready.within)
    ))
}

fn print_arm(out: &mut Toml, arm: &Arm, control_shares: bool) {
    out.table("[[arm]]");
    out.entry("name", quote(&arm.name));
    out.optional("about", arm.about.as_deref().map(quote));
    out.entry("baseline", arm.role == Role::Baseline);
    match &arm.bystander_of {
        // All other keys are the control's.
        Some(id) => out.entry("bystander_of", quote(id.as_str())),
        None => print_treatment(out, arm, control_shares),
    }
    let other = |arm: &Option<ArmId>| arm.as_ref().map(|id| quote(id.as_str()));
    out.optional("adds_to", other(&arm.adds_to));
    out.optional("same_as", other(&arm.same_as));
}

/// Prints the keys of an arm that is not a bystander.
fn print_treatment(out: &mut Toml, arm: &Arm, control_shares: bool) {
    // A baseline that names its instance shares it with the control.
    if arm.role != Role::Baseline || control_shares {
        out.entry("instance", quote(&arm.instance));
    }
    let agents = arm.agents.iter().map(|name| quote(name.as_str()));
    out.optional("agents", (!arm.agents.is_empty()).then(|| list(agents)));
    let levels = arm.levels.iter().map(|(factor, level)| {
        let value = match level {
            LevelValue::Number(_) => level.to_string(),
            LevelValue::Text(text) => quote(text),
        };
        (factor.as_str(), format!("[{value}]"))
    });
    out.entry("sweep", inline(levels));
    out.entry("env", env(&arm.env));
    let words = |(name, words): (&'_ crate::ServiceName, &Vec<Template>)| {
        (name.as_str().to_owned(), templates(words))
    };
    out.entry("args", inline(arm.args.iter().map(words)));
    out.entry("command", inline(arm.command.iter().map(words)));
    let patch = arm
        .patch
        .iter()
        .map(|(name, file)| (name.as_str(), quote(&file.path.to_string_lossy())));
    out.optional("patch", (!arm.patch.is_empty()).then(|| inline(patch)));
    let every = |(name, every): (&'_ crate::ServiceName, &Duration)| {
        (name.as_str().to_owned(), duration(*every))
    };
    let scrape = (!arm.scrape.is_empty()).then(|| inline(arm.scrape.iter().map(every)));
    out.optional("scrape", scrape);
    out.entry("switch", list(arm.switch.iter().map(switch::print)));
    let restore = Some(&arm.restore).filter(|steps| !steps.is_empty());
    out.optional(
        "restore",
        restore.map(|steps| list(steps.iter().map(switch::print))),
    );
    out.optional("backend", arm.backend.as_ref().map(|b| template(&b.words)));
    if let Some(expect) = &arm.expect {
        // `{:?}` keeps the point, which makes it a TOML float.
        let given = expect.given().map(|(key, n)| (key, format!("{n:?}")));
        let interval = expect.points.map(|of| ("interval", duration(of.interval)));
        out.entry("expect", inline(given.chain(interval)));
    }
}

fn print_budget(out: &mut Toml, budget: &Budget, arms: &[Arm]) {
    out.table("[[budget]]");
    out.entry("of", quote(budget.of.as_str()));
    out.entry("metric", quote(budget.metric.as_str()));
    let of = budget.arms.iter().filter_map(|arm| arms.get(arm.get()));
    out.entry("arms", list(of.map(|arm| quote(arm.id.as_str()))));
    let at_most = budget::print(budget.metric.unit(), budget.at_most);
    out.entry("at_most", quote(&at_most));
    if let Some(limit) = budget.warn_above {
        out.entry(
            "warn_above",
            quote(&budget::print(budget.metric.unit(), limit)),
        );
    }
    if let Some(of) = &budget.overridden {
        let at_most = quote(&budget::print(budget.metric.unit(), of.at_most));
        let (reason, until) = (quote(&of.reason), quote(&of.until));
        let table = format!("{{ at_most = {at_most}, reason = {reason}, until = {until} }}");
        out.entry("override", table);
    }
    out.entry("confidence", format!("{:?}", budget.confidence));
}

fn print_claim(out: &mut Toml, claim: &Claim, arms: &[Arm]) {
    out.table("[[claim]]");
    let of = &claim.publication;
    out.entry("text", quote(&of.text));
    out.entry("source", quote(&of.source));
    let optional = [
        ("date", &of.date),
        ("version", &of.version),
        ("differs", &of.differs),
    ];
    for (key, text) in optional {
        if let Some(text) = text {
            out.entry(key, quote(text));
        }
    }
    out.entry("metric", quote(claim.metric.as_str()));
    let of = claim.arms.iter().filter_map(|arm| arms.get(arm.get()));
    out.entry("arms", list(of.map(|arm| quote(arm.id.as_str()))));
    let mut limit = |key, limit| {
        out.entry(key, quote(&budget::print(claim.metric.unit(), limit)));
    };
    match claim.says {
        Says::AtMost(most) => limit("at_most", most),
        Says::AtLeast(least) => limit("at_least", least),
        Says::About { value, tolerance } => {
            limit("value", value);
            limit("tolerance", tolerance);
        }
    }
    out.entry("confidence", format!("{:?}", claim.confidence));
}

fn print_profile(out: &mut Toml, profile: &Profile) {
    out.table("[profile]");
    out.entry("with", quote(profile.with.as_str()));
    out.entry("program", quote(&profile.program));
    out.entry("for", duration(profile.lasts));
    out.entry(
        "rate",
        quote(&units::print_rate(f64::from(profile.rate_hz))),
    );
}

fn print_design(out: &mut Toml, design: &Design, has_agents: bool) {
    out.table("[design]");
    match design.interleaving {
        Some(interleaving) => {
            out.entry(
                "turn",
                match interleaving.turn {
                    Turn::Time(time) => duration(time),
                    Turn::Requests(requests) => requests.to_string(),
                },
            );
            out.entry("block", duration(interleaving.block));
            out.entry("isolated", format!("{:?}", interleaving.isolated));
        }
        None => out.entry("isolated", quote("100%")),
    }
    out.entry("window", duration(design.window));
    out.entry("settle", duration(design.settle));
    out.entry("rounds", design.rounds);
    match (design.stop, design.length) {
        (Some(stop), _) => out.entry("stop", print_stop(stop)),
        (None, Length::Blocks(blocks)) => out.entry("blocks", blocks),
        (None, Length::MeasuringTime(time)) => out.entry("for", duration(time)),
    }
    if has_agents {
        out.entry("agent_stretch", duration(design.agent_stretch));
        out.entry("agent_warmup", duration(design.agent_warmup));
        out.entry("bpf_statistics", duration(design.bpf_statistics));
    }
    out.entry("warmup", duration(design.warmup));
    let warmup_rate = design.warmup_rate_per_s.map(units::print_rate);
    out.optional("warmup_rate", warmup_rate.map(|rate| quote(&rate)));
    out.entry("drain", duration(design.drain));
    out.entry("idle", duration(design.idle));
    out.entry("order", quote(design.order.as_str()));
    out.entry("seed", design.seed);
    out.entry("margin", format!("{:?}", design.margin));
    out.entry("on_death", quote(design.on_death.as_str()));
}

fn print_stop(stop: Stop) -> String {
    let until = match stop.until {
        Until::Known { metric, half_width } => {
            let metric = quote(metric.as_str());
            format!("metric = {metric}, half_width = {half_width:?}")
        }
        Until::Budgets => "budgets = true".to_owned(),
    };
    format!("{{ {until}, within = {} }}", duration(stop.within))
}

fn templates(templates: &[Template]) -> String {
    list(templates.iter().map(template))
}

fn env(env: &BTreeMap<String, Value>) -> String {
    inline(env.iter().map(|(key, value)| {
        let text = match value {
            // A `$` at the beginning is doubled in the file.
            Value::Literal(literal) if literal.as_str().starts_with('$') => {
                quote(&format!("${literal}"))
            }
            Value::Literal(literal) => template(literal),
            Value::Environment { variable } => quote(&format!("${variable}")),
        };
        (key.as_str(), text)
    }))
}
