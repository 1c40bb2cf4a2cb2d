use bytes::Bytes;
use http::uri::Scheme;
use proptest::prelude::*;

use super::*;

type Rendered = (http::Request<()>, Bytes);

fn rendered(request: Request, fields: Fields, protocol: Protocol, scheme: &Scheme) -> Rendered {
    let work = Work::new(vec![flow(1, &[request])], fields, protocol).unwrap();
    let mut draws = Draws::new(&work, WHOLE);
    let at = draws.begin(&work);
    draws.http2(&work, at, scheme)
}

fn headers_of(request: &http::Request<()>) -> Vec<(&str, &str)> {
    request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect()
}

#[test]
fn a_request_has_all_that_http2_requires() {
    let request = Request {
        method: "PUT".to_owned(),
        headers: vec![
            ("X-A".to_owned(), "1".into()),
            ("X-A".to_owned(), text("n{0}")),
        ],
        body: text("<{0}>"),
        ..get(text("/a?b={0}"))
    };
    let counter = fields(&[Field::Counter { from: 41, step: 1 }], Vec::new());
    let (request, body) = rendered(request, counter, Protocol::Http2, &Scheme::HTTPS);
    assert_eq!(request.method(), "PUT");
    assert_eq!(request.uri(), "https://h:1/a?b=41");
    let expected = [("x-a", "1"), ("x-a", "n41"), ("content-length", "4")];
    assert_eq!(headers_of(&request), expected);
    assert_eq!(body, "<41>");
}

#[test]
fn a_request_without_content_has_no_length() {
    let plain = || get("/".into());
    let (request, body) = rendered(plain(), Fields::default(), Protocol::Http2, &Scheme::HTTP);
    assert_eq!(request.uri(), "http://h:1/");
    assert_eq!((headers_of(&request), body), (Vec::new(), Bytes::new()));
    let options = Request {
        method: "OPTIONS".to_owned(),
        ..get("*".into())
    };
    let (request, _) = rendered(options, Fields::default(), Protocol::Http2, &Scheme::HTTP);
    assert_eq!(request.uri().path(), "*");
}

#[test]
fn host_becomes_the_authority() {
    let request = Request {
        headers: vec![("host".to_owned(), "other:2".into())],
        ..get("/".into())
    };
    let (request, _) = rendered(request, Fields::default(), Protocol::Http2, &Scheme::HTTP);
    assert_eq!(request.uri(), "http://other:2/");
    assert_eq!(headers_of(&request), []);
}

#[test]
fn a_grpc_message_follows_its_prefix() {
    let call = |body: &str| Request {
        method: "POST".to_owned(),
        body: text(body),
        ..get("/pkg.Greeter/Hello".into())
    };
    let numbers = || fields(&[Field::Counter { from: 10, step: 1 }], Vec::new());
    for (body, framed) in [
        ("", &b"\0\0\0\0\0"[..]),
        ("abc", b"\0\0\0\0\x03abc"),
        ("a{0}", b"\0\0\0\0\x03a10"),
    ] {
        let (request, body) = rendered(call(body), numbers(), Protocol::Grpc, &Scheme::HTTP);
        assert_eq!(body, framed);
        let expected = [("content-type", "application/grpc"), ("te", "trailers")];
        assert_eq!(headers_of(&request), expected);
    }
    let own_type = Request {
        headers: vec![("Content-Type".to_owned(), "application/grpc+json".into())],
        ..call("x")
    };
    let (request, _) = rendered(own_type, Fields::default(), Protocol::Grpc, &Scheme::HTTP);
    let expected = [
        ("content-type", "application/grpc+json"),
        ("te", "trailers"),
    ];
    assert_eq!(headers_of(&request), expected);
}

#[test]
fn connection_headers_are_refused() {
    let with = |name: &str, value: &str| Request {
        headers: vec![(name.to_owned(), text(value))],
        ..get("/".into())
    };
    let counter = || fields(&[Field::Counter { from: 0, step: 1 }], Vec::new());
    let refused =
        |request, protocol| Work::new(vec![flow(1, &[request])], counter(), protocol).unwrap_err();
    for name in ["Connection", "keep-alive", "Proxy-Connection", "upgrade"] {
        let expected = RequestError::ConnectionHeader(name.to_owned());
        assert_eq!(refused(with(name, "x"), Protocol::Http2), expected);
    }
    assert_eq!(
        refused(with("TE", "gzip"), Protocol::Http2),
        RequestError::ConnectionHeader("TE".to_owned())
    );
    assert_eq!(
        refused(with("Host", "h{0}"), Protocol::Http2),
        RequestError::Host("h{…}".to_owned())
    );
    for host in ["", "a b", "[", "a/b"] {
        let error = refused(with("Host", host), Protocol::Http2);
        assert_eq!(error, RequestError::Host(host.to_owned()), "{host:?}");
    }
    assert_eq!(
        refused(get("/".into()), Protocol::Grpc),
        RequestError::GrpcMethod("GET".to_owned())
    );
    assert!(Work::single(with("TE", "trailers"), Protocol::Http2).is_ok());
}

#[test]
fn each_byte_is_accepted_or_refused_in_path_and_query() {
    for byte in 0..=u8::MAX {
        for before in ["/", "/a", "/a?", "/a?b"] {
            let literal = [before.as_bytes(), &[byte], b"/"].concat();
            let counter = fields(&[Field::Counter { from: 0, step: 1 }], Vec::new());
            let mut path = Text::literal(literal.clone());
            path.append(&text("{0}"));
            let is_taken = byte.is_ascii_graphic() && !b"\"#<>`".contains(&byte);
            match Work::new(vec![flow(1, &[get(path)])], counter, Protocol::Http2) {
                Err(error) => {
                    assert!(!is_taken, "{byte:#x}");
                    assert!(matches!(error, RequestError::Path(_)));
                }
                Ok(work) => {
                    assert!(is_taken, "{byte:#x}");
                    let mut draws = Draws::new(&work, WHOLE);
                    let at = draws.begin(&work);
                    let (request, _) = draws.http2(&work, at, &Scheme::HTTP);
                    let rendered = request.uri().path_and_query().unwrap().as_str();
                    assert_eq!(rendered.as_bytes(), [&literal[..], b"0"].concat());
                }
            }
        }
    }
}

proptest! {
    /// Everything that passes the checks can be rendered: paths and values of any kind.
    #[test]
    fn accepted_requests_are_rendered(
        beginning in "[/a#?<]{0,2}",
        cell in prop_oneof!["[!-~]{0,12}", any::<String>()],
        value in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["path", "value"]).unwrap();
        csv.write_record([cell.as_bytes(), &value]).unwrap();
        let csv = csv.into_inner().unwrap();
        let rows = Table::from_reader(&csv[..], "t.csv", RowOrder::InOrder).unwrap();
        let column = |column| Field::Column { table: 0, column };
        let mut path = Text::literal(beginning.clone());
        path.append(&text("{0}"));
        let request = Request {
            headers: vec![("a".to_owned(), text("{1}"))],
            body: text("{0}{1}"),
            ..get(path)
        };
        let all = fields(&[column(0), column(1)], vec![rows]);
        let whole_path = beginning + &cell;
        let should_fit = whole_path.starts_with('/')
            && whole_path.bytes().all(|b| b.is_ascii_graphic() && !b"\"#<>`".contains(&b))
            && value.iter().all(|&b| b == b'\t' || !b.is_ascii_control());
        match Work::new(vec![flow(1, &[request])], all, Protocol::Http2) {
            Err(_) => prop_assert!(!should_fit, "{whole_path:?}"),
            Ok(work) => {
                prop_assert!(should_fit, "{whole_path:?}");
                let mut draws = Draws::new(&work, WHOLE);
                let at = draws.begin(&work);
                let (request, body) = draws.http2(&work, at, &Scheme::HTTP);
                prop_assert_eq!(request.uri().path_and_query().unwrap().as_str(), whole_path);
                prop_assert_eq!(request.headers()["a"].as_bytes(), &value[..]);
                prop_assert_eq!(&body[..], [cell.as_bytes(), &value].concat());
            }
        }
    }
}
