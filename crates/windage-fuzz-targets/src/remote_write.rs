//! The walk over remote write's requests never panics, and counts whatever prost can decode as
//! prost's objects would be counted.
//!
//! An input that begins with `+` is a request before compression, one with `=` a body as sent.

use prost::Message;
use snap::raw::{Decoder, Encoder, decompress_len};
use windage_sink::{Counts, count_remote_write};

use crate::Corpus;

/// The counted part of `prometheus.WriteRequest`; prost skips the rest.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Point>,
    #[prost(message, repeated, tag = "4")]
    histograms: Vec<Point>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(bytes, tag = "1")]
    name: Vec<u8>,
    #[prost(bytes, tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Point {}

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let body = match input.split_first() {
        Some((b'+', request)) => Encoder::new()
            .compress_vec(request)
            .expect("a short request"),
        Some((b'=', body)) => body.to_vec(),
        _ => return Corpus::Reject,
    };
    let walked = count_remote_write(&body);
    // Snap allocates whatever size a block claims, up to 4 GiB.
    let is_modest = decompress_len(&body).is_ok_and(|bytes| bytes <= 1 << 20);
    if is_modest
        && let Ok(request) = Decoder::new().decompress_vec(&body)
        && let Ok(objects) = WriteRequest::decode(request.as_slice())
    {
        let points = |series: &TimeSeries| series.samples.len() + series.histograms.len();
        let expected = Counts {
            metric_points: objects.timeseries.iter().map(points).sum::<usize>() as u64,
            body_bytes: request.len() as u64,
            ..Counts::default()
        };
        assert_eq!(walked, Ok(expected));
    }
    Corpus::Keep
}
