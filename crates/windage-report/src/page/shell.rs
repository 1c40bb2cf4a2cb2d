//! The frame of a page: script, style and content security policy.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// The front end, built from `web/`.
pub const SCRIPT: &str = include_str!("../../assets/windage.js");

/// Its style.
pub const STYLE: &str = include_str!("../../assets/windage.css");

/// The CSP of the pages of `windage serve`: scripts, styles and requests only from and to their own
/// server.
pub const DASHBOARD_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The kind of document in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One run.
    Run,
    /// Two runs of one plan.
    Comparison,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Comparison => "comparison",
        }
    }
}

/// A document and its surroundings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embedded<'a> {
    /// Its kind.
    pub(crate) kind: Kind,
    /// What it is about, for the window's title.
    pub(crate) title: &'a str,
    /// The document.
    pub(crate) json: &'a str,
    /// Plain text, shown where scripts are disabled.
    pub(crate) without_script: &'a str,
}

/// A page that contains its document and loads nothing.
pub(crate) fn embed(embedded: &Embedded<'_>) -> String {
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; \
         img-src data: blob:; base-uri 'none'; form-action 'none'",
        BASE64.encode(Sha256::digest(SCRIPT))
    );
    let title = format!("{} · windage", embedded.title);
    let looks = html! {
        meta http-equiv="Content-Security-Policy" content=(policy);
        style { (PreEscaped(STYLE)) }
    };
    let body = html! {
        div #windage {}
        noscript { pre { (embedded.without_script) } }
        (document(embedded.kind.as_str(), &packed(embedded.json)))
        script { (PreEscaped(SCRIPT)) }
    };
    page(&title, &looks, &body)
}

/// The first document of a page of `windage serve`.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// What it is: `runs`, `run`, `comparison`, or `refusal` for the reason that there is none.
    pub kind: &'static str,
    /// The document as the server sends it later, compressed with gzip.
    pub gzip: &'a [u8],
}

/// A page of `windage serve`, which requests what is new from its server. Send it with
/// [`DASHBOARD_POLICY`], and serve [`SCRIPT`] and [`STYLE`] as `/assets/windage.js` and
/// `/assets/windage.css`.
#[must_use]
pub fn dashboard_html(sent: Sent<'_>) -> String {
    let looks = html! { link rel="stylesheet" href="/assets/windage.css"; };
    let body = html! {
        div #windage data-served {}
        (document(sent.kind, &BASE64.encode(sent.gzip)))
        noscript { p { "This page needs JavaScript. `windage report RUN` shows a run without \
                        one." } }
        script src="/assets/windage.js" {}
    };
    page("windage", &looks, &body)
}

fn page(title: &str, looks: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                (looks)
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The element from which the script takes its document.
fn document(kind: &str, packed: &str) -> Markup {
    html! {
        script type="application/octet-stream" id="windage-document" data-kind=(kind) {
            (PreEscaped(packed))
        }
    }
}

/// Compressed with gzip, in Base64, so that no text can end its element.
fn packed(json: &str) -> String {
    let compressed = gzip(json).expect("memory takes whatever is written to it");
    BASE64.encode(compressed)
}

fn gzip(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_script_nor_style_ends_its_own_element() {
        // `<!--` within a script changes where it ends.
        for (asset, what, forbidden) in [
            (SCRIPT, "script", "</script"),
            (SCRIPT, "script", "<!--"),
            (STYLE, "style", "</style"),
        ] {
            let found = asset.to_ascii_lowercase().contains(forbidden);
            assert!(!found, "the {what} holds {forbidden}");
        }
    }
}
