use bytes::Bytes;
use http::{HeaderMap, Response};

use super::support::{Client, Server, failure};
use crate::grpc;
use crate::http2::Event;

/// The path says what the server does: HTTP status, `grpc-status` of the head and of the trailers,
/// `-` for none.
fn server() -> Server {
    Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            let path = request.uri().path().to_owned();
            let words: Vec<&str> = path[1..].split('/').collect();
            let [http, head, trailer] = words[..] else {
                panic!("{path}");
            };
            let mut response = Response::builder().status(http);
            if head != "-" {
                response = response.header("grpc-status", head);
            }
            let is_only_head = trailer == "only";
            let mut body = answer
                .send_response(response.body(()).unwrap(), is_only_head)
                .unwrap();
            if is_only_head {
                return;
            }
            let has_trailers = trailer != "-";
            body.send_data(grpc::frame(b"reply").unwrap(), !has_trailers)
                .unwrap();
            if has_trailers {
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", trailer.parse().unwrap());
                body.send_trailers(trailers).unwrap();
            }
        },
    )
}

#[test]
fn the_grpc_status_decides() {
    let answered = |status, grpc| Event::Answer { status, grpc };
    let table = [
        ("/200/-/0", answered(200, Some(0)), "OK in trailers"),
        ("/200/-/5", answered(400, Some(5)), "NOT_FOUND in trailers"),
        ("/200/-/14", answered(500, Some(14)), "UNAVAILABLE"),
        ("/200/12/only", answered(500, Some(12)), "head only"),
        ("/200/0/only", answered(200, Some(0)), "head only, OK"),
        (
            "/200/0/13",
            answered(500, Some(13)),
            "trailers take precedence",
        ),
        ("/503/-/-", answered(503, None), "from an intermediary"),
        ("/404/-/only", answered(404, None), "no gRPC server"),
        (
            "/503/14/only",
            answered(500, Some(14)),
            "gRPC with an unusual HTTP status",
        ),
    ];
    let server = server();
    let mut client = Client::ready(server.address, 1);
    for (path, expected, why) in table {
        client.call(0, path);
        assert_eq!(client.event(), expected, "{why}");
    }
    drop(client);
    server.join();
}

#[test]
fn an_answer_without_a_grpc_status_breaks_the_protocol() {
    let server = server();
    let mut client = Client::ready(server.address, 1);
    for (path, says, why) in [
        ("/200/-/-", "has no grpc-status", "no trailers"),
        (
            "/200/-/only",
            "has no grpc-status",
            "neither body nor trailers",
        ),
        ("/200/-/x", "not a number", "a word in trailers"),
    ] {
        client.call(0, path);
        let (protocol, said) = failure(client.event());
        assert!(protocol && said.contains(says), "{why}: {said}");
    }
    // The connection still works.
    client.call(0, "/200/-/0");
    let ok = Event::Answer {
        status: 200,
        grpc: Some(0),
    };
    assert_eq!(client.event(), ok);
    // Plain HTTP/2 ignores the gRPC status.
    client.post(0, "/200/-/-", Bytes::from_static(b"x"));
    assert_eq!(
        client.event(),
        Event::Answer {
            status: 200,
            grpc: None
        }
    );
    drop(client);
    server.join();
}
