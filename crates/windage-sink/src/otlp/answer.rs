//! Answers to OTLP senders: success, partial success, errors.

use prost::Message;

use crate::exchange::{Answer, Form, Refusal};
use crate::rpc_status::Status;
use crate::signal::Signal;

pub(super) const PROTOBUF: &str = "application/x-protobuf";
pub(super) const JSON: &str = "application/json";

/// `Export…PartialSuccess`: the same numbers for all signals.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// `Export…ServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

const WHY_PARTIAL: &str = "this backend is set to accept only a part";

/// Everything was accepted.
pub(crate) fn accepted(form: Form) -> Answer {
    match form {
        Form::OtlpProtobuf(_) => Answer::new(200, PROTOBUF, b"".as_slice()),
        Form::OtlpJson(_) => Answer::new(200, JSON, b"{}".as_slice()),
        Form::Text => Answer::new(200, "text/plain", b"".as_slice()),
    }
}

/// A success in which `rejected` items were not accepted.
pub(crate) fn partial(form: Form, rejected: u64) -> Answer {
    match form {
        Form::OtlpProtobuf(_) => Answer::new(200, PROTOBUF, response(rejected).encode_to_vec()),
        Form::OtlpJson(signal) => {
            let body = serde_json::json!({
                "partialSuccess": {
                    rejected_key(signal): rejected.to_string(),
                    "errorMessage": WHY_PARTIAL,
                }
            });
            Answer::new(200, JSON, body.to_string().into_bytes())
        }
        // No other protocol can report it.
        Form::Text => accepted(form),
    }
}

/// The message of a partial success.
pub(crate) fn response(rejected: u64) -> Response {
    Response {
        partial_success: Some(PartialSuccess {
            rejected: i64::try_from(rejected).unwrap_or(i64::MAX),
            error_message: WHY_PARTIAL.to_owned(),
        }),
    }
}

fn rejected_key(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Metrics => "rejectedDataPoints",
        Signal::Logs => "rejectedLogRecords",
        Signal::Profiles => "rejectedProfiles",
    }
}

/// An error with its reason.
pub(crate) fn refused(form: Form, refusal: &Refusal) -> Answer {
    let message = refusal.to_string();
    let (content_type, body) = match form {
        Form::OtlpProtobuf(_) => {
            // Over HTTP clients ignore the code in it.
            let status = Status {
                message,
                ..Status::default()
            };
            (PROTOBUF, status.encode_to_vec())
        }
        Form::OtlpJson(_) => {
            let body = serde_json::json!({ "message": message });
            (JSON, body.to_string().into_bytes())
        }
        Form::Text => ("text/plain", format!("{message}\n").into_bytes()),
    };
    let answer = Answer::new(refusal.status(), content_type, body);
    match refusal.header() {
        Some((name, value)) => answer.with(name, value),
        None => answer,
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;

    use super::*;

    #[test]
    fn partial_successes_are_read_by_clients() {
        let answer = partial(Form::OtlpProtobuf(Signal::Traces), 7);
        let read = ExportTraceServiceResponse::decode(&*answer.body).unwrap();
        assert_eq!(read.partial_success.unwrap().rejected_spans, 7);
        let answer = partial(Form::OtlpProtobuf(Signal::Logs), 300);
        let read = ExportLogsServiceResponse::decode(&*answer.body).unwrap();
        assert_eq!(read.partial_success.unwrap().rejected_log_records, 300);
        let answer = partial(Form::OtlpJson(Signal::Metrics), 7);
        let read: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(read["partialSuccess"]["rejectedDataPoints"], "7");
    }

    #[test]
    fn refusals_have_the_form_that_was_sent() {
        let refusal = Refusal::Cut;
        let answer = refused(Form::OtlpProtobuf(Signal::Traces), &refusal);
        let status = Status::decode(&*answer.body).unwrap();
        assert_eq!((answer.status, status.message), (400, refusal.to_string()));
        let answer = refused(Form::OtlpJson(Signal::Traces), &refusal);
        let read: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(read["message"], refusal.to_string());
        let answer = refused(Form::Text, &Refusal::Method("POST"));
        assert_eq!(answer.header, Some(("allow", "POST".into())));
    }
}
