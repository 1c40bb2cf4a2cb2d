//! Scraping a small server, and following counters across restarts.

use std::io::Write as _;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const EVERY: Duration = Duration::from_secs(10);

/// Runs a test on a runtime like the sink's.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test)
}

/// Serves these answers, one per connection and the last one repeatedly. Returns the URL and the
/// list of requests received.
async fn serve(answers: Vec<Vec<u8>>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/metrics?all=1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&asked);
    tokio::spawn(async move {
        for at in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            heads.lock().unwrap().push(head);
            // A scraper that gives up closes in the middle of an answer.
            let _ = stream.write_all(&answers[at.min(answers.len() - 1)]).await;
        }
    });
    (url, asked)
}

fn answer(head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn target(url: &str, every: Duration, select: &[&str]) -> ScrapeTarget {
    let select = select.iter().map(|name| (*name).to_owned()).collect();
    ScrapeTarget::new(url, every, select, Reach::Loopback).unwrap()
}

#[test]
fn an_agent_is_scraped() {
    run(async {
        let text = "# TYPE sent counter\nsent{a=\"b\"} 2\nsent 3\n";
        let open_metrics = "# TYPE sent counter\nsent_total 7\n# EOF\n";
        let is_open_metrics = "Content-Type: application/openmetrics-text; version=1.0.0\r\n";
        let answers = vec![answer("", text), answer(is_open_metrics, open_metrics)];
        let (url, asked) = serve(answers).await;
        let scrapes = Mutex::default();
        let target = target(&url, EVERY, &["sent", "sent_total"]);
        scrape_once(&target, &scrapes).await;
        let first = scrapes.lock().unwrap().clone();
        assert_eq!((first.scrapes, first.failures), (1, 0), "{first:?}");
        assert_eq!((first.points, first.bytes), (2, text.len() as u64));
        assert_eq!(first.selected[0].last, 5.0);
        let head = asked.lock().unwrap()[0].to_lowercase();
        for line in [
            "get /metrics?all=1 http/1.1",
            "accept: text/plain;version=0.0.4",
            "host: 127",
        ] {
            assert!(head.contains(line), "{head}");
        }
        scrape_once(&target, &scrapes).await;
        let second = scrapes.lock().unwrap().clone();
        assert_eq!((second.scrapes, second.points), (2, 3));
        assert_eq!(second.bytes, (text.len() + open_metrics.len()) as u64);
        assert_eq!(second.selected[1].name, "sent_total");
    });
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn gzip_answer(text: &str) -> Vec<u8> {
    let body = gzip(text);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

#[test]
fn an_answer_may_be_compressed_as_prometheus_asks_for() {
    let text = "sent 1\n".repeat(100);
    let bomb = "#".repeat(17 << 20);
    run(async {
        let (url, asked) = serve(vec![gzip_answer(&text), gzip_answer(&bomb)]).await;
        let scrapes = Mutex::default();
        let target = target(&url, EVERY, &[]);
        scrape_once(&target, &scrapes).await;
        let head = asked.lock().unwrap()[0].to_lowercase();
        assert!(head.contains("accept-encoding: gzip"), "{head}");
        let first = scrapes.lock().unwrap().clone();
        assert_eq!((first.points, first.bytes), (100, 700));
        assert_eq!(first.wire_bytes, gzip(&text).len() as u64);
        scrape_once(&target, &scrapes).await;
        let second = scrapes.lock().unwrap().clone();
        assert_eq!((second.scrapes, second.failures), (1, 1));
        assert!(second.last_failure.unwrap().contains("more than 16777216"));
    });
}

#[test]
fn the_sink_scrapes_until_its_scraper_is_dropped() {
    let (url, asked) = {
        // On a thread of its own, as the sink's is.
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            run(async {
                tell.send(serve(vec![answer("", "a 1\n")]).await).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().unwrap()
    };
    let sink = crate::Sink::start(1, &[], crate::SinkOptions::default()).unwrap();
    let began = Instant::now();
    let scraper = sink.scrape(target(&url, MIN_EVERY, &[]), 3 * MIN_EVERY);
    while scraper.so_far().scrapes < 3 {
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        began.elapsed() >= 5 * MIN_EVERY,
        "three to the first, and two pauses"
    );
    drop(scraper);
    std::thread::sleep(MIN_EVERY);
    let before = asked.lock().unwrap().len();
    std::thread::sleep(3 * MIN_EVERY);
    assert_eq!(asked.lock().unwrap().len(), before, "it goes on");
}

#[test]
fn failures_are_counted_and_reported() {
    let huge = format!("a 1\n{}", "#".repeat(17 << 20));
    let open_metrics = "Content-Type: application/openmetrics-text\r\n";
    let table: &[(Vec<u8>, &str)] = &[
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
            "status 404",
        ),
        (
            b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n".to_vec(),
            "status 302",
        ),
        (
            answer("", "<html></html>\n"),
            "not Prometheus or OpenMetrics text: line 1: a name",
        ),
        (answer("", "ok 1\nbad{\n"), "line 2"),
        (answer(open_metrics, "ok 1\n"), "it was cut"),
        (
            answer("Content-Encoding: br\r\n", "x"),
            "an encoding that was not requested",
        ),
        (
            answer("Content-Encoding: gzip\r\n", "x"),
            "unexpected end of file",
        ),
        (answer("", &huge), "more than 16777216 bytes"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 1\n".to_vec(),
            "end of file before message length",
        ),
        (
            b"220 mail.example ESMTP\r\n".to_vec(),
            "invalid HTTP version",
        ),
        (vec![], "before message completed"),
    ];
    run(async {
        for (bytes, reason) in table {
            let (url, _) = serve(vec![bytes.clone()]).await;
            let scrapes = Mutex::default();
            scrape_once(&target(&url, EVERY, &[]), &scrapes).await;
            let scrapes = scrapes.lock().unwrap();
            assert_eq!((scrapes.scrapes, scrapes.failures), (0, 1), "{reason}");
            let found = scrapes.last_failure.as_deref().unwrap();
            assert!(
                found.contains(reason) && found.contains(&url),
                "{reason}: {found}"
            );
        }
    });
}

#[test]
fn an_absent_or_silent_agent_is_a_failure() {
    run(async {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/metrics", silent.local_addr().unwrap());
        let of = target(&url, EVERY, &[]);
        let patience = Duration::from_millis(50);
        let slow = fetch::scrape(&of.address, &[], patience).await.unwrap_err();
        assert_eq!(
            slow.to_string(),
            format!("{url}: no complete answer within 50ms")
        );
        drop(silent);
        let away = fetch::scrape(&of.address, &[], patience).await.unwrap_err();
        assert!(away.to_string().contains("refused"), "{away}");
    });
}

#[test]
fn a_loop_continues_after_a_failure() {
    run(async {
        let (url, _) = serve(vec![answer("", "a 1\n"), vec![], answer("", "a 4\n")]).await;
        let scrapes = Arc::new(Mutex::default());
        let every = Duration::from_millis(100);
        let of = target(&url, every, &["a"]);
        let task = tokio::spawn(scrape_loop(of, Duration::ZERO, Arc::clone(&scrapes)));
        let began = Instant::now();
        let enough = |scrapes: &Scrapes| scrapes.scrapes >= 2;
        while !enough(&scrapes.lock().unwrap()) {
            assert!(began.elapsed() < Duration::from_secs(30));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(
            began.elapsed() >= 2 * every,
            "three scrapes have two pauses"
        );
        task.abort();
        let scrapes = scrapes.lock().unwrap();
        assert_eq!(scrapes.failures, 1);
        assert_eq!(scrapes.selected[0].increase, 3.0);
    });
}

/// A scrape that takes longer than the interval would otherwise leave out the next ones.
#[test]
fn an_answer_that_outlasts_the_interval_is_a_failure() {
    run(async {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/metrics", silent.local_addr().unwrap());
        let scrapes = Arc::new(Mutex::<Scrapes>::default());
        let looping = scrape_loop(
            target(&url, MIN_EVERY, &[]),
            MIN_EVERY,
            Arc::clone(&scrapes),
        );
        let task = tokio::spawn(looping);
        let began = Instant::now();
        while scrapes.lock().unwrap().failures < 3 {
            assert!(
                began.elapsed() < TIMEOUT,
                "it waits for more than an interval"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        task.abort();
        let reason = scrapes.lock().unwrap().last_failure.clone().unwrap();
        assert!(
            reason.ends_with("no complete answer within 100ms"),
            "{reason}"
        );
    });
}

#[test]
fn encodings_and_formats_are_named_in_any_case() {
    run(async {
        let heads = [
            "Content-Encoding: identity\r\n",
            "Content-Type: Application/OpenMetrics-Text\r\n",
        ];
        let answers = heads.map(|head| answer(head, "a 1\n# EOF\n"));
        let mut packed = gzip_answer("a 1\n");
        let at = packed.windows(4).position(|of| of == b"gzip").unwrap();
        packed[at..at + 4].copy_from_slice(b"GZIP");
        let (url, _) = serve([answers.to_vec(), vec![packed]].concat()).await;
        let scrapes = Mutex::default();
        for _ in 0..3 {
            scrape_once(&target(&url, EVERY, &[]), &scrapes).await;
        }
        let scrapes = scrapes.lock().unwrap();
        assert_eq!((scrapes.points, scrapes.failures), (3, 0), "{scrapes:?}");
    });
}

#[test]
fn counters_are_followed_across_restarts_and_from_their_first_event() {
    // Scraped values; then first, last, increase, resets.
    type Row = (&'static [Option<f64>], f64, f64, f64, u64);
    let table: &[(Row, &str)] = &[
        ((&[Some(5.0)], 5.0, 5.0, 0.0, 0), "once"),
        (
            (&[Some(5.0), Some(5.0), Some(9.0)], 5.0, 9.0, 4.0, 0),
            "grows",
        ),
        (
            (
                &[Some(5.0), Some(9.0), Some(2.0), Some(3.0)],
                5.0,
                3.0,
                7.0,
                1,
            ),
            "a restart",
        ),
        (
            (&[Some(5.0), Some(0.0)], 5.0, 0.0, 0.0, 1),
            "a restart without an event yet",
        ),
        (
            (&[None, Some(3.0), Some(4.0)], 0.0, 4.0, 4.0, 0),
            "absent until its first event",
        ),
        (
            (&[Some(5.0), None, Some(6.0)], 5.0, 6.0, 1.0, 0),
            "absent for a while",
        ),
    ];
    for ((values, first, last, increase, resets), why) in table {
        let mut scrapes = Scrapes::default();
        for value in *values {
            scrapes.add(&Scrape {
                wire_bytes: 4,
                bytes: 10,
                exposition: Exposition {
                    samples: 1,
                    selected: value.iter().map(|value| ("a".to_owned(), *value)).collect(),
                },
            });
        }
        let expected = SelectedMetric {
            name: "a".to_owned(),
            first: *first,
            last: *last,
            increase: *increase,
            resets: *resets,
        };
        assert_eq!(scrapes.selected, [expected], "{why}");
        assert_eq!(scrapes.bytes, 10 * scrapes.scrapes);
        assert_eq!(scrapes.wire_bytes, 4 * scrapes.scrapes);
        assert_eq!(scrapes.points, scrapes.scrapes);
    }
}

#[test]
fn targets_are_urls_on_loopback_by_default() {
    let table = [
        ("http://127.0.0.1:8888/metrics", "", ""),
        ("http://127.8.0.1:1", "", ""),
        ("http://[::1]:8888/metrics", "", ""),
        ("http://localhost:8888/metrics", "", ""),
        ("http://10.0.0.7:8888/metrics", "is not on loopback", ""),
        ("http://agent:8888/metrics", "is not on loopback", ""),
        ("http://127.0.0.1.example/metrics", "is not on loopback", ""),
        (
            "https://127.0.0.1/metrics",
            "only plain HTTP",
            "only plain HTTP",
        ),
        (
            "127.0.0.1:8888/metrics",
            "it is not a URL",
            "it is not a URL",
        ),
        ("localhost:8888", "only plain HTTP", "only plain HTTP"),
        ("/metrics", "only plain HTTP", "only plain HTTP"),
        (
            "http://a:b@127.0.0.1/metrics",
            "passwords are not supported",
            "passwords are not supported",
        ),
        ("", "it is not a URL", "it is not a URL"),
    ];
    for (url, on_loopback, anywhere) in table {
        for (reach, reason) in [(Reach::Loopback, on_loopback), (Reach::Anywhere, anywhere)] {
            match ScrapeTarget::new(url, EVERY, vec![], reach) {
                Ok(target) => {
                    assert_eq!((target.url(), reason), (url, ""));
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(!reason.is_empty() && text.contains(reason), "{url}: {text}");
                    assert!(text.contains(&format!("`{url}`")), "{text}");
                }
            }
        }
    }
    let short = ScrapeTarget::new(
        "http://[::1]",
        Duration::from_millis(99),
        vec![],
        Reach::Loopback,
    );
    assert!(
        short
            .unwrap_err()
            .to_string()
            .contains("100ms is the shortest")
    );
}
