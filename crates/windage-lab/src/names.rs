//! What placeholders stand for while a service is launched.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use windage_plan::{Arm, Template};

use crate::LabError;

/// The names that are known in one place of the plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    values: BTreeMap<String, String>,
}

impl Names {
    /// What every place may name.
    pub(crate) fn of_run(plan_folder: &Path, executable: &Path) -> Names {
        let mut names = Names::default();
        names.set("plan", plan_folder.display().to_string());
        names.set("windage", executable.display().to_string());
        names
    }

    /// Adds an arm's id and levels.
    #[must_use]
    pub(crate) fn with_arm(mut self, arm: &Arm) -> Names {
        self.set("arm", arm.id.to_string());
        for (factor, level) in &arm.levels {
            self.set(factor, level.to_string());
        }
        self
    }

    /// Adds a service's address under its name.
    pub(crate) fn add_service(&mut self, service: &str, address: SocketAddr) {
        self.set(service, address.to_string());
        self.set(&format!("{service}.port"), address.port().to_string());
    }

    /// Adds what only the service itself may name.
    #[must_use]
    pub(crate) fn for_service(mut self, address: Option<SocketAddr>, dir: &Path) -> Names {
        if let Some(address) = address {
            self.set("listen", address.to_string());
            self.set("port", address.port().to_string());
        }
        self.set("dir", dir.display().to_string());
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), value);
    }

    /// Fills a template; `place` and `arm` are for the error.
    pub(crate) fn fill(
        &self,
        template: &Template,
        place: &str,
        arm: &str,
    ) -> Result<String, LabError> {
        template
            .render(&|name| self.values.get(name).cloned())
            .map_err(|source| LabError::Placeholder {
                service: place.to_owned(),
                arm: arm.to_owned(),
                source,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_and_unknown_ones_refused() {
        let mut names = Names::of_run(Path::new("/plans/a"), Path::new("/bin/windage"));
        names.add_service("app", "127.0.0.1:8080".parse().unwrap());
        let names = names.for_service(Some("127.0.0.1:9".parse().unwrap()), Path::new("/run/w"));
        let table = [
            ("{listen} {port}", "127.0.0.1:9 9"),
            ("http://{app}/ {app.port}", "http://127.0.0.1:8080/ 8080"),
            ("{plan}/x {dir} {windage}", "/plans/a/x /run/w /bin/windage"),
            ("events { a; } {{app}}", "events { a; } {app}"),
        ];
        for (template, text) in table {
            assert_eq!(
                names.fill(&Template::parse(template), "s", "off").unwrap(),
                text
            );
        }
        assert!(names.fill(&Template::parse("{other}"), "s", "off").is_err());
    }
}
