use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use gateway_protocol::{Implementation, Revision};

use crate::lifeline::Lifeline;

const TERMINATE: Duration = Duration::from_secs(2);

/// How one MCP server is started, spoken to and ended.
#[derive(Debug, Clone)]
pub struct StdioConfig {
    /// The program and its arguments; never a shell line.
    pub command: Vec<String>,
    /// Variables of the child, over those it inherits.
    pub env: BTreeMap<String, EnvValue>,
    /// What the child inherits of the gateway's own environment. Default: [`InheritEnv::Minimal`] (R-W8).
    pub inherit_env: InheritEnv,
    /// The child's working folder. Default: the gateway's own.
    pub cwd: Option<PathBuf>,
    /// The only revision to speak. Default: any.
    pub protocol: Option<Revision>,
    /// Who the gateway says it is.
    pub client: Implementation,
    /// From the start of the process to an open session. Default: 30 s.
    pub startup_timeout: Duration,
    /// How long silence after `server/discover` is waited for. Default: 5 s.
    pub probe_timeout: Duration,
    /// How long a call may take without a sign of progress. Default: 60 s.
    pub call_timeout: Duration,
    /// How long a call may take in all, whatever its progress. The time in which it waits for answers of a client's
    /// does not count. Default: 600 s.
    pub max_call_time: Duration,
    /// How long any other request may take. Default: 10 s.
    pub request_timeout: Duration,
    /// How long each stage of the end may take: after the end of stdin, and after SIGTERM. Zero is the
    /// default: 2 s.
    pub terminate: Duration,
    /// The longest line on stdout, in bytes. Default: 16 MiB.
    ///
    /// A longer one is skipped, and the session goes on. If it is an answer, its request fails at once where
    /// it can be told: where the id comes before the content, or where there is only one request it can be
    /// for. Else the one that is not answered fails at its timeout, as too large rather than too slow.
    pub max_line_bytes: usize,
    /// The most requests that wait for answers at once. Default: 1,024.
    pub max_pending: usize,
    /// The most messages that wait to be written; callers wait for room no longer than for an answer.
    /// Default: 256.
    pub write_queue: usize,
    /// How much of stderr is kept, in bytes. Default: 64 KiB.
    pub stderr_tail_bytes: usize,
    /// The most lines of stderr that are logged in a second. Default: 50.
    pub stderr_lines_per_second: u32,
    /// The most bytes of stderr that are logged in a second, beyond the burst. Default: 16 KiB, about 1 MB a
    /// minute.
    pub stderr_bytes_per_second: usize,
    /// The bytes of stderr that are logged after the start without counting towards that. Default: 64 KiB.
    pub stderr_burst_bytes: usize,
    /// The most lines on stdout in a row that are no messages; more end the session. Default: 100.
    pub noise_limit: u32,
    /// Who ends the process, and what it has started, if the gateway is killed. Default: nobody; the
    /// kernel kills the process itself then.
    pub lifeline: Option<Arc<Lifeline>>,
}

impl StdioConfig {
    /// The defaults, with this command, and with who the gateway says it is.
    pub fn new(command: Vec<String>, client: Implementation) -> Self {
        Self {
            command,
            env: BTreeMap::new(),
            inherit_env: InheritEnv::Minimal,
            cwd: None,
            protocol: None,
            client,
            startup_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(60),
            max_call_time: Duration::from_secs(600),
            request_timeout: Duration::from_secs(10),
            terminate: TERMINATE,
            max_line_bytes: 16 << 20,
            max_pending: 1024,
            write_queue: 256,
            stderr_tail_bytes: 64 << 10,
            stderr_lines_per_second: 50,
            stderr_bytes_per_second: 16 << 10,
            stderr_burst_bytes: 64 << 10,
            noise_limit: 100,
            lifeline: None,
        }
    }

    /// How long a stage of the end really takes.
    pub(crate) fn stage(&self) -> Duration {
        if self.terminate.is_zero() { TERMINATE } else { self.terminate }
    }
}

/// The value of a variable. It may be a secret, so no debug text shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvValue(String);

impl EnvValue {
    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for EnvValue {
    fn from(value: T) -> Self {
        Self(value.into())
    }
}

impl fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// What a child inherits of the gateway's environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InheritEnv {
    /// PATH, HOME, USER, LANG, LC_*, TZ, TMPDIR and TERM: what programs need to run, and no secrets.
    #[default]
    Minimal,
    /// The same and these variables.
    Named(Vec<String>),
    /// Everything, the secrets of other downstreams included.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_to_end_is_the_usual_time() {
        let mut config = StdioConfig::new(vec!["server".into()], Implementation::new("g", "G", "1"));
        for (terminate, stage) in [(0, TERMINATE), (1, Duration::from_millis(1))] {
            config.terminate = Duration::from_millis(terminate);
            assert_eq!(config.stage(), stage);
        }
    }

    #[test]
    fn debug_text_hides_values() {
        let mut config = StdioConfig::new(vec!["server".into()], Implementation::new("g", "G", "1"));
        config.env.insert("TOKEN".into(), "hunter2".into());
        let shown = format!("{config:?}");
        assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
    }
}
