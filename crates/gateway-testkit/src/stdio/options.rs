//! The switches of the stdio fake.

use std::time::Duration;

use serde_json::value::RawValue;

use crate::{
    fixtures,
    profile::{Era, LEGACY, Paging, Probe, Profile},
    transcript::Recording,
};

/// How fast stderr is flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flood {
    BytesPerSecond(u64),
    Unlimited,
}

/// What `fake-mcp` was told to do; [`super`] describes the switches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) argv: Vec<String>,
    pub(crate) profile: Profile,
    pub(crate) faulty_while: Option<String>,
    pub(crate) starts_file: Option<String>,
    pub(crate) requests_file: Option<String>,
    pub(crate) control: Option<String>,
    pub(crate) start_delay: Duration,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) silent: bool,
    pub(crate) exit: Option<i32>,
    pub(crate) exit_after: Option<u64>,
    pub(crate) stderr_flood: Option<Flood>,
    pub(crate) noise: usize,
    pub(crate) shuffle: bool,
    pub(crate) ignore_eof: bool,
    pub(crate) ignore_term: bool,
    pub(crate) grandchild: bool,
    pub(crate) grandchild_escapes: bool,
    pub(crate) grandchild_session: bool,
    pub(crate) new_session: bool,
    pub(crate) sleep: bool,
    pub(crate) long_line: Option<u64>,
    pub(crate) close_stdout: bool,
    pub(crate) answer_twice: bool,
    pub(crate) foreign_id: bool,
    pub(crate) list_changed_after: Option<Duration>,
    pub(crate) stop_reading: bool,
    pub(crate) crlf: bool,
}

impl Options {
    /// Errors are one sentence that names the switch.
    pub(crate) fn parse(args: Vec<String>) -> Result<Self, String> {
        let mut options = Self { argv: args.clone(), ..Self::default() };
        let mut rest = Rest(args.into_iter());
        while let Some(switch) = rest.0.next() {
            if !(options.plain(&switch)
                || options.shape(&switch, &mut rest)?
                || options.fault(&switch, &mut rest)?)
            {
                return Err(format!("unknown switch {switch}"));
            }
        }
        if options.profile.whole {
            options.profile.tools = fixtures::whole_tools(options.profile.era);
        }
        Ok(options.healed())
    }

    /// Without faults, if they are tied to a file that is not there.
    fn healed(self) -> Self {
        if self.faulty_while.as_ref().is_none_or(|file| std::path::Path::new(file).exists()) {
            return self;
        }
        let Self { argv, mut profile, lifetime, starts_file, requests_file, control, crlf, .. } = self;
        (profile.hang_on, profile.crash_on) = (None, None);
        Self { argv, profile, lifetime, starts_file, requests_file, control, crlf, ..Self::default() }
    }

    /// Switches without a value.
    fn plain(&mut self, switch: &str) -> bool {
        let flag = match switch {
            "--silent" => &mut self.silent,
            "--shuffle" => &mut self.shuffle,
            "--ignore-eof" => &mut self.ignore_eof,
            "--ignore-term" => &mut self.ignore_term,
            "--grandchild" => &mut self.grandchild,
            "--grandchild-escapes" => &mut self.grandchild_escapes,
            "--grandchild-session" => &mut self.grandchild_session,
            "--new-session" => &mut self.new_session,
            "--sleep" => &mut self.sleep,
            "--close-stdout" => &mut self.close_stdout,
            "--answer-twice" => &mut self.answer_twice,
            "--foreign-id" => &mut self.foreign_id,
            "--stop-reading" => &mut self.stop_reading,
            "--crlf" => &mut self.crlf,
            "--whole" => &mut self.profile.whole,
            "--request-roots" => &mut self.profile.request_roots,
            "--same-cursor" => return self.page(Paging::SameCursor),
            "--endless-pages" => return self.page(Paging::Endless),
            _ => return false,
        };
        *flag = true;
        true
    }

    fn page(&mut self, paging: Paging) -> bool {
        self.profile.paging = paging;
        true
    }

    /// Switches that say what is offered.
    fn shape(&mut self, switch: &str, rest: &mut Rest) -> Result<bool, String> {
        match switch {
            "--era" => self.profile.era = era(&rest.text(switch)?)?,
            "--protocol" => self.profile.protocol = revision(rest.text(switch)?)?,
            "--tools" => self.profile.tools = fixtures::tools(rest.number(switch)?),
            "--tools-file" => self.profile.tools = read_tools(&rest.text(switch)?)?,
            "--page-size" => self.profile.paging = Paging::Size(rest.number::<usize>(switch)?.max(1)),
            "--ttl" => self.profile.ttl_ms = rest.number(switch)?,
            "--probe" => self.profile.probe = Some(probe(rest)?),
            "--marker" => self.profile.marker = Some(rest.text(switch)?),
            "--crash-on" => self.profile.crash_on = Some(rest.text(switch)?),
            "--progress-always" => self.profile.progress_always = rest.number(switch)?,
            "--hang-on" => self.profile.hang_on = Some(rest.text(switch)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Switches that say what goes wrong and how much.
    fn fault(&mut self, switch: &str, rest: &mut Rest) -> Result<bool, String> {
        match switch {
            "--start-delay" => self.start_delay = rest.millis(switch)?,
            "--faulty-while" => self.faulty_while = Some(rest.text(switch)?),
            "--starts-file" => self.starts_file = Some(rest.text(switch)?),
            "--together" => self.profile.together = Some(rest.text(switch)?),
            "--record" => self.profile.record = Recording::File(rest.text(switch)?),
            "--requests-file" => self.requests_file = Some(rest.text(switch)?),
            "--control" => self.control = Some(rest.text(switch)?),
            "--lifetime" => self.lifetime = Some(rest.millis(switch)?),
            "--exit" => self.exit = Some(rest.number(switch)?),
            "--exit-after" => self.exit_after = Some(rest.number(switch)?),
            "--noise" => self.noise = rest.number(switch)?,
            "--long-line" => self.long_line = Some(rest.number(switch)?),
            "--list-changed-after" => self.list_changed_after = Some(rest.millis(switch)?),
            "--stderr-flood" => self.stderr_flood = Some(flood(&rest.text(switch)?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The arguments not yet read.
struct Rest(std::vec::IntoIter<String>);

impl Rest {
    fn text(&mut self, switch: &str) -> Result<String, String> {
        self.0.next().ok_or_else(|| format!("{switch} needs a value"))
    }

    fn number<T: std::str::FromStr>(&mut self, switch: &str) -> Result<T, String> {
        let text = self.text(switch)?;
        text.parse().map_err(|_| format!("{switch}: {text} is not a number it takes"))
    }

    fn millis(&mut self, switch: &str) -> Result<Duration, String> {
        self.number(switch).map(Duration::from_millis)
    }
}

fn era(text: &str) -> Result<Era, String> {
    match text {
        "legacy" => Ok(Era::Legacy),
        "modern" => Ok(Era::Modern),
        "dual" => Ok(Era::Dual),
        _ => Err(format!("--era: {text} is not legacy, modern or dual")),
    }
}

fn revision(text: String) -> Result<String, String> {
    if LEGACY.contains(&text.as_str()) {
        Ok(text)
    } else {
        Err(format!("--protocol: {text} is no legacy revision"))
    }
}

fn probe(rest: &mut Rest) -> Result<Probe, String> {
    match rest.text("--probe")?.as_str() {
        "reply-error" => rest.number("--probe reply-error").map(Probe::Error),
        "silent" => Ok(Probe::Silent),
        "exit" => Ok(Probe::Exit),
        "garbage" => Ok(Probe::Garbage),
        "empty" => Ok(Probe::Empty),
        other => Err(format!("--probe: {other} is not reply-error CODE, silent, exit, garbage or empty")),
    }
}

fn flood(text: &str) -> Result<Flood, String> {
    match text {
        "unlimited" => Ok(Flood::Unlimited),
        _ => text.parse().map(Flood::BytesPerSecond).map_err(|_| "--stderr-flood needs a rate".to_owned()),
    }
}

/// Each definition as it stands in the file. Line ends between its tokens are dropped, since one message is
/// one line here and a JSON string holds none.
fn read_tools(path: &str) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("--tools-file {path}: {e}"))?;
    let tools: Vec<Box<RawValue>> =
        serde_json::from_str(&text).map_err(|e| format!("--tools-file {path} is no JSON array: {e}"))?;
    Ok(tools.iter().map(|t| t.get().replace(['\r', '\n'], "")).collect())
}
