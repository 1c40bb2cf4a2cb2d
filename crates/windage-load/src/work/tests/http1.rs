use super::*;
use proptest::prelude::*;

fn only_message(request: Request, fields: Fields) -> String {
    let work = work(&[request], fields);
    let mut draws = Draws::new(&work, WHOLE);
    let at = draws.begin(&work);
    write(&mut draws, &work, at)
}

#[test]
fn fields_are_rendered_in_path_headers_and_body() {
    let request = Request {
        method: "POST".to_owned(),
        headers: vec![("X-Id".to_owned(), text("<{0}>"))],
        body: text("{1},{0}{2}"),
        ..get(text("/users/{1}?n={0}"))
    };
    let rows = table("name,bio\nann,\"two\nlines\"\n", RowOrder::InOrder);
    let column = |column| Field::Column { table: 0, column };
    let counter = Field::Counter { from: 99, step: 1 };
    assert_eq!(
        only_message(
            request,
            fields(&[counter, column(0), column(1)], vec![rows])
        ),
        "POST /users/ann?n=99 HTTP/1.1\r\nHost: h:1\r\nX-Id: <99>\r\nContent-Length: 15\r\n\r\n\
         ann,99two\nlines"
    );
}

#[test]
fn content_length_is_sent_for_bodies_and_for_methods_that_have_one() {
    let table = [
        ("GET", "", ""),
        ("GET", "{0}", "Content-Length: 1\r\n"),
        ("GET", "x{0}", "Content-Length: 2\r\n"),
        ("GET", "xyz", "Content-Length: 3\r\n"),
        ("PUT", "", "Content-Length: 0\r\n"),
    ];
    for (method, body, header) in table {
        let request = Request {
            method: method.to_owned(),
            body: text(body),
            ..get(text("/{0}"))
        };
        let seven = Field::Random { low: 7, high: 7 };
        let message = only_message(request, fields(&[seven], Vec::new()));
        let rendered = body.replace("{0}", "7");
        let expected = format!("{method} /7 HTTP/1.1\r\nHost: h:1\r\n{header}\r\n{rendered}");
        assert_eq!(message, expected);
    }
}

#[test]
fn only_unchanging_requests_are_constant() {
    let plain = get("/".into());
    let bytes = b"GET / HTTP/1.1\r\nHost: h:1\r\n\r\n";
    let single = Work::single(plain.clone(), Protocol::Http1).unwrap();
    assert_eq!(single.constant(), Some(&bytes[..]));

    let counter = || fields(&[Field::Counter { from: 0, step: 1 }], Vec::new());
    let with_body = Request {
        body: text("{0}"),
        ..plain.clone()
    };
    let plainly = || flow(1, std::slice::from_ref(&plain));
    let mut pausing = plainly();
    pausing.steps[0].think = Duration::from_nanos(1);
    let two_flows = vec![plainly(), plainly()];
    let made = |flows| Work::new(flows, Fields::default(), Protocol::Http1).unwrap();
    let changing = [
        (work(&[get(text("/{0}"))], counter()), "a field in the path"),
        (work(&[with_body], counter()), "a field in the body"),
        (
            work(&[plain.clone(), plain.clone()], counter()),
            "two steps",
        ),
        (made(two_flows), "two flows"),
        (made(vec![pausing]), "a pause"),
        (Work::single(plain, Protocol::Http2).unwrap(), "HTTP/2"),
    ];
    for (work, why) in changing {
        assert_eq!(work.constant(), None, "{why}");
    }
}

#[test]
fn steps_without_fields_are_constant_by_themselves() {
    let counter = fields(&[Field::Counter { from: 0, step: 1 }], Vec::new());
    let work = work(&[get("/a".into()), get(text("/{0}"))], counter);
    let first = Draws::new(&work, WHOLE).begin(&work);
    let second = work.step(first).next.unwrap();
    let bytes = b"GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n";
    assert_eq!(work.constant_at(first), Some(&bytes[..]));
    assert_eq!(work.constant_at(second), None);
}

#[test]
fn a_constant_work_is_written_like_any_other() {
    let work = Work::single(get("/a".into()), Protocol::Http1).unwrap();
    let mut draws = Draws::new(&work, WHOLE);
    let at = draws.begin(&work);
    assert_eq!(
        write(&mut draws, &work, at).as_bytes(),
        work.constant().unwrap()
    );
}

#[test]
fn steps_lead_from_one_to_the_next() {
    let head = Request {
        method: "HEAD".to_owned(),
        ..get("/b".into())
    };
    let think = |request, think_ms| Step {
        request,
        think: Duration::from_millis(think_ms),
    };
    let steps = vec![think(get("/a".into()), 3), think(head, 0)];
    let work = Work::new(
        vec![Flow { weight: 1, steps }],
        Fields::default(),
        Protocol::Http1,
    );
    let work = work.unwrap();
    let mut draws = Draws::new(&work, WHOLE);
    let first = work.step(draws.begin(&work));
    assert_eq!((first.is_head, first.think_ns), (false, 3_000_000));
    let second = work.step(first.next.unwrap());
    assert_eq!(
        (second.is_head, second.think_ns, second.next),
        (true, 0, None)
    );
    assert_eq!(paths(&mut draws, &work, 2), ["/a", "/b", "/a", "/b"]);
}

#[test]
fn a_used_buffer_does_not_grow() {
    let rows = table(&format!("a\nx\n{}\n", "y".repeat(500)), RowOrder::InOrder);
    let request = Request {
        body: text("{0}{1}"),
        ..get(text("/{0}/{1}"))
    };
    let all = fields(
        &[
            Field::Column {
                table: 0,
                column: 0,
            },
            Field::Random {
                low: 0,
                high: u64::MAX,
            },
        ],
        vec![rows],
    );
    let work = work(&[request], all);
    let mut draws = Draws::new(&work, WHOLE);
    let mut out = Vec::new();
    let mut lengths = Vec::new();
    for round in 0..100 {
        let at = draws.begin(&work);
        let before = (out.as_ptr(), out.capacity());
        draws.write_http1(&work, at, &mut out);
        lengths.push(out.len());
        assert!(
            round == 0 || before == (out.as_ptr(), out.capacity()),
            "round {round}"
        );
    }
    assert!(
        lengths[0] < 200 && lengths[1] > 1_000,
        "the longer one comes second"
    );
}

fn any_text() -> impl Strategy<Value = Text> {
    let part = prop_oneof![
        "[a-z?=/]{0,9}".prop_map(|literal| Part::Literal(literal.into())),
        (0usize..3).prop_map(Part::Field),
    ];
    prop::collection::vec(part, 0..6).prop_map(Text::new)
}

proptest! {
    #[test]
    fn a_message_is_one_request_with_its_whole_body(
        path in any_text(),
        value in any_text(),
        body in any_text(),
        low: u64,
        cells in prop::collection::vec("[!-~]{1,12}", 1..5),
    ) {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["a"]).unwrap();
        for cell in &cells {
            csv.write_record([cell]).unwrap();
        }
        let rows = table(&String::from_utf8(csv.into_inner().unwrap()).unwrap(), RowOrder::Random);
        let all = fields(
            &[
                Field::Counter { from: low, step: 3 },
                Field::Random { low, high: u64::MAX },
                Field::Column { table: 0, column: 0 },
            ],
            vec![rows],
        );
        let mut from_root = text("/");
        from_root.append(&path);
        let request = Request {
            method: "POST".to_owned(),
            headers: vec![("A".to_owned(), value)],
            body,
            ..get(from_root)
        };
        let work = work(&[request], all);
        let mut draws = Draws::new(&work, WHOLE);
        for _ in 0..4 {
            let at = draws.begin(&work);
            let message = write(&mut draws, &work, at);
            let mut headers = [httparse::EMPTY_HEADER; 3];
            let mut parsed = httparse::Request::new(&mut headers);
            let head_bytes = parsed.parse(message.as_bytes()).unwrap().unwrap();
            prop_assert!(parsed.path.unwrap().starts_with('/'));
            prop_assert_eq!(parsed.headers.len(), 3);
            prop_assert_eq!(parsed.headers[2].name, "Content-Length");
            let length = std::str::from_utf8(parsed.headers[2].value).unwrap();
            let length: usize = length.parse().unwrap();
            prop_assert_eq!(length, message.len() - head_bytes);
        }
    }
}
