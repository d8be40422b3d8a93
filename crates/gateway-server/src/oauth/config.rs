use std::{fmt, sync::Arc};

use gateway_domain::{TokenVerifier, View};

/// Access tokens of authorization servers, besides or instead of keys (protocol.md §18.2, RFC 9728).
#[derive(Clone)]
pub struct OauthConfig {
    /// Tells whose a token is.
    pub verifier: Arc<dyn TokenVerifier>,
    /// The URL under which clients reach `/mcp`, as they write it: what tokens are issued for (RFC 8707). It is never
    /// taken from a request.
    pub resource: String,
    /// The URLs of paths whose tokens are issued for that path alone. All others share [`Self::resource`].
    pub resources: Vec<(View, String)>,
    /// The issuers whose tokens are taken, at least one. Users of one that is taken out are let go of.
    pub authorization_servers: Vec<String>,
    /// The scopes that clients are advised to ask for at first; as few as will do.
    pub scopes_supported: Vec<String>,
    /// Which requests need which scopes. All rules that fit a request count.
    pub scopes: Vec<ScopeRule>,
    /// Keeps a request's token for calls to downstreams that are reached with a token got in exchange for it.
    pub token_for_exchange: bool,
}

impl OauthConfig {
    /// Tokens for `resource` by one authorization server, and no scopes needed.
    pub fn new(verifier: Arc<dyn TokenVerifier>, resource: &str, authorization_server: &str) -> Self {
        Self {
            verifier,
            resource: resource.to_owned(),
            resources: Vec::new(),
            authorization_servers: vec![authorization_server.to_owned()],
            scopes_supported: Vec::new(),
            scopes: Vec::new(),
            token_for_exchange: false,
        }
    }
}

impl fmt::Debug for OauthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("OauthConfig");
        debug.field("resource", &self.resource).field("authorization_servers", &self.authorization_servers);
        debug.finish_non_exhaustive()
    }
}

/// Requests that need scopes. An empty list of conditions is met by every request.
///
/// The holder of a token that lacks one is answered 403 with all scopes that the request needs. Clients that prove
/// themselves with a key or a certificate have no scopes and need none. What somebody is shown does not depend on
/// this: that is for the rules of the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeRule {
    /// The paths.
    pub views: Vec<View>,
    /// Globs (`*`, `?`) over methods, as `tools/call`.
    pub methods: Vec<String>,
    /// Globs over the names of tools and prompts, and over URIs of resources, as they are on `/mcp`
    /// (`downstream__tool`), whatever path they are asked for on.
    pub names: Vec<String>,
    /// What such a request needs.
    pub scopes: Vec<String>,
}
