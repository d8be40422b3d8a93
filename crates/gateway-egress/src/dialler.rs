use std::{
    future::{Ready, ready},
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
    vec,
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{
    Authorities, EgressError, Named,
    connector::{ConnectError, Connecting, Failed},
    resolver::Resolver,
    target::{Host, Target},
};

/// A quiet connection is asked for a sign of life this often, so that a dead peer is noticed.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
/// The most addresses of one name that are tried.
const MOST_ADDRESSES: usize = 16;

/// Connects to addresses that may be reached. A name is resolved once, and the connection goes to one of the addresses
/// that were looked at, so that a name that changes between two look-ups gains nothing.
#[derive(Clone)]
pub(crate) struct Dialler(Arc<Shared>);

struct Shared {
    named: Named,
    authorities: Authorities,
    resolver: Arc<dyn Resolver>,
    limit: Duration,
}

impl Dialler {
    pub(crate) fn new(
        named: Named,
        authorities: Authorities,
        resolver: Arc<dyn Resolver>,
        limit: Duration,
    ) -> Self {
        Self(Arc::new(Shared { named, authorities, resolver, limit }))
    }

    /// What can be said of a request before anything is resolved.
    pub(crate) fn check(&self, uri: &Uri) -> Result<(), EgressError> {
        let target = Target::of(uri)?;
        let rules = target.rules(self.0.named, &self.0.authorities)?;
        match target.host {
            Host::Address(address) if !rules.admit(address) => Err(NOT_ADMITTED),
            Host::Address(_) | Host::Name(_) => Ok(()),
        }
    }

    /// The addresses that may be dialled; one at least.
    pub(crate) async fn addresses(&self, uri: &Uri) -> Result<Vec<SocketAddr>, ConnectError> {
        let target = Target::of(uri)?;
        let rules = target.rules(self.0.named, &self.0.authorities)?;
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.0.resolver.resolve(name).await.map_err(|_| ConnectError::Unresolved)?,
        };
        if found.is_empty() {
            return Err(ConnectError::Unresolved);
        }
        let kept = found.into_iter().filter(|address| rules.admit(*address)).take(MOST_ADDRESSES);
        let kept: Vec<_> = kept.map(|address| SocketAddr::new(address, target.port)).collect();
        if kept.is_empty() { Err(NOT_ADMITTED.into()) } else { Ok(kept) }
    }

    async fn dial(self, uri: Uri) -> Result<TokioIo<TcpStream>, Failed> {
        let kept = self.addresses(&uri).await?;
        let mut tcp = HttpConnector::new_with_resolver(Kept(kept));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        tcp.set_connect_timeout(Some(self.0.limit));
        Ok(tcp.call(uri).await?)
    }
}

const NOT_ADMITTED: EgressError = EgressError::Refused { reason: "it is not at an address that may be" };

impl Service<Uri> for Dialler {
    type Response = TokioIo<TcpStream>;
    type Error = Failed;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().dial(uri))
    }
}

/// Resolves every name to what has been looked at. An address in place of a name never comes here: it is dialled as
/// it is, and is what has been looked at.
#[derive(Clone)]
struct Kept(Vec<SocketAddr>);

impl Service<Name> for Kept {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}

#[cfg(test)]
mod tests;
