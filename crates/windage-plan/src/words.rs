//! Enums that plans write as one of a few words.

/// Enums with the word of each variant.
macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ })+) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $vdoc])+ $variant,)+ }

        impl $name {
            /// The word used in plans.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            pub(crate) const WORDS: &'static [(&'static str, $name)] =
                &[$(($word, $name::$variant),)+];
        }
    )+};
}

pub(crate) use words;
