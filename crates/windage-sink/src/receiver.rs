//! What a connection serves: one protocol of one arm.

use std::sync::Arc;

use crate::account::{Account, Ticket};
use crate::behaviour::{Turn, Wait};
use crate::datadog::{self, DatadogOptions};
use crate::exchange::{Answer, Form, Head, Refusal, Route};
use crate::intake::{Finished, Intake, IntakeParts};
use crate::keep::Keep;
use crate::receipt::Detail;
use crate::room::Budget;
use crate::{Protocol, otlp, remote_write, zipkin};

/// One protocol of one arm.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) account: Arc<Account>,
    pub(crate) protocol: Protocol,
    /// The largest body, before and after decompression.
    pub(crate) max_body_bytes: usize,
    pub(crate) datadog: DatadogOptions,
    pub(crate) keep: Option<Keep>,
}

/// What happens to a complete request.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It counts. The answer is sent when the wait is over; the ticket is returned if it could not
    /// be sent.
    Accepted {
        answer: Answer,
        wait: Wait,
        ticket: Ticket,
    },
    /// It does not count.
    Refused(Refusal),
    /// There is no answer: the connection is reset.
    Reset,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By its client, a bound or an error.
    Closed,
    /// The backend's behaviour requires a reset.
    Reset,
}

impl Receiver {
    /// A receiver that no sink has, with an account and `budget_bytes` of its own.
    pub(crate) fn alone(
        protocol: Protocol,
        max_body_bytes: usize,
        budget_bytes: usize,
    ) -> Arc<Receiver> {
        let budget = Budget::new(budget_bytes);
        Arc::new(Receiver {
            account: Arc::new(Account::new(Detail::Full, budget)),
            protocol,
            max_body_bytes,
            datadog: DatadogOptions {
                client_drop_p0s: false,
            },
            keep: None,
        })
    }

    /// Decides about a request by its head.
    pub(crate) fn admit(&self, head: &Head) -> Result<Route, Refusal> {
        match self.protocol {
            Protocol::OtlpHttp => otlp::admit(head),
            Protocol::Datadog => datadog::admit(head, &self.datadog),
            Protocol::Zipkin => zipkin::admit(head),
            Protocol::RemoteWrite => remote_write::admit(head),
            Protocol::OtlpGrpc => Err(Refusal::Path("this port receives gRPC, over HTTP/2")),
        }
    }

    /// The form of errors for the sender of this head.
    pub(crate) fn form(&self, head: &Head) -> Form {
        match self.protocol {
            Protocol::OtlpHttp => otlp::form(head),
            _ => Form::Text,
        }
    }

    /// Begins to receive a body. After a refusal the request is not settled yet.
    pub(crate) fn begin(self: &Arc<Self>, route: Route) -> Result<Underway, Refusal> {
        let parts = IntakeParts {
            decode: route.decode,
            encoding: route.encoding,
            receipt: self.account.open(),
            budget: &self.account.budget,
            max_bytes: self.max_body_bytes,
            keep: self.keep.is_some(),
        };
        let intake = Intake::new(parts)?;
        Ok(Underway {
            receiver: Arc::clone(self),
            route,
            intake: Some(Box::new(intake)),
        })
    }

    /// Counts a request whose body was not received.
    pub(crate) fn not_taken(&self, refusal: &Refusal) {
        self.account.not_taken(self.protocol, refusal);
    }

    /// Counts bytes read from a connection.
    pub(crate) fn wire_bytes(&self, bytes: usize) {
        self.account.wire_bytes(self.protocol, bytes);
    }

    /// Returns when answers may be sent again. While the backend is down they may not: they are
    /// lost with their connections.
    async fn stall_is_over(&self) {
        let mut changes = self.account.behaviour.subscribe();
        loop {
            let behaviour = *changes.borrow_and_update();
            let Some(until) = behaviour.stalled().or(behaviour.down()) else {
                return;
            };
            tokio::select! {
                () = until.reached() => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Returns when the answer may be sent.
    pub(crate) async fn wait(&self, wait: Wait) {
        match wait {
            Wait::No => {}
            Wait::For(time) => tokio::time::sleep(time).await,
            Wait::Stall => self.stall_is_over().await,
        }
        // Lets events on the sender's side be processed first.
        tokio::task::yield_now().await;
    }
}

/// A request whose body is arriving. If its connection ends, the request is counted as cut.
#[derive(Debug)]
pub(crate) struct Underway {
    receiver: Arc<Receiver>,
    pub(crate) route: Route,
    intake: Option<Box<Intake>>,
}

impl Underway {
    /// The next piece of the body. After a refusal the request is settled.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        let Some(intake) = &mut self.intake else {
            return Ok(());
        };
        let pushed = intake.push(piece);
        if let Err(refusal) = &pushed {
            self.settle(refusal);
        }
        pushed
    }

    /// The body could not be received.
    pub(crate) fn settle(&mut self, refusal: &Refusal) {
        if self.intake.take().is_some() {
            self.receiver.not_taken(refusal);
        }
    }

    /// The body is complete.
    pub(crate) fn finish(mut self) -> Verdict {
        let Some(intake) = self.intake.take() else {
            return Verdict::Reset;
        };
        match intake.finish() {
            Ok(finished) => self.decide(finished),
            Err(refusal) => {
                self.receiver.not_taken(&refusal);
                Verdict::Refused(refusal)
            }
        }
    }

    fn decide(&mut self, finished: Finished) -> Verdict {
        let Receiver {
            account,
            protocol,
            keep,
            ..
        } = &*self.receiver;
        let Finished { receipt, body } = finished;
        if let (Some(keep), Some(body)) = (keep, body) {
            keep.put(self.route.form, &body);
        }
        let wait = match account.turn() {
            Turn::Accept(wait) => wait,
            Turn::Refuse(refusal) => {
                account.refuse(*protocol, &receipt);
                return Verdict::Refused(refusal);
            }
            Turn::Reset => {
                account.refuse(*protocol, &receipt);
                return Verdict::Reset;
            }
        };
        let refused_items = receipt.counts.refused_spans + receipt.counts.refused_others;
        let ticket = account.accept(*protocol, &receipt);
        let answer = match self.route.form {
            // No other protocol can report a partial success.
            form @ (Form::OtlpProtobuf(_) | Form::OtlpJson(_)) if refused_items > 0 => {
                otlp::partial(form, refused_items)
            }
            _ => std::mem::take(&mut self.route.accepted),
        };
        Verdict::Accepted {
            answer,
            wait,
            ticket,
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.settle(&Refusal::Cut);
    }
}
