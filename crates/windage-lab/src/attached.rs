//! A service that already runs: found, and checked to be the one that gets the load.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use windage_model::CpuSource;
use windage_plan::{Attach, Endpoint, Origin, Plan, Service};
use windage_probe::{ArmProbe, Linux, Listening, NamedProcess, listening};

use crate::LabError;
use crate::names::Names;
use crate::target::resolve;

/// To receive and to answer a request takes several times this CPU.
const CPU_PER_REQUEST_NS_MIN: u64 = 1_000;
/// As many requests may be answered by a service in front, such as a cache, for one that gets through.
const REQUESTS_PER_ONE_THROUGH: u64 = 100;

/// The subject of a plan that attaches to it.
pub(crate) fn attached(plan: &Plan) -> Option<(&Service, &Attach)> {
    plan.services
        .iter()
        .find_map(|service| match &service.origin {
            Origin::Attach(attach) if !service.shared => Some((service, attach)),
            _ => None,
        })
}

/// Checks that the service to which a plan attaches runs, and listens where the load goes. Returns
/// its name; `None` for a plan that attaches to none, or to an address alone.
///
/// # Errors
/// [`LabError::Attach`], which says who listens there.
pub fn check_attached(plan: &Plan) -> Result<Option<&str>, LabError> {
    let Some((service, attach)) = attached(plan) else {
        return Ok(None);
    };
    let is_seen = probe(plan, service, attach)?.source() != CpuSource::None;
    Ok(is_seen.then_some(service.name.as_str()))
}

/// The counters of a service that already runs. If it is the subject, it must listen where the load
/// goes.
pub(crate) fn probe(plan: &Plan, service: &Service, attach: &Attach) -> Result<ArmProbe, LabError> {
    let cannot = |why: String| LabError::Attach {
        service: service.name.to_string(),
        why,
    };
    let mut probe = match attach {
        Attach::Pid(pid) if Path::new(&format!("/proc/{pid}")).exists() => {
            ArmProbe::processes(&[*pid])?
        }
        Attach::Pid(pid) => return Err(cannot(format!("there is no process {pid}"))),
        Attach::Cgroup(dir) => probe_group(dir)
            .ok_or_else(|| cannot(format!("{} is not a cgroup that counts CPU", dir.display())))?,
        Attach::Unit(unit) => unit_groups(unit)
            .iter()
            .find_map(|dir| probe_group(dir))
            .ok_or_else(|| {
                cannot(format!(
                    "no cgroup of a running unit `{unit}` below /sys/fs/cgroup/*/system.slice"
                ))
            })?,
        Attach::Url(_) => return Ok(ArmProbe::none()),
    };
    let who = who(attach);
    if probe.refresh_tasks()? == 0 {
        return Err(cannot(format!("{who} has no process that runs")));
    }
    let processes: Vec<u32> = probe.process_ids().collect();
    for address in targets(plan, service) {
        let found = listening(&Linux, address, &processes)?;
        if let Some(why) = misses(&found, &who, address) {
            return Err(cannot(why));
        }
    }
    Ok(probe)
}

/// Checks that the subject, if it already runs, used CPU for the requests that were answered.
pub(crate) fn check_cpu(plan: &Plan, cpu_ns: Option<u64>, answered: u64) -> Result<(), LabError> {
    let Some(((service, attach), cpu_ns)) = attached(plan).zip(cpu_ns) else {
        return Ok(());
    };
    let is_behind = plan.load.unix.is_none() && targets(plan, service).is_empty();
    let through = if is_behind {
        answered / REQUESTS_PER_ONE_THROUGH
    } else {
        answered
    };
    if answered == 0 || cpu_ns >= through.max(1) * CPU_PER_REQUEST_NS_MIN {
        return Ok(());
    }
    let (who, cpu_us) = (who(attach), cpu_ns / 1000);
    Err(LabError::Attach {
        service: service.name.to_string(),
        why: format!(
            "{answered} requests were answered while {who} used {cpu_us} µs of CPU: another \
             process answers them; attach to that"
        ),
    })
}

/// The addresses to which load goes if the service is its target. A target that is another service of
/// the plan, such as a proxy in front, is none. Nor is a Unix socket.
fn targets(plan: &Plan, service: &Service) -> BTreeSet<SocketAddr> {
    let Some(request) = plan
        .load
        .requests()
        .next()
        .filter(|_| plan.load.unix.is_none())
    else {
        return BTreeSet::new();
    };
    let mut names = Names::default();
    if let Some(address) = service.listen {
        names.add_service(service.name.as_str(), address);
    }
    let default_port = if request.is_https() { 443 } else { 80 };
    let address = |of_arm: Names| {
        let authority = of_arm.fill(&request.authority(), "load.request", "").ok()?;
        let endpoint = Endpoint::parse_or_port(&authority, default_port)?;
        resolve(&endpoint).ok()
    };
    let others = plan
        .services
        .iter()
        .filter(|other| other.name != service.name);
    let of_others: BTreeSet<SocketAddr> = others.filter_map(address_of).collect();
    let arms = plan.arms.iter();
    let all = arms.filter_map(|arm| address(names.clone().with_arm(arm)));
    all.filter(|address| !service.shared && !of_others.contains(address))
        .collect()
}

/// The address that the plan gives a service.
fn address_of(service: &Service) -> Option<SocketAddr> {
    match &service.origin {
        Origin::Attach(Attach::Url(endpoint)) => resolve(endpoint).ok(),
        _ => service.listen,
    }
}

/// Why load on the address would not be measured; `None` if it would, or if that can't be seen.
fn misses(found: &Listening, who: &str, address: SocketAddr) -> Option<String> {
    let not = format!("{who} does not listen on {address}, where the load goes");
    Some(match found {
        Listening::Own | Listening::Unknown => return None,
        Listening::Others(others) => format!(
            "{not}; {} does. Attach to that; or if it is a proxy in front, add it as a service with \
             `shared = true` and `attach = {{ url = \"http://{address}\" }}`, and send the load to \
             that service",
            named(others)
        ),
        Listening::Hidden => format!(
            "{not}; a process does that this user may not see. Run windage as root to find out which"
        ),
        Listening::Nobody => {
            format!(
                "{not}, and neither does another process. Is the service up, and its address right?"
            )
        }
        Listening::Shared(others) => format!(
            "{who} shares {address}, where the load goes, with {}, whose CPU would not be counted. \
             Attach to the process that started all of them, or to their control group (`cgroup`)",
            named(others)
        ),
    })
}

/// Some of the processes, because there may be a hundred workers.
fn named(processes: &[NamedProcess]) -> String {
    const SHOWN: usize = 3;
    let shown = processes.iter().take(SHOWN).map(ToString::to_string);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if processes.len() > SHOWN {
        text += &format!(" and {} more", processes.len() - SHOWN);
    }
    text
}

/// What the plan attaches to, in words.
fn who(attach: &Attach) -> String {
    match attach {
        Attach::Pid(pid) => NamedProcess::of(&Linux, *pid).to_string(),
        Attach::Cgroup(dir) => format!("the cgroup {}", dir.display()),
        Attach::Unit(unit) => format!("the unit {unit}"),
        Attach::Url(endpoint) => format!("http://{endpoint}"),
    }
}

fn probe_group(dir: &Path) -> Option<ArmProbe> {
    if dir.join("cpuacct.usage").exists() {
        ArmProbe::cgroup_v1(dir, None).ok()
    } else if dir.join("cpu.stat").exists() {
        ArmProbe::cgroup_v2(dir).ok()
    } else {
        None
    }
}

fn unit_groups(unit: &str) -> [PathBuf; 3] {
    [
        "/sys/fs/cgroup/cpuacct",
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/unified",
    ]
    .map(|root| Path::new(root).join("system.slice").join(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(services: &str, request: &str) -> Plan {
        let text = format!(
            "name = 'p'\n[[service]]\nname = 'app'\n{services}\n\
             [load]\nmodel = 'closed'\nrequest = '{request}'\n\
             [[arm]]\nname = 'off'\nbaseline = true\nswitch = ['true']\n"
        );
        Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
    }

    #[test]
    fn the_subject_must_listen_only_where_the_load_goes_to_it() {
        let app = "attach = { pid = 1 }\nlisten = '127.0.0.1:8080'";
        let bare = "attach = { pid = 1 }";
        let front = "\n[[service]]\nname = 'front'\nshared = true\nattach = { url = 'http://127.0.0.1:80' }";
        let launched = "\n[[service]]\nname = 'front'\nshared = true\ncommand = ['x', '{listen}']";
        let both = |of: &str, other: &str| format!("{of}{other}");
        let table: [(String, &str, &[&str], &str); 6] = [
            (
                app.into(),
                "GET http://{app}/",
                &["127.0.0.1:8080"],
                "its name",
            ),
            (
                bare.into(),
                "GET http://localhost/a",
                &["127.0.0.1:80"],
                "an address as text",
            ),
            (
                both(app, front),
                "GET http://{front}/",
                &[],
                "a proxy that runs already",
            ),
            (
                both(app, front),
                "GET http://127.0.0.1/",
                &[],
                "its address as text",
            ),
            (
                both(app, front),
                "GET http://{app}/",
                &["127.0.0.1:8080"],
                "past the proxy",
            ),
            (
                both(app, launched),
                "GET http://{front}/",
                &[],
                "a proxy of the run",
            ),
        ];
        for (services, request, expected, why) in table {
            let plan = plan(&services, request);
            let found = targets(&plan, attached(&plan).unwrap().0);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{why}");
        }
    }

    #[test]
    fn a_process_without_cpu_for_the_answers_is_refused() {
        let attached = plan("attach = { pid = 1 }", "GET http://localhost/");
        let launched = plan("command = ['x', '{listen}']", "GET http://{app}/");
        let table = [
            (&attached, Some(0), 100, false, "a sleep"),
            (&attached, Some(99_000), 100, false, "a timer beside"),
            (&attached, Some(100_000), 100, true, "enough for a request"),
            (&attached, Some(0), 0, true, "nothing was answered"),
            (&attached, None, 100, true, "by URL"),
            (&launched, Some(0), 100, true, "launched"),
        ];
        for (plan, cpu_ns, answered, is_fine, why) in table {
            assert_eq!(check_cpu(plan, cpu_ns, answered).is_ok(), is_fine, "{why}");
        }
    }
}
