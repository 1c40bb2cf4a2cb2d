//! Tests of works: refused requests, rendering and draws.

mod checks;
mod drawing;
mod http1;
mod http2;

use std::time::Duration;

use super::*;

/// One thread's draws of a whole work.
const WHOLE: Share = Share { index: 0, of: 1 };

/// A request with nothing but a path.
fn get(path: Text) -> Request {
    Request {
        method: "GET".to_owned(),
        authority: "h:1".to_owned(),
        path,
        ..Request::default()
    }
}

/// Text with fields, written as `/a/{0}`.
fn text(pattern: &str) -> Text {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some((literal, (field, after))) = rest
        .split_once('{')
        .and_then(|(literal, rest)| Some((literal, rest.split_once('}')?)))
    {
        parts.push(Part::Literal(literal.into()));
        parts.push(Part::Field(field.parse().unwrap()));
        rest = after;
    }
    parts.push(Part::Literal(rest.into()));
    Text::new(parts)
}

fn table(csv: &str, order: RowOrder) -> Table {
    Table::from_reader(csv.as_bytes(), "t.csv", order).unwrap()
}

fn fields(fields: &[Field], tables: Vec<Table>) -> Fields {
    Fields {
        fields: fields.to_vec(),
        tables,
    }
}

fn flow(weight: u32, requests: &[Request]) -> Flow {
    let step = |request: &Request| Step {
        request: request.clone(),
        think: Duration::ZERO,
    };
    Flow {
        weight,
        steps: requests.iter().map(step).collect(),
    }
}

fn work(requests: &[Request], fields: Fields) -> Work {
    Work::new(vec![flow(1, requests)], fields, Protocol::Http1).unwrap()
}

fn write(draws: &mut Draws, work: &Work, at: Position) -> String {
    let mut out = b"what was there before".to_vec();
    draws.write_http1(work, at, &mut out);
    String::from_utf8(out).unwrap()
}

/// The paths of this many flows, step by step.
fn paths(draws: &mut Draws, work: &Work, flows: usize) -> Vec<String> {
    let mut paths = Vec::new();
    for _ in 0..flows {
        let mut next = Some(draws.begin(work));
        while let Some(at) = next {
            let message = write(draws, work, at);
            paths.push(message.split(' ').nth(1).unwrap().to_owned());
            next = work.step(at).next;
        }
    }
    paths
}
