//! An API that answers nothing and records every byte.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// One request, byte for byte.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Request line and headers, without the empty line.
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Recorded {
    /// Path and query.
    pub(crate) fn target(&self) -> String {
        let line = self.lines().next().unwrap();
        let text = String::from_utf8(line.to_vec()).expect("a request line is ASCII");
        let parts: Vec<_> = text.split(' ').collect();
        assert_eq!((parts.len(), parts[2]), (3, "HTTP/1.1"), "{text}");
        parts[1].to_owned()
    }

    /// The value of a header, which stands there once or not at all.
    pub(crate) fn header(&self, name: &str) -> Option<Vec<u8>> {
        let found: Vec<_> = self.headers().into_iter().filter(|(found, _)| found == name).collect();
        assert!(found.len() < 2, "{name} stands {} times", found.len());
        found.into_iter().next().map(|(_, value)| value)
    }

    pub(crate) fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let header = |line: &[u8]| {
            let colon = line.iter().position(|b| *b == b':').expect("a header has a colon");
            let name = String::from_utf8(line[..colon].to_ascii_lowercase()).unwrap();
            (name, line[colon + 1..].strip_prefix(b" ").unwrap().to_vec())
        };
        self.lines().skip(1).map(header).collect()
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let lines = self.head.split(|b| *b == b'\n');
        lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    pub(crate) addr: SocketAddr,
    recorded: Arc<Mutex<Vec<Recorded>>>,
}

impl Recorder {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let recorder = Self { addr: listener.local_addr().unwrap(), recorded: Arc::default() };
        let serving = recorder.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.serve(stream).await });
            }
        });
        recorder
    }

    /// What was recorded since this was last asked.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.recorded.lock().unwrap())
    }

    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut bytes = Vec::new();
        loop {
            let end = loop {
                match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                    Some(end) => break end,
                    None if stream.read_buf(&mut bytes).await.ok()? == 0 => return None,
                    None => {}
                }
            };
            let mut recorded = Recorded { head: bytes[..end].to_vec(), body: Vec::new() };
            let length = recorded.header("content-length");
            let length = length.map_or(0, |text| String::from_utf8(text).unwrap().parse().unwrap());
            while bytes.len() < end + 4 + length {
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            let rest = bytes.split_off(end + 4 + length);
            recorded.body = bytes.split_off(end + 4);
            bytes = rest;
            self.recorded.lock().unwrap().push(recorded);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
        }
    }
}
