//! Turns flags into the generator's target; no other module knows its target type.

use windage_load::{Request, Target, Text, TlsClient, TlsOptions, Work};
use windage_plan::Host;

use super::design::Design;
use super::error::LoadError;
use super::flags::LoadFlags;
use super::header::Header;

/// The generator's target: where to connect, and the request.
pub(super) fn target(flags: &LoadFlags, design: &Design) -> Result<Target, LoadError> {
    let request = Request {
        method: design.method.clone(),
        authority: design.url.authority.clone(),
        path: Text::from(design.url.path.as_str()),
        headers: flags
            .headers
            .iter()
            .map(|text| header(text))
            .collect::<Result<_, _>>()?,
        body: Text::literal(body(flags)?),
    };
    Ok(Target {
        endpoint: design.endpoint.clone(),
        tls: tls(flags, design)?,
        streams: design.streams,
        work: Work::single(request, design.protocol)?,
    })
}

fn header(text: &str) -> Result<(String, Text), LoadError> {
    // The value may be secret, so it is not repeated.
    let header = Header::parse(text).map_err(|message| LoadError::Flag {
        flag: "--header",
        message,
    })?;
    match header.value() {
        Ok(value) => Ok((header.name.clone(), Text::from(value))),
        Err(variable) => Err(LoadError::Variable {
            header: header.name.clone(),
            variable: variable.to_owned(),
        }),
    }
}

fn body(flags: &LoadFlags) -> Result<Vec<u8>, LoadError> {
    match (&flags.data, &flags.data_file) {
        (Some(text), _) => Ok(text.clone().into_bytes()),
        (None, Some(path)) => std::fs::read(path).map_err(|source| LoadError::Data {
            path: path.clone(),
            source,
        }),
        (None, None) => Ok(Vec::new()),
    }
}

fn tls(flags: &LoadFlags, design: &Design) -> Result<Option<TlsClient>, LoadError> {
    if !design.is_tls() {
        return Ok(None);
    }
    let server_name = match &design.url.endpoint.host {
        Host::Ip(ip) => ip.to_string(),
        Host::Name(name) => name.clone(),
    };
    let options = TlsOptions {
        server_name,
        ca_file: flags.ca.clone(),
        insecure: flags.insecure,
        alpn: design.protocol,
    };
    Ok(Some(TlsClient::new(options)?))
}
