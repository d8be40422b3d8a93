use std::sync::Arc;

use gateway_aggregate::Owners;
use gateway_domain::{CallerError, DownstreamName, Error, View};

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

impl<D> Resolve<D> {
    /// By its mark, by lists, by templates, by what the caller was shown before (design §5).
    pub(super) fn owner(&self, whose: For<'_>, uri: &Arc<str>) -> Whose {
        let ownership = self.catalog.shared.ownership();
        self.among(whose, uri, ownership.owners(uri))
    }

    /// The same of a URI that may be a template.
    pub(super) fn owner_of_template(&self, whose: For<'_>, template: &Arc<str>) -> Whose {
        let ownership = self.catalog.shared.ownership();
        self.among(whose, template, ownership.owners_of_template(template))
    }

    fn among(&self, whose: For<'_>, uri: &Arc<str>, owners: Owners<'_>) -> Whose {
        let shared = &self.catalog.shared;
        let mut names = match owners {
            Owners::Marked(name, own) => match self.named(name) {
                Some(name) => return Whose::Of(name, own.into()),
                None => Vec::new(),
            },
            Owners::Known(names) => names.into_iter().filter_map(|name| self.named(name)).collect(),
            Owners::Unknown => {
                let remembered = shared.links.owner(whose.caller, uri);
                match remembered.and_then(|name| self.named(name.as_str())) {
                    Some(name) => return Whose::Of(name, uri.clone()),
                    None => shared.private_templates(whose, uri),
                }
            }
        };
        match (names.pop(), names.is_empty()) {
            (None, _) => Whose::Nobodys,
            (Some(only), true) => Whose::Of(only, uri.clone()),
            (Some(last), false) => {
                names.push(last);
                Whose::OneOf(names)
            }
        }
    }

    /// The downstream and its own URI, of a URI in its marked form.
    pub(super) fn marked(&self, uri: &str) -> Option<(DownstreamName, Arc<str>)> {
        match self.catalog.shared.ownership().owners(uri) {
            Owners::Marked(name, own) => Some((self.named(name)?, own.into())),
            _ => None,
        }
    }

    /// Those that have, or may have, a capability.
    pub(super) fn candidates(&self, capability: &str) -> Vec<DownstreamName> {
        let sources = self.catalog.behind(&View::All, |source| source.enabled);
        let able = sources.iter().filter(|tracked| tracked.may_have(capability));
        able.map(|tracked| tracked.source.name.clone()).collect()
    }

    fn named(&self, name: &str) -> Option<DownstreamName> {
        let name = DownstreamName::parse(name).ok()?;
        self.catalog.shared.source(&name).filter(|tracked| tracked.source.enabled).map(|_| name)
    }
}

pub(super) fn resource_unknown(uri: &str) -> Error {
    CallerError::UnknownResource { uri: uri.to_owned() }.into()
}
