//! Values and their stored forms.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use windage_model::ArmIndex;

/// A value with a stored form.
pub(super) trait Store: Sized {
    /// The stored form.
    type Stored: Serialize + DeserializeOwned;

    /// Converts the value to it.
    fn store(&self) -> Self::Stored;

    /// Converts it back; the error says what is unknown.
    fn restore(stored: Self::Stored) -> Result<Self, String>;
}

/// Defines the stored form of a struct: the same fields, in the order in which they are named here.
/// A field added to the struct does not compile until it is named here.
macro_rules! stored {
    ($of:ident as $stored:ident { $($field:ident: $type:ty,)+ }) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(super) struct $stored {
            $($field: <$type as $crate::wire::stored::Store>::Stored,)+
        }

        impl $crate::wire::stored::Store for $of {
            type Stored = $stored;

            fn store(&self) -> $stored {
                let $of { $($field,)+ } = self;
                $stored { $($field: $crate::wire::stored::Store::store($field),)+ }
            }

            fn restore(stored: $stored) -> Result<$of, String> {
                let $stored { $($field,)+ } = stored;
                Ok($of { $($field: $crate::wire::stored::Store::restore($field)?,)+ })
            }
        }
    };
}
pub(super) use stored;

macro_rules! stored_as_it_is {
    ($($type:ty),+) => {
        $(impl Store for $type {
            type Stored = $type;

            fn store(&self) -> $type {
                Clone::clone(self)
            }

            fn restore(stored: $type) -> Result<$type, String> {
                Ok(stored)
            }
        })+
    };
}
stored_as_it_is!(bool, u16, u32, u64, String);

impl Store for ArmIndex {
    type Stored = u16;

    fn store(&self) -> u16 {
        self.0
    }

    fn restore(stored: u16) -> Result<ArmIndex, String> {
        Ok(ArmIndex(stored))
    }
}

impl<T: Store> Store for Option<T> {
    type Stored = Option<T::Stored>;

    fn store(&self) -> Self::Stored {
        self.as_ref().map(T::store)
    }

    fn restore(stored: Self::Stored) -> Result<Self, String> {
        stored.map(T::restore).transpose()
    }
}

impl<T: Store> Store for Vec<T> {
    type Stored = Vec<T::Stored>;

    fn store(&self) -> Self::Stored {
        self.iter().map(T::store).collect()
    }

    fn restore(stored: Self::Stored) -> Result<Self, String> {
        stored.into_iter().map(T::restore).collect()
    }
}

impl<T: Store> Store for BTreeMap<String, T> {
    type Stored = BTreeMap<String, T::Stored>;

    fn store(&self) -> Self::Stored {
        let stored = self.iter().map(|(key, value)| (key.clone(), value.store()));
        stored.collect()
    }

    fn restore(stored: Self::Stored) -> Result<Self, String> {
        let restored = stored
            .into_iter()
            .map(|(key, value)| Ok((key, T::restore(value)?)));
        restored.collect()
    }
}
