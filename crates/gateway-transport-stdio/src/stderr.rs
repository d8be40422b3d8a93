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
    mut rate: Rate,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut line = Vec::new();
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
    let shown = || tail.censor.shown(text, text::LINE);
    if !text.is_empty()
        && let Some(shown) = rate.admit(Instant::now(), name, shown)
    {
        tracing::info!(downstream = %name, "stderr: {shown}");
    }
    line.clear();
}

/// So many lines and bytes a second, and some bytes more at the start, when servers say most; the rest is
/// counted and reported in one line.
pub(crate) struct Rate {
    lines: u32,
    bytes: usize,
    /// What is left of the bytes that are allowed beyond the rate.
    burst: usize,
    second: Option<Instant>,
    lines_left: u32,
    bytes_left: usize,
    suppressed: u64,
}

impl Rate {
    pub(crate) fn new(config: &StdioConfig) -> Self {
        Self {
            lines: config.stderr_lines_per_second,
            bytes: config.stderr_bytes_per_second,
            burst: config.stderr_burst_bytes,
            second: None,
            lines_left: 0,
            bytes_left: 0,
            suppressed: 0,
        }
    }

    /// Makes the text of a line, if it may be logged. The first that is one too many ends the second, so that
    /// no more is made of a flood than is logged.
    fn admit(
        &mut self,
        now: Instant,
        name: &DownstreamName,
        shown: impl FnOnce() -> String,
    ) -> Option<String> {
        if self.second.is_none_or(|second| now.duration_since(second) >= Duration::from_secs(1)) {
            self.report(name);
            self.second = Some(now);
            (self.lines_left, self.bytes_left) = (self.lines, self.bytes);
        }
        let text = (self.lines_left > 0).then(shown).filter(|text| self.pay(text.len()));
        match text {
            Some(_) => self.lines_left -= 1,
            None => {
                self.lines_left = 0;
                self.suppressed += 1;
            }
        }
        text
    }

    fn pay(&mut self, bytes: usize) -> bool {
        let purse = if bytes <= self.burst { &mut self.burst } else { &mut self.bytes_left };
        let left = purse.checked_sub(bytes);
        *purse = left.unwrap_or(*purse);
        left.is_some()
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

    /// How many of so many lines of this length are logged in each second.
    fn admitted(change: impl FnOnce(&mut StdioConfig), length: usize, seconds: u64) -> Vec<usize> {
        let mut config = StdioConfig::new(vec!["x".into()], Implementation::new("g", "G", "1"));
        change(&mut config);
        let name = DownstreamName::parse("d").unwrap();
        let (start, mut rate) = (Instant::now(), Rate::new(&config));
        let mut second = |n| {
            let now = start + Duration::from_secs(n);
            let admitted = (0..1000).filter_map(|_| rate.admit(now, &name, || "x".repeat(length))).count();
            assert_eq!(rate.suppressed, 1000 - admitted as u64);
            admitted
        };
        (0..seconds).map(&mut second).collect()
    }

    #[test]
    fn lines_beyond_the_rate_are_counted() {
        assert_eq!(admitted(|config| config.stderr_lines_per_second = 2, 1, 2), [2, 2]);
    }

    #[test]
    fn a_flood_of_long_lines_is_bounded_by_its_bytes() {
        // 32 lines of 2 KiB of the burst and 8 of the rate, then the rate.
        assert_eq!(admitted(|_| (), 2048, 4), [40, 8, 8, 8]);
        let minute: usize = admitted(|_| (), 2048, 60).iter().sum();
        assert!(minute * 2048 <= (64 << 10) + 60 * (16 << 10), "{minute}");
        assert_eq!(admitted(|_| (), 100, 3), [50, 50, 50], "short lines are bounded by their number");
        assert_eq!(admitted(|config| config.stderr_burst_bytes = 0, 20_000, 2), [0, 0]);
    }
}
