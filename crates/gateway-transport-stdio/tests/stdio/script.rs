//! Servers as shell scripts that answer by cases and write down what they are sent.

use std::path::PathBuf;

use gateway_domain::{ClientCapabilities, Era, RawObject, SessionProfile};
use gateway_transport_stdio::{StdioConfig, StdioFactory, StdioSession};

use crate::support::*;

/// What a server was sent.
pub(crate) struct Seen(PathBuf);

impl Seen {
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How many of them hold this text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(text)).count()
    }

    /// Waits for so many lines with this text.
    pub(crate) async fn times(&self, count: usize, text: &str) {
        until(&format!("`{text}` was sent {count} times"), || self.count(text) >= count).await;
        assert_eq!(self.count(text), count, "{:#?}", self.lines());
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// A server of this era with these `capabilities`. `cases` are those of a `case $line in`, where `$id` is the id of
/// the line, and `say`, `result ID OBJECT`, `ask ID METHOD PARAMS` and `note METHOD PARAMS` write.
pub(crate) fn server(era: Era, capabilities: &str, cases: &str) -> (StdioConfig, Seen) {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let seen = std::env::temp_dir().join(marker(&format!("seen-{number}")));
    drop(std::fs::remove_file(&seen));
    let opening = match era {
        Era::Legacy => format!(
            r#"*'"initialize"'*) result "$id" '{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}';;"#
        ),
        Era::Modern => format!(
            r#"*'"server/discover"'*) result "$id" '{{"supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}';;"#
        ),
    };
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
        result() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}}"; }}
        ask() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"$2\",\"params\":$3}}"; }}
        note() {{ say "{{\"jsonrpc\":\"2.0\",\"method\":\"$1\",\"params\":$2}}"; }}
        while read -r line; do
            printf '%s\n' "$line" >>'{seen}'
            id=${{line#*'"id":'}}; id=${{id%%[,\}}]*}}
            case $line in {opening} {cases} esac
        done"#,
        seen = seen.display()
    );
    let mut config = StdioConfig::new(["sh", "-c", &script].map(str::to_owned).to_vec(), us());
    config.terminate = std::time::Duration::from_millis(300);
    (config, Seen(seen))
}

pub(crate) fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

/// Everything that can be asked.
pub(crate) const ALL: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#;

/// A session of somebody who can do all that.
pub(crate) async fn able(factory: &StdioFactory, era: Era) -> StdioSession {
    let profile = SessionProfile {
        era,
        capabilities: ClientCapabilities::from(object(ALL)),
        ..SessionProfile::default()
    };
    factory.open(&profile).await.unwrap()
}
