//! Placeholders of one service: its address, its ports, its directory.

use super::{Misuse, Scope};
use crate::problem::choices;
use crate::resolve::implied::dirs;
use crate::resolve::ports::{FurtherPort, further_port};
use crate::resolve::resolved::Resolved;
use crate::resolve::site::{Site, Use};

impl Scope<'_> {
    /// `{listen}`, `{port}`, `{dir}`: of the service that the template is rendered for.
    pub(super) fn own(&self, used: &Use, name: &str) -> Result<Vec<usize>, Misuse> {
        match used.site {
            Site::Socket if name == "dir" => {
                self.sole_dir("name the socket without it, such as unix = \"/tmp/app-{arm}.sock\"")
            }
            Site::ArmSocket { .. } if name == "dir" => self.sole_dir(
                "let the service listen on one of its `ports`, and use that: \
                 \"127.0.0.1:{proxy.port.admin}\"",
            ),
            _ if name == "dir" => self.owners(used, name).map(|_| Vec::new()),
            _ => self.owners(used, name),
        }
    }

    /// A further port of a service. It doesn't make the service an addressed one.
    pub(super) fn further_port(
        &self,
        used: &Use,
        name: &str,
        FurtherPort { service, port }: FurtherPort<'_>,
    ) -> Result<Vec<usize>, Misuse> {
        let owners = match service.map(|service| self.service(service)) {
            None => self.owners(used, name)?,
            Some(None) => return Err(self.unknown(used, name)),
            Some(Some(index)) => {
                self.may_name(used, name, index)?;
                vec![index]
            }
        };
        let mut owners = owners.into_iter().map(|index| &self.services[index]);
        match owners.find(|s| !has_port(s, port)) {
            None => Ok(Vec::new()),
            Some(lacks) => Err(self.no_such_port(used, lacks, port)),
        }
    }

    fn no_such_port(&self, used: &Use, service: &Resolved, port: &str) -> Misuse {
        let known: Vec<&str> = service.service.ports.iter().map(String::as_str).collect();
        let elsewhere = self.services.iter().find(|s| has_port(s, port));
        let help = match (&used.site, elsewhere) {
            _ if !service.launched() => "it is already running: write the port's number".to_owned(),
            (Site::ArmEnv { .. }, Some(meant)) => format!(
                "an arm's `env` reaches every service; name the service: `{{{}.port.{port}}}`",
                meant.name()
            ),
            _ if known.is_empty() => format!("add one: ports = [\"{port}\"]"),
            _ => choices(port, &known),
        };
        Misuse::new(
            format!("`{}` has no port named `{port}`", service.name()),
            "unknown port",
            help,
        )
    }

    /// The services that are launched and for which the template is rendered.
    fn owners(&self, used: &Use, name: &str) -> Result<Vec<usize>, Misuse> {
        let bearer = match used.site {
            Site::ArmSwitch { .. } => "a switch",
            Site::ArmSocket { .. } => "a switch's socket",
            Site::Metrics { .. } => "the address of metrics",
            Site::Load => "the request",
            Site::Socket => "the socket",
            _ => {
                let owners = (0..self.services.len())
                    .filter(|&i| used.belongs_to(i, self.services))
                    .filter(|&i| self.services[i].launched());
                return Ok(owners.collect());
            }
        };
        let has_it = |s: &&Resolved| {
            let port = further_port(name).map(|further| further.port);
            port.is_none_or(|port| has_port(s, port))
        };
        let names: Vec<String> = self
            .services
            .iter()
            .filter(has_it)
            .map(|s| match further_port(name) {
                Some(_) => format!("`{{{}.{name}}}`", s.name()),
                None => format!("`{{{}}}`", s.name()),
            })
            .collect();
        let help = match name {
            "dir" => "`{plan}` is the plan's folder".to_owned(),
            _ if names.is_empty() => "no service has such a port".to_owned(),
            _ => format!("name the service: {}", names.join(", ")),
        };
        let message = format!("`{{{name}}}` needs a service, and {bearer} belongs to none");
        Err(Misuse::new(message, "not known here", help))
    }

    /// `{dir}` in a socket's path: the directory of the only service that has one.
    fn sole_dir(&self, help: &str) -> Result<Vec<usize>, Misuse> {
        let how_many = match dirs(self.services).count() {
            0 => "the plan has none".to_owned(),
            1 => return Ok(Vec::new()),
            count => format!("the plan has {count}"),
        };
        Err(Misuse::new(
            format!("`{{dir}}` needs exactly one service that is launched, and {how_many}"),
            "whose?",
            help,
        ))
    }
}

fn has_port(service: &Resolved, port: &str) -> bool {
    service.service.ports.iter().any(|known| known == port)
}
