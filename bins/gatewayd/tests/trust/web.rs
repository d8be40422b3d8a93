//! A web server in this process whose answers are a function, with a record of what it was asked.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

/// One request as it arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) target: String,
    /// Everything before the body.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn query(&self) -> HashMap<String, String> {
        parameters(self.target.split_once('?').map_or("", |(_, query)| query))
    }

    pub(crate) fn form(&self) -> HashMap<String, String> {
        parameters(&self.body)
    }

    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.head, self.body)
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Self { status: 200, fields: vec![("content-type", "application/json".to_owned())], body: body.into() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn to(location: String) -> Self {
        Self { status: 302, fields: vec![("location", location)], ..Self::default() }
    }
}

type Answers = dyn Fn(&Asked) -> Reply + Send + Sync;

/// The server, until it is dropped.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    accepted: Arc<AtomicUsize>,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    pub(crate) fn open(answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, is_closed) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicBool>::default());
        let accepted = Arc::<AtomicUsize>::default();
        let counted = accepted.clone();
        let (kept, ends) = (asked.clone(), is_closed.clone());
        let answers: Arc<Answers> = Arc::new(answers);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                counted.fetch_add(1, Ordering::Relaxed);
                let (kept, answers) = (kept.clone(), answers.clone());
                std::thread::spawn(move || stream.ok().and_then(|stream| serve(stream, &kept, &*answers)));
            }
        });
        Self { address, asked, accepted, is_closed, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections, whatever came over them.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn asked_at(&self, path: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.path() == path).collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // Whatever it waits for, it sees that it is closed.
        drop(TcpStream::connect(self.address));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Asked>>, answers: &Answers) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let mut words = head.split(' ');
    let target = words.nth(1)?.to_owned();
    let asked = Asked { target, body: String::from_utf8_lossy(&body).into_owned(), head };
    kept.lock().unwrap().push(asked.clone());
    let Reply { status, fields, body } = answers(&asked);
    let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n");
    (&stream).write_all((head + &body).as_bytes()).ok()
}

/// Those of a query or a form.
pub(crate) fn parameters(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (plain(name), plain(value))).collect()
}

fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| char::from(byte.unwrap_or(b'0')).to_digit(16).unwrap_or(0);
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => u8::try_from(hex(rest.next()) * 16 + hex(rest.next())).unwrap(),
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// What a page is answered, head and body; redirects are not followed.
pub(crate) fn visit(url: &str) -> String {
    send("GET", url, "", "")
}

/// As a browser does it; `fields` are whole lines.
pub(crate) fn send(method: &str, url: &str, fields: &str, body: &str) -> String {
    let (host, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = body.len();
    let head = format!(
        "{method} /{target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// A header of an answer.
pub(crate) fn field(answer: &str, name: &str) -> Option<String> {
    let mut lines = answer.lines().take_while(|line| !line.is_empty());
    lines.find_map(|line| {
        let (own, value) = line.split_once(": ")?;
        own.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}
