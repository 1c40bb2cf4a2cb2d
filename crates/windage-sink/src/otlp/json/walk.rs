//! The outer messages of a request in JSON: request, resource, scope.
//!
//! Keys come in any order. What a resource or scope holds is counted as it is read when its
//! owner's name has come before, as all known exporters write it; otherwise it is held as text,
//! in place, until the name is known.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Item;
use super::values::{Object, Text};
use crate::receipt::Receipt;

/// A request whose scopes hold `I`s.
pub(super) struct Request<'r, I> {
    receipt: &'r mut Receipt,
    item: PhantomData<I>,
}

impl<'r, I: Item> Request<'r, I> {
    pub(super) fn new(receipt: &'r mut Receipt) -> Request<'r, I> {
        Request {
            receipt,
            item: PhantomData,
        }
    }
}

impl<'de, I: Item> DeserializeSeed<'de> for Request<'_, I> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, I: Item> Visitor<'de> for Request<'_, I> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", I::RESOURCES)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut level = OfResources::<I>(self);
        let mut is_read = false;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.0 != I::RESOURCES {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            once(&mut is_read, I::RESOURCES)?;
            map.next_value_seed(Content(&mut level, &()))?;
        }
        Ok(())
    }
}

/// Protobuf's parsers refuse what comes twice, since nobody could say which one counts.
fn once<E: Error>(is_read: &mut bool, key: &'static str) -> Result<(), E> {
    if std::mem::replace(is_read, true) {
        return Err(E::duplicate_field(key));
    }
    Ok(())
}

/// A level of messages: an array that belongs to an owner, which was read already.
trait Level<'de> {
    /// Whom the elements belong to.
    type Owner: Default + Deserialize<'de>;

    fn elements<A: SeqAccess<'de>>(
        &mut self,
        owner: &Self::Owner,
        elements: A,
    ) -> Result<(), A::Error>;
}

/// Reads an owner's array.
struct Content<'l, L, O>(&'l mut L, &'l O);

impl<'de, L: Level<'de>> DeserializeSeed<'de> for Content<'_, L, L::Owner> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, L: Level<'de>> Visitor<'de> for Content<'_, L, L::Owner> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<(), A::Error> {
        self.0.elements(self.1, elements)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a message of an owner and what belongs to it, whichever comes first.
struct Belongings<'l, L> {
    level: &'l mut L,
    owner: &'static str,
    content: &'static str,
}

impl<'de, L: Level<'de>> DeserializeSeed<'de> for Belongings<'_, L> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, L: Level<'de>> Visitor<'de> for Belongings<'_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}` and `{}`", self.owner, self.content)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_owner, mut has_content) = (false, false);
        let mut owner = L::Owner::default();
        let mut held: Option<&'de RawValue> = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.0 == self.owner {
                once(&mut has_owner, self.owner)?;
                owner = map.next_value::<Option<L::Owner>>()?.unwrap_or_default();
            } else if key.0 == self.content {
                once(&mut has_content, self.content)?;
                if has_owner {
                    map.next_value_seed(Content(&mut *self.level, &owner))?;
                } else {
                    held = Some(map.next_value()?);
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        match held {
            Some(held) => Content(self.level, &owner)
                .deserialize(held)
                .map_err(A::Error::custom),
            None => Ok(()),
        }
    }
}

/// `resourceSpans` and its like.
struct OfResources<'r, I>(Request<'r, I>);

impl<'de, I: Item> Level<'de> for OfResources<'_, I> {
    type Owner = ();

    fn elements<A: SeqAccess<'de>>(&mut self, (): &(), mut elements: A) -> Result<(), A::Error> {
        let mut level = OfScopes::<I>(Request::new(self.0.receipt));
        while let Some(()) = elements.next_element_seed(Belongings {
            level: &mut level,
            owner: "resource",
            content: I::SCOPES,
        })? {}
        Ok(())
    }
}

/// `scopeSpans` and its like.
struct OfScopes<'r, I>(Request<'r, I>);

impl<'de, I: Item> Level<'de> for OfScopes<'_, I> {
    type Owner = Object<Resource<'de>>;

    fn elements<A: SeqAccess<'de>>(
        &mut self,
        Object(resource): &Self::Owner,
        mut elements: A,
    ) -> Result<(), A::Error> {
        let mut level = OfItems::<I> {
            request: Request::new(self.0.receipt),
            service: &resource.attributes.0,
        };
        while let Some(()) = elements.next_element_seed(Belongings {
            level: &mut level,
            owner: "scope",
            content: I::ITEMS,
        })? {}
        Ok(())
    }
}

/// `spans` and its like.
struct OfItems<'r, I> {
    request: Request<'r, I>,
    service: &'r str,
}

impl<'de, I: Item> Level<'de> for OfItems<'_, I> {
    type Owner = Object<Scope<'de>>;

    fn elements<A: SeqAccess<'de>>(
        &mut self,
        Object(scope): &Self::Owner,
        mut elements: A,
    ) -> Result<(), A::Error> {
        let receipt = &mut *self.request.receipt;
        let scope = scope.name.as_ref().map_or("", |name| &name.0);
        let mut is_told = false;
        while let Some(Object(item)) = elements.next_element::<Object<I>>()? {
            if !std::mem::replace(&mut is_told, true) {
                receipt.source(self.service.as_bytes(), scope.as_bytes());
            }
            item.count(receipt).map_err(A::Error::custom)?;
        }
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
        struct Find<'a>(PhantomData<&'a ()>);

        impl<'a, 'de: 'a> Visitor<'de> for Find<'a> {
            type Value = ServiceName<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of attributes")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut attributes: A,
            ) -> Result<ServiceName<'a>, A::Error> {
                let mut name = ServiceName::default();
                while let Some(Object(attribute)) =
                    attributes.next_element::<Object<Attribute<'a>>>()?
                {
                    let text = attribute.value.and_then(|value| value.0.string_value);
                    if let (Some(key), Some(text)) = (attribute.key, text)
                        && key.0 == "service.name"
                    {
                        name = ServiceName(text.0);
                    }
                }
                Ok(name)
            }

            fn visit_unit<E: Error>(self) -> Result<ServiceName<'a>, E> {
                Ok(ServiceName::default())
            }
        }

        deserializer.deserialize_any(Find(PhantomData))
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
