//! Bodies of answers: streams, and the ways to spoil them.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use super::faults::Faults;

/// A body fed through a channel. An error cuts the connection.
#[derive(Debug)]
pub(crate) struct Pipe(mpsc::Receiver<io::Result<Bytes>>);

impl Body for Pipe {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(cx).map(|next| next.map(|bytes| bytes.map(Frame::data)))
    }
}

/// The writing end of a [`Pipe`], with the faults of the answer it carries.
#[derive(Debug)]
pub(crate) struct Tap {
    tx: mpsc::Sender<io::Result<Bytes>>,
    faults: Faults,
}

/// The reader has gone.
#[derive(Debug)]
pub(crate) struct Gone;

pub(crate) fn pipe(faults: &Faults) -> (Tap, Pipe) {
    let (tx, rx) = mpsc::channel(16);
    (Tap { tx, faults: faults.clone() }, Pipe(rx))
}

impl Tap {
    pub(crate) async fn gone(&self) {
        self.tx.closed().await;
    }

    async fn raw(&self, bytes: impl Into<Bytes>) -> Result<(), Gone> {
        self.tx.send(Ok(bytes.into())).await.map_err(|_| Gone)
    }

    async fn cut(&self) {
        // Let what was sent before reach the socket: hyper flushes when the pipe has nothing more.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        drop(self.tx.send(Err(io::Error::other("cut as told"))).await);
    }

    /// The last bytes of an answer: whole, in drops, or cut in half.
    pub(crate) async fn last(&self, bytes: Bytes) -> Result<(), Gone> {
        if self.faults.drop_mid_answer {
            self.drops(bytes.slice(..bytes.len() / 2)).await?;
            self.cut().await;
            return Ok(());
        }
        self.drops(bytes).await
    }

    async fn drops(&self, mut bytes: Bytes) -> Result<(), Gone> {
        let Some((size, pause)) = self.faults.drip else { return self.raw(bytes).await };
        while !bytes.is_empty() {
            tokio::time::sleep(pause).await;
            self.raw(bytes.split_to(size.max(1).min(bytes.len()))).await?;
        }
        Ok(())
    }

    /// Begins as an answer to `id` and goes on until the reader leaves.
    pub(crate) async fn endless(&self, id: &str, stream: bool) {
        let data = if stream { "data: " } else { "" };
        let head =
            format!(r#"{data}{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
        let piece = Bytes::from(vec![b'x'; 65_536]);
        let mut good = self.raw(head).await.is_ok();
        while good {
            good = self.raw(piece.clone()).await.is_ok();
        }
    }

    pub(crate) async fn comments(&self) {
        let piece = Bytes::from(format!(": still here{}", self.faults.line_end.text()).repeat(64));
        while self.raw(piece.clone()).await.is_ok() {}
    }

    /// What a stream starts with.
    pub(crate) async fn open(&self) -> Result<(), Gone> {
        if self.faults.bom {
            self.raw("\u{feff}").await?;
        }
        if let Some(retry) = self.faults.prime {
            let end = self.faults.line_end.text();
            self.raw(format!("id: prime-1{end}retry: {retry}{end}data:{end}{end}")).await?;
        }
        Ok(())
    }

    pub(crate) async fn event(&self, json: &str) -> Result<(), Gone> {
        self.raw(event(&self.faults, json)).await
    }

    pub(crate) async fn last_event(&self, json: &str) -> Result<(), Gone> {
        self.last(event(&self.faults, json).into()).await
    }
}

fn event(faults: &Faults, json: &str) -> String {
    let end = faults.line_end.text();
    let name = match faults.named_events {
        true => format!(": a comment{end}event: other{end}data: not for you{end}{end}event: message{end}"),
        false => String::new(),
    };
    // Lines of data are joined by a line feed, which JSON allows between tokens.
    let data = match json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(inner) if faults.multi_line_data => format!("{{{end}data: {inner}{end}data:}}"),
        _ => json.replace(['\r', '\n'], ""),
    };
    format!("{name}data: {data}{end}{end}")
}

/// The same tokens over many lines.
pub(crate) fn pretty(json: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0_usize, false, false);
    for c in json.chars() {
        if quoted {
            out.push(c);
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
            }
            _ => quoted = c == '"',
        }
        out.push(c);
        match c {
            '{' | '[' | ',' => new_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push_str("\r\n");
    out.push_str(&"  ".repeat(depth));
}
