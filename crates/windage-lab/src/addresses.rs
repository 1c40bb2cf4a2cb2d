//! Addresses for a set of services, allotted anew at each launch.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use windage_plan::{Attach, Origin, Service};

use crate::LabError;
use crate::target::resolve;

/// Where a service listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allotted {
    /// Its own address; `None` if nothing refers to it.
    pub(crate) address: Option<SocketAddr>,
    /// Its further ports on 127.0.0.1, by name.
    pub(crate) ports: Vec<(String, u16)>,
}

/// An address for every service that needs one: the fixed one, or a free port; and a free port for
/// each of `ports`. Free ports stay bound until all are known, so that no two are equal.
pub(crate) fn allot(services: &[&Service]) -> Result<Vec<Allotted>, LabError> {
    let mut held = Vec::new();
    let mut allotted = Vec::with_capacity(services.len());
    for service in services {
        let address = match (&service.origin, service.listen) {
            (Origin::Attach(Attach::Url(endpoint)), None) => {
                Some(resolve(endpoint).map_err(|why| LabError::Attach {
                    service: service.name.to_string(),
                    why,
                })?)
            }
            (Origin::Attach(_), listen) => listen,
            (Origin::Command(_), Some(address)) => {
                let listener = TcpListener::bind(address).map_err(|source| LabError::Address {
                    service: service.name.to_string(),
                    address,
                    source,
                })?;
                held.push(listener);
                Some(address)
            }
            // A pod has an address of its own.
            (Origin::Command(_), None) if service.pod.is_some() => None,
            (Origin::Command(_), None) if service.addressed => Some(free_port(&mut held)?),
            (Origin::Command(_), None) => None,
        };
        let ports: Result<Vec<(String, u16)>, LabError> = service
            .ports
            .iter()
            .map(|name| Ok((name.clone(), free_port(&mut held)?.port())))
            .collect();
        allotted.push(Allotted {
            address,
            ports: ports?,
        });
    }
    Ok(allotted)
}

impl Allotted {
    /// Checks again that a service's ports are free. Between allotment and listening nothing holds
    /// them, and checks and other services run in between.
    ///
    /// # Errors
    /// When one is taken, or not available for another reason.
    pub(crate) fn look_again(&self, service: &Service, whose: &str) -> Result<(), LabError> {
        if matches!(service.origin, Origin::Attach(_)) {
            return Ok(());
        }
        let own = self.address.map(|address| ("listen".to_owned(), address));
        let further = self.ports.iter().map(|(name, port)| {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            (format!("port.{name}"), address)
        });
        for (placeholder, address) in own.into_iter().chain(further) {
            TcpListener::bind(address).map_err(|source| LabError::PortTaken {
                service: service.name.to_string(),
                whose: whose.to_owned(),
                placeholder,
                address,
                source,
            })?;
        }
        Ok(())
    }
}

/// A port that is free as long as it is held.
fn free_port(held: &mut Vec<TcpListener>) -> Result<SocketAddr, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(LabError::NoPort)?;
    let address = listener.local_addr().map_err(LabError::NoPort)?;
    held.push(listener);
    Ok(address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use windage_plan::Plan;

    use super::*;

    fn plan() -> Plan {
        let text = "name = 'p'\n\
            [[service]]\nname = 'app'\ncommand = ['app', '{listen}', '{port.admin}', '{port.peer}']\n\
            ports = ['admin', 'peer']\n\
            [[service]]\nname = 'helper'\ncommand = ['helper', '{port.admin}']\nports = ['admin']\n\
            [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
            [[arm]]\nname = 'off'\nbaseline = true\n";
        Plan::parse(text, "plan.toml", Path::new("/")).unwrap()
    }

    #[test]
    fn every_service_has_ports_of_its_own() {
        let plan = plan();
        let services: Vec<&Service> = plan.services.iter().collect();
        let allotted = allot(&services).unwrap();
        let [app, helper] = allotted.as_slice() else {
            panic!("two services: {allotted:?}")
        };
        let names = |a: &Allotted| a.ports.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        assert_eq!(names(app), ["admin", "peer"]);
        assert_eq!(names(helper), ["admin"]);
        assert_eq!(helper.address, None, "a further port is no address");
        let further = allotted.iter().flat_map(|a| &a.ports).map(|(_, p)| *p);
        let all: BTreeSet<u16> = app
            .address
            .iter()
            .map(SocketAddr::port)
            .chain(further)
            .collect();
        assert_eq!(all.len(), 4, "no port twice: {allotted:?}");
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_named() {
        let plan = plan();
        let services: Vec<&Service> = plan.services.iter().collect();
        let allotted = allot(&services).unwrap();
        let (app, of_app) = (services[0], &allotted[0]);
        of_app.look_again(app, "of arm `off`").unwrap();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, of_app.ports[1].1));
        let table = [
            (of_app.address.unwrap(), "`{listen}`"),
            (peer, "`{port.peer}`"),
        ];
        for (address, placeholder) in table {
            let held = TcpListener::bind(address).unwrap();
            let error = of_app.look_again(app, "of arm `off`").unwrap_err();
            let text = error.to_string();
            for words in ["`app` of arm `off`", placeholder, &address.to_string()] {
                assert!(text.contains(words), "{words}: {text}");
            }
            drop(held);
            of_app.look_again(app, "of arm `off`").unwrap();
        }
    }
}
