use super::*;
use crate::request::ValueFault;

fn all_fields() -> Fields {
    let column = |column| Field::Column { table: 0, column };
    let rows = "name,path,text\nann,/a,x\nbob b,b,\"y\nz\"\n";
    fields(
        &[
            Field::Counter { from: 0, step: 1 },
            column(0),
            column(1),
            column(2),
            Field::Column {
                table: 1,
                column: 0,
            },
            column(3),
        ],
        vec![table(rows, RowOrder::InOrder)],
    )
}

fn refused(request: Request) -> RequestError {
    Work::new(vec![flow(1, &[request])], all_fields(), Protocol::Http1).unwrap_err()
}

fn value(column: &str, fault: ValueFault) -> RequestError {
    RequestError::Value {
        table: "t.csv".to_owned(),
        row: 2,
        column: column.to_owned(),
        fault,
    }
}

#[test]
fn values_are_refused_where_they_are_invalid() {
    let header = |pattern: &str| Request {
        headers: vec![("A".to_owned(), text(pattern))],
        ..get("/".into())
    };
    let table = [
        (
            get(text("/{1}")),
            value("name", ValueFault::Path),
            "a blank in a path",
        ),
        (
            get(text("{2}")),
            value("path", ValueFault::PathStart),
            "no / at the beginning",
        ),
        (
            get(text("{3}")),
            value("text", ValueFault::Path),
            "a line break in a path",
        ),
        (
            header("{3}"),
            value("text", ValueFault::Header),
            "a line break in a header",
        ),
        (
            get(text("{0}/")),
            RequestError::Path("{…}/".to_owned()),
            "a number at the beginning",
        ),
        (
            get(text("/{0} {2}")),
            RequestError::Path("/{…} {…}".to_owned()),
            "around fields",
        ),
        (get(text("")), RequestError::Path(String::new()), "nothing"),
        (
            header("{0}\r\nB: {1}"),
            RequestError::HeaderValue("A".to_owned()),
            "around fields",
        ),
    ];
    for (request, error, why) in table {
        assert_eq!(refused(request), error, "{why}");
    }
}

#[test]
fn values_are_accepted_where_they_are_valid() {
    let request = Request {
        headers: vec![("A".to_owned(), text("{1}"))],
        body: text("{1}{2}{3}"),
        ..get(text("/{2}"))
    };
    assert!(Work::new(vec![flow(1, &[request])], all_fields(), Protocol::Http1).is_ok());
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    assert_eq!(
        refused(get(text("/{1}"))).to_string(),
        "t.csv, row 2 below the names, column \"name\": a value in a path must have no spaces, \
         control or non-ASCII characters (nor any of \" # < > ` in HTTP/2); percent-encode them"
    );
    let flows = vec![
        flow(1, &[get("/".into())]),
        flow(1, &[get("/".into()), get("x".into())]),
    ];
    let error = Work::new(flows, Fields::default(), Protocol::Http1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "flow 2, step 2: path \"x\" must start with / and have no spaces, control or non-ASCII \
         characters (nor any of \" # < > ` in HTTP/2); percent-encode them"
    );
}

#[test]
fn missing_fields_and_columns_are_refused() {
    for (pattern, missing) in [("/{6}", 6), ("/{4}", 4), ("/{5}", 5)] {
        assert_eq!(
            refused(get(text(pattern))),
            RequestError::NoSuchField(missing)
        );
        let in_body = Request {
            body: text(pattern),
            ..get("/".into())
        };
        assert_eq!(refused(in_body), RequestError::NoSuchField(missing));
        let in_header = Request {
            headers: vec![("A".to_owned(), text(pattern))],
            ..get("/".into())
        };
        assert_eq!(refused(in_header), RequestError::NoSuchField(missing));
    }
}

#[test]
fn works_that_could_never_begin_are_refused() {
    let plain = [get("/".into())];
    let made = |flows, fields| Work::new(flows, fields, Protocol::Http1).map(|_| ());
    let none = Fields::default;
    assert_eq!(made(Vec::new(), none()), Err(RequestError::Flows(0)));
    assert_eq!(
        made(vec![flow(0, &plain)], none()),
        Err(RequestError::Flows(1))
    );
    let too_many = vec![flow(1, &plain); 65_536];
    assert_eq!(made(too_many, none()), Err(RequestError::Flows(65_536)));
    let no_steps = vec![flow(1, &plain), flow(1, &[])];
    let steps = RequestError::Steps { flow: 2, steps: 0 };
    assert_eq!(made(no_steps, none()), Err(steps));
    let backwards = fields(&[Field::Random { low: 2, high: 1 }], Vec::new());
    let range = RequestError::EmptyRange { low: 2, high: 1 };
    assert_eq!(made(vec![flow(1, &plain)], backwards), Err(range));
}

#[test]
fn requests_that_are_too_long_are_refused() {
    let sized = |request: Request, what, bytes, bytes_max| {
        let error = RequestError::TooLong {
            what,
            bytes,
            bytes_max,
        };
        assert_eq!(refused(request), error);
    };
    let long = |bytes: usize| Text::new(vec![Part::Literal(vec![b'/'; bytes]), Part::Field(0)]);
    sized(get(long(65_515)), "the path", 65_535, 65_534);
    assert!(
        Work::new(
            vec![flow(1, &[get(long(65_514))])],
            all_fields(),
            Protocol::Http2
        )
        .is_ok()
    );
    let header = Request {
        headers: vec![("A".to_owned(), long(1 << 20))],
        ..get("/".into())
    };
    sized(header, "a header's value", (1 << 20) + 20, 1 << 20);
    let headers = vec![("A".to_owned(), Text::default()); 1_001];
    let many = Request {
        headers,
        ..get("/".into())
    };
    assert_eq!(refused(many), RequestError::TooManyHeaders(1_001));
}

#[test]
fn connect_is_refused() {
    let connect = Request {
        method: "CONNECT".to_owned(),
        ..get("/".into())
    };
    assert_eq!(refused(connect), RequestError::Connect);
}
