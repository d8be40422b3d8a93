use gateway_domain::{DownstreamName, View};

/// What stands at a path (design §11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/mcp` or `/mcp/NAME`; whether that downstream exists is not decided here.
    Messages(View),
    Admin(Page),
    /// Has lists read again: one downstream's, or all.
    Flush(Option<DownstreamName>),
}

/// What operators and their programs ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    /// Whether the process is alive.
    Alive,
    /// Whether every required downstream is ready.
    Ready,
    /// Numbers.
    Metrics,
}

impl Route {
    pub(crate) fn of(path: &str) -> Option<Self> {
        match path {
            "/mcp" | "/mcp/" => Some(Self::Messages(View::All)),
            "/healthz" => Some(Self::Admin(Page::Alive)),
            "/readyz" => Some(Self::Admin(Page::Ready)),
            "/metrics" => Some(Self::Admin(Page::Metrics)),
            "/flush" => Some(Self::Flush(None)),
            _ => {
                let named = |prefix: &str| DownstreamName::parse(path.strip_prefix(prefix)?).ok();
                let messages = || Some(Self::Messages(View::Downstream(named("/mcp/")?)));
                named("/flush/").map(|name| Self::Flush(Some(name))).or_else(messages)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_paths_lead_somewhere() {
        let files = Route::Messages(View::Downstream(DownstreamName::parse("files").unwrap()));
        for (path, expected) in [
            ("/mcp", Some(Route::Messages(View::All))),
            ("/mcp/", Some(Route::Messages(View::All))),
            ("/mcp/files", Some(files)),
            ("/healthz", Some(Route::Admin(Page::Alive))),
            ("/readyz", Some(Route::Admin(Page::Ready))),
            ("/metrics", Some(Route::Admin(Page::Metrics))),
            ("/flush", Some(Route::Flush(None))),
            ("/flush/files", Some(Route::Flush(Some(DownstreamName::parse("files").unwrap())))),
            ("/flush/", None),
            ("/flush/files/", None),
            ("/flush/a__b", None),
            ("/", None),
            ("", None),
            ("/MCP", None),
            ("/mcpx", None),
            ("/mcp/files/", None),
            ("/mcp/a__b", None),
            ("/mcp/../metrics", None),
            ("/mcp/%66iles", None),
            ("//mcp", None),
        ] {
            assert_eq!(Route::of(path), expected, "for {path:?}");
        }
    }
}
