//! `windage doctor PLAN…`: whether this machine has what plans need, and whether a service that
//! already runs is the one that gets the load.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windage_lab::check_attached;
use windage_model::Facility;
use windage_plan::{Agent, Depth, Plan};
use windage_probe::System;
use windage_probe::facility::{Lack, Trials, lacking};

use crate::exit::Exit;
use crate::verbs::cluster;
use crate::verbs::run::{files, show_plan_error, show_plan_warnings};

use super::finding::listed;

/// What a plan needs, and the service to which it attaches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlanNeeds {
    path: PathBuf,
    /// Programs, users, environment variables and the node of pods, if they are missing, in words.
    lacks: Vec<String>,
    /// In the order of the file.
    agents: Vec<AgentNeeds>,
    attached: Option<Attached>,
}

/// A service that already runs, and why it can't be measured.
#[derive(Clone, Debug, PartialEq)]
enum Attached {
    Found(String),
    Missed(String),
}

impl Attached {
    fn of(plan: &Plan) -> Option<Attached> {
        match check_attached(plan) {
            Ok(service) => service.map(|name| Attached::Found(name.to_owned())),
            Err(error) => Some(Attached::Missed(error.to_string())),
        }
    }

    fn problem(&self) -> Option<&str> {
        match self {
            Attached::Found(_) => None,
            Attached::Missed(problem) => Some(problem),
        }
    }
}

/// What an agent needs, and which of it is missing.
#[derive(Clone, Debug, PartialEq)]
struct AgentNeeds {
    name: String,
    needs: Vec<Facility>,
    lacks: Vec<Lack>,
}

impl PlanNeeds {
    /// Checks what the plan and each of its agents need, and the service to which it attaches.
    fn of(path: &Path, plan: &Plan, system: &dyn System, trials: &dyn Trials) -> PlanNeeds {
        let needs = |agent: &Agent| AgentNeeds {
            name: agent.service.name.to_string(),
            needs: agent.needs.clone(),
            lacks: lacking(&agent.needs, system, trials),
        };
        let executable = std::env::current_exe().unwrap_or_default();
        let lacks = windage_lab::lacks(plan, &executable);
        PlanNeeds {
            path: path.to_owned(),
            lacks: lacks
                .iter()
                .map(ToString::to_string)
                .chain(cluster::node(plan).err())
                .collect(),
            agents: plan.agents.iter().map(needs).collect(),
            attached: Attached::of(plan),
        }
    }

    /// Whether nothing is missing.
    pub(super) fn runs_here(&self) -> bool {
        let agents_run = self.agents.iter().all(|agent| agent.lacks.is_empty());
        self.lacks.is_empty() && agents_run && self.problem().is_none()
    }

    fn problem(&self) -> Option<&str> {
        self.attached.as_ref()?.problem()
    }

    fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        for lack in self.agents.iter().flat_map(|agent| &agent.lacks) {
            if !missing.contains(&lack.facility.as_str()) {
                missing.push(lack.facility.as_str());
            }
        }
        missing
    }
}

/// Reads every plan and checks what it needs.
///
/// # Errors
///
/// [`Exit::Usage`] if a plan is wrong; the problems have been printed.
pub(super) fn look(
    paths: &[PathBuf],
    system: &dyn System,
    trials: &dyn Trials,
) -> Result<Vec<PlanNeeds>, Exit> {
    let mut plans = Vec::new();
    let mut failed = false;
    for path in files(paths)? {
        match Plan::load(&path, Depth::Usual) {
            Ok(plan) => {
                show_plan_warnings(&path, &plan);
                plans.push(PlanNeeds::of(&path, &plan, system, trials));
            }
            Err(error) => {
                failed = true;
                show_plan_error(&error);
            }
        }
    }
    if failed { Err(Exit::Usage) } else { Ok(plans) }
}

/// One paragraph per plan.
pub(super) fn text(plans: &[PlanNeeds]) -> String {
    let paragraphs: Vec<String> = plans.iter().map(paragraph).collect();
    paragraphs.join("\n")
}

fn paragraph(plan: &PlanNeeds) -> String {
    let mut out = format!("{}\n", plan.path.display());
    for lack in &plan.lacks {
        out += &format!("  missing: {lack}\n");
    }
    if plan.lacks.is_empty() {
        out += "  its programs, users and environment variables: all available\n";
    }
    match &plan.attached {
        Some(Attached::Found(name)) => {
            out += &format!("  service `{name}` can be attached to\n");
        }
        Some(Attached::Missed(problem)) => out += &format!("  {problem}\n"),
        None => {}
    }
    if plan.agents.is_empty() {
        out += "  no agents: run `windage doctor` without a plan for everything else\n";
        return out;
    }
    for agent in &plan.agents {
        out += &lines_of(agent);
    }
    out += &match &plan.missing()[..] {
        [] => "  this machine has everything that the agents need\n".to_owned(),
        missing => format!("  the plan runs on a host that has {}\n", listed(missing)),
    };
    out
}

fn lines_of(agent: &AgentNeeds) -> String {
    let AgentNeeds { name, needs, lacks } = agent;
    if needs.is_empty() {
        return format!("  agent `{name}` names no `needs`\n");
    }
    let needs: Vec<&str> = needs.iter().map(|facility| facility.as_str()).collect();
    let mut out = format!("  agent `{name}` needs {}", listed(&needs));
    out += if lacks.is_empty() {
        ": all available\n"
    } else {
        "\n"
    };
    for lack in lacks {
        let facility = lack.facility.as_str();
        out += &format!("    missing: {facility}: {}\n", lack.why);
        out += &format!("    -> {}\n", lack.remedy);
    }
    out
}

/// The document of `--json`.
pub(super) fn json(plans: &[PlanNeeds]) -> Value {
    let plans: Vec<Value> = plans.iter().map(document).collect();
    json!({ "schema": 1, "plans": plans })
}

fn document(plan: &PlanNeeds) -> Value {
    let agents: Vec<Value> = plan
        .agents
        .iter()
        .map(|agent| {
            let needs: Vec<&str> = agent.needs.iter().map(|need| need.as_str()).collect();
            let missing: Vec<Value> = agent.lacks.iter().map(lack).collect();
            json!({ "name": agent.name, "needs": needs, "missing": missing })
        })
        .collect();
    json!({
        "path": plan.path.display().to_string(),
        "missing": plan.lacks,
        "agents": agents,
        "attached": plan.attached.as_ref().map(|of| json!({ "problem": of.problem() })),
        "runs_here": plan.runs_here(),
    })
}

fn lack(lack: &Lack) -> Value {
    json!({
        "facility": lack.facility.as_str(),
        "why": lack.why,
        "remedy": lack.remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_probe::FakeSystem;
    use windage_probe::facility::{FakeTrials, ProgramType};

    /// A machine without kernel probes that refuses tracing programs.
    fn needs(agents: &[(&str, &[Facility])]) -> PlanNeeds {
        let system = FakeSystem::new();
        system.set("/sys/kernel/btf/vmlinux", "");
        let trials = FakeTrials::new().failing(ProgramType::Tracing, 1);
        let agent = |&(name, needs): &(&str, &[Facility])| AgentNeeds {
            name: name.to_owned(),
            needs: needs.to_owned(),
            lacks: lacking(needs, &system, &trials),
        };
        PlanNeeds {
            path: PathBuf::from("plans/beyla.toml"),
            lacks: Vec::new(),
            agents: agents.iter().map(agent).collect(),
            attached: None,
        }
    }

    #[test]
    fn each_agent_is_told_what_it_lacks() {
        use Facility::{Bpf, Btf, Fentry, Kprobe};
        let plans = [
            needs(&[
                ("beyla", &[Bpf, Kprobe, Btf]),
                ("tracer", &[Kprobe, Fentry]),
                ("otel", &[Bpf]),
                ("script", &[]),
            ]),
            needs(&[("otel", &[Bpf, Btf])]),
            needs(&[]),
            PlanNeeds {
                lacks: vec!["service `app` of arm `on` can't be launched: why".to_owned()],
                ..needs(&[])
            },
        ];
        let here: Vec<bool> = plans.iter().map(PlanNeeds::runs_here).collect();
        assert_eq!(here, [false, true, true, false]);
        insta::assert_snapshot!(text(&plans));
    }

    #[test]
    fn the_document_names_what_is_missing() {
        let plan = needs(&[("beyla", &[Facility::Bpf, Facility::Kprobe])]);
        let document = json(&[plan]);
        assert_eq!(document["schema"], 1);
        let plan = &document["plans"][0];
        assert_eq!(plan["path"], "plans/beyla.toml");
        assert_eq!(plan["runs_here"], false);
        let agent = &plan["agents"][0];
        assert_eq!(agent["needs"], json!(["bpf", "kprobe"]));
        let missing = agent["missing"].as_array().unwrap();
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert_eq!(missing[0]["facility"], "kprobe");
        let remedy = missing[0]["remedy"].as_str().unwrap();
        assert!(remedy.contains("CONFIG_KPROBE_EVENTS"), "{remedy}");
    }
}
