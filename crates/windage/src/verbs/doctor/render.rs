//! The diagnosis as text and as JSON.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use windage_report::wrap;

use super::finding::{Diagnosis, Finding, Standing};
use crate::verbs::report::WIDTH;

const STANDING_COLUMNS: usize = 9;
const ID_COLUMNS: usize = 19;

/// A list that fits [`WIDTH`] columns. A finding that is ok takes one line; others also say what
/// they mean and what to do.
pub(super) fn text(diagnosis: &Diagnosis, color: bool) -> String {
    let mut out = String::new();
    for finding in &diagnosis.findings {
        entry(&mut out, finding, color);
    }
    out.push('\n');
    let bold = if color {
        Style::new().bold()
    } else {
        Style::new()
    };
    for line in wrap(&diagnosis.summary(), WIDTH) {
        out.push_str(&format!("{bold}{line}{bold:#}\n"));
    }
    out
}

fn entry(out: &mut String, finding: &Finding, color: bool) {
    let style = if color {
        style(finding.standing)
    } else {
        Style::new()
    };
    let standing = finding.standing.as_str();
    let gap = " ".repeat(STANDING_COLUMNS.saturating_sub(standing.len()));
    let lead = STANDING_COLUMNS + ID_COLUMNS;
    let mut paragraphs = vec![finding.seen.clone()];
    if finding.standing != Standing::Ok {
        paragraphs.push(finding.means.clone());
        paragraphs.extend(finding.remedy.iter().map(|remedy| format!("-> {remedy}")));
    }
    let lines = paragraphs.iter().flat_map(|text| wrap(text, WIDTH - lead));
    for (index, line) in lines.enumerate() {
        if index == 0 {
            let id = finding.id;
            out.push_str(&format!(
                "{style}{standing}{style:#}{gap}{id:ID_COLUMNS$}{line}\n"
            ));
        } else {
            out.push_str(&format!("{:lead$}{line}\n", ""));
        }
    }
}

fn style(standing: Standing) -> Style {
    let color = match standing {
        Standing::Ok => AnsiColor::Green,
        Standing::Limited => AnsiColor::Yellow,
        Standing::Missing => AnsiColor::Red,
    };
    Style::new().fg_color(Some(color.into()))
}

/// The document of `--json`.
pub(super) fn json(diagnosis: &Diagnosis) -> Value {
    let checks: Vec<Value> = diagnosis.findings.iter().map(check).collect();
    let obstacles: Vec<&str> = diagnosis.obstacles().map(|finding| finding.id).collect();
    json!({
        "schema": 1,
        "checks": checks,
        "verdict": {
            "can_measure": diagnosis.can_measure(),
            "can": diagnosis.can,
            "can_not": diagnosis.can_not,
            "obstacles": obstacles,
            "text": diagnosis.summary(),
        },
    })
}

fn check(finding: &Finding) -> Value {
    json!({
        "id": finding.id,
        "verdict": finding.standing.as_str(),
        "needed_for": finding.needed_for.as_str(),
        "seen": finding.seen,
        "evidence": finding.evidence,
        "means": finding.means,
        "remedy": finding.remedy,
    })
}
