//! The routes of the server.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use super::answers::{HTML, JSON, Refusal, as_file, nothing, of_document, of_run, unreadable};
use super::documents::{Document, Form, on_thread};
use super::guard::{Guard, guard};
use super::{Served, news};

type Named = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Refusal>;

/// The page and its assets.
#[derive(Debug)]
pub(crate) struct Assets {
    page: Document,
    script: Document,
    style: Document,
}

impl Assets {
    pub(crate) fn new() -> Assets {
        Assets {
            page: Document::of(&windage_report::dashboard_html()),
            script: Document::of(windage_report::SCRIPT),
            style: Document::of(windage_report::STYLE),
        }
    }
}

/// The router for requests that the guard admits.
pub(crate) fn router(served: Arc<Served>, admitting: Guard) -> Router {
    Router::new()
        .route("/", get(page_of_all))
        .route("/assets/windage.js", get(script))
        .route("/assets/windage.css", get(style))
        // Browsers request it and log an error when it is missing.
        .route("/favicon.ico", get(async || nothing()))
        .route("/api/runs", get(list))
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
    of_document(&served.assets.page, &asked, HTML).await
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
    served.catalog.refresh().await;
    let listed = on_thread(move || served.catalog.list().map(|list| Document::of(&list))).await;
    let list = listed
        .map_err(|error| error.to_string())
        .and_then(|list| list);
    Ok(of_document(&list.map_err(unreadable)?, &asked, JSON).await)
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
    let unknown = |name: &str| Refusal::unknown_run(StatusCode::BAD_REQUEST, name);
    let path_a = path_of(&served, &a).await.ok_or_else(|| unknown(&a))?;
    let path_b = path_of(&served, &b).await.ok_or_else(|| unknown(&b))?;
    let made = served.documents.comparison(path_a, path_b).await;
    Ok(of_run(&format!("{a} or {b}"), made, &asked, JSON).await)
}

async fn of_form(served: &Served, name: Named, asked: &HeaderMap, form: Form) -> Answer {
    let (name, path) = find(served, name).await?;
    let made = served.documents.get(&name, &path, form).await;
    let content_type = match form {
        Form::Page | Form::Analysis => JSON,
        Form::Report => HTML,
    };
    let is_made = made.is_ok();
    let answer = of_run(&name, made, asked, content_type).await;
    Ok(match form {
        Form::Report if is_made => as_file(answer, &format!("{name}.html")),
        _ => answer,
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
