//! History as JSON.

use serde_json::{Value, json};

use crate::{Course, Found};

/// Courses, and what was found of runs. `since` is a commit's hash or a run: each course then has the
/// creep since it.
#[must_use]
pub fn to_json(courses: &[Course<'_>], found: &Found, since: Option<&str>) -> Value {
    let of_course = |course: &Course<'_>| {
        let row = course.newest();
        let changes = course.changes().into_iter().map(|change| {
            json!({
                "commit": change.first.commit,
                "run": change.first.run,
                "started": change.first.started,
                "last_commit": change.last.commit,
                "before": change.before,
                "after": change.after,
            })
        });
        let creep = since.and_then(|since| course.creep_since(since));
        json!({
            "plan": row.plan,
            "regime": (!row.regime.is_empty()).then_some(&row.regime),
            "arm": row.arm,
            "metric": row.metric,
            "machine": row.machine,
            "unit": row.unit,
            "rows": course.rows,
            "changes": changes.collect::<Vec<_>>(),
            "since": creep.map(|(estimate, low, high)| json!({
                "estimate": estimate, "low": low, "high": high,
            })),
        })
    };
    let unreadable = found
        .unreadable
        .iter()
        .map(|(path, why)| json!({ "path": path.to_string_lossy(), "why": why }));
    json!({
        "courses": courses.iter().map(of_course).collect::<Vec<_>>(),
        "runs": {
            "read": found.read,
            "known": found.known,
            "without_analysis": found.without_analysis,
            "unreadable": unreadable.collect::<Vec<_>>(),
        },
    })
}
