//! JSON values that are counted while they are read. `null` stands for the default, as in
//! protobuf's JSON mapping.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};

use crate::malformed::Malformed;

/// Errors quote the unexpected input; senders get no more than this of it.
const MAX_REASON_BYTES: usize = 200;

/// Reads a complete body. It is checked once to be UTF-8, not string by string.
pub(crate) fn text(body: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(body).map_err(|error| Malformed::Json(error.to_string()))
}

/// Why a body could not be read.
pub(crate) fn malformed(error: &serde_json::Error) -> Malformed {
    let mut reason = error.to_string();
    if reason.len() > MAX_REASON_BYTES {
        reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
        reason.push('…');
    }
    Malformed::Json(reason)
}

/// A message. Serde's derive would also accept an array of the fields in order, which no protocol
/// here allows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Read(std::marker::PhantomData))
    }
}

/// Text, borrowed unless it contains escapes.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Passes the elements of an array on as they are read; `null` has none.
pub(crate) fn each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    take: impl FnMut(T),
) -> Result<(), D::Error> {
    struct Each<T, F>(F, std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
            while let Some(element) = seq.next_element()? {
                self.0(element);
            }
            Ok(())
        }

        fn visit_unit<E: Error>(self) -> Result<(), E> {
            Ok(())
        }
    }

    deserializer.deserialize_any(Each(take, std::marker::PhantomData))
}

/// The length of an array; its elements are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elements(pub(crate) u32);

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut elements = 0;
        each(deserializer, |_: IgnoredAny| elements += 1)?;
        Ok(Elements(elements))
    }
}

/// The number of an object's entries, which are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries(pub(crate) u32);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;

        impl<'de> Visitor<'de> for Count {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = 0;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    entries += 1;
                }
                Ok(Entries(entries))
            }

            fn visit_unit<E: Error>(self) -> Result<Entries, E> {
                Ok(Entries::default())
            }
        }

        deserializer.deserialize_any(Count)
    }
}

/// An unsigned 64-bit number, as a number or as decimal text: JavaScript's integers end at 2^53.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Integer(pub(crate) u64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl Visitor<'_> for Read {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 2^64 - 1, as a number or as text")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Integer, E> {
                Ok(Integer(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Integer, E> {
                // Some writers add an exponent or ".0" to whole numbers.
                let is_whole = number.fract() == 0.0 && (0.0..2_f64.powi(64)).contains(&number);
                if is_whole {
                    Ok(Integer(number as u64))
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }

            fn visit_str<E: Error>(self, digits: &str) -> Result<Integer, E> {
                let number = digits.parse().ok();
                number
                    .map(Integer)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(digits), &self))
            }

            fn visit_unit<E: Error>(self) -> Result<Integer, E> {
                Ok(Integer::default())
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// An id of `MIN` to `MAX` hexadecimal digits in either case, 32 at most; 0 when empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hex<const MIN: usize, const MAX: usize>(u128);

impl<const MIN: usize, const MAX: usize> Hex<MIN, MAX> {
    /// All digits, for a trace id.
    pub(crate) fn trace_id(self) -> u128 {
        self.0
    }

    /// The last 16 digits, for a span id.
    pub(crate) fn span_id(self) -> u64 {
        self.0 as u64
    }

    fn parse(digits: &str) -> Option<Self> {
        if digits.is_empty() {
            return Some(Hex(0));
        }
        // `from_str_radix` accepts a sign.
        let is_id = (MIN..=MAX).contains(&digits.len())
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_id
            .then(|| u128::from_str_radix(digits, 16).ok())
            .flatten()
            .map(Hex)
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Hex<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<const MIN: usize, const MAX: usize>;

        impl<const MIN: usize, const MAX: usize> Visitor<'_> for Read<MIN, MAX> {
            type Value = Hex<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if MIN == MAX {
                    write!(f, "an id of {MAX} hexadecimal digits")
                } else {
                    write!(f, "an id of {MIN} to {MAX} hexadecimal digits")
                }
            }

            fn visit_str<E: Error>(self, digits: &str) -> Result<Self::Value, E> {
                Hex::parse(digits).ok_or_else(|| E::invalid_value(Unexpected::Str(digits), &self))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Hex::default())
            }
        }

        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TraceId = Hex<32, 32>;
    type SpanId = Hex<16, 16>;

    fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Option<T> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn ids_are_hexadecimal_and_of_fixed_length() {
        let span_ids: &[(&str, Option<u64>, &str)] = &[
            (r#""00000000000000ff""#, Some(255), "an id"),
            (
                r#""EEE19b7ec3c1b174""#,
                Some(0xeee1_9b7e_c3c1_b174),
                "either case",
            ),
            (r#""00000000000000\u0066f""#, Some(255), "escapes are text"),
            (r#""0000000000000000""#, Some(0), "zeros are no id"),
            (r#""""#, Some(0), "empty is no id"),
            ("null", Some(0), "null is no id"),
            (r#""ff""#, None, "too short"),
            (r#""00000000000000ff0""#, None, "too long"),
            (r#""+0000000000000ff""#, None, "a sign is no digit"),
            (r#""0x000000000000ff""#, None, "a prefix neither"),
            (r#""000000000000000é""#, None, "no digit"),
            (
                r#""7uGbfsPBsXQ=""#,
                None,
                "base64, as protobuf's own mapping has it",
            ),
            ("255", None, "a number"),
            ("[]", None, "an array"),
        ];
        for (json, id, why) in span_ids {
            assert_eq!(read::<SpanId>(json).map(Hex::span_id), *id, "{why}");
        }
        let trace_id = read::<TraceId>(r#""5B8EFFF798038103D269B633813FC60C""#);
        assert_eq!(
            trace_id.map(Hex::trace_id),
            Some(0x5b8e_fff7_9803_8103_d269_b633_813f_c60c)
        );
        assert_eq!(
            read::<TraceId>(r#""5b8efff798038103""#),
            None,
            "half of one"
        );
        assert_eq!(
            read::<Hex<1, 32>>(r#""a1""#).map(Hex::trace_id),
            Some(0xa1),
            "where shorter ones are allowed"
        );
    }

    #[test]
    fn whole_numbers_come_in_three_forms() {
        let table: &[(&str, Option<u64>, &str)] = &[
            (
                "1700000000000000000",
                Some(1_700_000_000_000_000_000),
                "a number",
            ),
            (
                r#""1700000000000000000""#,
                Some(1_700_000_000_000_000_000),
                "text",
            ),
            (r#""18446744073709551615""#, Some(u64::MAX), "the last one"),
            ("18446744073709551615", Some(u64::MAX), "the last one"),
            ("1.7e18", Some(1_700_000_000_000_000_000), "an exponent"),
            ("5.0", Some(5), "a fraction of zero"),
            ("null", Some(0), "null"),
            (r#""18446744073709551616""#, None, "one more"),
            ("18446744073709551616", None, "one more"),
            ("1.5", None, "a fraction"),
            ("-1", None, "below zero"),
            (r#""-1""#, None, "below zero"),
            (r#""""#, None, "nothing"),
            (r#"" 5""#, None, "a blank"),
            ("true", None, "no number"),
        ];
        for (json, number, why) in table {
            assert_eq!(read::<Integer>(json).map(|i| i.0), *number, "{why}: {json}");
        }
    }

    #[test]
    fn arrays_and_objects_are_counted_and_not_confused() {
        let table: &[(&str, Option<u32>, Option<u32>)] = &[
            ("[]", Some(0), None),
            (r#"[1,{"a":[2]},[[],[]]]"#, Some(3), None),
            ("{}", None, Some(0)),
            (r#"{"a":1,"b":{"c":2}}"#, None, Some(2)),
            ("null", Some(0), Some(0)),
            ("3", None, None),
            ("[1,]", None, None),
        ];
        for (json, elements, entries) in table {
            assert_eq!(read::<Elements>(json).map(|n| n.0), *elements, "{json}");
            assert_eq!(read::<Entries>(json).map(|n| n.0), *entries, "{json}");
        }
    }

    #[test]
    fn an_array_of_fields_is_not_their_object() {
        #[derive(Deserialize)]
        struct Pair {
            a: Integer,
        }
        assert!(read::<Pair>("[5]").is_some(), "serde's derive accepts it");
        assert!(read::<Object<Pair>>("[5]").is_none());
        assert_eq!(read::<Object<Pair>>(r#"{"a":5}"#).map(|p| p.0.a.0), Some(5));
    }

    #[test]
    fn reasons_are_short() {
        let long = format!("\"{}\"", "é".repeat(5000));
        let error = serde_json::from_str::<SpanId>(&long).unwrap_err();
        let Malformed::Json(reason) = malformed(&error) else {
            panic!("another kind of error")
        };
        assert!(reason.len() <= MAX_REASON_BYTES + '…'.len_utf8());
        assert!(reason.starts_with("invalid value"), "{reason}");
    }
}
