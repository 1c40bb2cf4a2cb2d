//! A real Prometheus scrapes itself and writes the samples to the sink; its own counter says how
//! many there were.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_model::ArmIndex;
use windage_sink::{Protocol, Sink, SinkOptions};

use crate::program::{self, Going, PATIENCE, until};

const ARM: ArmIndex = ArmIndex(0);
/// Several requests of at most a hundred samples.
const ENOUGH: u64 = 1000;
/// How often it is started at most.
const STARTS: usize = 3;

#[test]
fn prometheus() {
    let Some(prometheus) = program::part("prometheus", "WINDAGE_TEST_PROMETHEUS") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let sink = Sink::start(1, &[Protocol::RemoteWrite], SinkOptions::default()).unwrap();
    let write_to = sink.address(ARM, Protocol::RemoteWrite).unwrap();
    let config = dir.path().join("prometheus.yml");
    let points = || sink.counts(ARM).metric_points;
    let mut starts = 0;
    let (prometheus, own) = loop {
        let own = free_address();
        fs::write(&config, writing(write_to) + &scraping(own)).unwrap();
        let mut going = start(&prometheus, &config, dir.path(), own);
        starts += 1;
        let mut has_ended = || going.0.try_wait().unwrap().is_some();
        let came = until(PATIENCE, || points() > ENOUGH || has_ended());
        // Another program may have taken the address first.
        if has_ended() && points() == 0 && starts < STARTS {
            continue;
        }
        assert!(came && points() > ENOUGH, "{:?}", sink.counts(ARM));
        break (going, own);
    };

    // From here on it scrapes nothing and writes the samples it still holds.
    let scraping = Samples::read(own).unwrap();
    fs::write(&config, writing(write_to)).unwrap();
    let pid = Pid::from_raw(i32::try_from(prometheus.0.id()).unwrap());
    kill(pid, Signal::SIGHUP).unwrap();
    let mut last = None;
    let at_rest = until(PATIENCE, || {
        last = Samples::read(own);
        last.as_ref().is_some_and(|now| {
            now.config != scraping.config && now.scraped == now.written && now.pending == 0
        })
    });
    assert!(at_rest, "{last:?}");

    let counts = sink.counts(ARM);
    let written = last.map(|samples| samples.written);
    assert_eq!(written, Some(counts.metric_points), "{counts:?}");
    let failed = [
        counts.rejected,
        counts.malformed,
        counts.refused,
        counts.retried_requests,
    ];
    assert_eq!(failed, [0; 4], "{counts:?}");
    assert!(
        counts.requests > 1 && counts.wire_bytes < counts.body_bytes,
        "{counts:?}"
    );
}

fn writing(to: SocketAddr) -> String {
    format!(
        "global: {{scrape_interval: 100ms, scrape_timeout: 100ms}}
remote_write:
  - url: http://{to}{}
    queue_config: {{batch_send_deadline: 50ms, max_samples_per_send: 100}}
",
        Protocol::RemoteWrite.path()
    )
}

fn scraping(own: SocketAddr) -> String {
    format!("scrape_configs: [{{job_name: self, static_configs: [{{targets: ['{own}']}}]}}]\n")
}

/// Starts it as an agent: it writes to others and stores nothing.
fn start(prometheus: &Path, config: &Path, dir: &Path, own: SocketAddr) -> Going {
    let mut command = program::command(prometheus);
    command
        .arg("--enable-feature=agent")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.agent.path={}",
            dir.join("data").display()
        ))
        .arg(format!("--web.listen-address={own}"))
        .stderr(Stdio::null());
    Going(command.spawn().unwrap())
}

/// It has to know its own address in advance, so that it can scrape itself.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// Its figures on the samples it sends, all of them its own.
#[derive(Debug)]
struct Samples {
    scraped: u64,
    /// Counted when sent.
    written: u64,
    /// Sent and not answered yet.
    pending: u64,
    /// When the configuration was loaded.
    config: String,
}

impl Samples {
    /// `None` while it starts.
    fn read(own: SocketAddr) -> Option<Samples> {
        let mut stream = TcpStream::connect(own).ok()?;
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {own}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.rsplit(' ').next()
        };
        Some(Samples {
            scraped: value("prometheus_agent_samples_appended_total")?
                .parse()
                .ok()?,
            pending: value("prometheus_remote_storage_samples_pending")?
                .parse()
                .ok()?,
            written: value("prometheus_remote_storage_samples_total")?
                .parse()
                .ok()?,
            config: value("prometheus_config_last_reload_success_timestamp_seconds")?.to_owned(),
        })
    }
}
