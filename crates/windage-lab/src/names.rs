//! The values of placeholders while a service is launched.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use windage_load::{Part, Text};
use windage_plan::{Arm, Field, Segment, Template, TemplateError};
use windage_sink::Protocol;

use crate::LabError;

/// The names known in one part of the plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    values: BTreeMap<String, String>,
    /// Addresses of the run's own pods.
    pods: BTreeSet<SocketAddr>,
}

impl Names {
    /// Names that are allowed everywhere.
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
        if let Some(checkout) = &arm.checkout {
            self.set("plan", checkout.folder.display().to_string());
        }
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

    /// Adds the address of a service that is a pod of this run.
    pub(crate) fn add_pod(&mut self, service: &str, address: SocketAddr) {
        self.add_service(service, address);
        self.pods.insert(address);
    }

    /// Whether the address is that of a pod of this run.
    pub(crate) fn is_of_a_pod(&self, address: SocketAddr) -> bool {
        self.pods.contains(&address)
    }

    /// Adds another port of a service.
    pub(crate) fn add_port(&mut self, service: &str, name: &str, port: u16) {
        self.set(&format!("{service}.port.{name}"), port.to_string());
    }

    /// Adds a receiver: the endpoint for an exporter, and the port alone.
    pub(crate) fn add_receiver(&mut self, protocol: Protocol, address: SocketAddr) {
        let name = protocol.placeholder();
        self.set(name, format!("http://{address}{}", protocol.path()));
        self.set(&format!("{name}.port"), address.port().to_string());
    }

    /// Adds names that only the service itself may use: its address, under short names, and its
    /// directory.
    #[must_use]
    pub(crate) fn for_service(mut self, service: &str, dir: &Path) -> Names {
        let short = |name: &str| match name.strip_prefix(service)? {
            "" => Some("listen".to_owned()),
            rest => rest
                .strip_prefix('.')
                .filter(|rest| *rest == "port" || rest.starts_with("port."))
                .map(str::to_owned),
        };
        let own: Vec<(String, String)> = self
            .values
            .iter()
            .filter_map(|(name, value)| Some((short(name)?, value.clone())))
            .collect();
        self.values.extend(own);
        self.set("dir", dir.display().to_string());
        self
    }

    /// Whether these names and others fill a template in the same way.
    pub(crate) fn fill_alike(&self, others: &Names, template: &Template) -> bool {
        let mut placeholders = template.placeholders();
        placeholders.all(|name| self.values.get(name) == others.values.get(name))
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
            .map_err(|source| unfilled(source, place, arm))
    }

    /// Fills the placeholders of a template whose names are known.
    pub(crate) fn fill_known(&self, template: &Template) -> String {
        let value = |name: &str| self.values.get(name).cloned();
        let filled = template.render(&|name| value(name).or_else(|| Some(format!("{{{name}}}"))));
        filled.unwrap_or_else(|_| template.to_string())
    }

    /// Fills a template of a request, except for `fields`, which are filled for each request.
    pub(crate) fn fill_around(
        &self,
        fields: &[(String, Field)],
        template: &Template,
        place: &str,
        arm: &str,
    ) -> Result<Text, LabError> {
        let part = |segment: &Segment| match segment {
            Segment::Text(text) => Ok(Part::Literal(text.clone().into_bytes())),
            Segment::Placeholder(name) => {
                match fields.iter().position(|(field, _)| field == name) {
                    Some(field) => Ok(Part::Field(field)),
                    None => self.literal(name, template),
                }
            }
        };
        let parts: Result<Vec<Part>, TemplateError> =
            template.segments().iter().map(part).collect();
        parts
            .map(Text::new)
            .map_err(|source| unfilled(source, place, arm))
    }

    fn literal(&self, name: &str, template: &Template) -> Result<Part, TemplateError> {
        match self.values.get(name) {
            Some(value) => Ok(Part::Literal(value.clone().into_bytes())),
            None => Err(TemplateError::Unfilled {
                name: name.to_owned(),
                template: template.to_string(),
            }),
        }
    }
}

fn unfilled(source: TemplateError, place: &str, arm: &str) -> LabError {
    LabError::Placeholder {
        service: place.to_owned(),
        arm: arm.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_and_unknown_ones_refused() {
        let mut names = Names::of_run(Path::new("/plans/a"), Path::new("/bin/windage"));
        names.add_service("app", "127.0.0.1:8080".parse().unwrap());
        names.add_port("app", "admin", 8081);
        names.add_service("app2", "127.0.0.1:9".parse().unwrap());
        names.add_port("app2", "admin", 10);
        names.add_port("app2", "port", 11);
        let names = names.for_service("app2", Path::new("/run/w"));
        let table = [
            ("{listen} {port}", "127.0.0.1:9 9"),
            ("{port.admin} {port.port}", "10 11"),
            ("http://{app}/ {app.port}", "http://127.0.0.1:8080/ 8080"),
            ("{app.port.admin} {app2.port.admin}", "8081 10"),
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

    #[test]
    fn every_receiver_has_an_address_in_its_own_form() {
        let mut names = Names::default();
        for (port, protocol) in (4000..).zip(Protocol::ALL) {
            names.add_receiver(protocol, SocketAddr::from(([127, 0, 0, 1], port)));
        }
        let table = [
            ("otlp_grpc", "http://127.0.0.1:4000"),
            ("otlp_grpc.port", "4000"),
            ("otlp_http", "http://127.0.0.1:4001"),
            ("datadog", "http://127.0.0.1:4002"),
            ("zipkin", "http://127.0.0.1:4003/api/v2/spans"),
            ("zipkin.port", "4003"),
            ("remote_write", "http://127.0.0.1:4004/api/v1/write"),
        ];
        for (name, value) in table {
            let template = Template::parse(&format!("{{{name}}}"));
            assert_eq!(names.fill(&template, "s", "on").unwrap(), value);
        }
        for name in windage_plan::RECEIVER_PLACEHOLDERS {
            let template = Template::parse(&format!("{{{name}}} {{{name}.port}}"));
            assert!(names.fill(&template, "s", "on").is_ok(), "{name}");
        }
    }

    #[test]
    fn fields_are_filled_per_request() {
        let mut names = Names::default();
        names.set("arm", "off".to_owned());
        let fields = [("id".to_owned(), Field::Counter { from: 1, step: 1 })];
        let fill = |text: &str| {
            let template = Template::parse(text);
            names.fill_around(&fields, &template, "load.body", "off")
        };
        let text = fill("{arm}/{id}?{{id}}&{id}").unwrap();
        let expected = [
            Part::Literal(b"off/".to_vec()),
            Part::Field(0),
            Part::Literal(b"?{id}&".to_vec()),
            Part::Field(0),
        ];
        assert_eq!(text.parts(), expected);
        let error = fill("{id}{other}").unwrap_err();
        assert!(error.to_string().contains("`{other}`"), "{error}");
    }
}
