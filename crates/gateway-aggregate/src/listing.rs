use gateway_domain::Tool;

/// Everything one downstream offers, un-namespaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The downstream's configured name.
    pub downstream: String,
    /// All its tools, in the order it reported them.
    pub tools: Vec<Tool>,
}

impl Listing {
    /// A listing of `downstream` with these tools.
    pub fn new(downstream: impl Into<String>, tools: impl IntoIterator<Item = Tool>) -> Self {
        Self { downstream: downstream.into(), tools: tools.into_iter().collect() }
    }
}
