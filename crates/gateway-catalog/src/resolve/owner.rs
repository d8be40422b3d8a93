use std::sync::Arc;

use gateway_aggregate::Owners;
use gateway_domain::{Act, CallerError, DownstreamName, Error};

use super::Resolve;
use crate::private::For;

/// Who has a resource that a client names.
pub(super) enum Whose {
    /// This one, by this own URI.
    Of(DownstreamName, Arc<str>),
    /// One of these, by the URI that was named.
    OneOf(Vec<DownstreamName>),
    /// Nothing is known of it.
    Nobodys,
}

impl Whose {
    /// One of these, by this URI.
    pub(super) fn of(mut names: Vec<DownstreamName>, uri: &Arc<str>) -> Self {
        match (names.pop(), names.is_empty()) {
            (None, _) => Self::Nobodys,
            (Some(only), true) => Self::Of(only, uri.clone()),
            (Some(last), false) => {
                names.push(last);
                Self::OneOf(names)
            }
        }
    }
}

impl<D> Resolve<D> {
    /// By its mark, by lists, by templates, by what the caller was shown before (design §5). What is completed may be a
    /// template. Whether the caller may know of it is not asked.
    pub(super) fn owner(&self, whose: For<'_>, act: Act, uri: &Arc<str>) -> Whose {
        let ownership = self.catalog.shared.ownership();
        let owners = match act {
            Act::Complete => ownership.owners_of_template(uri),
            _ => ownership.owners(uri),
        };
        self.among(whose, uri, owners)
    }

    fn among(&self, whose: For<'_>, uri: &Arc<str>, owners: Owners<'_>) -> Whose {
        let shared = &self.catalog.shared;
        let named = |name: &str| self.named(whose, name);
        let names = match owners {
            Owners::Marked(name, own) => match named(name) {
                Some(name) => return Whose::Of(name, own.into()),
                None => Vec::new(),
            },
            Owners::Known(names) => names.into_iter().filter_map(named).collect(),
            Owners::Unknown => {
                let remembered = shared.links.owner(whose.caller, uri);
                match remembered.and_then(|name| named(name.as_str())) {
                    Some(name) => return Whose::Of(name, uri.clone()),
                    None => shared.private_templates(whose, uri),
                }
            }
        };
        Whose::of(names, uri)
    }

    /// The downstream and its own URI, of a URI in its marked form.
    pub(super) fn marked(&self, whose: For<'_>, uri: &str) -> Option<(DownstreamName, Arc<str>)> {
        match self.catalog.shared.ownership().owners(uri) {
            Owners::Marked(name, own) => Some((self.named(whose, name)?, own.into())),
            _ => None,
        }
    }

    /// Those whom the caller may ask for a resource that nobody is known to have, or nobody that it may ask: for one that
    /// is marked nobody else.
    pub(super) fn candidates(&self, whose: For<'_>, act: Act, uri: &str) -> Vec<DownstreamName> {
        if self.marked(whose, uri).is_some() {
            return Vec::new();
        }
        let mut able = self.able(whose, act);
        able.retain(|name| self.decide_uri(whose, act, name, uri).is_allowed());
        able
    }

    /// Those that have, or may have, the capability that it takes.
    pub(super) fn able(&self, whose: For<'_>, act: Act) -> Vec<DownstreamName> {
        let capability = if act == Act::Complete { "completions" } else { "resources" };
        let sources = self.catalog.behind(whose.view, |source| source.enabled);
        let able = sources.iter().filter(|tracked| tracked.may_have(capability));
        able.map(|tracked| tracked.source.name.clone()).collect()
    }

    fn named(&self, whose: For<'_>, name: &str) -> Option<DownstreamName> {
        let name = DownstreamName::parse(name).ok()?;
        let shared = &self.catalog.shared;
        let tracked = shared.source(&name).filter(|_| shared.is_behind(whose.view, &name))?;
        tracked.source.enabled.then_some(name)
    }
}

pub(super) fn resource_unknown(uri: &str) -> Error {
    CallerError::UnknownResource { uri: uri.to_owned() }.into()
}
