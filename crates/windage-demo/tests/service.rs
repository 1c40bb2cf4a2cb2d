//! Runs the service as a process and counts its spans with a sink.

#![expect(clippy::unwrap_used, reason = "helpers of the tests are test code")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_model::ArmIndex;
use windage_sink::{Counts, Protocol, Sink, SinkOptions};

/// Long enough for a loaded machine; only failures wait that long.
const PATIENCE: Duration = Duration::from_secs(30);
const ARM: ArmIndex = ArmIndex::BASELINE;

fn command(args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windage-demo-service"));
    // Variables of the caller for telemetry or proxies must have no effect.
    for (name, _) in std::env::vars() {
        if name.starts_with("OTEL_") || name.to_ascii_lowercase().ends_with("_proxy") {
            command.env_remove(name);
        }
    }
    command.args(args).envs(env.iter().copied());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

struct Service {
    child: Child,
    address: SocketAddr,
}

impl Service {
    fn launch(args: &[&str], env: &[(&str, &str)]) -> Service {
        let args = [&["--listen", "127.0.0.1:0"], args].concat();
        let mut child = command(&args, env).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .parse()
            .unwrap();
        Service { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends SIGTERM and waits. Also returns stderr.
    fn terminate(mut self) -> (ExitStatus, String) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < PATIENCE, "the service did not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (status, said)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Still running only if the test failed midway.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How the subject gets its receiver's address.
fn endpoint(sink: &Sink) -> String {
    let address = sink.address(ARM, Protocol::OtlpHttp).unwrap();
    format!("http://{address}")
}

fn get(stream: &mut TcpStream, path: &str, header: &str) -> (u16, String) {
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: demo\r\n{header}\r\n").as_bytes())
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (
        head.split(' ').nth(1).unwrap().parse().unwrap(),
        String::from_utf8(body).unwrap(),
    )
}

/// Runs the service with a sink, sends `requests` and returns what the sink counted at the end.
fn delivered(env: &[(&str, &str)], telemetry: &str, requests: usize, header: &str) -> Counts {
    let sink = Sink::start(1, &[Protocol::OtlpHttp], SinkOptions::default()).unwrap();
    let endpoint = endpoint(&sink);
    let args = ["--telemetry", telemetry, "--endpoint", &endpoint];
    let service = Service::launch(
        if telemetry == "off" {
            &args[..2]
        } else {
            &args
        },
        env,
    );
    let mut stream = service.connect();
    assert_eq!(get(&mut stream, "/healthz", "").0, 200);
    for n in 0..requests {
        assert_eq!(
            get(
                &mut stream,
                &format!("/orders/{}?limit=5", 1 + n % 200),
                header
            )
            .0,
            200
        );
    }
    let (status, said) = service.terminate();
    assert!(status.success(), "{status}: {said}");
    assert_eq!(said, "");
    sink.counts(ARM)
}

#[test]
fn every_sampled_request_delivers_four_spans() {
    const REQUESTS: usize = 200;
    const CALLER: &str = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    let own = "parentbased_traceidratio";
    let table = [
        ("all", "otlp", own, "1.0", "", [4, 1]),
        ("none", "otlp", own, "0.0", "", [0, 0]),
        (
            "the caller's sampling, and its parent",
            "otlp",
            own,
            "0.0",
            CALLER,
            [4, 0],
        ),
        ("no tracer at all", "off", own, "1.0", "", [0, 0]),
    ];
    for (name, telemetry, sampler, argument, header, [spans, roots]) in table {
        let env = [
            ("OTEL_TRACES_SAMPLER", sampler),
            ("OTEL_TRACES_SAMPLER_ARG", argument),
        ];
        let counts = delivered(&env, telemetry, REQUESTS, header);
        let requests = REQUESTS as u64;
        assert_eq!(
            [counts.spans, counts.root_spans],
            [spans * requests, roots * requests],
            "{name}"
        );
        assert_eq!((counts.rejected, counts.malformed), (0, 0), "{name}");
    }
}

#[test]
fn an_argument_alone_chooses_the_ratio_sampler() {
    let counts = delivered(&[("OTEL_TRACES_SAMPLER_ARG", "0")], "otlp", 20, "");
    assert_eq!(counts.spans, 0);
}

#[test]
fn the_sdks_own_variable_names_the_receiver() {
    let sink = Sink::start(1, &[Protocol::OtlpHttp], SinkOptions::default()).unwrap();
    let endpoint = endpoint(&sink);
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let service = Service::launch(&["--telemetry", "otlp"], &env);
    assert_eq!(get(&mut service.connect(), "/orders/1", "").0, 200);
    assert!(service.terminate().0.success());
    assert_eq!(sink.counts(ARM).spans, 4);
}

#[test]
fn answers_are_json_and_errors_are_reported() {
    let service = Service::launch(&[], &[]);
    let mut stream = service.connect();
    let (status, body) = get(&mut stream, "/orders/42?limit=3", "");
    assert_eq!(status, 200);
    let page: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&page["customer"], &page["name"]),
        (&42.into(), &"Customer 42".into())
    );
    assert_eq!(page["orders"].as_array().unwrap().len(), 3);
    assert!(page["orders"][0]["total_cents"].as_i64().unwrap() > 0);

    let table = [
        (
            "/orders/42?limit=many",
            400,
            "limit must be between 1 and 50",
        ),
        ("/orders/x", 400, "customer must be a number"),
        ("/orders/4200", 404, "no such customer"),
        ("/elsewhere", 404, "no such path"),
    ];
    for (path, expected, text) in table {
        let (status, body) = get(&mut stream, path, "");
        let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, problem["error"].as_str()),
            (expected, Some(text)),
            "{path}"
        );
    }
}

#[test]
fn failing_telemetry_does_not_fail_the_service() {
    // A port that was just free, with no listener.
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = format!("http://{closed}");
    let service = Service::launch(&["--telemetry", "otlp", "--endpoint", &endpoint], &[]);
    assert_eq!(get(&mut service.connect(), "/orders/1", "").0, 200);
    let (status, said) = service.terminate();
    assert!(status.success(), "{status}");
    assert!(said.contains("the last spans were not sent"), "{said}");
}

#[test]
fn failures_to_start_are_reported() {
    let otlp = "--listen 127.0.0.1:0 --telemetry otlp";
    let bad_url = format!("{otlp} --endpoint http://[:");
    let table = [
        ("no address", "", "1", 2, "--listen is missing"),
        (
            "not an address here",
            "--listen 192.0.2.1:80",
            "1",
            1,
            "can't listen on 192.0.2.1:80",
        ),
        (
            "sampling in per cent",
            otlp,
            "10%",
            1,
            "OTEL_TRACES_SAMPLER_ARG=10%",
        ),
        (
            "not a URL",
            &bad_url,
            "1",
            1,
            "the OTLP exporter can't be set up",
        ),
    ];
    for (name, args, sampling, code, text) in table {
        let args: Vec<&str> = args.split_whitespace().collect();
        let output = command(&args, &[("OTEL_TRACES_SAMPLER_ARG", sampling)])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(text), "{name}: {said}");
    }
}
