//! TLS on the listener (P-W15).

mod config;
mod load;

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

pub use self::config::{ClientCertificates, TlsConfig};
use self::load::{Loaded, Stamps, load, stamps};
use crate::{auth::Fingerprint, config::sha256};

/// Files are looked at no oftener.
const OFTENEST: Duration = Duration::from_millis(100);

/// The TLS of a listener.
#[derive(Debug)]
pub(crate) struct Tls {
    config: TlsConfig,
    loaded: ArcSwap<Loaded>,
    read: Stamps,
}

/// Who is at the other end of a connection, as far as the connection says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) addr: IpAddr,
    pub(crate) certificate: Option<Fingerprint>,
}

impl Tls {
    /// # Errors
    /// What is wrong with which file, in words.
    pub(crate) fn new(config: &TlsConfig) -> Result<Self, String> {
        // Before the files are read: what is written meanwhile is read again.
        let read = stamps(config);
        let loaded = ArcSwap::from_pointee(load(config)?);
        Ok(Self { config: config.clone(), loaded, read })
    }

    /// Shakes hands.
    ///
    /// # Errors
    /// What went wrong, or [`io::ErrorKind::TimedOut`].
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        http2: bool,
    ) -> io::Result<(TlsStream<TcpStream>, Option<Fingerprint>)> {
        let loaded = self.loaded.load();
        let config = if http2 { &loaded.both } else { &loaded.http1 };
        let accepting = TlsAcceptor::from(config.clone()).accept(stream);
        drop(loaded);
        let stream = timeout(self.config.handshake_time, accepting).await.map_err(io::Error::from)??;
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|certificate| sha256(certificate));
        Ok((stream, certificate))
    }

    /// Reads files again when they have changed, for ever.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut read = self.read.clone();
        loop {
            sleep(self.config.look_every.max(OFTENEST)).await;
            let config = self.config.clone();
            let Ok(now) = spawn_blocking(move || stamps(&config)).await else { continue };
            if !are_new(&read, &now) {
                continue;
            }
            read = now;
            let config = self.config.clone();
            match spawn_blocking(move || load(&config)).await {
                Ok(Ok(loaded)) => {
                    self.loaded.store(Arc::new(loaded));
                    tracing::info!("the certificate has been read again");
                }
                Ok(Err(error)) => {
                    tracing::error!(error, "the new certificate cannot be used, the one before goes on");
                }
                Err(error) => tracing::error!(%error, "reading the certificate failed"),
            }
        }
    }
}

/// Whether files are to be read again. One that is not there is being replaced.
fn are_new(read: &Stamps, now: &Stamps) -> bool {
    now != read && !now.contains(&None)
}

/// A connection's bytes, in clear or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn files_are_read_again_when_they_have_changed_and_are_all_there() {
        let stamp = |size| Some((SystemTime::UNIX_EPOCH, size));
        let read = vec![stamp(1), stamp(2)];
        for (now, again) in [
            ([stamp(1), stamp(2)], false),
            ([stamp(1), stamp(3)], true),
            ([stamp(1), None], false),
            ([stamp(3), None], false),
        ] {
            assert_eq!(are_new(&read, &now.to_vec()), again, "{now:?}");
        }
        assert!(!are_new(&vec![None], &vec![None]));
    }
}
