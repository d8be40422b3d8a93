use gateway_domain::RawJson;

/// Who we say we are, to clients and to downstreams alike (`Implementation`, protocol.md §11.1).
#[derive(Debug, Clone)]
pub struct Implementation {
    rendered: RawJson,
}

impl Implementation {
    /// A name and a version, and a title for people.
    pub fn new(name: &str, title: &str, version: &str) -> Self {
        let [name, title, version] = [name, title, version].map(RawJson::string);
        let text = format!(r#"{{"name":{name},"title":{title},"version":{version}}}"#);
        // Assembled from JSON strings, so it parses.
        Self { rendered: RawJson::parse(text).unwrap_or_else(|_| name.clone()) }
    }

    /// The JSON object.
    pub fn as_str(&self) -> &str {
        self.rendered.as_str()
    }
}
