//! A directory of runs, and a server over it that is called without a socket.

use std::collections::VecDeque;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, HeaderName, Request, StatusCode, header};
use futures_util::stream;
use serde_json::Value;
use tower::ServiceExt as _;
use windage_model::Window;
use windage_record::{Ending, Entry, JournalWriter, Launch, Manifest, RunDir, Timing};

use crate::fixture::{launch, manifest, window};
use crate::runs::catalog::Catalog;
use crate::runs::guard::Guard;
use crate::runs::token::Token;
use crate::runs::{Served, routes};

/// Admits a request.
pub(super) const COOKIE: &str = "windage-9470=0123abcd";
/// Anything that takes longer hangs.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// A directory of runs.
pub(super) struct Shelf(tempfile::TempDir);

/// A run that is in progress as long as this is held.
pub(super) struct GoingOn {
    writer: JournalWriter,
    blocks: u32,
}

impl Shelf {
    pub(super) fn new() -> Shelf {
        Shelf(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A run without a journal.
    pub(super) fn begun(&self, name: &str, at_s: u64) -> RunDir {
        let manifest = Manifest {
            started_unix_ns: at_s * 1_000_000_000,
            ..manifest()
        };
        let path = self.path().join(name);
        RunDir::create(path, &manifest, "", "", &serde_json::json!({})).unwrap()
    }

    /// An unfinished run of that many blocks.
    pub(super) fn going_on(&self, name: &str, at_s: u64, blocks: u32) -> GoingOn {
        let run = self.begun(name, at_s);
        let mut going_on = GoingOn {
            writer: JournalWriter::create(&run).unwrap(),
            blocks: 0,
        };
        let arms = run
            .manifest()
            .arms
            .iter()
            .map(|arm| windage_record::LaunchedArm {
                arm: arm.index,
                instance: arm.index.0,
                startup_ns: None,
                cpu_source: windage_model::CpuSource::CgroupV2,
                cpu_resolution_ns: 1000,
                startup_cpu_ns: None,
                warmup_completed: 0,
                warmup_outside_ns: 0,
                warmup_outside_time_ns: 0,
            });
        going_on.push(&Entry::LaunchStarted(Launch {
            arms: arms.collect(),
            ..launch(0, 0)
        }));
        (0..blocks).for_each(|_| going_on.block());
        going_on
    }

    pub(super) fn ended(&self, name: &str, at_s: u64) {
        self.going_on(name, at_s, 4).finish();
    }

    /// The same run under another name.
    pub(super) fn link(&self, name: &str, other: &str) {
        let [from, to] = [name, other].map(|name| self.path().join(name));
        fs::create_dir(&to).unwrap();
        let others = ["manifest.json", "journal.bin", "host.json"];
        for file in Timing::ALL.map(Timing::file_name).into_iter().chain(others) {
            fs::hard_link(from.join(file), to.join(file)).unwrap();
        }
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_dir_all(self.path().join(name)).unwrap();
    }
}

impl GoingOn {
    pub(super) fn push(&mut self, entry: &Entry) {
        self.writer.push(entry).unwrap();
    }

    pub(super) fn commit(&mut self) {
        self.writer.commit().unwrap();
    }

    /// Every arm forwards and backwards.
    pub(super) fn block(&mut self) {
        for (position, arm) in (0..).zip([0, 1, 2, 2, 1, 0]) {
            let at = u64::from(self.blocks * 6 + position);
            let mut window = Window {
                started_ns: at * 110_000_000,
                ..window(0, self.blocks, arm)
            };
            window.place.position = position;
            self.push(&Entry::Window(window));
        }
        self.writer.commit_block(self.blocks).unwrap();
        self.blocks += 1;
    }

    pub(super) fn finish(mut self) {
        self.push(&Entry::RunEnded(Ending::Complete));
        self.commit();
    }
}

/// A server over a shelf.
pub(super) struct Shop {
    catalog: Arc<Catalog>,
    router: Router,
}

/// An answer of the server.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Events as a browser gets them, which asks again after each answer until one says stop.
pub(super) type Stream = Pin<Box<dyn stream::Stream<Item = String>>>;

impl Shop {
    pub(super) fn open(shelf: &Shelf) -> Shop {
        let shown = shelf.path().display().to_string();
        let catalog = Catalog::start(shelf.path(), &shown).unwrap();
        let served = Arc::new(Served::of(shelf.path(), Arc::clone(&catalog)));
        let guard = Guard {
            listening: SocketAddr::from(([127, 0, 0, 1], 9470)),
            token: Token::of_tests(),
        };
        Shop {
            catalog,
            router: routes::router(served, guard),
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.catalog.take_notes()
    }

    pub(super) fn request(path: &str) -> Builder {
        Request::builder()
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::COOKIE, COOKIE)
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.ask(Shop::request(path)).await
    }

    pub(super) async fn ask(&self, request: Builder) -> Answer {
        self.ask_for(request.body(()).unwrap()).await
    }

    pub(super) async fn ask_for(&self, request: Request<()>) -> Answer {
        let request = request.map(|()| Body::empty());
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            body: to_bytes(body, usize::MAX).await.unwrap().to_vec(),
        }
    }

    pub(super) async fn stream(&self, path: &str) -> Stream {
        let first = events(&self.router, path, None).await;
        let first = first.unwrap_or_else(|status| panic!("{path}: {status}"));
        let state = (self.router.clone(), path.to_owned(), first);
        Box::pin(stream::unfold(
            state,
            |(router, path, mut pending)| async move {
                loop {
                    if let Some(event) = pending.events.pop_front() {
                        return Some((event, (router, path, pending)));
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    pending = events(&router, &path, Some(&pending.id)).await.ok()?;
                }
            },
        ))
    }

    /// The list once everything was read.
    pub(super) async fn all_read(&self) -> Value {
        self.until_list(|list| list["reading"] == 0).await
    }

    /// The list once `is_so` holds.
    pub(super) async fn until_list(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let is_so = |answer: &Answer| is_so(&answer.json());
        self.until("/api/runs", is_so).await.json()
    }

    /// The answer once `is_so` holds.
    pub(super) async fn until(&self, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
        let deadline = Instant::now() + LONGEST;
        loop {
            let answer = self.get(path).await;
            if is_so(&answer) {
                return answer;
            }
            let (status, text) = (answer.status, answer.text());
            assert!(Instant::now() < deadline, "{path} stays {status} {text}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The events of one answer, and what the browser knows then.
struct Told {
    events: VecDeque<String>,
    id: String,
}

/// Asks for events once; the status, if that is an end.
async fn events(router: &Router, path: &str, known: Option<&str>) -> Result<Told, StatusCode> {
    let request = match known {
        Some(id) => Shop::request(path).header("last-event-id", id),
        None => Shop::request(path),
    };
    let request = request.body(Body::empty()).unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    if answer.status() != StatusCode::OK {
        return Err(answer.status());
    }
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains("retry:"), "a browser asks again: {body}");
    let lines = body.lines();
    let id = lines
        .filter_map(|line| line.strip_prefix("id: "))
        .next_back();
    Ok(Told {
        events: body
            .split("\n\n")
            .filter(|block| block.contains("event: "))
            .map(str::to_owned)
            .collect(),
        id: id.unwrap().to_owned(),
    })
}

impl Answer {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    pub(super) fn header(&self, name: HeaderName) -> String {
        let value = self
            .headers
            .get(&name)
            .unwrap_or_else(|| panic!("no {name}"));
        value.to_str().unwrap().to_owned()
    }
}
