/// By whom an address was named, which decides what it may be (security.md §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// By the operator, in the configuration: it may be a private address.
    ByOperator,
    /// By a document of somebody else's: it may be private only if the operator names the same authority somewhere,
    /// and is `https` unless it is a loopback address that the operator names.
    ByDocument,
}
