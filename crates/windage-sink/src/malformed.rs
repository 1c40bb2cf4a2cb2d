//! Why a body could not be decoded.

use thiserror::Error;

use crate::wire::WireError;

/// What is wrong with a body. The text is sent to its sender.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// It is not protobuf, or another message.
    #[error("not a protobuf message of this kind: {0}")]
    Protobuf(#[from] WireError),
    /// It is not JSON, or of another shape.
    #[error("not JSON of this kind: {0}")]
    Json(String),
    /// It is not msgpack, or of another shape.
    #[error("not msgpack of this kind: {0}")]
    MsgPack(&'static str),
    /// It is not framed as one gRPC message.
    #[error("not one gRPC message: {0}")]
    Grpc(&'static str),
    /// It is not a block of snappy.
    #[error("not a snappy block: {0}")]
    Snappy(String),
}
