//! Times the list of many runs: without an index, right after a start with an index, and when
//! requested again.
//!
//! `cargo run --locked --release -p windage-serve --example thousand_runs -- RUN [HOW MANY, by default 1000]`
//!
//! The files of RUN are linked into that many directories in a temporary directory next to it,
//! which is removed at the end.

// clippy.toml allows it in tests; this program prints its results.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windage_serve::RunsServer;

const USAGE: &str = "usage: thousand_runs RUN [HOW MANY, by default 1000]";
const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
const ASKED_AGAIN: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args();
    let _program = arguments.next();
    let run = PathBuf::from(arguments.next().ok_or(USAGE)?).canonicalize()?;
    let count = match arguments.next() {
        Some(text) => text.parse::<usize>().map_err(|_| USAGE)?,
        None => 1000,
    };
    // Hard links can't cross file systems.
    let beside = run.parent().ok_or(USAGE)?;
    let folder = tempfile::tempdir_in(beside)?;
    for number in 0..count {
        link(&run, &folder.path().join(format!("run-{number:05}")))?;
    }
    nothing_known(folder.path(), count)?;
    with_an_index(folder.path(), count)
}

fn link(run: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(run)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::hard_link(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn nothing_known(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let server = RunsServer::start(folder, ANY_PORT)?;
    let first = Instant::now();
    list(&server)?;
    println!("no index, first answer: {:.1} ms", ms(first.elapsed()));
    while list(&server)?.matches("\"name\":").count() < count {
        std::thread::sleep(Duration::from_millis(100));
    }
    println!(
        "no index, all {count} read: {:.1} s",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn with_an_index(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let server = RunsServer::start(folder, ANY_PORT)?;
    let answer = list(&server)?;
    println!(
        "with an index, from start to answer: {:.1} ms",
        ms(began.elapsed())
    );
    assert_eq!(
        answer.matches("\"name\":").count(),
        count,
        "the list has all runs"
    );
    println!("length of the answer: {:.1} kB", answer.len() as f64 / 1e3);
    let mut took = Vec::new();
    for _ in 0..ASKED_AGAIN {
        // Waits until the last scan has expired, so that each request scans.
        std::thread::sleep(Duration::from_millis(1100));
        let asked = Instant::now();
        list(&server)?;
        took.push(asked.elapsed());
    }
    took.sort_unstable();
    let [least, median, most] = [0, ASKED_AGAIN / 2, ASKED_AGAIN - 1].map(|at| ms(took[at]));
    println!("requested again, with a scan: {median:.1} ms ({least:.1} to {most:.1})");
    Ok(())
}

fn list(from: &RunsServer) -> std::io::Result<String> {
    let url = from.url();
    let token = url.split_once('?').map_or("", |(_, token)| token);
    let mut stream = TcpStream::connect(from.address())?;
    // HTTP/1.0: the answer ends with the connection.
    let head = format!("GET /api/runs?{token} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
