use gateway_domain::{RawJson, RawObject};

use crate::error::StepError;

/// An object that is put together from values as they came.
#[derive(Debug)]
pub(super) struct Members {
    text: Vec<u8>,
}

impl Members {
    pub(super) fn new() -> Self {
        Self { text: vec![b'{'] }
    }

    /// Adds a member. No name may be added twice.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: &RawJson) -> Self {
        self.add(name, value);
        self
    }

    /// As [`Self::with`].
    pub(super) fn add(&mut self, name: &str, value: &RawJson) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        self.text.extend_from_slice(RawJson::string(name).as_bytes());
        self.text.push(b':');
        self.text.extend_from_slice(value.as_bytes());
    }

    /// The object.
    ///
    /// # Errors
    /// [`StepError::TooDeep`].
    pub(super) fn finish(mut self) -> Result<RawObject, StepError> {
        self.text.push(b'}');
        RawObject::parse(self.text).map_err(|_| StepError::TooDeep)
    }
}
