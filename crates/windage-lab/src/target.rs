//! Converts the plan's requests to what the generator sends, and refuses to load other machines.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use windage_load::{
    Field, Fields, Flow, Protocol, RowOrder, Step, Table, Target, Text, TlsClient, TlsOptions, Work,
};
use windage_plan::{Body, Endpoint, Host, Load, Plan, Request, Template, Value};

use crate::LabError;
use crate::names::Names;

/// The longest path that a Unix socket's address holds (`sun_path` less its NUL, unix(7)).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The target of one arm. `names` has the arm's names, and `dir` if the load's socket uses it.
pub(crate) fn target(plan: &Plan, names: &Names, arm: &str) -> Result<Target, LabError> {
    let conversion = Conversion {
        plan,
        load: &plan.load,
        names,
        arm,
    };
    let Some(first) = plan.load.requests().next() else {
        return Err(conversion.wrong("the load has no request".to_owned()));
    };
    let authority = names.fill(&first.authority(), "load.request", arm)?;
    let default_port = if first.is_https() { 443 } else { 80 };
    let endpoint = Endpoint::parse_or_port(&authority, default_port)
        .ok_or_else(|| conversion.wrong(format!("`{authority}` is not HOST[:PORT]")))?;
    Ok(Target {
        endpoint: conversion.endpoint(&endpoint)?,
        tls: conversion.tls(&endpoint.host)?,
        streams: plan.load.streams as usize,
        work: conversion.work(&authority)?,
    })
}

/// The conversion of a plan's load to one arm's target.
struct Conversion<'a> {
    plan: &'a Plan,
    load: &'a Load,
    names: &'a Names,
    arm: &'a str,
}

impl Conversion<'_> {
    fn wrong(&self, why: String) -> LabError {
        LabError::Request {
            arm: self.arm.to_owned(),
            why,
        }
    }

    fn endpoint(&self, endpoint: &Endpoint) -> Result<windage_load::Endpoint, LabError> {
        match &self.load.unix {
            Some(path) => self.socket(path),
            None => self.address(endpoint).map(windage_load::Endpoint::Tcp),
        }
    }

    fn socket(&self, path: &Template) -> Result<windage_load::Endpoint, LabError> {
        let path = self.names.fill(path, "load.unix", self.arm)?;
        let path = self.plan.folder.join(path);
        let bytes = path.as_os_str().as_bytes().len();
        if bytes > SOCKET_PATH_BYTES_MAX {
            return Err(self.wrong(format!(
                "the socket's path {} has {bytes} bytes, but at most {SOCKET_PATH_BYTES_MAX} are \
                 possible; use a shorter folder, such as unix = \"/tmp/{{arm}}.sock\"",
                path.display()
            )));
        }
        Ok(windage_load::Endpoint::Unix(path))
    }

    fn address(&self, endpoint: &Endpoint) -> Result<SocketAddr, LabError> {
        let address = resolve(endpoint).map_err(|why| self.wrong(why))?;
        let allow = &self.load.allow;
        let allowed = allow.contains(&endpoint.host)
            || allow.contains(&Host::Ip(address.ip()))
            || self.names.is_of_a_pod(address);
        if !Host::Ip(address.ip()).is_this_machine() && !allowed {
            return Err(LabError::NotAllowed {
                arm: self.arm.to_owned(),
                address,
            });
        }
        Ok(address)
    }

    fn tls(&self, host: &Host) -> Result<Option<TlsClient>, LabError> {
        let Some(tls) = &self.load.tls else {
            return Ok(None);
        };
        let options = TlsOptions {
            server_name: tls.server_name.as_ref().unwrap_or(host).to_string(),
            ca_file: tls.ca.as_ref().map(|ca| self.plan.folder.join(ca)),
            insecure: tls.insecure,
            alpn: protocol(self.load.protocol),
        };
        TlsClient::new(options)
            .map(Some)
            .map_err(|error| self.wrong(error.to_string()))
    }

    fn work(&self, authority: &str) -> Result<Work, LabError> {
        let fields = self.fields()?;
        let flows = self.flows(authority)?;
        Work::new(flows, fields, protocol(self.load.protocol))
            .map_err(|error| self.wrong(error.to_string()))
    }

    fn flows(&self, authority: &str) -> Result<Vec<Flow>, LabError> {
        let only = self.load.request.iter().map(|request| {
            Ok(Flow {
                weight: 1,
                steps: vec![Step {
                    request: self.request(request, authority)?,
                    think: Duration::ZERO,
                }],
            })
        });
        let flows = self.load.flows.iter().map(|flow| {
            let steps = flow.steps.iter().map(|step| {
                Ok(Step {
                    request: self.request(&step.request, authority)?,
                    think: step.think,
                })
            });
            Ok(Flow {
                weight: flow.weight,
                steps: steps.collect::<Result<_, LabError>>()?,
            })
        });
        only.chain(flows).collect()
    }

    fn request(
        &self,
        request: &Request,
        authority: &str,
    ) -> Result<windage_load::Request, LabError> {
        let headers = request.headers.iter();
        Ok(windage_load::Request {
            method: request.method.clone(),
            authority: authority.to_owned(),
            path: self.text(&request.path(), "load.request")?,
            headers: headers
                .map(|(name, value)| Ok((name.clone(), self.header(name, value)?)))
                .collect::<Result<_, LabError>>()?,
            body: match &request.body {
                None => Text::default(),
                Some(Body::Text(template)) => self.text(template, "load.body")?,
                Some(Body::File { bytes, .. }) => Text::literal(bytes.to_vec()),
            },
        })
    }

    fn header(&self, name: &str, value: &Value) -> Result<Text, LabError> {
        match value {
            Value::Literal(template) => self.text(template, "load.headers"),
            Value::Environment { variable } => {
                std::env::var(variable).map(Text::from).map_err(|_| {
                    self.wrong(format!(
                        "header `{name}` needs the environment variable {variable}, which is not \
                         set"
                    ))
                })
            }
        }
    }

    fn text(&self, template: &Template, place: &str) -> Result<Text, LabError> {
        self.names
            .fill_around(&self.load.fields, template, place, self.arm)
    }

    fn fields(&self) -> Result<Fields, LabError> {
        let tables = self.load.tables.iter().map(|table| {
            let order = match table.order {
                windage_plan::RowOrder::InOrder => RowOrder::InOrder,
                windage_plan::RowOrder::Random => RowOrder::Random,
            };
            let name = table.file.display().to_string();
            Table::from_reader(&table.bytes[..], &name, order)
                .map_err(|error| self.wrong(error.to_string()))
        });
        let tables: Vec<Table> = tables.collect::<Result<_, LabError>>()?;
        let fields = self.load.fields.iter();
        Ok(Fields {
            fields: fields
                .map(|(name, planned)| self.field(name, planned, &tables))
                .collect::<Result<_, LabError>>()?,
            tables,
        })
    }

    fn field(
        &self,
        name: &str,
        planned: &windage_plan::Field,
        tables: &[Table],
    ) -> Result<Field, LabError> {
        Ok(match planned {
            windage_plan::Field::Counter { from, step } => Field::Counter {
                from: *from,
                step: *step,
            },
            windage_plan::Field::Random { low, high } => Field::Random {
                low: *low,
                high: *high,
            },
            windage_plan::Field::Column { table, column } => Field::Column {
                table: *table,
                column: tables
                    .get(*table)
                    .and_then(|table| table.column(column))
                    .ok_or_else(|| {
                        self.wrong(format!("the field `{name}` has no column `{column}`"))
                    })?,
            },
        })
    }
}

fn protocol(planned: windage_plan::Protocol) -> Protocol {
    match planned {
        windage_plan::Protocol::Http1 => Protocol::Http1,
        windage_plan::Protocol::Http2 => Protocol::Http2,
        windage_plan::Protocol::Grpc => Protocol::Grpc,
    }
}

/// The address of an endpoint; the system's resolver looks up names other than localhost.
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
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::Path;
    use std::sync::Arc;
    use windage_load::{Connections, Generator, GeneratorConfig, Recording, Rhythm};

    fn plan(load: &str, folder: &Path) -> Plan {
        let text = format!(
            "name = \"t\"\n[[service]]\nname = \"app\"\ncommand = [\"x\", \"{{listen}}\"]\n\
             ready = {{ delay = \"1s\" }}\n\
             [load]\nmodel = \"closed\"\n{load}\n[[arm]]\nname = \"off\"\nbaseline = true\n\
             instance = \"one\"\nswitch = [\"true\"]\n"
        );
        Plan::parse(&text, "t.toml", folder).unwrap_or_else(|e| panic!("{}", e.render(false)))
    }

    fn names() -> Names {
        let mut names = Names::default();
        names.add_service("app", "127.0.0.1:8080".parse().unwrap());
        names.set("arm", "off".to_owned());
        names
    }

    fn made(load: &str) -> Result<Target, LabError> {
        target(&plan(load, Path::new("/")), &names(), "off")
    }

    /// What a server receives in `exchanges` requests of the target, one after another.
    fn heard(load: &str, folder: &Path, exchanges: usize) -> Vec<String> {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut names = names();
        names.add_service("app", server.local_addr().unwrap());
        let target = target(&plan(load, folder), &names, "off").unwrap();
        let listening = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut heard = Vec::new();
            let mut buffer = [0; 4096];
            while heard.len() < exchanges {
                let read = stream.read(&mut buffer).unwrap();
                assert!(read > 0, "the connection was closed after {heard:?}");
                heard.push(String::from_utf8_lossy(&buffer[..read]).into_owned());
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    .unwrap();
            }
            heard
        });
        let config = GeneratorConfig {
            timeout: Duration::from_secs(5),
            threads: 1,
            stop: Arc::default(),
            progress: None,
        };
        let mut generator = Generator::new(&config).unwrap();
        let id = generator.add_target(&target, Connections::from(1));
        assert_eq!(generator.connect(id).unwrap().opened, 1);
        generator.reseed(id, 1);
        while !listening.is_finished() {
            let lasts = Duration::from_millis(1);
            let rhythm = Rhythm::Closed { lasts };
            generator.run(id, &rhythm, &mut Recording::new()).unwrap();
        }
        listening.join().unwrap()
    }

    #[test]
    fn requests_are_filled_and_sent() {
        let load = "request = \"GET http://{app}/a?b={arm}\"\nheaders = { x-a = \"1\" }";
        let heard = heard(load, Path::new("/"), 1);
        let text = heard[0].to_lowercase();
        assert!(text.starts_with("get /a?b=off http/1.1\r\n"), "{text}");
        assert!(text.contains("host: 127.0.0.1:"), "{text}");
        assert!(text.contains("x-a: 1\r\n"), "{text}");
    }

    #[test]
    fn fields_and_steps_differ_from_request_to_request() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("users.csv"), "id,name\n7,ada\n8,grace\n").unwrap();
        std::fs::write(folder.path().join("body.bin"), "{n}").unwrap();
        let load = "[load.fields]\nn = { counter = 5, step = 2 }\n\
                    user = { csv = \"users.csv\", column = \"name\" }\n\
                    [[load.flow]]\nsteps = [\
                    { request = \"POST http://{app}/login/{n}\", body = \"{arm} {user}\" },\
                    { request = \"PUT http://{app}/basket\", body_file = \"body.bin\" }]";
        let heard = heard(load, folder.path(), 3);
        assert!(heard[0].starts_with("POST /login/5 "), "{heard:?}");
        assert!(heard[0].ends_with("\r\n\r\noff ada"), "{heard:?}");
        assert!(heard[1].starts_with("PUT /basket "), "{heard:?}");
        assert!(heard[1].ends_with("\r\n\r\n{n}"), "{heard:?}");
        assert!(heard[2].starts_with("POST /login/7 "), "{heard:?}");
        assert!(heard[2].ends_with("\r\n\r\noff grace"), "{heard:?}");
    }

    #[test]
    fn the_endpoint_is_the_urls_unless_a_socket_is_named() {
        let tcp = |address: &str| windage_load::Endpoint::Tcp(address.parse().unwrap());
        let table = [
            ("request = \"GET http://{app}/\"", tcp("127.0.0.1:8080")),
            ("request = \"GET http://127.0.0.1/\"", tcp("127.0.0.1:80")),
            ("request = \"GET https://127.0.0.1/\"", tcp("127.0.0.1:443")),
            ("request = \"GET https://localhost:9/\"", tcp("127.0.0.1:9")),
            (
                "request = \"GET http://shop.example/\"\nunix = \"/run/{arm}.sock\"",
                windage_load::Endpoint::Unix("/run/off.sock".into()),
            ),
            (
                "request = \"GET http://shop.example/\"\nunix = \"app.sock\"",
                windage_load::Endpoint::Unix("/app.sock".into()),
            ),
        ];
        for (load, expected) in table {
            let target = made(load).unwrap();
            assert_eq!(target.endpoint, expected, "{load}");
            assert_eq!(target.tls.is_some(), load.contains("https"), "{load}");
        }
    }

    #[test]
    fn protocol_and_streams_are_passed_on() {
        let load =
            "request = \"POST http://{app}/echo.Echo/Say\"\nprotocol = \"grpc\"\nstreams = 9";
        let target = made(load).unwrap();
        assert_eq!(
            (target.work.protocol(), target.streams),
            (Protocol::Grpc, 9)
        );
    }

    #[test]
    fn faults_that_no_plan_check_finds_are_reported() {
        let long = format!("unix = \"/{}/{{arm}}\"", "x".repeat(110));
        let table = [
            (
                "request = \"GET http://{app}/\"\nheaders = { authorization = \"$WINDAGE_TEST_UNSET\" }",
                "WINDAGE_TEST_UNSET",
            ),
            (
                "request = \"GET https://{app}/\"\ntls = { ca = \"missing.pem\" }",
                "/missing.pem",
            ),
            (
                &format!("request = \"GET http://x/\"\n{long}"),
                "at most 107",
            ),
        ];
        for (load, expected) in table {
            let error = made(load).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn other_machines_are_refused_unless_allowed() {
        // The plan itself refuses such addresses; this is the second guard.
        let load = "request = \"GET http://10.0.0.1/\"\nallow = [\"10.0.0.1\"]";
        let mut plan = plan(load, Path::new("/"));
        assert!(target(&plan, &Names::default(), "off").is_ok());
        plan.load.allow.clear();
        let refused = target(&plan, &Names::default(), "off").unwrap_err();
        assert!(matches!(refused, LabError::NotAllowed { .. }), "{refused}");
    }
}
