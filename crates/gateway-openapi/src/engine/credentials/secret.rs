use std::{fmt, hint};

/// A value that appears in no log, error or dump. Its memory is overwritten when it is dropped; copies that libraries
/// make of it on the way to the wire are not.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into_bytes())
    }

    /// The value, for the one place that sends it.
    pub(crate) fn expose(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // Otherwise the compiler may see that nobody reads the zeros, and not write them.
        hint::black_box(&self.0);
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
