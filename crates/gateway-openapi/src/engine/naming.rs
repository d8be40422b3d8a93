/// What names of tools are made to look like. They are of letters, digits and `_` whatever is set here (E-42), and no
/// two are equal (E-W8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// The longest, in characters. Default 64, what the APIs of models accept.
    pub max_length: usize,
    /// Whether runs of `_` become one, and those at the ends go (E-W9): for a gateway that has `__` for itself.
    /// Default false.
    pub collapse_underscores: bool,
}

impl Default for Naming {
    fn default() -> Self {
        Self { max_length: 64, collapse_underscores: false }
    }
}
