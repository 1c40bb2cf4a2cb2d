//! Documents of one run, made on request: its page, its analysis, its report.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use axum::body::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tokio::task::JoinError;
use windage_analysis::{Analysis, Compared, detailed, wire};
use windage_record::{RecordError, RunState};
use windage_report::{PageSource, comparison_page_json, page_html, page_json};
use xxhash_rust::xxh3::xxh3_64;

use super::snapshot::{analysed, is_being_written, open};
use super::stamps::{Seen, Stamps};
use crate::concluded::forgive_going_on;
use crate::locked;
use crate::low_priority::{cpu_of, due_after};
use crate::run_watcher::ESTIMATES_AFTER;

/// Memory for kept documents, compressed.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The data of the page.
    Page,
    /// As from `windage report --json`.
    Analysis,
    /// The self-contained page.
    Report,
}

/// A compressed text, with an ETag of its content.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    gzip: Bytes,
    /// Weak, because it identifies the text and not its bytes in one encoding.
    pub(crate) etag: String,
}

/// Why there is no document.
#[derive(Debug)]
pub(crate) enum Unmade {
    /// The run was removed.
    Gone,
    /// It can't be read.
    Unreadable(String),
}

/// The documents that are kept.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    kept: Mutex<Kept>,
    /// One is made at a time.
    making: Arc<tokio::sync::Mutex<()>>,
}

type Key = (String, Form);

#[derive(Debug, Default)]
struct Kept {
    made: BTreeMap<Key, Made>,
    bytes: usize,
    uses: u64,
}

#[derive(Clone, Debug)]
struct Made {
    /// `None` if it is too large to be kept.
    document: Option<Document>,
    seen: Seen,
    /// When it may be made again.
    due: Instant,
    last_use: u64,
}

impl Document {
    pub(crate) fn of(text: &str) -> Document {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory can't fail.
        let written = encoder.write_all(text.as_bytes());
        let gzip = written.and_then(|()| encoder.finish()).unwrap_or_default();
        Document {
            gzip: gzip.into(),
            etag: format!("W/\"{:016x}\"", xxh3_64(text.as_bytes())),
        }
    }

    /// Compressed with gzip.
    pub(crate) fn compressed(&self) -> Bytes {
        self.gzip.clone()
    }

    /// For clients that don't accept gzip.
    ///
    /// # Errors
    /// Never in practice.
    pub(crate) fn plain(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        GzDecoder::new(&*self.gzip).read_to_end(&mut text)?;
        Ok(text)
    }
}

impl Documents {
    /// The document of a run; an earlier one, if the run is unchanged or was read a moment ago.
    pub(crate) async fn get(
        self: &Arc<Documents>,
        name: &str,
        path: &Path,
        form: Form,
    ) -> Result<Document, Unmade> {
        let (key, path) = ((name.to_owned(), form), path.to_owned());
        let documents = Arc::clone(self);
        let (asked, at) = (key.clone(), path.clone());
        if let Some(document) = on_thread(move || documents.current(&asked, &at)).await? {
            return Ok(document);
        }
        let documents = Arc::clone(self);
        self.alone(move || documents.make(key, &path)).await?
    }

    /// Run `b` compared with run `a`; made on every request.
    pub(crate) async fn comparison(&self, a: PathBuf, b: PathBuf) -> Result<Document, Unmade> {
        self.alone(move || {
            let compared = compared(&a, &b)?;
            Ok(Document::of(&comparison_page_json(&compared)))
        })
        .await?
    }

    /// Runs `work` alone and to its end, even if the requester has left.
    async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unmade> {
        let making = Arc::clone(&self.making).lock_owned().await;
        let done = on_thread(move || {
            let done = work();
            drop(making);
            done
        });
        Ok(done.await?)
    }

    /// Whether a new page of a run with these stamps would differ from the last one, and is due.
    pub(crate) fn is_behind(&self, name: &str, now: &Stamps) -> bool {
        let kept = self.kept();
        let made = kept.made.get(&(name.to_owned(), Form::Page));
        made.is_none_or(|made| made.due <= Instant::now() && made.seen.stamps != now.text())
    }

    fn current(&self, key: &Key, path: &Path) -> Option<Document> {
        let stamps = Stamps::of(path)?;
        let made = self.kept().used(key)?;
        let goes_on = made.seen.state == RunState::GoingOn;
        let rests = goes_on && made.due > Instant::now() && is_being_written(path);
        let holds = rests || made.seen.still_holds(path, &stamps);
        made.document.filter(|_| holds)
    }

    fn make(&self, key: Key, path: &Path) -> Result<Document, Unmade> {
        // Another request may have made it meanwhile.
        if let Some(document) = self.current(&key, path) {
            return Ok(document);
        }
        let stamps = Stamps::of(path).ok_or(Unmade::Gone)?;
        let (written, took) = cpu_of(|| written(path, key.1));
        let (document, state) = written?;
        let made = Made {
            document: Some(document.clone()),
            seen: Seen {
                stamps: stamps.text(),
                state,
            },
            due: due_after(took, ESTIMATES_AFTER),
            last_use: 0,
        };
        self.kept().keep(key, made, KEPT_BYTES_MAX);
        Ok(document)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        locked(&self.kept)
    }
}

impl Kept {
    fn used(&mut self, key: &Key) -> Option<Made> {
        self.uses += 1;
        let made = self.made.get_mut(key)?;
        made.last_use = self.uses;
        Some(made.clone())
    }

    /// Keeps a document, and drops those that were requested least recently. Of one that is too
    /// large, only the time is kept.
    fn keep(&mut self, key: Key, mut made: Made, bytes_max: usize) {
        self.remove(&key);
        if made.bytes() > bytes_max {
            made.document = None;
        }
        let bytes = made.bytes();
        while self.bytes + bytes > bytes_max {
            let oldest = self.made.iter().min_by_key(|(_, made)| made.last_use);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.remove(&oldest);
        }
        self.uses += 1;
        made.last_use = self.uses;
        self.bytes += bytes;
        self.made.insert(key, made);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(made) = self.made.remove(key) {
            self.bytes -= made.bytes();
        }
    }
}

impl Made {
    fn bytes(&self) -> usize {
        self.document
            .as_ref()
            .map_or(0, |document| document.gzip.len())
    }
}

/// Runs slow work on a thread where nothing waits for it.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    tokio::task::spawn_blocking(work).await
}

impl From<JoinError> for Unmade {
    fn from(_: JoinError) -> Unmade {
        let why = "windage failed on the run's records, which is a bug in windage";
        Unmade::Unreadable(why.to_owned())
    }
}

/// Why a run can't be read; a run that lost only its manifest still exists.
fn unreadable(path: &Path) -> impl Fn(RecordError) -> Unmade {
    move |error| match Stamps::of(path) {
        None => Unmade::Gone,
        Some(_) => Unmade::Unreadable(error.to_string()),
    }
}

fn compared(a: &Path, b: &Path) -> Result<Compared, Unmade> {
    let [(a, plan_a), (b, plan_b)] = [concluded(a)?, concluded(b)?];
    let plans = plan_a.as_deref().zip(plan_b.as_deref());
    Ok(Compared::new(&a, &b, plans.map(|(a, b)| [a, b])))
}

/// The analysis of a run, and its plan.
fn concluded(path: &Path) -> Result<(Analysis, Option<String>), Unmade> {
    let run = open(path).map_err(unreadable(path))?;
    let (_, analysis) = analysed(&run).map_err(unreadable(path))?;
    Ok((analysis, run.resolved_text().ok()))
}

/// Reads the run and writes the requested document.
fn written(path: &Path, form: Form) -> Result<(Document, RunState), Unmade> {
    let run = open(path).map_err(unreadable(path))?;
    let mut detailed = detailed(&run).map_err(unreadable(path))?;
    if detailed.state == RunState::GoingOn {
        forgive_going_on(&mut detailed.analysis);
    }
    let source = PageSource {
        detailed: &detailed,
        directory: &run.name(),
    };
    let text = match form {
        Form::Page => page_json(source),
        Form::Analysis => format!(
            "{:#}\n",
            wire::to_json(&detailed.analysis, &windage_report::Words)
        ),
        Form::Report => page_html(source),
    };
    Ok((Document::of(&text), detailed.state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(bytes: usize) -> Made {
        Made {
            document: Some(Document {
                gzip: vec![0; bytes].into(),
                etag: String::new(),
            }),
            seen: Seen {
                stamps: String::new(),
                state: RunState::Ended,
            },
            due: Instant::now() + ESTIMATES_AFTER,
            last_use: 0,
        }
    }

    fn key(name: &str) -> Key {
        (name.to_owned(), Form::Page)
    }

    #[test]
    fn the_least_recently_requested_document_is_dropped_first() {
        let mut kept = Kept::default();
        for name in ["a", "b", "c"] {
            kept.keep(key(name), made(30), 100);
        }
        kept.used(&key("a"));
        kept.keep(key("d"), made(30), 100);
        let names: Vec<_> = kept.made.keys().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert_eq!(kept.bytes, 90);
        kept.keep(key("d"), made(10), 100);
        assert_eq!(kept.bytes, 70, "a new version replaces the old one");
        kept.keep(key("e"), made(101), 100);
        assert_eq!(kept.bytes, 70, "a document above the limit is not kept");
        let large = &kept.made[&key("e")];
        assert!(large.document.is_none() && large.due > Instant::now());
        kept.keep(key("f"), made(100), 100);
        assert_eq!(kept.bytes, 100);
        let documents = kept.made.values().filter(|made| made.document.is_some());
        assert_eq!(documents.count(), 1);
    }

    #[tokio::test]
    async fn one_document_is_made_at_a_time_even_if_its_requester_left() {
        let documents = Arc::new(Documents::default());
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (began, begun) = tokio::sync::oneshot::channel();
        let first = Arc::clone(&documents);
        let client = tokio::spawn(async move {
            let work = move || {
                began.send(()).unwrap();
                ended.recv()
            };
            first.alone(work).await
        });
        begun.await.unwrap();
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
        assert!(
            documents.making.try_lock().is_err(),
            "it is still being made"
        );
        end.send(()).unwrap();
        assert_eq!(documents.alone(|| 1).await.unwrap(), 1);
    }

    #[test]
    fn texts_come_back() {
        for text in ["", "a", "ä\u{0}<script>"] {
            let document = Document::of(text);
            assert_eq!(document.plain().unwrap(), text.as_bytes());
        }
        assert_ne!(Document::of("a").etag, Document::of("b").etag);
    }
}
