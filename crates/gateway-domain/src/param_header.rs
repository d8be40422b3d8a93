use std::sync::Arc;

/// An argument that a modern HTTP client mirrors in a header: `x-mcp-header` in a tool's input schema
/// (protocol.md §5.3). Found once per catalogue refresh, used on both faces of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    /// The part of the header's name after `Mcp-Param-`, as annotated.
    pub name: Arc<str>,
    /// The property names that lead from `arguments` to the value.
    pub path: Arc<[String]>,
    /// The type that the schema gives the property.
    pub kind: ParamKind,
}

/// The types that may be mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of JSON Schema's own types")]
pub enum ParamKind {
    String,
    Integer,
    Boolean,
}
