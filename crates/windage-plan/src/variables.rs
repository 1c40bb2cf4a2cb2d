//! The environment variables that a plan sets, and secrets among them.

use std::collections::BTreeSet;
use std::fmt;

use windage_model::Role;

use crate::{Arm, Plan, Service, Value};

/// An environment variable that a plan sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable<'p> {
    noun: &'static str,
    of: &'p str,
    /// Its name.
    pub key: &'p str,
    /// Its value.
    pub value: &'p Value,
}

impl fmt::Display for Variable<'_> {
    /// Where it is set, such as "`env.LEVEL` of service `app`".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Variable { noun, of, key, .. } = self;
        write!(f, "`env.{key}` of {noun} `{of}`")
    }
}

impl Plan {
    /// All environment variables that the plan sets: those of services, of agents, and of arms, for
    /// a sweep only once.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        let services = self.services.iter().map(|service| ("service", service));
        let agents = self.agents.iter().map(|agent| ("agent", &agent.service));
        let programs = services.chain(agents).flat_map(of_program);
        let mut seen = BTreeSet::new();
        let arms = self.arms.iter().flat_map(of_arm);
        programs.chain(arms.filter(move |variable| {
            let is_literal = variable.value.template().is_some();
            seen.insert((variable.key, is_literal, variable.text()))
        }))
    }

    /// Warnings about literal values that look like secrets: what they are and what to write
    /// instead.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let literal_secrets = self.variables().filter(Variable::is_a_literal_secret);
        literal_secrets.map(|variable| warning(&variable)).collect()
    }
}

fn of_program<'p>(
    (noun, service): (&'static str, &'p Service),
) -> impl Iterator<Item = Variable<'p>> {
    let of = service.name.as_str();
    service.env.iter().map(move |(key, value)| Variable {
        noun,
        of,
        key: key.as_str(),
        value,
    })
}

fn of_arm(arm: &Arm) -> impl Iterator<Item = Variable<'_>> {
    // The control and bystanders have the baseline's.
    let own = arm.role != Role::Control && arm.bystander_of.is_none();
    let env = arm.env.iter().filter(move |_| own);
    env.map(move |(key, value)| Variable {
        noun: "arm",
        of: arm.name.as_str(),
        key: key.as_str(),
        value,
    })
}

fn warning(variable: &Variable<'_>) -> String {
    let key = variable.key;
    format!(
        "{variable} looks like a secret and stands in the plan, which is copied into the run \
         directory; set the variable {key} for windage itself and write {key} = \"${key}\" (under \
         sudo: --preserve-env={key})"
    )
}

impl<'p> Variable<'p> {
    fn text(&self) -> &'p str {
        match self.value {
            Value::Literal(template) => template.as_str(),
            Value::Environment { variable } => variable,
        }
    }

    /// Whether its name looks like that of a secret, and its value is one that could be.
    fn is_a_literal_secret(&self) -> bool {
        let Some(template) = self.value.template() else {
            return false;
        };
        let value = template.as_str();
        let is_setting = value.is_empty()
            || value.starts_with('/')
            || template.placeholders().next().is_some()
            || value.parse::<f64>().is_ok()
            || ["true", "false", "yes", "no", "on", "off"].contains(&value);
        names_a_secret(self.key) && !is_setting
    }
}

fn names_a_secret(key: &str) -> bool {
    const SECRETS: [&str; 5] = ["PASSWORD", "PASSWD", "TOKEN", "SECRET", "KEY"];
    const ENDS_OF_PATHS: [&str; 3] = ["FILE", "PATH", "DIR"];
    let key = key.to_ascii_uppercase();
    let is_secret = |word: &str| word == "PASS" || SECRETS.iter().any(|end| word.ends_with(end));
    let is_path = key
        .rsplit('_')
        .next()
        .is_some_and(|last| ENDS_OF_PATHS.contains(&last));
    key.split('_').any(is_secret) && !is_path
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn plan(env: &str, arm: &str) -> Plan {
        let text = format!(
            "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{{listen}}']\n\
             env = {{ {env} }}\n[load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'on'\n\
             env = {{ {arm} }}\nsweep = {{ ratio = [0.1, 1.0] }}\n\
             args = {{ app = ['{{ratio}}'] }}\n"
        );
        Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
    }

    #[test]
    fn literal_secrets_are_found_by_their_names() {
        let table = [
            ("DB_PASSWORD = 'hunter2'", true, "a password"),
            ("PGPASSWORD = 'hunter2'", true, "within a word"),
            ("SMTP_PASS = 'hunter2'", true, "short"),
            ("api_key = 'abc'", true, "lower case"),
            ("SECRET_KEY_BASE = 'abc'", true, "in the middle"),
            ("GITHUB_TOKEN = 'abc'", true, "a token"),
            (
                "DB_PASSWORD = '$DB_PASSWORD'",
                false,
                "from the environment",
            ),
            ("DB_PASSWORD = ''", false, "empty"),
            (
                "TLS_KEY = '{plan}/key.pem'",
                false,
                "a file beside the plan",
            ),
            ("TLS_KEY = '/etc/key.pem'", false, "a file"),
            ("TLS_KEY_FILE = 'key.pem'", false, "named as a file"),
            ("MAX_TOKEN = '100'", false, "a number"),
            ("USE_TOKEN = 'true'", false, "a switch"),
            (
                "KEYS = 'a'",
                false,
                "a plural is a setting more often than a secret",
            ),
            ("BYPASS = 'cache'", false, "part of another word"),
            ("OTEL_SERVICE_NAME = 'app'", false, "no such word"),
        ];
        for (env, is_warned, why) in table {
            let warnings = plan(env, "").warnings();
            assert_eq!(
                warnings.len(),
                usize::from(is_warned),
                "{why}: {warnings:?}"
            );
        }
    }

    #[test]
    fn a_warning_names_the_place_once_and_hides_the_value() {
        let warnings = plan("", "TOKEN = 'hunter2'").warnings();
        let [warning] = &warnings[..] else {
            panic!("{warnings:?}")
        };
        for part in [
            "`env.TOKEN` of arm `on",
            "TOKEN = \"$TOKEN\"",
            "run directory",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(!warning.contains("hunter2"), "{warning}");
    }
}
