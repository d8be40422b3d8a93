//! The task that owns a process's stderr: it is drained always, logged at a bounded rate, and its end is
//! kept to be quoted.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gateway_domain::DownstreamName;
use tokio::{io::AsyncReadExt, process::ChildStderr, time::Instant};

use crate::{
    StdioConfig,
    text::{self, Censor},
};

/// The last bytes that a process wrote to stderr.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Up to twice `limit`, so that bytes are moved once for each `limit` bytes written.
    bytes: Mutex<Vec<u8>>,
    limit: usize,
    censor: Arc<Censor>,
}

impl Tail {
    pub(crate) fn new(config: &StdioConfig, censor: Arc<Censor>) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::default(), limit: config.stderr_tail_bytes, censor })
    }

    /// The last line that is not blank, fit for a log.
    pub(crate) fn last_line(&self) -> Option<String> {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let line = bytes.rsplit(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        Some(self.censor.shown(line.trim_ascii(), text::SAMPLE))
    }

    fn append(&self, bytes: &[u8]) {
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        kept.extend_from_slice(bytes);
        if kept.len() >= self.limit.saturating_mul(2) {
            let surplus = kept.len() - self.limit;
            kept.drain(..surplus);
        }
    }
}

/// Reads to the end, however much there is.
pub(crate) async fn drain(
    mut stderr: ChildStderr,
    tail: Arc<Tail>,
    name: DownstreamName,
    lines_per_second: u32,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut line = Vec::new();
    let mut rate = Rate::new(lines_per_second);
    loop {
        let read = stderr.read(&mut chunk).await?;
        if read == 0 {
            break;
        }
        tail.append(&chunk[..read]);
        for piece in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
            // What is beyond the clip is not logged, so it need not be kept.
            let room = (text::LINE + 1).saturating_sub(line.len()).min(piece.len());
            line.extend_from_slice(&piece[..room]);
            if piece.ends_with(b"\n") {
                log(&mut line, &tail, &name, &mut rate);
            }
        }
    }
    log(&mut line, &tail, &name, &mut rate);
    rate.report(&name);
    Ok(())
}

fn log(line: &mut Vec<u8>, tail: &Tail, name: &DownstreamName, rate: &mut Rate) {
    let text = line.trim_ascii_end();
    if !text.is_empty() && rate.admits(Instant::now(), name) {
        tracing::info!(downstream = %name, "stderr: {}", tail.censor.shown(text, text::LINE));
    }
    line.clear();
}

/// So many lines a second; the rest is counted and reported in one line.
struct Rate {
    limit: u32,
    second: Option<Instant>,
    admitted: u32,
    suppressed: u64,
}

impl Rate {
    fn new(limit: u32) -> Self {
        Self { limit, second: None, admitted: 0, suppressed: 0 }
    }

    fn admits(&mut self, now: Instant, name: &DownstreamName) -> bool {
        if self.second.is_none_or(|second| now.duration_since(second) >= Duration::from_secs(1)) {
            self.report(name);
            self.second = Some(now);
            self.admitted = 0;
        }
        let admitted = self.admitted < self.limit;
        if admitted {
            self.admitted += 1;
        } else {
            self.suppressed += 1;
        }
        admitted
    }

    fn report(&mut self, name: &DownstreamName) {
        match std::mem::take(&mut self.suppressed) {
            0 => {}
            lines => tracing::info!(downstream = %name, "stderr: suppressed {lines} lines"),
        }
    }
}

const CHUNK: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use gateway_protocol::Implementation;

    use super::*;

    #[test]
    fn the_tail_is_bounded_and_its_last_line_is_quoted() {
        let mut config = StdioConfig {
            stderr_tail_bytes: 100,
            ..StdioConfig::new(vec!["x".into()], Implementation::new("g", "G", "1"))
        };
        config.env.insert("K".into(), "s3cret-token".into());
        let tail = Tail::new(&config, Arc::new(Censor::new(&config)));
        assert_eq!(tail.last_line(), None);
        for n in 0..1000 {
            tail.append(format!("line {n}\n").as_bytes());
            assert!(tail.bytes.lock().unwrap().len() < 200);
        }
        tail.append(b"bad s3cret-token\x07\n\n  \n");
        assert_eq!(tail.last_line().as_deref(), Some("bad [hidden] "));
    }

    #[test]
    fn lines_beyond_the_rate_are_counted() {
        let name = DownstreamName::parse("d").unwrap();
        let (start, mut rate) = (Instant::now(), Rate::new(2));
        let admitted: Vec<_> = (0..4).map(|_| rate.admits(start, &name)).collect();
        assert_eq!((admitted, rate.suppressed), (vec![true, true, false, false], 2));
        assert!(rate.admits(start + Duration::from_secs(1), &name));
        assert_eq!(rate.suppressed, 0);
    }
}
