//! The routes of the server.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use windage_report::Sent;

use super::answers::{HTML, JSON, Refusal, as_file, nothing, of_document, unreadable};
use super::documents::{Document, Form, on_thread};
use super::guard::{Guard, guard};
use super::{Served, news};

type Named = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Refusal>;

/// What all pages load.
#[derive(Debug)]
pub(crate) struct Assets {
    script: Document,
    style: Document,
}

impl Assets {
    pub(crate) fn new() -> Assets {
        Assets {
            script: Document::of(windage_report::SCRIPT),
            style: Document::of(windage_report::STYLE),
        }
    }
}

/// The router for requests that the guard admits.
pub(crate) fn router(served: Arc<Served>, admitting: Guard) -> Router {
    Router::new()
        .route("/", get(page_of_all))
        .route("/runs/{name}", get(page_of_run))
        .route("/compare/{a}/{b}", get(page_of_two))
        .route("/history", get(page_of_history))
        .route("/history/{metric}", get(page_of_history))
        .route("/assets/windage.js", get(script))
        .route("/assets/windage.css", get(style))
        // Browsers request it and log an error when it is missing.
        .route("/favicon.ico", get(async || nothing()))
        .route("/api/runs", get(list))
        .route("/api/history", get(history))
        .route("/api/events", get(list_events))
        .route("/api/runs/{name}/page", get(page))
        .route("/api/runs/{name}/analysis.json", get(analysis))
        .route("/api/runs/{name}/report.html", get(report))
        .route("/api/runs/{name}/events", get(run_events))
        .route("/api/compare", get(compare))
        .fallback(async || {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "there is nothing here; the page is at /",
            )
        })
        .layer(from_fn_with_state(admitting, guard))
        .with_state(served)
}

async fn page_of_all(State(served): State<Arc<Served>>, asked: HeaderMap) -> Response {
    with_document("runs", list_of(&served).await, &asked).await
}

async fn page_of_run(State(served): State<Arc<Served>>, name: Named, asked: HeaderMap) -> Response {
    let made = match find(&served, name).await {
        Ok((name, path)) => {
            let made = served.documents.get(&name, &path, Form::Page).await;
            made.map_err(|unmade| Refusal::unmade(&name, unmade))
        }
        Err(refusal) => Err(refusal),
    };
    with_document("run", made, &asked).await
}

async fn page_of_two(
    State(served): State<Arc<Served>>,
    two: Result<Path<(String, String)>, PathRejection>,
    asked: HeaderMap,
) -> Response {
    let made = match two {
        Ok(Path((a, b))) => compared(&served, &a, &b).await,
        Err(why) => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            format!("not two names of runs: {why}"),
        )),
    };
    with_document("comparison", made, &asked).await
}

async fn page_of_history(
    State(served): State<Arc<Served>>,
    metric: Option<Path<String>>,
    asked: HeaderMap,
) -> Response {
    let metric = metric.map(|Path(metric)| metric);
    let made = served.past.document(metric).await.map_err(unreadable);
    with_document("history", made, &asked).await
}

/// A page that has its first document in it, or the reason why it has none.
async fn with_document(
    kind: &'static str,
    made: Result<Document, Refusal>,
    asked: &HeaderMap,
) -> Response {
    let (status, kind, document) = match made {
        Ok(document) => (StatusCode::OK, kind, document),
        Err(refusal) => (refusal.status(), "refusal", Document::of(&refusal.json())),
    };
    let page = on_thread(move || {
        let gzip = &document.compressed();
        Document::of(&windage_report::dashboard_html(Sent { kind, gzip }))
    });
    match page.await {
        Ok(page) => {
            let mut answer = of_document(&page, asked, HTML).await;
            // Not where the browser has the same refusal already.
            if answer.status() == StatusCode::OK {
                *answer.status_mut() = status;
            }
            answer
        }
        Err(error) => {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

async fn script(State(served): State<Arc<Served>>, asked: HeaderMap) -> Response {
    of_document(
        &served.assets.script,
        &asked,
        "text/javascript; charset=utf-8",
    )
    .await
}

async fn style(State(served): State<Arc<Served>>, asked: HeaderMap) -> Response {
    of_document(&served.assets.style, &asked, "text/css; charset=utf-8").await
}

async fn list(State(served): State<Arc<Served>>, asked: HeaderMap) -> Answer {
    Ok(of_document(&list_of(&served).await?, &asked, JSON).await)
}

async fn list_of(served: &Arc<Served>) -> Result<Document, Refusal> {
    served.catalog.refresh().await;
    let served = Arc::clone(served);
    let listed = on_thread(move || served.catalog.list().map(|list| Document::of(&list))).await;
    let list = listed
        .map_err(|error| error.to_string())
        .and_then(|list| list);
    list.map_err(unreadable)
}

async fn list_events(State(served): State<Arc<Served>>, asked: HeaderMap) -> Response {
    news::of_list(&served, &asked).await
}

async fn page(State(served): State<Arc<Served>>, name: Named, asked: HeaderMap) -> Answer {
    of_form(&served, name, &asked, Form::Page).await
}

async fn analysis(State(served): State<Arc<Served>>, name: Named, asked: HeaderMap) -> Answer {
    of_form(&served, name, &asked, Form::Analysis).await
}

async fn report(State(served): State<Arc<Served>>, name: Named, asked: HeaderMap) -> Answer {
    of_form(&served, name, &asked, Form::Report).await
}

async fn run_events(State(served): State<Arc<Served>>, name: Named, asked: HeaderMap) -> Answer {
    let (name, _) = find(&served, name).await?;
    Ok(news::of_run(&served, &name, &asked).await)
}

/// Which history.
#[derive(Deserialize)]
struct OfMetric {
    metric: Option<String>,
}

async fn history(
    State(served): State<Arc<Served>>,
    Query(OfMetric { metric }): Query<OfMetric>,
    asked: HeaderMap,
) -> Answer {
    let made = served.past.document(metric).await.map_err(unreadable)?;
    Ok(of_document(&made, &asked, JSON).await)
}

/// The runs to compare.
#[derive(Deserialize)]
struct Two {
    a: String,
    b: String,
}

async fn compare(
    State(served): State<Arc<Served>>,
    two: Result<Query<Two>, QueryRejection>,
    asked: HeaderMap,
) -> Answer {
    let Query(Two { a, b }) = two.map_err(|why| {
        let why = format!("{why}; use /api/compare?a=NAME&b=NAME to compare two runs");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })?;
    Ok(of_document(&compared(&served, &a, &b).await?, &asked, JSON).await)
}

async fn compared(served: &Served, a: &str, b: &str) -> Result<Document, Refusal> {
    let unknown = |name: &str| Refusal::unknown_run(StatusCode::BAD_REQUEST, name);
    let path_a = path_of(served, a).await.ok_or_else(|| unknown(a))?;
    let path_b = path_of(served, b).await.ok_or_else(|| unknown(b))?;
    let made = served.documents.comparison(path_a, path_b).await;
    made.map_err(|unmade| Refusal::unmade(&format!("{a} or {b}"), unmade))
}

async fn of_form(served: &Served, name: Named, asked: &HeaderMap, form: Form) -> Answer {
    let (name, path) = find(served, name).await?;
    let made = served.documents.get(&name, &path, form).await;
    let made = made.map_err(|unmade| Refusal::unmade(&name, unmade))?;
    let content_type = match form {
        Form::Page | Form::Analysis => JSON,
        Form::Report => HTML,
    };
    let answer = of_document(&made, asked, content_type).await;
    Ok(match form {
        Form::Report => as_file(answer, &format!("{name}.html")),
        Form::Page | Form::Analysis => answer,
    })
}

/// The run of that name. Only names that were found in the directory are valid.
async fn find(served: &Served, name: Named) -> Result<(String, PathBuf), Refusal> {
    let Path(name) = name
        .map_err(|why| Refusal::new(StatusCode::NOT_FOUND, format!("not a run's name: {why}")))?;
    let path = path_of(served, &name).await;
    let path = path.ok_or_else(|| Refusal::unknown_run(StatusCode::NOT_FOUND, &name))?;
    Ok((name, path))
}

/// Where a run is; scans again if it may just have begun.
async fn path_of(served: &Served, name: &str) -> Option<PathBuf> {
    match served.catalog.path_of(name) {
        None => {
            served.catalog.refresh().await;
            served.catalog.path_of(name)
        }
        found => found,
    }
}
