//! What the operator says about the edge, and what follows from it. Swapped whole: a request sees one set of
//! rules, never a mix (P-20).

use std::{borrow::Cow, time::Duration};

use gateway_domain::{Era, ListRemark, Page, RawJson};
use gateway_protocol::{Implementation, Revision, meta};

use crate::{
    auth::Authority,
    config::{BindError, ServerConfig},
    guard::Guard,
};

/// The rules at one moment.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) config: ServerConfig,
    pub(crate) authority: Authority,
    pub(crate) guard: Guard,
    pub(crate) rendered: Rendered,
}

impl Rules {
    /// # Errors
    /// [`BindError`] but [`BindError::Listen`].
    pub(crate) fn new(config: ServerConfig) -> Result<Self, BindError> {
        let authority = Authority::new(&config.clients);
        Self::with(config, authority)
    }

    /// Those of a face with one client at the other end, who needs no key and names no host.
    pub(crate) fn of_one_client(config: ServerConfig) -> Self {
        let config = ServerConfig { clients: Vec::new(), ..config };
        let authority = Authority::new(&[]);
        let rendered = Rendered::new(&config, authority.is_closed());
        Self { config, authority, guard: Guard::default(), rendered }
    }

    /// Those that come after these, by a configuration whose addresses do not count: taking another one
    /// needs another server.
    ///
    /// # Errors
    /// As [`Self::new`]: what is allowed on the other address may not be on this one.
    pub(crate) fn followed_by(&self, config: ServerConfig) -> Result<Self, BindError> {
        let (listen, admin_listen) = (self.config.listen, self.config.admin_listen);
        let authority = self.authority.followed_by(&config.clients);
        Self::with(ServerConfig { listen, admin_listen, ..config }, authority)
    }

    fn with(config: ServerConfig, authority: Authority) -> Result<Self, BindError> {
        config.check()?;
        let guard = Guard::new(&config.allowed_hosts, &config.allowed_origins)?;
        let rendered = Rendered::new(&config, authority.is_closed());
        Ok(Self { config, authority, guard, rendered })
    }
}

/// JSON that is the same for every client.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// The result of `server/discover`.
    pub(crate) discover: String,
    /// What follows the list in a modern `tools/list` result, without the closing brace.
    modern_tail: String,
    /// The same for a list that others may see another way.
    private_tail: String,
}

impl Rendered {
    fn new(config: &ServerConfig, private: bool) -> Self {
        let instructions = config.instructions.as_deref().map(RawJson::string);
        let instructions = instructions.map(|text| format!(r#","instructions":{text}"#)).unwrap_or_default();
        let modern_tail = modern_members(&config.identity, config.list_ttl, private);
        Self {
            discover: format!(
                r#"{{"supportedVersions":["{}"],"capabilities":{CAPABILITIES}{instructions}{modern_tail}}}"#,
                Revision::NEWEST_MODERN
            ),
            modern_tail,
            private_tail: modern_members(&config.identity, config.list_ttl, true),
        }
    }

    /// What follows the list in a `tools/list` result, without the closing brace.
    pub(crate) fn list_tail(&self, era: Era, page: &Page) -> Cow<'_, str> {
        let tail = match era {
            Era::Legacy => "",
            Era::Modern if page.is_private => &self.private_tail,
            Era::Modern => &self.modern_tail,
        };
        if page.remarks.is_empty() {
            return Cow::Borrowed(tail);
        }
        let remarks = RawJson::array(page.remarks.iter().filter_map(remark));
        // A tail that is there ends with its `_meta`.
        Cow::Owned(match tail.strip_suffix('}') {
            Some(tail) => format!(r#"{tail},"{DOWNSTREAMS}":{remarks}}}"#),
            None => format!(r#","_meta":{{"{DOWNSTREAMS}":{remarks}}}"#),
        })
    }
}

/// The key in `_meta` under which a list names the downstreams whose tools are not all there or are old
/// (G-W6; protocol.md §8 has the rules of keys).
const DOWNSTREAMS: &str = "gatewayd/downstreams";

/// No reason stands there: those are for the operator.
fn remark(remark: &ListRemark) -> Option<RawJson> {
    let ListRemark { downstream, state, is_stale, kind } = remark;
    let name = RawJson::string(downstream.as_str());
    RawJson::parse(format!(r#"{{"name":{name},"state":"{state}","stale":{is_stale},"kind":"{kind}"}}"#)).ok()
}

/// The same in both eras. Logs are not declared: what comes of them depends on the downstream.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true}}"#;

fn modern_members(identity: &Implementation, ttl: Duration, private: bool) -> String {
    let scope = if private { "private" } else { "public" };
    let (ttl, server, identity) = (ttl.as_millis(), meta::SERVER_INFO, identity.as_str());
    format!(
        r#","resultType":"complete","ttlMs":{ttl},"cacheScope":"{scope}","_meta":{{"{server}":{identity}}}"#
    )
}
