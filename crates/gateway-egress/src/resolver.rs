use std::{io, net::IpAddr};

use async_trait::async_trait;

/// Turns names into addresses. A port, so that tests say what a name resolves to.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of a name, the preferred first; asked once for each connection. Cancel-safe.
    ///
    /// # Errors
    /// It has none, or nobody knows.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver, in a thread for blocking work.
pub(crate) struct System;

#[async_trait]
impl Resolver for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_is_asked() {
        assert_eq!(System.resolve("127.0.0.1").await.unwrap(), [IpAddr::from([127, 0, 0, 1])]);
        assert!(System.resolve("no name").await.is_err());
    }
}
