//! An entry of `switch`: a command as text, or a table for a line or a request.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::Text;

/// A command, or a table.
#[derive(Debug)]
pub(crate) enum Switch {
    Command(String),
    Table(SwitchTable),
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchTable {
    pub(crate) to: Option<Text>,
    pub(crate) send: Option<Text>,
    pub(crate) http: Option<Text>,
    pub(crate) answer: Option<Text>,
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Switch, D::Error> {
        struct SwitchVisitor;

        impl<'de> Visitor<'de> for SwitchVisitor {
            type Value = Switch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command or a table with `to` and `send`, or with `http`")
            }

            fn visit_str<E>(self, text: &str) -> Result<Switch, E> {
                Ok(Switch::Command(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Switch, A::Error> {
                SwitchTable::deserialize(MapAccessDeserializer::new(map)).map(Switch::Table)
            }
        }

        deserializer.deserialize_any(SwitchVisitor)
    }
}
