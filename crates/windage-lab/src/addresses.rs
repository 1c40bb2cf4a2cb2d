//! Addresses for a set of services, found anew at each launch.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use windage_plan::{Attach, Origin, Service};

use crate::LabError;
use crate::target::resolve;

/// Where a service listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allotted {
    /// Its own address; `None` for one that nobody addresses.
    pub(crate) address: Option<SocketAddr>,
    /// Its further ports on 127.0.0.1, by name.
    pub(crate) ports: Vec<(String, u16)>,
}

/// An address for every service that is addressed: the fixed one, or a free port; and a free
/// port for each of `ports`. All free ports are held until each is known, so that no two are the
/// same.
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

    #[test]
    fn every_service_has_ports_of_its_own() {
        let text = "name = 'p'\n\
            [[service]]\nname = 'app'\ncommand = ['app', '{listen}', '{port.admin}', '{port.peer}']\n\
            ports = ['admin', 'peer']\n\
            [[service]]\nname = 'helper'\ncommand = ['helper', '{port.admin}']\nports = ['admin']\n\
            [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
            [[arm]]\nname = 'off'\nbaseline = true\n";
        let plan = Plan::parse(text, "plan.toml", Path::new("/")).unwrap();
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
}
