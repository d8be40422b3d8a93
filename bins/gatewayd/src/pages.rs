//! The pages at which users let the gateway use downstreams in their names.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use async_trait::async_trait;
use gateway_credentials::oauth::{self, ConnectPages, OauthCredentials, ProveUser, UserPages as _};
use gateway_domain::{Caller, DownstreamName, Secret};
use gateway_server::{PageAnswer, PageRequest, Pages, Settings};
use http::StatusCode;

/// The downstreams of which each user has a token of its own, and their pages.
#[derive(Default)]
pub(crate) struct Connections {
    known: Mutex<Known>,
    prover: Arc<Prover>,
}

#[derive(Default)]
struct Known {
    downstreams: BTreeMap<DownstreamName, OauthCredentials>,
    /// Of all of them; `None`: there are none.
    pages: Option<ConnectPages>,
}

impl Connections {
    /// Those of a downstream from now on; `None`: it has none. Who is at one of the pages may have to begin again.
    pub(crate) fn set(&self, name: &DownstreamName, credentials: Option<OauthCredentials>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match credentials {
            Some(credentials) => known.downstreams.insert(name.clone(), credentials).map(|_| ()),
            None if known.downstreams.remove(name).is_some() => Some(()),
            None => return,
        };
        tracing::debug!(downstream = %name, replaced = before.is_some(), "pages for users");
        let all: Vec<_> = known.downstreams.values().cloned().collect();
        known.pages = match ConnectPages::new(all, self.prover.clone()) {
            Ok(pages) => Some(pages),
            Err(_) if known.downstreams.is_empty() => None,
            // Those of a reload come one after the other.
            Err(error) => {
                tracing::warn!(%error, "users cannot connect downstreams until all of these are replaced");
                None
            }
        };
    }

    /// From now on keys and tokens that people type are checked by the rules of this edge.
    pub(crate) fn prove_by(&self, settings: Settings) {
        // There is one edge, which tells it once.
        drop(self.prover.0.set(settings));
    }

    fn pages(&self) -> Option<ConnectPages> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).pages.clone()
    }
}

#[async_trait]
impl Pages for Connections {
    async fn page(&self, request: PageRequest<'_>) -> PageAnswer {
        let Some(pages) = self.pages() else { return nothing() };
        let PageRequest { method, path, query, form, cookie, origin, caller } = request;
        let request = oauth::PageRequest { method, path, query, form, cookie, origin, caller };
        let oauth::PageAnswer { status, headers, body, completed } = pages.page(request).await;
        PageAnswer { status, headers, body, completed }
    }
}

fn nothing() -> PageAnswer {
    PageAnswer { status: StatusCode::NOT_FOUND, headers: Vec::new(), body: String::new(), completed: None }
}

/// Checks by the rules of the edge, once there is one.
#[derive(Default)]
struct Prover(OnceLock<Settings>);

#[async_trait]
impl ProveUser for Prover {
    async fn caller(&self, key: &Secret) -> Option<Caller> {
        self.0.get()?.identify(key).await
    }
}

impl fmt::Debug for Prover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prover").finish_non_exhaustive()
    }
}
