//! From the plan's request to what the engine sends, and the refusal to load other machines.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use windage_load::{Target, serialise_request};
use windage_plan::{Endpoint, HeaderValue, Host, Load, Request};

use crate::LabError;
use crate::names::Names;

/// The target of one arm.
pub(crate) fn target(
    load: &Load,
    request: &Request,
    names: &Names,
    arm: &str,
) -> Result<Target, LabError> {
    let wrong = |why: String| LabError::Request {
        arm: arm.to_owned(),
        why,
    };
    let url = names.fill(&request.url, "load.request", arm)?;
    let (authority, path) = split(&url).map_err(wrong)?;
    let endpoint = Endpoint::parse(authority)
        .ok_or_else(|| wrong(format!("`{authority}` is not HOST[:PORT]")))?;
    let address = resolve(&endpoint).map_err(wrong)?;
    let allowed =
        load.allow.contains(&endpoint.host) || load.allow.contains(&Host::Ip(address.ip()));
    if !address.ip().is_loopback() && !allowed {
        return Err(LabError::NotAllowed {
            arm: arm.to_owned(),
            address,
        });
    }
    let mut headers = Vec::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        let value = match value {
            HeaderValue::Literal(template) => names.fill(template, "load.headers", arm)?,
            HeaderValue::Environment { variable } => std::env::var(variable).map_err(|_| {
                wrong(format!(
                    "header `{name}` wants the environment variable {variable}, which is not set"
                ))
            })?,
        };
        headers.push((name.clone(), value));
    }
    let body = match &request.body {
        Some(template) => names.fill(template, "load.body", arm)?.into_bytes(),
        None => Vec::new(),
    };
    let request_bytes = serialise_request(&request.method, authority, path, &headers, &body)
        .map_err(|error| wrong(error.to_string()))?;
    Ok(Target {
        address,
        request: request_bytes,
        is_head: request.method.eq_ignore_ascii_case("HEAD"),
    })
}

fn split(url: &str) -> Result<(&str, &str), String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("`{url}` is not http://HOST[:PORT]/path"))?;
    Ok(match rest.find('/') {
        Some(slash) => (&rest[..slash], &rest[slash..]),
        None => (rest, "/"),
    })
}

/// The address behind an endpoint; names other than localhost are asked of the system's resolver.
pub(crate) fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, String> {
    match &endpoint.host {
        Host::Ip(ip) => Ok(SocketAddr::new(*ip, endpoint.port)),
        Host::Name(name) if name.eq_ignore_ascii_case("localhost") => Ok(SocketAddr::new(
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            endpoint.port,
        )),
        Host::Name(name) => (name.as_str(), endpoint.port)
            .to_socket_addrs()
            .map_err(|error| format!("can't resolve `{name}`: {error}"))?
            .next()
            .ok_or_else(|| format!("`{name}` has no address")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_plan::Plan;

    fn plan(load: &str) -> Plan {
        let text = format!(
            "name = \"t\"\n[[service]]\nname = \"app\"\ncommand = [\"x\", \"{{listen}}\"]\n\
             [load]\nmodel = \"closed\"\n{load}\n[[arm]]\nname = \"off\"\nbaseline = true\n"
        );
        Plan::parse(&text, "t.toml", std::path::Path::new("/"))
            .unwrap_or_else(|e| panic!("{}", e.render(false)))
    }

    fn made(load: &str) -> Result<Target, LabError> {
        let plan = plan(load);
        let mut names = Names::default();
        names.add_service("app", "127.0.0.1:8080".parse().unwrap());
        target(
            &plan.load,
            plan.load.request.as_ref().unwrap(),
            &names,
            "off",
        )
    }

    #[test]
    fn requests_are_filled_and_serialised() {
        let target =
            made("request = \"GET http://{app}/a?b=1\"\nheaders = { x-a = \"1\" }").unwrap();
        let text = String::from_utf8(target.request).unwrap();
        assert!(text.starts_with("GET /a?b=1 HTTP/1.1\r\n"), "{text}");
        assert!(
            text.to_lowercase().contains("host: 127.0.0.1:8080\r\n"),
            "{text}"
        );
        assert!(text.to_lowercase().contains("x-a: 1\r\n"), "{text}");
        assert_eq!(target.address, "127.0.0.1:8080".parse().unwrap());
    }

    #[test]
    fn a_missing_secret_is_named() {
        let error = made(
            "request = \"GET http://{app}/\"\nheaders = { authorization = \"$WINDAGE_TEST_UNSET\" }",
        );
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("WINDAGE_TEST_UNSET")
        );
    }

    #[test]
    fn other_machines_are_refused_unless_allowed() {
        // The plan itself refuses what it can see; this is the guard behind it.
        let plan = plan("request = \"GET http://10.0.0.1/\"\nallow = [\"10.0.0.1\"]");
        let request = plan.load.request.as_ref().unwrap();
        assert!(target(&plan.load, request, &Names::default(), "off").is_ok());
        let strict = Load {
            allow: vec![],
            ..plan.load.clone()
        };
        let refused = target(&strict, request, &Names::default(), "off").unwrap_err();
        assert!(matches!(refused, LabError::NotAllowed { .. }), "{refused}");
    }
}
