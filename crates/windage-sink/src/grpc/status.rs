//! The status of a call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper::header::{HeaderMap, HeaderValue};
use prost::Message;

use crate::exchange::Refusal;
use crate::malformed::Malformed;
use crate::rpc_status::{Any, Delay, RetryInfo, Status};

/// The codes used here (<https://grpc.io/docs/guides/status-codes/>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

/// The trailers of a call that succeeded.
pub(super) fn success() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers
}

/// The trailers of a call that was refused.
pub(super) fn refusal(refusal: &Refusal) -> HeaderMap {
    let (code, message) = (code(refusal), refusal.to_string());
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code as i32));
    // Nothing needs percent-encoding: messages are ASCII without a percent sign.
    if let Ok(value) = HeaderValue::from_str(&message) {
        trailers.insert("grpc-message", value);
    }
    if let Some(details) = details(refusal, code, message)
        && let Ok(value) = HeaderValue::from_str(&details)
    {
        trailers.insert("grpc-status-details-bin", value);
    }
    trailers
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Path(_) | Refusal::Method(_) | Refusal::ContentEncoding => Code::Unimplemented,
        Refusal::TooLarge => Code::ResourceExhausted,
        Refusal::NoRoom => Code::Unavailable,
        Refusal::Slow => Code::DeadlineExceeded,
        Refusal::Cut => Code::Cancelled,
        // gRPC has INVALID_ARGUMENT for the message, not for the framing of the call.
        Refusal::Malformed(Malformed::Grpc(_)) => Code::Internal,
        Refusal::ContentType(_) | Refusal::BadGzip | Refusal::Malformed(_) => Code::InvalidArgument,
        Refusal::Backend { status, .. } => match status {
            400 => Code::InvalidArgument,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 | 501 => Code::Unimplemented,
            429 => Code::ResourceExhausted,
            502..=504 => Code::Unavailable,
            500..=599 => Code::Internal,
            _ => Code::Unknown,
        },
    }
}

fn details(refusal: &Refusal, code: Code, message: String) -> Option<String> {
    let Refusal::Backend {
        retry_after: Some(after),
        ..
    } = refusal
    else {
        return None;
    };
    let retry = RetryInfo {
        retry_delay: Some(Delay {
            seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(after.subsec_nanos()).unwrap_or(0),
        }),
    };
    let status = Status {
        code: code as i32,
        message,
        details: vec![Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: retry.encode_to_vec(),
        }],
    };
    Some(STANDARD_NO_PAD.encode(status.encode_to_vec()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn refusals_have_the_code_that_exporters_act_on() {
        let backend = |status| Refusal::Backend {
            status,
            retry_after: None,
        };
        let table = [
            (Refusal::TooLarge, "8"),
            (Refusal::NoRoom, "14"),
            (Refusal::BadGzip, "3"),
            (Refusal::Path("x"), "12"),
            (backend(429), "8"),
            (backend(503), "14"),
            (backend(500), "13"),
            (backend(418), "2"),
        ];
        for (refused, code) in table {
            let trailers = refusal(&refused);
            assert_eq!(trailers["grpc-status"], code, "{refused:?}");
            assert!(!trailers.contains_key("grpc-status-details-bin"));
        }
    }

    #[test]
    fn the_retry_delay_is_in_the_details() {
        let trailers = refusal(&Refusal::Backend {
            status: 429,
            retry_after: Some(Duration::from_millis(2500)),
        });
        let bytes = STANDARD_NO_PAD
            .decode(&trailers["grpc-status-details-bin"])
            .unwrap();
        let status = Status::decode(bytes.as_slice()).unwrap();
        assert_eq!(status.code, 8);
        let retry = RetryInfo::decode(status.details[0].value.as_slice()).unwrap();
        let delay = retry.retry_delay.unwrap();
        assert_eq!((delay.seconds, delay.nanos), (2, 500_000_000));
    }
}
