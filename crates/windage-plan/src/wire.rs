//! The plan as written in the file: strict types that mirror `docs/FORMAT.md`.
//!
//! This module checks only the shape; `resolve` checks the meaning. `Spanned` marks values to
//! which a problem of meaning may point.

mod spanned;
mod switch;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use crate::Problem;

pub(crate) use spanned::Spanned;
pub(crate) use switch::{Switch, SwitchTable};

/// Text to which an error may point.
pub(crate) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanFile {
    pub(crate) name: Text,
    pub(crate) about: Option<String>,
    #[serde(default)]
    pub(crate) build: Build,
    #[serde(default)]
    pub(crate) service: Vec<Service>,
    pub(crate) cluster: Option<Spanned<Cluster>>,
    // Has the type of a service; `resolve` refuses keys that only one of the two may have.
    #[serde(default)]
    pub(crate) agent: Vec<Service>,
    pub(crate) load: Load,
    #[serde(default)]
    pub(crate) regime: Vec<Spanned<Regime>>,
    #[serde(default)]
    pub(crate) arm: Vec<Arm>,
    #[serde(default)]
    pub(crate) budget: Vec<Budget>,
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
    #[serde(default)]
    pub(crate) design: Design,
    pub(crate) sink: Option<Spanned<Sink>>,
    pub(crate) profile: Option<Spanned<Profile>>,
}

impl PlanFile {
    /// All services, then all agents.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Service> {
        self.service.iter().chain(&self.agent)
    }
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) with: Text,
    pub(crate) program: Option<Text>,
    #[serde(rename = "for")]
    pub(crate) lasts: Option<Text>,
    pub(crate) rate: Option<Text>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Sink {
    pub(crate) keep: Option<Text>,
    pub(crate) client_drop_p0s: Option<bool>,
    pub(crate) detail: Option<Text>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    #[serde(default)]
    pub(crate) commands: Vec<Text>,
    pub(crate) within: Option<Text>,
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Service {
    pub(crate) name: Text,
    pub(crate) command: Option<Spanned<Vec<Text>>>,
    pub(crate) attach: Option<Spanned<Attach>>,
    pub(crate) pod: Option<Spanned<Pod>>,
    pub(crate) listen: Option<Text>,
    #[serde(default)]
    pub(crate) ports: Vec<Text>,
    pub(crate) cwd: Option<Text>,
    #[serde(default)]
    pub(crate) env: Entries<Text>,
    pub(crate) clean_env: Option<Spanned<bool>>,
    pub(crate) user: Option<Text>,
    #[serde(default)]
    pub(crate) files: Vec<TemplateFile>,
    pub(crate) check: Option<Spanned<Vec<Text>>>,
    pub(crate) cpus: Option<Spanned<Vec<i64>>>,
    pub(crate) shared: Option<Spanned<bool>>,
    pub(crate) needs: Option<Spanned<Vec<Text>>>,
    pub(crate) ready: Option<Spanned<Ready>>,
    pub(crate) stop: Option<Spanned<Stop>>,
    pub(crate) metrics: Option<Text>,
    #[serde(default)]
    pub(crate) drops: Vec<Spanned<Drops>>,
}

impl Service {
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| *shared.get_ref())
    }
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    pub(crate) context: Option<Text>,
    pub(crate) namespace: Option<Text>,
    pub(crate) node: Option<Text>,
    pub(crate) image: Option<Text>,
    pub(crate) pull_secret: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Pod {
    pub(crate) manifest: Text,
    pub(crate) port: Spanned<i64>,
    pub(crate) container: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Drops {
    pub(crate) reason: Text,
    pub(crate) log: Option<Text>,
    pub(crate) metric: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Attach {
    pub(crate) pid: Option<Spanned<i64>>,
    pub(crate) cgroup: Option<Text>,
    pub(crate) unit: Option<Text>,
    pub(crate) url: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateFile {
    pub(crate) template: Text,
    pub(crate) to: Text,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Ready {
    pub(crate) http: Option<Text>,
    pub(crate) tcp: Option<Spanned<bool>>,
    pub(crate) log: Option<Text>,
    pub(crate) metric: Option<Text>,
    pub(crate) delay: Option<Text>,
    pub(crate) within: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    pub(crate) signal: Option<Text>,
    pub(crate) within: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) regime: Option<Text>,
    pub(crate) model: Text,
    pub(crate) rate: Option<Text>,
    pub(crate) profile: Option<Spanned<Vec<Piece>>>,
    pub(crate) replay: Option<Text>,
    pub(crate) arrivals: Option<Text>,
    pub(crate) protocol: Option<Text>,
    pub(crate) streams: Option<Spanned<i64>>,
    pub(crate) threads: Option<Spanned<i64>>,
    pub(crate) connections: Option<Spanned<i64>>,
    pub(crate) connections_max: Option<Spanned<i64>>,
    pub(crate) tls: Option<Spanned<Tls>>,
    pub(crate) unix: Option<Text>,
    pub(crate) request: Option<Text>,
    #[serde(default)]
    pub(crate) headers: Entries<Text>,
    pub(crate) body: Option<Text>,
    pub(crate) body_file: Option<Text>,
    #[serde(default)]
    pub(crate) fields: Entries<Spanned<Field>>,
    #[serde(default)]
    pub(crate) flow: Vec<Flow>,
    pub(crate) timeout: Option<Text>,
    pub(crate) cpus: Option<Spanned<Vec<i64>>>,
    #[serde(default)]
    pub(crate) allow: Vec<Text>,
    pub(crate) batch: Option<Text>,
    pub(crate) iterations: Option<Spanned<Scalar>>,
    pub(crate) flush: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Regime {
    pub(crate) name: Text,
    #[serde(default)]
    pub(crate) thorough: bool,
    pub(crate) model: Option<Text>,
    pub(crate) rate: Option<Text>,
    pub(crate) profile: Option<Spanned<Vec<Piece>>>,
    pub(crate) replay: Option<Text>,
    pub(crate) arrivals: Option<Text>,
    pub(crate) connections: Option<Spanned<i64>>,
    pub(crate) connections_max: Option<Spanned<i64>>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece {
    pub(crate) rate: Text,
    pub(crate) to: Option<Text>,
    #[serde(rename = "for")]
    pub(crate) lasts: Text,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    pub(crate) ca: Option<Text>,
    pub(crate) server_name: Option<Text>,
    #[serde(default)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Field {
    pub(crate) counter: Option<Spanned<i64>>,
    pub(crate) step: Option<Spanned<i64>>,
    pub(crate) random: Option<Spanned<Vec<i64>>>,
    pub(crate) csv: Option<Text>,
    pub(crate) column: Option<Text>,
    pub(crate) order: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    pub(crate) name: Option<String>,
    pub(crate) weight: Option<Spanned<i64>>,
    pub(crate) steps: Spanned<Vec<Step>>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) request: Text,
    #[serde(default)]
    pub(crate) headers: Entries<Text>,
    pub(crate) body: Option<Text>,
    pub(crate) body_file: Option<Text>,
    pub(crate) think: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    pub(crate) name: Text,
    pub(crate) about: Option<String>,
    #[serde(default)]
    pub(crate) baseline: Option<Spanned<bool>>,
    #[serde(default)]
    pub(crate) env: Entries<Text>,
    #[serde(default)]
    pub(crate) args: Entries<Vec<Text>>,
    #[serde(default)]
    pub(crate) command: Entries<Spanned<Vec<Text>>>,
    #[serde(default)]
    pub(crate) patch: Entries<Text>,
    #[serde(default)]
    pub(crate) scrape: Entries<Text>,
    pub(crate) instance: Option<Text>,
    #[serde(default)]
    pub(crate) agents: Vec<Text>,
    pub(crate) bystander_of: Option<Text>,
    #[serde(default)]
    pub(crate) switch: Vec<Spanned<Switch>>,
    #[serde(default)]
    pub(crate) restore: Option<Spanned<Vec<Spanned<Switch>>>>,
    #[serde(default)]
    pub(crate) sweep: Entries<Spanned<Vec<Spanned<Scalar>>>>,
    pub(crate) backend: Option<Spanned<OneOrMore>>,
    pub(crate) expect: Option<Spanned<Expect>>,
    pub(crate) adds_to: Option<Text>,
    pub(crate) same_as: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) traces_per_request: Option<Spanned<Scalar>>,
    pub(crate) spans_per_request: Option<Spanned<Scalar>>,
    pub(crate) events_per_request: Option<Spanned<Scalar>>,
    pub(crate) records_per_request: Option<Spanned<Scalar>>,
    pub(crate) points_per_interval: Option<Spanned<Scalar>>,
    pub(crate) interval: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    pub(crate) of: Option<Text>,
    pub(crate) metric: Text,
    #[serde(default)]
    pub(crate) arms: Option<Spanned<Vec<Text>>>,
    pub(crate) at_most: Text,
    pub(crate) warn_above: Option<Text>,
    #[serde(rename = "override")]
    pub(crate) overridden: Option<Override>,
    pub(crate) confidence: Option<Spanned<Scalar>>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Override {
    pub(crate) at_most: Text,
    pub(crate) reason: Text,
    pub(crate) until: Text,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) text: Text,
    pub(crate) source: Text,
    pub(crate) date: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) differs: Option<Text>,
    pub(crate) metric: Text,
    pub(crate) arms: Option<Spanned<Vec<Text>>>,
    pub(crate) at_most: Option<Text>,
    pub(crate) at_least: Option<Text>,
    pub(crate) value: Option<Text>,
    pub(crate) tolerance: Option<Text>,
    pub(crate) confidence: Option<Spanned<Scalar>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Design {
    // Keys that replace the others in a thorough run.
    pub(crate) thorough: Option<Spanned<Box<Design>>>,
    pub(crate) turn: Option<Spanned<Scalar>>,
    pub(crate) block: Option<Text>,
    pub(crate) isolated: Option<Spanned<Scalar>>,
    pub(crate) window: Option<Text>,
    pub(crate) settle: Option<Text>,
    pub(crate) rounds: Option<Spanned<i64>>,
    #[serde(rename = "for")]
    pub(crate) measuring_time: Option<Text>,
    pub(crate) blocks: Option<Spanned<i64>>,
    pub(crate) stop: Option<Spanned<StopWhen>>,
    pub(crate) agent_stretch: Option<Text>,
    pub(crate) agent_warmup: Option<Text>,
    pub(crate) bpf_statistics: Option<Text>,
    pub(crate) warmup: Option<Text>,
    pub(crate) warmup_rate: Option<Text>,
    pub(crate) drain: Option<Text>,
    pub(crate) idle: Option<Text>,
    pub(crate) order: Option<Text>,
    pub(crate) seed: Option<Spanned<i64>>,
    pub(crate) margin: Option<Spanned<Scalar>>,
    pub(crate) on_death: Option<Text>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StopWhen {
    pub(crate) metric: Option<Text>,
    pub(crate) half_width: Option<Spanned<Scalar>>,
    pub(crate) budgets: Option<Spanned<bool>>,
    pub(crate) within: Text,
}

/// A value that may be a number or text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Integer(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct ScalarVisitor;

        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or text")
            }

            fn visit_i64<E>(self, n: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(n))
            }

            fn visit_f64<E>(self, n: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(n))
            }

            fn visit_bool<E>(self, b: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(b))
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }
        }

        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// Text, or a list of texts.
#[derive(Debug)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<Text>),
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMore, D::Error> {
        struct OneOrMoreVisitor;

        impl<'de> Visitor<'de> for OneOrMoreVisitor {
            type Value = OneOrMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of text")
            }

            fn visit_str<E>(self, text: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
                let mut more = Vec::new();
                while let Some(text) = list.next_element::<Text>()? {
                    more.push(text);
                }
                Ok(OneOrMore::More(more))
            }
        }

        deserializer.deserialize_any(OneOrMoreVisitor)
    }
}

/// A table with arbitrary keys, in file order.
#[derive(Debug)]
pub(crate) struct Entries<V>(pub(crate) Vec<(Text, V)>);

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<V>, D::Error> {
        struct EntriesVisitor<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for EntriesVisitor<V> {
            type Value = Entries<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<V>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<Text, V>()? {
                    entries.push(entry);
                }
                // The parser passes tables sorted by key, but the order of factors matters.
                entries.sort_by_key(|(key, _)| key.span().start);
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

/// Parses the file.
pub(crate) fn read(text: &str) -> Result<PlanFile, Problem> {
    toml::from_str(text).map_err(|error| Problem::from_toml(&error, text))
}
