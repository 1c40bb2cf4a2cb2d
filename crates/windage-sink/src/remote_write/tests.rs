//! The walk compared with prost's objects, and bodies with false claims.

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::exchange::tests::head;

/// `prometheus.WriteRequest`, as the specification has it.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    exemplars: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    histograms: Vec<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(double, tag = "3")]
    sum: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(string, tag = "2")]
    family: String,
}

fn compressed(message: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(message).unwrap()
}

fn labels(job: Option<&str>) -> Vec<Label> {
    let label = |name: &str, value: &str| Label {
        name: name.into(),
        value: value.into(),
    };
    let mut labels = vec![label("__name__", "up"), label("instance", "a:1")];
    labels.extend(job.map(|job| label("job", job)));
    labels
}

fn series() -> impl Strategy<Value = TimeSeries> {
    let job = prop::option::of("[a-c]");
    (job, 0..4_usize, 0..3_usize, 0..3_usize).prop_map(|(job, samples, exemplars, histograms)| {
        let sample = Sample {
            value: 1.5,
            timestamp: 1_763_632_800_000,
        };
        TimeSeries {
            labels: labels(job.as_deref()),
            samples: vec![sample.clone(); samples],
            exemplars: vec![sample; exemplars],
            histograms: vec![Histogram { sum: 2.0 }; histograms],
        }
    })
}

fn request() -> impl Strategy<Value = WriteRequest> {
    (vec(series(), 0..20), vec("[a-z]{0,5}", 0..3)).prop_map(|(timeseries, families)| {
        WriteRequest {
            timeseries,
            metadata: families
                .into_iter()
                .map(|family| Metadata { family })
                .collect(),
        }
    })
}

fn points(series: &TimeSeries) -> u64 {
    (series.samples.len() + series.histograms.len()) as u64
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn points_are_those_of_the_objects(request in request()) {
        let message = request.encode_to_vec();
        let expected = Counts {
            metric_points: request.timeseries.iter().map(points).sum(),
            body_bytes: message.len() as u64,
            ..Counts::default()
        };
        prop_assert_eq!(count(&compressed(&message)), Ok(expected));
    }

    #[test]
    fn points_go_to_their_job(request in request()) {
        let mut receipt = Receipt::default();
        decode(&compressed(&request.encode_to_vec()), &mut receipt).unwrap();
        for job in ["a", "b", "c", ""] {
            let is_of_job = |series: &&TimeSeries| {
                let of = series.labels.iter().find(|label| label.name == "job");
                of.map_or("", |label| label.value.as_str()) == job
            };
            let expected: u64 = request.timeseries.iter().filter(is_of_job).map(points).sum();
            let sources = receipt.by_source.clone().into_sources();
            let found = sources.iter().find(|source| source.service == job && source.scope.is_empty());
            prop_assert_eq!(found.map_or(0, |source| source.items.metric_points), expected);
        }
    }

    #[test]
    fn a_cut_block_is_refused(request in request(), at: prop::sample::Index) {
        let body = compressed(&request.encode_to_vec());
        prop_assert!(count(&body[..at.index(body.len())]).is_err());
    }

    #[test]
    fn noise_never_panics(body in vec(any::<u8>(), 0..200)) {
        let _ = count(&body);
        let _ = count(&compressed(&body));
    }
}

#[test]
fn a_block_with_an_impossible_size_is_refused() {
    let zeros = |bytes: usize| {
        // Field 3 of the request: metadata.
        let mut message = vec![0x1a];
        let mut length = bytes;
        while length >= 0x80 {
            message.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        message.resize(message.len() + bytes, 0);
        compressed(&message)
    };
    // The densest valid block.
    assert!(count(&zeros(1 << 20)).is_ok());
    let table: &[(Vec<u8>, &str)] = &[
        (zeros(MAX_BODY_BYTES), "more than the sink's limit"),
        (
            vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0],
            "more than the sink's limit",
        ),
        (
            vec![0xff, 0xff, 0xff, 0x07, 0, 0],
            "cannot hold the 16777215 bytes",
        ),
        (vec![0xff; 8], "not a snappy block"),
        (vec![], "not a snappy block"),
        (b"\xff\x06\x00\x00sNaPpY".to_vec(), "not a snappy block"),
        (compressed(&[0x0a, 5, 1]), "not a protobuf message"),
        (compressed(&[0x08, 1]), "not a protobuf message"),
        (compressed(&[0x0a, 2, 0x10, 1]), "not a protobuf message"),
    ];
    for (body, reason) in table {
        let found = count(body).unwrap_err().to_string();
        assert!(found.contains(reason), "{found}");
    }
}

#[test]
fn an_empty_request_is_accepted() {
    assert_eq!(count(&compressed(&[])), Ok(Counts::default()));
}

#[test]
fn a_request_is_admitted_by_its_head() {
    const V2: &str = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
    const NAMED: &str = "application/x-protobuf; proto=\"prometheus.WriteRequest\"";
    let path = "/api/v1/write";
    // Method, path, content type, content encoding; the status of the refusal, if any.
    type Row = (
        &'static str,
        &'static str,
        Option<&'static str>,
        Option<&'static str>,
        Option<u16>,
    );
    let table: &[Row] = &[
        ("POST", path, Some(PROTOBUF), Some("snappy"), None),
        ("POST", path, Some(NAMED), Some("Snappy"), None),
        (
            "POST",
            path,
            Some("application/x-protobuf;charset=utf-8"),
            Some("snappy"),
            None,
        ),
        ("POST", path, None, None, None),
        ("POST", path, Some(V2), Some("snappy"), Some(415)),
        (
            "POST",
            path,
            Some("application/json"),
            Some("snappy"),
            Some(415),
        ),
        ("POST", path, Some(PROTOBUF), Some("gzip"), Some(415)),
        ("POST", path, Some(PROTOBUF), Some("zstd"), Some(415)),
        ("PUT", path, Some(PROTOBUF), Some("snappy"), Some(405)),
        (
            "POST",
            "/api/v1/push",
            Some(PROTOBUF),
            Some("snappy"),
            Some(404),
        ),
    ];
    for &(method, path, content_type, content_encoding, refused) in table {
        let headers: Vec<_> = content_type
            .map(|value| ("Content-Type", value))
            .into_iter()
            .chain(content_encoding.map(|value| ("content-encoding", value)))
            .collect();
        let found = admit(&head(method, path, &headers));
        match found {
            Ok(route) => {
                assert_eq!(refused, None, "{content_type:?}");
                assert_eq!(
                    (route.accepted.status, route.encoding),
                    (204, Encoding::Identity)
                );
                assert!(route.accepted.body.is_empty());
            }
            Err(refusal) => assert_eq!(Some(refusal.status()), refused, "{content_type:?}"),
        }
    }
}
