//! Answers: documents with their types and names, refusals with their reasons.

use std::io;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::documents::{Document, Unmade, on_thread};

pub(crate) const JSON: &str = "application/json";
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// A refused request and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal {
            status,
            why: why.into(),
        }
    }

    /// There is no document of the run of that name.
    pub(crate) fn unmade(name: &str, unmade: Unmade) -> Refusal {
        match unmade {
            Unmade::Gone => Refusal::unknown_run(StatusCode::NOT_FOUND, name),
            Unmade::Unreadable(why) => unreadable(why),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// As a document.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({ "error": self.why }).to_string()
    }

    /// The reason alone, for people.
    pub(crate) fn into_text(self) -> Response {
        (self.status, self.why).into_response()
    }

    /// There is no run of that name.
    pub(crate) fn unknown_run(status: StatusCode, name: &str) -> Refusal {
        Refusal::new(
            status,
            format!("there is no run {name} here; GET /api/runs lists all names"),
        )
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = self.json();
        (self.status, [(header::CONTENT_TYPE, JSON)], body).into_response()
    }
}

/// The requested run can't be read.
pub(crate) fn unreadable(why: String) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
}

/// A document, compressed if the client accepts that, or 304 if the client has it.
pub(crate) async fn of_document(
    document: &Document,
    asked: &HeaderMap,
    content_type: &'static str,
) -> Response {
    let named = [
        (header::ETAG, document.etag.clone()),
        (header::VARY, "accept-encoding".to_owned()),
    ];
    if list(asked, header::IF_NONE_MATCH).any(|etag| etag == document.etag || etag == "*") {
        return (StatusCode::NOT_MODIFIED, named).into_response();
    }
    let of_type = [(header::CONTENT_TYPE, content_type)];
    if list(asked, header::ACCEPT_ENCODING).any(takes_gzip) {
        let gzip = [(header::CONTENT_ENCODING, "gzip")];
        return (named, of_type, gzip, document.compressed()).into_response();
    }
    let document = document.clone();
    let text = on_thread(move || document.plain()).await;
    match text.map_err(io::Error::other).and_then(|text| text) {
        Ok(text) => (named, of_type, text).into_response(),
        Err(error) => {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

/// The same, as a download of that name.
pub(crate) fn as_file(mut answer: Response, name: &str) -> Response {
    // Characters that could end the quotes, or are not ASCII, are replaced.
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        answer
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
    answer
}

/// An empty answer.
pub(crate) fn nothing() -> Response {
    (StatusCode::NO_CONTENT, Body::empty()).into_response()
}

/// The members of a header that is a list.
pub(crate) fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn takes_gzip(coding: &str) -> bool {
    let mut parts = coding.split(';').map(str::trim);
    let is_gzip = parts
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
    is_gzip && weight.is_none_or(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_if_accepted() {
        for (coding, takes) in [
            ("gzip", true),
            ("GZIP;q=0.5", true),
            ("gzip; q=0", false),
            ("gzip;q=0.0", false),
            ("br", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(coding), takes, "{coding}");
        }
    }

    #[test]
    fn file_names_hold_only_plain_characters() {
        for (name, expected) in [
            (
                "20260101-app.html",
                "attachment; filename=\"20260101-app.html\"",
            ),
            ("all/a.html", "attachment; filename=\"all-a.html\""),
            ("a\"; x=\"\r\nä", "attachment; filename=\"a---x-----\""),
        ] {
            let answer = as_file(nothing(), name);
            assert_eq!(
                answer.headers()[header::CONTENT_DISPOSITION],
                expected,
                "{name:?}"
            );
        }
    }
}
