//! The endpoints of a Datadog agent and their answers.
//!
//! Paths, methods and answers follow the agent's `pkg/trace/api`. What an agent forwards to Datadog
//! is accepted unread and counted as a side request.

use super::{DatadogOptions, DatadogVersion, decode_v04, decode_v05};
use crate::exchange::{Answer, Decode, Encoding, Form, Head, Refusal, Route, encoding, is_of_type};
use crate::receipt::Receipt;

const MSGPACK: &str = "application/msgpack";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// Clients compare it with the agent versions that introduced features, so it has to look like one;
/// these endpoints are of about that age.
const VERSION: &str = "7.70.0-windage";

/// An endpoint; a path that ends in a slash matches everything below it.
struct Endpoint {
    path: &'static str,
    carries: Carries,
    accepted: Accepted,
}

/// What requests contain.
#[derive(Clone, Copy)]
enum Carries {
    Traces(DatadogVersion),
    Profile,
    /// Statistics, the tracer's own telemetry, requests for configuration.
    Aside,
}

/// The answer on success.
#[derive(Clone, Copy)]
enum Accepted {
    Ok,
    /// The sampling rate by service: keep everything.
    Rates,
    Nothing,
    /// Datadog's answer to forwarded requests.
    PassedOn,
    /// There is no new configuration.
    NoConfig,
}

const ENDPOINTS: [Endpoint; 21] = [
    traces("/v0.3/traces", DatadogVersion::V03, Accepted::Ok),
    aside("/v0.3/services", Accepted::Ok),
    traces("/v0.4/traces", DatadogVersion::V04, Accepted::Rates),
    aside("/v0.4/services", Accepted::Ok),
    traces("/v0.5/traces", DatadogVersion::V05, Accepted::Rates),
    Endpoint {
        path: "/profiling/v1/input",
        carries: Carries::Profile,
        accepted: Accepted::PassedOn,
    },
    aside("/telemetry/proxy/", Accepted::PassedOn),
    aside("/v0.6/stats", Accepted::Nothing),
    aside("/v0.1/pipeline_stats", Accepted::PassedOn),
    aside("/evp_proxy/v1/", Accepted::PassedOn),
    aside("/evp_proxy/v2/", Accepted::PassedOn),
    aside("/evp_proxy/v3/", Accepted::PassedOn),
    aside("/evp_proxy/v4/", Accepted::PassedOn),
    aside("/debugger/v1/input", Accepted::PassedOn),
    aside("/debugger/v1/diagnostics", Accepted::PassedOn),
    aside("/debugger/v2/input", Accepted::PassedOn),
    aside("/symdb/v1/input", Accepted::PassedOn),
    aside("/dogstatsd/v1/proxy", Accepted::Nothing),
    aside("/dogstatsd/v2/proxy", Accepted::Nothing),
    aside("/tracer_flare/v1", Accepted::Nothing),
    aside("/v0.7/config", Accepted::NoConfig),
];

const fn traces(path: &'static str, version: DatadogVersion, accepted: Accepted) -> Endpoint {
    Endpoint {
        path,
        carries: Carries::Traces(version),
        accepted,
    }
}

const fn aside(path: &'static str, accepted: Accepted) -> Endpoint {
    Endpoint {
        path,
        carries: Carries::Aside,
        accepted,
    }
}

impl Endpoint {
    fn serves(&self, path: &str) -> bool {
        if self.path.ends_with('/') {
            path.starts_with(self.path)
        } else {
            path == self.path
        }
    }
}

/// Decides about a request by its head alone.
pub(crate) fn admit(head: &Head, options: &DatadogOptions) -> Result<Route, Refusal> {
    if head.uri.path() == "/info" {
        return info(head, options);
    }
    let endpoint = ENDPOINTS
        .iter()
        .find(|endpoint| endpoint.serves(head.uri.path()))
        .ok_or(Refusal::Path(
            "a Datadog tracer sends to /v0.3/traces, /v0.4/traces or /v0.5/traces; /info has a list",
        ))?;
    let (decode, encoding) = match endpoint.carries {
        Carries::Traces(version) => (decode_traces(head, version)?, encoding(head)?),
        Carries::Profile => (
            Decode::Unread(|receipt| receipt.profiles(1)),
            Encoding::Identity,
        ),
        Carries::Aside => (Decode::Unread(Receipt::side_request), Encoding::Identity),
    };
    Ok(Route {
        decode,
        encoding,
        accepted: endpoint.accepted.answer(),
        form: Form::Text,
    })
}

fn decode_traces(head: &Head, version: DatadogVersion) -> Result<Decode, Refusal> {
    if !matches!(head.method.as_str(), "PUT" | "POST") {
        return Err(Refusal::Method("PUT, POST"));
    }
    if !is_of_type(head, MSGPACK) {
        return Err(Refusal::ContentType(MSGPACK));
    }
    Ok(Decode::Whole(match version {
        DatadogVersion::V03 | DatadogVersion::V04 => decode_v04,
        DatadogVersion::V05 => decode_v05,
    }))
}

fn info(head: &Head, options: &DatadogOptions) -> Result<Route, Refusal> {
    if head.method != "GET" {
        return Err(Refusal::Method("GET"));
    }
    let body = serde_json::json!({
        "version": VERSION,
        "endpoints": ENDPOINTS.map(|endpoint| endpoint.path),
        "client_drop_p0s": options.client_drop_p0s,
        "span_meta_structs": true,
        "long_running_spans": true,
        "span_events": true,
        "feature_flags": [],
        "config": {"default_env": "none"},
    });
    Ok(Route {
        decode: Decode::Unread(Receipt::side_request),
        encoding: Encoding::Identity,
        accepted: Answer::new(200, JSON, body.to_string().into_bytes()),
        form: Form::Text,
    })
}

impl Accepted {
    fn answer(self) -> Answer {
        let (status, content_type, body) = match self {
            Accepted::Ok => (200, TEXT, "OK\n"),
            Accepted::Rates => (200, JSON, r#"{"rate_by_service":{"service:,env:":1}}"#),
            Accepted::Nothing => (200, TEXT, ""),
            Accepted::PassedOn => (202, JSON, "{}"),
            Accepted::NoConfig => (200, JSON, "{}"),
        };
        Answer::new(status, content_type, body.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counts;
    use crate::exchange::tests::head;

    fn route(method: &str, path: &str, content_type: &str) -> Result<Route, Refusal> {
        let head = head(method, path, &[("Content-Type", content_type)]);
        admit(&head, &DatadogOptions::default())
    }

    /// How an empty request, or one without a trace, is counted.
    fn counts(route: &Route, body: &[u8]) -> Counts {
        let mut receipt = Receipt::default();
        match route.decode {
            Decode::Whole(decode) => decode(body, &mut receipt).unwrap(),
            Decode::Unread(count) => count(&mut receipt),
            Decode::OtlpProtobuf(_) => panic!("{:?}", route.decode),
        }
        receipt.counts
    }

    #[test]
    fn every_endpoint_answers_like_an_agent() {
        const RATES: &str = r#"{"rate_by_service":{"service:,env:":1}}"#;
        // Method, path, status, answer, whether it carries traces.
        let table = [
            ("PUT", "/v0.3/traces", 200, "OK\n", true),
            ("POST", "/v0.3/traces", 200, "OK\n", true),
            ("PUT", "/v0.4/traces", 200, RATES, true),
            ("POST", "/v0.4/traces", 200, RATES, true),
            ("PUT", "/v0.5/traces", 200, RATES, true),
            ("PUT", "/v0.4/services", 200, "OK\n", false),
            ("POST", "/v0.6/stats", 200, "", false),
            ("PUT", "/v0.6/stats", 200, "", false),
            (
                "POST",
                "/telemetry/proxy/api/v2/apmtelemetry",
                202,
                "{}",
                false,
            ),
            ("POST", "/v0.7/config", 200, "{}", false),
            ("GET", "/v0.7/config", 200, "{}", false),
            ("POST", "/v0.1/pipeline_stats", 202, "{}", false),
            ("POST", "/evp_proxy/v2/api/v2/llmobs", 202, "{}", false),
            ("POST", "/debugger/v1/input", 202, "{}", false),
            ("POST", "/symdb/v1/input", 202, "{}", false),
            ("POST", "/tracer_flare/v1", 200, "", false),
            ("POST", "/dogstatsd/v2/proxy", 200, "", false),
        ];
        // What Java's tracer probes with: two empty traces, or no string and no trace.
        let empty = [0x92, 0x90, 0x90];
        for (method, path, status, answer, carries_traces) in table {
            let route = route(method, path, "application/msgpack").unwrap();
            assert_eq!(route.accepted.status, status, "{path}");
            assert_eq!(route.accepted.body, answer.as_bytes(), "{path}");
            assert_eq!(route.form, Form::Text, "{path}");
            let side_requests = u64::from(!carries_traces);
            assert_eq!(
                counts(&route, &empty).side_requests,
                side_requests,
                "{path}"
            );
        }
    }

    #[test]
    fn a_profile_is_not_a_side_request() {
        let route = route(
            "POST",
            "/profiling/v1/input",
            "multipart/form-data; boundary=x",
        )
        .unwrap();
        let expected = Counts {
            profiles: 1,
            ..Counts::default()
        };
        assert_eq!(counts(&route, b"--x"), expected);
        assert_eq!(route.accepted.status, 202);
    }

    #[test]
    fn other_requests_are_refused_with_a_reason() {
        let msgpack = "application/msgpack";
        let table = [
            (
                "PUT",
                "/v0.4/traces",
                "application/json",
                415,
                "an old tracer",
            ),
            ("PUT", "/v0.5/traces", "", 415, "no content type"),
            ("GET", "/v0.4/traces", msgpack, 405, "a browser"),
            ("POST", "/info", msgpack, 405, "nothing to post"),
            ("PUT", "/v0.2/traces", msgpack, 404, "obsolete"),
            ("PUT", "/v1.0/traces", msgpack, 404, "not advertised"),
            ("PUT", "/v0.4/traces/", msgpack, 404, "another path"),
            ("POST", "/v1/traces", msgpack, 404, "OTLP"),
        ];
        for (method, path, content_type, status, why) in table {
            let refusal = route(method, path, content_type).unwrap_err();
            assert_eq!(refusal.status(), status, "{why}");
        }
        assert!(route("PUT", "/v0.4/traces", "application/msgpack; charset=utf-8").is_ok());
    }

    #[test]
    fn traces_may_be_compressed_and_other_bodies_stay_unread() {
        let of = |path, encoding| {
            let headers = [
                ("content-type", "application/msgpack"),
                ("content-encoding", encoding),
            ];
            let head = head("POST", path, &headers);
            admit(&head, &DatadogOptions::default()).map(|route| route.encoding)
        };
        assert_eq!(of("/v0.4/traces", "gzip"), Ok(Encoding::Gzip));
        assert_eq!(of("/v0.4/traces", "zstd"), Err(Refusal::ContentEncoding));
        assert_eq!(of("/evp_proxy/v4/x", "gzip"), Ok(Encoding::Identity));
        assert_eq!(of("/evp_proxy/v4/x", "zstd"), Ok(Encoding::Identity));
    }

    #[test]
    fn info_lists_every_endpoint_and_allows_drops_only_if_asked() {
        for client_drop_p0s in [false, true] {
            let head = head("GET", "/info", &[]);
            let route = admit(&head, &DatadogOptions { client_drop_p0s }).unwrap();
            assert_eq!(counts(&route, b"").side_requests, 1);
            let info: serde_json::Value = serde_json::from_slice(&route.accepted.body).unwrap();
            assert_eq!(info["client_drop_p0s"], client_drop_p0s);
            let listed = info["endpoints"].as_array().unwrap();
            assert_eq!(listed.len(), ENDPOINTS.len());
            for path in ["/v0.4/traces", "/v0.6/stats", "/telemetry/proxy/"] {
                assert!(listed.iter().any(|listed| listed == path), "{path}");
            }
            assert!(listed.iter().all(|path| path != "/v1.0/traces"));
        }
    }
}
