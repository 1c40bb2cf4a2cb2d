//! Flows, checked and prepared.

use super::check;
use super::fields::{Field, Fields};
use super::flow::{Flow, Protocol, Step};
use super::http1::Http1Message;
use super::http2::Http2Message;
use super::text::{Request, Text};
use crate::request::RequestError;

#[derive(Debug)]
pub(super) struct PreparedWork {
    pub(super) protocol: Protocol,
    pub(super) fields: Fields,
    pub(super) flows: Vec<PreparedFlow>,
    /// By flow: the sum of its weight and of all earlier ones.
    cumulated_weights: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct PreparedFlow {
    pub(super) steps: Vec<PreparedStep>,
    /// Whether it uses a row of the tables.
    pub(super) has_columns: bool,
}

#[derive(Debug)]
pub(super) struct PreparedStep {
    pub(super) is_head: bool,
    pub(super) think_ns: u64,
    /// The fields of the request, without repeats.
    pub(super) fields: Vec<usize>,
    pub(super) wire: Wire,
}

#[derive(Debug)]
pub(super) enum Wire {
    Http1(Http1Message),
    Http2(Http2Message),
}

impl PreparedWork {
    pub(super) fn new(
        flows: &[Flow],
        fields: Fields,
        protocol: Protocol,
    ) -> Result<PreparedWork, RequestError> {
        check::ranges(&fields)?;
        let is_single = flows.len() == 1 && flows[0].steps.len() == 1;
        let mut prepared = Vec::with_capacity(flows.len());
        for (flow, Flow { steps, .. }) in flows.iter().enumerate() {
            // A position stores flows and steps in 16 bits.
            if steps.is_empty() || steps.len() > usize::from(u16::MAX) {
                return Err(RequestError::Steps {
                    flow: flow + 1,
                    steps: steps.len(),
                });
            }
            let mut prepared_steps = Vec::with_capacity(steps.len());
            for (step, asked) in steps.iter().enumerate() {
                let prepared_step = PreparedStep::new(asked, &fields, protocol);
                prepared_steps.push(prepared_step.map_err(|error| {
                    if is_single {
                        error
                    } else {
                        RequestError::InStep {
                            flow: flow + 1,
                            step: step + 1,
                            error: Box::new(error),
                        }
                    }
                })?);
            }
            prepared.push(PreparedFlow::new(prepared_steps, &fields));
        }
        Ok(PreparedWork {
            protocol,
            cumulated_weights: cumulate(flows)?,
            flows: prepared,
            fields,
        })
    }

    /// The sum of all weights; more than zero.
    pub(super) fn weight(&self) -> u64 {
        self.cumulated_weights.last().copied().unwrap_or(0)
    }

    /// The flow that owns a ticket, which is less than the sum of all weights.
    pub(super) fn flow_of(&self, ticket: u64) -> usize {
        self.cumulated_weights
            .partition_point(|&cumulated| cumulated <= ticket)
    }
}

impl PreparedFlow {
    fn new(steps: Vec<PreparedStep>, fields: &Fields) -> PreparedFlow {
        let is_column = |&field: &usize| matches!(fields.fields[field], Field::Column { .. });
        let has_columns = steps.iter().flat_map(|step| &step.fields).any(is_column);
        PreparedFlow { steps, has_columns }
    }
}

impl PreparedStep {
    fn new(step: &Step, fields: &Fields, protocol: Protocol) -> Result<PreparedStep, RequestError> {
        let request = &step.request;
        check::request(request, fields, protocol)?;
        Ok(PreparedStep {
            is_head: request.method == "HEAD",
            think_ns: u64::try_from(step.think.as_nanos()).unwrap_or(u64::MAX),
            fields: used_fields(request),
            wire: match protocol {
                Protocol::Http1 => Wire::Http1(Http1Message::new(request, fields)),
                Protocol::Http2 | Protocol::Grpc => {
                    Wire::Http2(Http2Message::new(request, protocol)?)
                }
            },
        })
    }

    /// The wire format, if it is always the same.
    #[inline]
    pub(super) fn constant(&self) -> Option<&[u8]> {
        match &self.wire {
            Wire::Http1(message) => message.constant(),
            Wire::Http2(_) => None,
        }
    }
}

fn used_fields(request: &Request) -> Vec<usize> {
    let headers = request.headers.iter().map(|(_, value)| value);
    let texts = [&request.path, &request.body].into_iter().chain(headers);
    let mut used: Vec<usize> = texts.flat_map(Text::fields).collect();
    used.sort_unstable();
    used.dedup();
    used
}

fn cumulate(flows: &[Flow]) -> Result<Vec<u64>, RequestError> {
    let weights = flows.iter().scan(0u64, |sum, flow| {
        *sum += u64::from(flow.weight);
        Some(*sum)
    });
    let cumulated: Vec<u64> = weights.collect();
    let is_idle = cumulated.last().is_none_or(|&sum| sum == 0);
    if is_idle || flows.len() > usize::from(u16::MAX) {
        return Err(RequestError::Flows(flows.len()));
    }
    Ok(cumulated)
}
