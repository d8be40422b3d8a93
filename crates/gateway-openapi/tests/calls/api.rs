//! An API that answers what it is told to, byte for byte, and records what it is asked.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};

/// What the API does about a request, one after the other. Without [`Step::Close`] at the end it waits for the next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Say(Vec<u8>),
    Rest(Duration),
    /// Says this until nobody listens.
    Endless(&'static [u8]),
    /// Says nothing until the client has gone.
    Hang,
    Close,
}

/// Text that is said.
pub(crate) fn say(text: impl Into<Vec<u8>>) -> Step {
    Step::Say(text.into())
}

/// A whole answer.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status} Reason\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    vec![say(head), say(body)]
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Which connection, from 1.
    pub(crate) connection: usize,
}

impl Asked {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// All values of a header.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }
}

type Script = Arc<dyn Fn(&Asked) -> Vec<Step> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Api {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    /// How many connections the client has closed while they hung, or while something was said on them.
    left: watch::Receiver<usize>,
}

impl Api {
    pub(crate) async fn start(script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (left, watching) = watch::channel(0);
        let api = Self {
            addr: listener.local_addr().unwrap(),
            asked: Arc::default(),
            connections: Arc::default(),
            left: watching,
        };
        let (serving, script, left) = (api.clone(), Arc::new(script) as Script, Arc::new(left));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = serving.connections.fetch_add(1, Ordering::SeqCst) + 1;
                let (serving, script, left) = (serving.clone(), Arc::clone(&script), Arc::clone(&left));
                tokio::spawn(async move { serving.serve(stream, connection, &script, &left).await });
            }
        });
        api
    }

    /// Answers everything in the same way.
    pub(crate) async fn that(steps: Vec<Step>) -> Self {
        Self::start(move |_| steps.clone()).await
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until the client has left so many connections in the middle of something.
    pub(crate) async fn left(&self, count: usize) {
        let mut left = self.left.clone();
        let leaving = left.wait_for(|left| *left >= count);
        tokio::time::timeout(Duration::from_secs(10), leaving).await.expect("the client stays").unwrap();
    }

    async fn serve(
        &self,
        mut stream: TcpStream,
        connection: usize,
        script: &Script,
        left: &watch::Sender<usize>,
    ) -> Option<()> {
        stream.set_nodelay(true).unwrap();
        loop {
            let asked = read(&mut stream, connection).await?;
            let steps = script(&asked);
            self.asked.lock().unwrap().push(asked);
            for step in steps {
                match step {
                    Step::Say(bytes) => stream.write_all(&bytes).await.ok()?,
                    Step::Rest(time) => sleep(time).await,
                    Step::Endless(bytes) => {
                        while stream.write_all(bytes).await.is_ok() {}
                        left.send_modify(|left| *left += 1);
                        return None;
                    }
                    Step::Hang => {
                        drop(stream.read(&mut [0]).await);
                        left.send_modify(|left| *left += 1);
                        return None;
                    }
                    Step::Close => return None,
                }
            }
        }
    }
}

async fn read(stream: &mut TcpStream, connection: usize) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut asked = Asked { head, body: bytes.split_off(end), connection };
    let length = asked.values("content-length").first().map_or(0, |length| length.parse().unwrap());
    while asked.body.len() < length {
        if stream.read_buf(&mut asked.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(asked)
}
