//! The outer messages of a request in JSON: request, resource, scope.
//!
//! Keys come in any order. Items are counted as they are read if the name of their resource or
//! scope came first, as in all known exporters; otherwise the content is kept as text, borrowed,
//! until the name is known.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;

use super::values::{Object, Text, each};
use crate::receipt::Receipt;

/// The key under which a request, a resource and a scope describe their owner.
const OWNERS: [Option<&str>; 3] = [None, Some("resource"), Some("scope")];

/// What is counted of one signal.
pub(super) trait Item: DeserializeOwned {
    /// The keys of a request's resources, a resource's scopes and a scope's items.
    const KEYS: [&'static str; 3];

    /// Counts it, or returns why it is contradictory.
    fn count(self, receipt: &mut Receipt) -> Result<(), &'static str>;
}

/// The position within a request whose items are `I`.
pub(super) struct Walk<'r, 'de, I> {
    receipt: &'r mut Receipt,
    /// 0 in the request, 1 in a resource, 2 in a scope.
    depth: usize,
    /// By depth: none, the service's name, the instrumentation scope's name.
    names: [Cow<'de, str>; 3],
    item: PhantomData<I>,
}

impl<'r, 'de, I: Item> Walk<'r, 'de, I> {
    pub(super) fn new(receipt: &'r mut Receipt) -> Walk<'r, 'de, I> {
        Walk {
            receipt,
            depth: 0,
            names: Default::default(),
            item: PhantomData,
        }
    }

    fn read_name<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        self.names[self.depth] = if self.depth == 1 {
            let resource: Option<Object<Resource<'de>>> = map.next_value()?;
            resource.unwrap_or_default().0.attributes.0
        } else {
            let scope: Option<Object<Scope<'de>>> = map.next_value()?;
            scope.unwrap_or_default().0.name.unwrap_or_default().0
        };
        Ok(())
    }

    fn items<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        let mut is_told = false;
        while let Some(Object(item)) = items.next_element::<Object<I>>()? {
            if !std::mem::replace(&mut is_told, true) {
                let [_, service, scope] = &self.names;
                self.receipt.source(service.as_bytes(), scope.as_bytes());
            }
            item.count(self.receipt).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// A request, a resource or a scope.
pub(super) struct Message<'w, 'r, 'de, I>(pub(super) &'w mut Walk<'r, 'de, I>);

impl<'de, I: Item> DeserializeSeed<'de> for Message<'_, '_, 'de, I> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, I: Item> Visitor<'de> for Message<'_, '_, 'de, I> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = I::KEYS[self.0.depth];
        match OWNERS[self.0.depth] {
            Some(owner) => write!(f, "an object with `{owner}` and `{content}`"),
            None => write!(f, "an object with `{content}`"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Message(walk) = self;
        let (owner, content) = (OWNERS[walk.depth], I::KEYS[walk.depth]);
        let (mut has_name, mut has_content) = (false, false);
        let mut held: Option<&'de RawValue> = None;
        walk.names[walk.depth] = Cow::default();
        while let Some(Text(key)) = map.next_key()? {
            if let Some(owner) = owner
                && key == owner
            {
                once(&mut has_name, owner)?;
                walk.read_name(&mut map)?;
            } else if key == content {
                once(&mut has_content, content)?;
                if has_name || owner.is_none() {
                    map.next_value_seed(Content(walk))?;
                } else {
                    held = Some(map.next_value()?);
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        match held {
            Some(held) => Content(walk).deserialize(held).map_err(A::Error::custom),
            None => Ok(()),
        }
    }
}

/// Protobuf's parsers refuse duplicate keys, since it is unclear which one counts.
fn once<E: Error>(is_read: &mut bool, key: &'static str) -> Result<(), E> {
    if std::mem::replace(is_read, true) {
        return Err(E::duplicate_field(key));
    }
    Ok(())
}

/// The array of a message: resources, scopes or items.
struct Content<'w, 'r, 'de, I>(&'w mut Walk<'r, 'de, I>);

impl<'de, I: Item> DeserializeSeed<'de> for Content<'_, '_, 'de, I> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, I: Item> Visitor<'de> for Content<'_, '_, 'de, I> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Content(walk) = self;
        if walk.depth + 1 == I::KEYS.len() {
            return walk.items(elements);
        }
        walk.depth += 1;
        while let Some(()) = elements.next_element_seed(Message(walk))? {}
        walk.depth -= 1;
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow)]
    attributes: ServiceName<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scope<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// The text of the last attribute called `service.name`; empty when there is none.
#[derive(Default)]
struct ServiceName<'a>(Cow<'a, str>);

impl<'a, 'de: 'a> Deserialize<'de> for ServiceName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut name = ServiceName::default();
        each(deserializer, |Object(attribute): Object<Attribute<'a>>| {
            let text = attribute.value.and_then(|value| value.0.string_value);
            if let (Some(key), Some(text)) = (attribute.key, text)
                && key.0 == "service.name"
            {
                name = ServiceName(text.0);
            }
        })?;
        Ok(name)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Attribute<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    #[serde(borrow)]
    value: Option<Object<AnyValue<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnyValue<'a> {
    #[serde(borrow)]
    string_value: Option<Text<'a>>,
}
