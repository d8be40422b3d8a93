//! What the operator says about the edge, and what follows from it. Swapped whole: a request sees one set of
//! rules, never a mix (P-20).

use std::{borrow::Cow, sync::Arc, time::Duration};

use gateway_domain::{Era, ListRemark, Offer, Page, RawJson};
use gateway_protocol::{Implementation, Revision, meta};

use crate::{
    auth::Authority,
    config::{BindError, ServerConfig},
    guard::Guard,
    oauth::Protected,
    seal::Seal,
};

/// The rules at one moment.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) config: ServerConfig,
    pub(crate) authority: Authority,
    /// What belongs to taking tokens, if they are taken.
    pub(crate) protected: Option<Protected>,
    pub(crate) guard: Guard,
    pub(crate) rendered: Rendered,
    pub(crate) seal: Arc<Seal>,
}

impl Rules {
    /// # Errors
    /// [`BindError`] but [`BindError::Listen`].
    pub(crate) fn new(config: ServerConfig) -> Result<Self, BindError> {
        let authority = Authority::new(&config);
        let seal = Arc::new(Seal::new(config.state_key.as_ref()));
        Self::with(config, authority, seal)
    }

    /// Those of a face with one client at the other end, who needs no key and names no host.
    pub(crate) fn of_one_client(config: ServerConfig) -> Self {
        let config = ServerConfig { clients: Vec::new(), oauth: None, tls: None, ..config };
        let authority = Authority::new(&config);
        let rendered = Rendered::new(&config, authority.is_closed());
        let seal = Arc::new(Seal::new(config.state_key.as_ref()));
        Self { config, authority, protected: None, guard: Guard::default(), rendered, seal }
    }

    /// Those that come after these, by a configuration whose addresses and TLS do not count: taking
    /// others needs another server.
    ///
    /// # Errors
    /// As [`Self::new`]: what is allowed on the other address may not be on this one.
    pub(crate) fn followed_by(&self, config: ServerConfig) -> Result<Self, BindError> {
        let (listen, admin_listen) = (self.config.listen, self.config.admin_listen);
        let config = ServerConfig { listen, admin_listen, tls: self.config.tls.clone(), ..config };
        let authority = self.authority.followed_by(&config);
        let seal = match config.state_key == self.config.state_key {
            true => self.seal.clone(),
            false => Arc::new(Seal::new(config.state_key.as_ref())),
        };
        Self::with(config, authority, seal)
    }

    fn with(config: ServerConfig, authority: Authority, seal: Arc<Seal>) -> Result<Self, BindError> {
        config.check()?;
        let guard = Guard::new(&config.allowed_hosts, &config.allowed_origins)?;
        let guard = guard.with_pages_at(config.public_origin.as_deref())?;
        let protected = config.oauth.as_ref().map(Protected::new).transpose()?;
        let rendered = Rendered::new(&config, authority.is_closed());
        Ok(Self { config, authority, protected, guard, rendered, seal })
    }
}

/// JSON that is the same for every client.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// What follows the list in the result of a modern list, without the closing brace.
    modern_tail: String,
    /// The same for a list that others may see another way.
    private_tail: String,
    identity: Implementation,
    list_ttl: Duration,
    /// What the operator says about us.
    instructions: Option<String>,
    extensions: Vec<String>,
    is_private: bool,
}

impl Rendered {
    fn new(config: &ServerConfig, is_private: bool) -> Self {
        Self {
            modern_tail: modern_members(&config.identity, config.list_ttl, is_private),
            private_tail: modern_members(&config.identity, config.list_ttl, true),
            identity: config.identity.clone(),
            list_ttl: config.list_ttl,
            instructions: config.instructions.clone(),
            extensions: config.extensions.clone(),
            is_private,
        }
    }

    /// Whether what one caller is shown is not for others.
    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// The result of `server/discover`.
    pub(crate) fn discover(&self, offer: &Offer) -> String {
        let (version, capabilities) = (Revision::NEWEST_MODERN, self.capabilities(offer));
        let (instructions, tail) = (self.instructions(offer), &self.modern_tail);
        format!(r#"{{"supportedVersions":["{version}"],"capabilities":{capabilities}{instructions}{tail}}}"#)
    }

    /// What the view offers, without extensions that are not let through.
    pub(crate) fn capabilities(&self, offer: &Offer) -> RawJson {
        let Some(offered) = offer.capabilities.get_object("extensions") else {
            return offer.capabilities.raw().clone();
        };
        let known = |name: &str| self.extensions.iter().any(|extension| extension == name);
        let edit = offered
            .iter()
            .filter(|(name, _)| !known(name))
            .fold(offered.edit(), |edit, (name, _)| edit.remove(&name));
        let extensions = edit.finish();
        let capabilities = offer.capabilities.edit();
        match extensions.as_str() {
            "{}" => capabilities.remove("extensions").finish(),
            extensions => capabilities.set("extensions", extensions).finish(),
        }
    }

    /// A member with what a model should know, and a comma in front; empty if there is nothing to know.
    pub(crate) fn instructions(&self, offer: &Offer) -> String {
        let parts: Vec<_> = self.instructions.iter().chain(&offer.instructions).map(String::as_str).collect();
        if parts.is_empty() {
            return String::new();
        }
        format!(r#","instructions":{}"#, RawJson::string(&parts.join("\n\n")))
    }

    /// What follows the list in the result of a list, without the closing brace.
    pub(crate) fn list_tail(&self, era: Era, page: &Page) -> Cow<'_, str> {
        let well = page.remarks.is_empty();
        let tail: Cow<'_, str> = match era {
            Era::Legacy => "".into(),
            // The operator's word where the downstreams give none; a list with gaps holds no longer than that.
            Era::Modern if !page.ttl.is_zero() => {
                let ttl = if well { page.ttl } else { page.ttl.min(self.list_ttl) };
                modern_members(&self.identity, ttl, self.is_private || page.is_private).into()
            }
            Era::Modern if page.is_private => self.private_tail.as_str().into(),
            Era::Modern => self.modern_tail.as_str().into(),
        };
        if well {
            return tail;
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

fn modern_members(identity: &Implementation, ttl: Duration, private: bool) -> String {
    let scope = if private { "private" } else { "public" };
    let (ttl, server, identity) = (ttl.as_millis(), meta::SERVER_INFO, identity.as_str());
    format!(
        r#","resultType":"complete","ttlMs":{ttl},"cacheScope":"{scope}","_meta":{{"{server}":{identity}}}"#
    )
}
