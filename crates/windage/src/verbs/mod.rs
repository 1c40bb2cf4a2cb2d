//! One file per verb.

pub(crate) mod bisect;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod picture;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sink;
