use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_egress::{
    Answer, Authorities, Bounds, Egress, EgressConfig, EgressError, Fetch, Named, Resolver,
};
use http::Request;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Names of a test, each with its answers in turn, the last one for ever; the system says what numbers mean.
#[derive(Default)]
pub(crate) struct Names {
    known: BTreeMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn knowing(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let known = names.iter().map(|(name, turns)| {
            ((*name).to_owned(), turns.iter().map(|addresses_of| addresses(addresses_of)).collect())
        });
        Arc::new(Self { known: known.collect(), asked: Mutex::default() })
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == name).count()
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let turn = self.count(name);
        self.asked.lock().unwrap().push(name.to_owned());
        if let Some(turns) = self.known.get(name) {
            return Ok(turns[turn.min(turns.len() - 1)].clone());
        }
        if name.trim_end_matches('.') == "localhost" {
            return Ok(vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from(Ipv6Addr::LOCALHOST)]);
        }
        if !name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// A server that counts connections and gives one answer to everything, with the `Host` it was asked for as a header.
pub(crate) struct Canary {
    pub(crate) addr: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    pub(crate) async fn at(address: &str) -> Self {
        Self::answering(address, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", "hi").await
    }

    pub(crate) async fn answering(address: &str, head: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut text = Vec::new();
                    loop {
                        while !text.ends_with(b"\r\n\r\n") {
                            if stream.read_buf(&mut text).await.unwrap_or(0) == 0 {
                                return;
                            }
                        }
                        let request = String::from_utf8_lossy(&text).to_ascii_lowercase();
                        let host = request.lines().find_map(|line| line.strip_prefix("host: "));
                        let answer = format!("{head}x-host: {}\r\n\r\n{body}", host.unwrap_or_default());
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                        text.clear();
                    }
                });
            }
        });
        Self { addr, connections }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn port(&self) -> u16 {
        self.addr.port()
    }
}

pub(crate) fn egress(resolver: Arc<Names>, operators: &[&str]) -> Egress {
    let mut authorities = Authorities::default();
    operators.iter().for_each(|url| authorities.add(url).unwrap());
    let connect_timeout = Duration::from_secs(2);
    let config = EgressConfig { authorities, connect_timeout, ..EgressConfig::default() };
    Egress::with_resolver(&config, resolver).unwrap()
}

pub(crate) async fn get(egress: &Egress, url: &str, named: Named) -> Result<Answer, EgressError> {
    let bounds = Bounds { bytes: 1024, time: Duration::from_secs(5) };
    egress.fetch(Request::get(url).body(Bytes::new()).unwrap(), named, bounds).await
}
