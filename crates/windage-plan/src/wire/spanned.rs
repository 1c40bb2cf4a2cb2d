//! A value with its place in the file.

use std::ops::Range;

use serde::Deserialize;

/// A value to which a problem may point.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Spanned<T>(toml::Spanned<T>);

impl<T> Spanned<T> {
    /// A value that is not itself in the file, in the place of one that is.
    pub(crate) fn new(span: Range<usize>, value: T) -> Spanned<T> {
        Spanned(toml::Spanned::new(span, value))
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.0.span()
    }

    pub(crate) fn get_ref(&self) -> &T {
        self.0.get_ref()
    }
}
