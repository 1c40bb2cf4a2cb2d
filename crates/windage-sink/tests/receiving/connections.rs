//! Connections, the thread behind them, and its cores.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use windage_sink::{Protocol, Sink, SinkError, SinkOptions};

use crate::sender::bodies::batch;
use crate::sender::http::{PROTOBUF, connect, exchange, head, is_closed, post_traces};
use crate::sender::{FIRST, SECOND, address, eventually};

const HERE: Protocol = Protocol::OtlpHttp;

fn start() -> Sink {
    Sink::start(1, &[HERE], SinkOptions::default()).unwrap()
}

#[test]
fn every_arm_and_protocol_has_a_port_of_its_own() {
    let protocols = [Protocol::OtlpGrpc, Protocol::Zipkin];
    let sink = Sink::start(2, &protocols, SinkOptions::default()).unwrap();
    let mut ports = Vec::new();
    for arm in [FIRST, SECOND] {
        assert_eq!(sink.address(arm, Protocol::OtlpHttp), None);
        ports.extend(protocols.map(|protocol| address(&sink, arm, protocol).port()));
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let sink = start();
    let taken = address(&sink, FIRST, HERE);
    let again = Sink::start_at(&[(Protocol::Zipkin, taken)], SinkOptions::default());
    let error = again.unwrap_err();
    assert!(matches!(error, SinkError::Listen { .. }), "{error}");
    assert!(error.to_string().contains(&taken.to_string()), "{error}");
}

#[test]
fn a_sender_that_disconnects_is_counted_as_rejected() {
    let sink = start();
    let mut stream = connect(address(&sink, FIRST, HERE));
    let head = head("POST", "/v1/traces", &[("content-type", PROTOBUF)], 1000);
    stream.write_all(&head).unwrap();
    stream.write_all(&[0x12, 0].repeat(5)).unwrap();
    drop(stream);
    eventually("the cut request is counted", || {
        sink.counts(FIRST).requests == 1
    });
    let counts = sink.counts(FIRST);
    assert_eq!((counts.rejected, counts.spans), (1, 0));
}

#[test]
fn connections_are_limited_and_accepted_again() {
    let options = SinkOptions {
        max_connections: 2,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, &[HERE], options).unwrap();
    let address = address(&sink, FIRST, HERE);
    let request = post_traces(&batch(1, 1));
    let mut held: Vec<TcpStream> = (0..2).map(|_| connect(address)).collect();
    for stream in &mut held {
        assert_eq!(exchange(stream, &request).unwrap().status, 200);
    }
    assert!(is_closed(&mut connect(address)), "closed without an answer");
    assert_eq!(sink.counts(FIRST).refused_connections, 1);

    drop(held);
    eventually("a connection is accepted again", || {
        let mut stream = connect(address);
        let sent = stream.write_all(&request);
        let mut status = [0; 12];
        sent.is_ok() && stream.read_exact(&mut status).is_ok() && status.ends_with(b"200")
    });
}

#[test]
fn the_thread_has_a_name_and_a_clock_and_ends() {
    let sink = start();
    let mut stream = connect(address(&sink, FIRST, HERE));
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "sink").count()
    };
    assert!(threads() >= 1);
    let before = sink.cpu_ns();
    for number in 0..20 {
        let request = post_traces(&batch(number, 2000));
        assert_eq!(exchange(&mut stream, &request).unwrap().status, 200);
    }
    assert!(sink.cpu_ns() > before);

    let address = address(&sink, FIRST, HERE);
    sink.shut_down();
    assert!(
        TcpStream::connect(address).is_err(),
        "the listener is closed"
    );
    assert!(is_closed(&mut stream), "and so are its connections");
}

#[test]
fn the_thread_is_pinned_or_refused_with_a_reason() {
    let pinned = |cpu| {
        let options = SinkOptions {
            cpus: Some(vec![cpu]),
            ..SinkOptions::default()
        };
        Sink::start(1, &[HERE], options)
    };
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let cpu = (0..1024)
        .find(|&cpu| allowed.is_set(cpu).unwrap_or(false))
        .unwrap();
    assert!(pinned(u32::try_from(cpu).unwrap()).is_ok());
    for absent in [1000, 1_000_000] {
        let error = pinned(absent).unwrap_err().to_string();
        assert!(error.contains(&format!("[{absent}]")), "{error}");
    }
}
