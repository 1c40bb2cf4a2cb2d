//! Placeholders: what each may name, by its position, and what follows from that.

mod agents_and_services;
mod own;

use std::collections::BTreeSet;
use std::ops::Range;

use super::checker::Checker;
use super::file_arm::FileArm;
use super::implied;
use super::ports::{self, further_port, further_ports};
use super::resolved::Resolved;
use super::site::{Site, Use};
use crate::plan::ReadyCheck;
use crate::problem::choices;
use crate::sink::is_receiver;
use crate::wire::PlanFile;
use crate::{Problem, RESERVED_PLACEHOLDERS};

/// Checks every placeholder, then settles which services need an address and, from that, when
/// those without `ready` count as up. Returns whether every placeholder is valid.
pub(super) fn check(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    services: &mut [Resolved],
) -> bool {
    let uses = std::mem::take(&mut checker.uses);
    let scope = Scope {
        arms,
        services,
        file,
    };
    let mut addressed = BTreeSet::new();
    let mut misused = false;
    for used in &uses {
        for name in used.template.placeholders() {
            match scope.judge(used, name) {
                Ok(indices) => addressed.extend(indices),
                Err(problem) => {
                    misused = true;
                    let span = placeholder_span(checker.text, &used.span, name);
                    checker.report(problem.locate(used, name, span));
                }
            }
        }
    }
    if misused {
        // A misspelt name could cause "never used" problems, so those checks are skipped then.
        checker.uses = uses;
        return false;
    }
    implied::unused_factors(checker, &uses, arms, services);
    implied::unused_fields(checker, &uses, file);
    for index in addressed {
        services[index].service.addressed = true;
    }
    implied::socket_is_awaited(checker, &uses, services);
    ports::check_used(checker, &uses, file, services);
    for index in 0..services.len() {
        implied::has_address(checker, &uses, index, services);
        let Resolved {
            service,
            ready_given,
            ..
        } = &mut services[index];
        if service.addressed && !*ready_given {
            service.ready.check = ReadyCheck::Tcp;
        }
    }
    checker.uses = uses;
    true
}

/// What is wrong with a placeholder. [`Misuse::locate`] adds its position.
struct Misuse {
    message: String,
    label: String,
    help: String,
}

impl Misuse {
    fn new(message: impl Into<String>, label: &str, help: impl Into<String>) -> Misuse {
        Misuse {
            message: message.into(),
            label: label.to_owned(),
            help: help.into(),
        }
    }

    fn locate(self, used: &Use, name: &str, span: Range<usize>) -> Problem {
        let Some(file) = &used.file else {
            return Problem::new(span, self.message, self.label).help(self.help);
        };
        let text = used.template.as_str();
        let at = text.find(&format!("{{{name}}}")).unwrap_or(0);
        let line = text[..at].matches('\n').count() + 1;
        let message = format!("{file}:{line}: {}", self.message);
        Problem::new(used.span.clone(), message, "in this template").help(self.help)
    }
}

struct Scope<'a> {
    arms: &'a [FileArm],
    services: &'a [Resolved],
    file: &'a PlanFile,
}

impl Scope<'_> {
    /// The services that need an address because of the placeholder, or what is wrong with it.
    fn judge(&self, used: &Use, name: &str) -> Result<Vec<usize>, Misuse> {
        let shared =
            matches!(used.site, Site::Service { index, .. } if self.services[index].service.shared);
        if let Site::ArmBackend { arm } = used.site {
            return self.of_the_arm(arm, name);
        }
        if let Some(service) = name.strip_suffix(".pid") {
            return self.pid(used, name, service);
        }
        if let Some(port) = further_port(name) {
            return self.further_port(used, name, port);
        }
        match name {
            "listen" | "port" | "dir" => self.own(used, name),
            "plan" | "windage" | "launch" => Ok(Vec::new()),
            _ if name != "arm" && !is_receiver(name) => self.named(used, name, shared),
            _ if shared => Err(self.not_in_shared(name)),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the address of a service or an agent is known where the template is rendered.
    fn may_name(&self, used: &Use, name: &str, index: usize) -> Result<(), Misuse> {
        let named = &self.services[index];
        let by = match used.site {
            Site::Service { index, .. } => Some(&self.services[index]),
            _ => None,
        };
        if by.is_some_and(|by| by.service.shared) && !named.service.shared {
            return Err(self.not_in_shared(name));
        }
        if named.is_agent {
            return self.agent_is_there(used, name, index);
        }
        Ok(())
    }

    /// A name that the plan defines: a service, a field, a factor.
    fn named(&self, used: &Use, name: &str, shared: bool) -> Result<Vec<usize>, Misuse> {
        match self.service(name) {
            Some(index) => self.may_name(used, name, index).map(|()| vec![index]),
            None if self.is_field(name) && used.site == Site::Load => Ok(Vec::new()),
            None if self.is_field(name) => Err(field_elsewhere(name)),
            None if !self.is_factor(name) => Err(self.unknown(used, name)),
            None if shared => Err(self.not_in_shared(name)),
            None => self.factor(used, name),
        }
    }

    /// A backend may depend only on the arm's levels, since it is resolved when the plan is read.
    fn of_the_arm(&self, arm: usize, name: &str) -> Result<Vec<usize>, Misuse> {
        let factors = &self.arms[arm].factors;
        let known: Vec<&str> = factors.iter().map(|(factor, _)| factor.as_str()).collect();
        if known.contains(&name) {
            return Ok(Vec::new());
        }
        let help = if known.is_empty() {
            "the arm has no `sweep`; write the backend out, such as \"slow 200ms\"".to_owned()
        } else {
            choices(name, &known)
        };
        Err(Misuse::new(
            format!("`{{{name}}}` is not a factor of this arm"),
            "not a factor of this arm",
            help,
        ))
    }

    fn not_in_shared(&self, name: &str) -> Misuse {
        let message =
            format!("a shared service can't use `{{{name}}}`: it is launched once, for all arms");
        let shared = || self.services.iter().filter(|s| s.service.shared);
        let ports: Vec<String> = shared().flat_map(further_ports).collect();
        let allowed: Vec<String> = ["listen", "port", "dir", "plan", "windage", "launch"]
            .into_iter()
            .chain(shared().map(Resolved::name))
            .chain(ports.iter().map(String::as_str))
            .map(|name| format!("`{{{name}}}`"))
            .collect();
        Misuse::new(
            message,
            "differs between arms",
            format!("allowed: {}", allowed.join(", ")),
        )
    }

    /// A factor must have a level in every arm that the template is rendered for.
    fn factor(&self, used: &Use, name: &str) -> Result<Vec<usize>, Misuse> {
        let lacks = |arm: &FileArm| !arm.factors.iter().any(|(factor, _)| factor == name);
        let lacking = self
            .arms
            .iter()
            .enumerate()
            .find(|&(index, arm)| lacks(arm) && used.reaches(index, arm, self.services));
        let Some((index, _)) = lacking else {
            return Ok(Vec::new());
        };
        let arm = &self.file.arm[index];
        let role = match &arm.baseline {
            Some(baseline) if *baseline.get_ref() => "the baseline",
            _ => "the arm",
        };
        let lacking_name = arm.name.get_ref();
        let owner = self
            .arms
            .iter()
            .position(|arm| !lacks(arm))
            .map_or("another arm", |owner| {
                self.file.arm[owner].name.get_ref().as_str()
            });
        Err(Misuse::new(
            format!("{role} `{lacking_name}` also needs `{{{name}}}`, but has no such factor"),
            &format!("a factor of `{owner}`"),
            format!(
                "give `{lacking_name}` its own level (sweep = {{ {name} = [...] }}), or use \
                 `{{{name}}}` only in keys of the arms that have it"
            ),
        ))
    }

    fn unknown(&self, used: &Use, name: &str) -> Misuse {
        let own = |r: &&str| used.at_launch() || !matches!(*r, "listen" | "port" | "dir");
        let mut known: Vec<&str> = RESERVED_PLACEHOLDERS.iter().copied().filter(own).collect();
        known.extend(self.services.iter().map(Resolved::name));
        let factors: BTreeSet<&str> = self
            .arms
            .iter()
            .flat_map(|arm| arm.factors.iter())
            .map(|(f, _)| f.as_str())
            .collect();
        known.extend(factors);
        let ports: Vec<String> = self.services.iter().flat_map(further_ports).collect();
        known.extend(ports.iter().map(String::as_str));
        if used.site == Site::Load {
            known.extend(self.fields());
        }
        Misuse::new(
            format!("unknown placeholder `{{{name}}}`"),
            "not known here",
            format!(
                "{}; write `{{{{{name}}}}}` for a literal `{{{name}}}`",
                choices(name, &known)
            ),
        )
    }

    fn service(&self, name: &str) -> Option<usize> {
        let service = name.strip_suffix(".port").unwrap_or(name);
        self.services.iter().position(|s| s.name() == service)
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        let fields = self.file.load.fields.0.iter();
        fields.map(|(name, _)| name.get_ref().as_str())
    }

    fn is_field(&self, name: &str) -> bool {
        self.fields().any(|field| field == name)
    }

    fn is_factor(&self, name: &str) -> bool {
        self.arms
            .iter()
            .any(|arm| arm.factors.iter().any(|(factor, _)| factor == name))
    }
}

fn field_elsewhere(name: &str) -> Misuse {
    Misuse::new(
        format!("`{{{name}}}` is a field of the load, which changes from request to request"),
        "not known here",
        "use it in the path, the headers or the body of a request",
    )
}

/// The position of `{name}` within a value, if it is written there literally.
fn placeholder_span(text: &str, value: &Range<usize>, name: &str) -> Range<usize> {
    let needle = format!("{{{name}}}");
    match text.get(value.clone()).and_then(|raw| raw.find(&needle)) {
        Some(at) => value.start + at..value.start + at + needle.len(),
        None => value.clone(),
    }
}
