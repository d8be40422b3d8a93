use gateway_domain::{DownstreamName, View};

use super::page::PAGES;
use crate::oauth::WELL_KNOWN;

/// What stands at a path (design §11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/mcp` or `/mcp/NAME`; whether that downstream exists is not decided here.
    Messages(View),
    Admin(Page),
    /// `/connect` and all below it: pages for people.
    Page,
    /// What a path says about the tokens that it takes.
    Metadata(View),
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
            _ if path.strip_prefix(PAGES).is_some_and(|below| below.is_empty() || below.starts_with('/')) => {
                Some(Self::Page)
            }
            _ => {
                let named = |prefix: &str| DownstreamName::parse(path.strip_prefix(prefix)?).ok();
                if let Some(of) = path.strip_prefix(WELL_KNOWN) {
                    return Self::described(of);
                }
                let messages = || Some(Self::Messages(View::Downstream(named("/mcp/")?)));
                named("/flush/").map(|name| Self::Flush(Some(name))).or_else(messages)
            }
        }
    }

    /// The metadata of a path; without one, of `/mcp`.
    fn described(path: &str) -> Option<Self> {
        match path {
            "" => Some(Self::Metadata(View::All)),
            _ => Self::of(path)?.messages().map(Self::Metadata),
        }
    }

    fn messages(self) -> Option<View> {
        match self {
            Self::Messages(view) => Some(view),
            Self::Admin(_) | Self::Page | Self::Metadata(_) | Self::Flush(_) => None,
        }
    }

    /// The same with its view as what has that path sees it.
    pub(crate) fn seen(self, of: impl FnOnce(View) -> View) -> Self {
        match self {
            Self::Messages(view) => Self::Messages(of(view)),
            Self::Metadata(view) => Self::Metadata(of(view)),
            other => other,
        }
    }

    /// Which part of the gateway it is about.
    pub(crate) fn view(&self) -> Option<&View> {
        match self {
            Self::Messages(view) | Self::Metadata(view) => Some(view),
            Self::Admin(_) | Self::Page | Self::Flush(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_paths_lead_somewhere() {
        let files = || View::Downstream(DownstreamName::parse("files").unwrap());
        for (path, expected) in [
            ("/mcp", Some(Route::Messages(View::All))),
            ("/mcp/", Some(Route::Messages(View::All))),
            ("/mcp/files", Some(Route::Messages(files()))),
            ("/healthz", Some(Route::Admin(Page::Alive))),
            ("/readyz", Some(Route::Admin(Page::Ready))),
            ("/metrics", Some(Route::Admin(Page::Metrics))),
            ("/flush", Some(Route::Flush(None))),
            ("/flush/files", Some(Route::Flush(Some(DownstreamName::parse("files").unwrap())))),
            ("/.well-known/oauth-protected-resource", Some(Route::Metadata(View::All))),
            ("/.well-known/oauth-protected-resource/mcp", Some(Route::Metadata(View::All))),
            ("/.well-known/oauth-protected-resource/mcp/files", Some(Route::Metadata(files()))),
            ("/.well-known/oauth-protected-resource/", None),
            ("/.well-known/oauth-protected-resource/metrics", None),
            ("/.well-known/oauth-protected-resource/.well-known/oauth-protected-resource", None),
            ("/.well-known/oauth-protected-resourcex", None),
            ("/.well-known", None),
            ("/connect", Some(Route::Page)),
            ("/connect/", Some(Route::Page)),
            ("/connect/files/callback", Some(Route::Page)),
            ("/connection", None),
            ("/.well-known/oauth-protected-resource/connect", None),
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
