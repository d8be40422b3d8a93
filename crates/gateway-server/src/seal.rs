//! Values that clients keep for us (protocol.md §20.6, §20.7): sealed, so that nobody reads, changes or lends them.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use gateway_domain::{
    Asker, Caller, CallerError, DownstreamName, Error, InternalError, ListKind, Params, ParkId, RawJson,
    State, TaskHandle, View,
};

use crate::config::{StateKey, sha256};

/// Of what is written; others are not read.
const VERSION: u8 = 1;
/// Members of `params` that differ from one round to the next.
const VARIES: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// The key of one process, or of several that were given the same.
pub(crate) struct Seal(Option<LessSafeKey>);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

/// Who may open a value, and for which request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding(Vec<u8>);

impl Binding {
    /// Of the state of one request: the same caller makes the same request again.
    pub(crate) fn request(caller: &Caller, view: &View, method: &str, params: &Params) -> Self {
        let mut binding = Self::of(b'r', caller);
        binding.view(view);
        binding.part(method.as_bytes());
        binding.part(&digest(params));
        binding
    }

    /// Of a task: its caller may name it in any request. What was sealed as `t` names no tool, so that nobody could tell
    /// who may go on with it; it is not read any more.
    pub(crate) fn task(caller: &Caller) -> Self {
        Self::of(b'k', caller)
    }

    /// Of a place in a list: its caller may ask for it on the same path.
    pub(crate) fn cursor(caller: &Caller, view: &View, list: ListKind) -> Self {
        let mut binding = Self::of(b'c', caller);
        binding.view(view);
        binding.part(list.member().as_bytes());
        binding
    }

    fn of(purpose: u8, caller: &Caller) -> Self {
        // A client may be called what a user is called, and a subject may hold what separates it from its issuer.
        let (kind, parts) = match (caller.issuer_and_subject(), caller.client_name()) {
            (Some((issuer, subject)), _) => (2, [issuer, subject]),
            (None, Some(name)) => (1, [name, ""]),
            (None, None) => (0, [""; 2]),
        };
        let mut binding = Self(vec![VERSION, purpose, kind]);
        parts.iter().for_each(|part| binding.part(part.as_bytes()));
        binding
    }

    fn view(&mut self, view: &View) {
        match view {
            View::All => self.part(b""),
            View::Downstream(name) => self.part(name.as_str().as_bytes()),
            // No downstream's name begins so.
            View::Profile(name) => self.part(format!("/{name}").as_bytes()),
        }
    }

    fn part(&mut self, part: &[u8]) {
        push(&mut self.0, part);
    }
}

/// What a follow-up goes on with.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// Who asked; nobody, if the call is made afresh.
    pub(crate) asker: Option<Asker>,
    pub(crate) state: State,
}

/// What a task's id for a client says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenedTask {
    /// Who runs it.
    pub(crate) downstream: DownstreamName,
    /// The tool that began it, by its name on `/mcp`; `None`: nobody knew.
    pub(crate) tool: Option<Arc<str>>,
    /// What its downstream calls it.
    pub(crate) id: Arc<str>,
}

impl Seal {
    /// Without a key a random one; without randomness nothing is sealed.
    pub(crate) fn new(key: Option<&StateKey>) -> Self {
        let key = match key {
            Some(key) => Some(*key.bytes()),
            None => {
                let mut random = [0; 32];
                rand::fill(&mut random).ok().map(|()| random)
            }
        };
        let key = key.and_then(|key| UnboundKey::new(&AES_256_GCM, &key).ok());
        Self(key.map(LessSafeKey::new))
    }

    /// The `requestState` for a client.
    ///
    /// # Errors
    /// A state that only a process can hold, or no randomness.
    pub(crate) fn state(
        &self,
        opened: &Opened,
        binding: &Binding,
        now: SystemTime,
        lasts: Duration,
    ) -> Result<String, Error> {
        let (kind, value): (u8, &[u8]) = match &opened.state {
            State::None => (b'n', b""),
            State::Own(raw) => (b'o', raw.as_bytes()),
            State::Parked(ParkId(id)) => (b'p', id.as_bytes()),
            State::Afresh => (b'a', b""),
            State::Waiting(_) => {
                return Err(InternalError { what: "a waiting call reached the edge" }.into());
            }
        };
        let mut plain = vec![kind];
        plain.extend_from_slice(&seconds(now + lasts).to_be_bytes());
        push(&mut plain, opened.asker.as_ref().map_or_else(String::new, written).as_bytes());
        plain.extend_from_slice(value);
        self.seal(plain, binding)
    }

    /// What a client's `requestState` says.
    ///
    /// # Errors
    /// [`CallerError::UnknownState`], whatever is wrong with it.
    pub(crate) fn open_state(
        &self,
        text: &str,
        binding: &Binding,
        now: SystemTime,
    ) -> Result<Opened, CallerError> {
        let read = || {
            let plain = self.open(text, binding)?;
            let (&kind, rest) = plain.split_first()?;
            let (expiry, rest) = rest.split_first_chunk()?;
            let (asker, value) = pull(rest)?;
            let value = std::str::from_utf8(value).ok()?;
            if seconds(now) >= u64::from_be_bytes(*expiry) {
                return None;
            }
            let state = match kind {
                b'n' => State::None,
                b'o' => State::Own(RawJson::parse(value.to_owned()).ok()?),
                b'p' => State::Parked(ParkId(value.into())),
                b'a' => State::Afresh,
                _ => return None,
            };
            Some(Opened { asker: read_asker(asker), state })
        };
        read().ok_or(CallerError::UnknownState)
    }

    /// A task's id for a client.
    ///
    /// # Errors
    /// A task without an id or a downstream, or no randomness.
    pub(crate) fn task(&self, task: &TaskHandle, caller: &Caller) -> Result<String, Error> {
        let (Some(downstream), Some(id)) = (&task.downstream, task.object.get_text("taskId")) else {
            return Err(InternalError { what: "a task without an id or a downstream" }.into());
        };
        let mut plain = Vec::new();
        push(&mut plain, downstream.as_str().as_bytes());
        push(&mut plain, task.tool.as_deref().unwrap_or_default().as_bytes());
        plain.extend_from_slice(id.as_bytes());
        self.seal(plain, &Binding::task(caller))
    }

    /// What a client's id of a task says.
    ///
    /// # Errors
    /// [`CallerError::UnknownTask`].
    pub(crate) fn open_task(&self, id: &str, caller: &Caller) -> Result<OpenedTask, CallerError> {
        let read = || {
            let plain = self.open(id, &Binding::task(caller))?;
            let (downstream, rest) = pull(&plain)?;
            let (tool, id) = pull(rest)?;
            let text = |bytes| std::str::from_utf8(bytes).ok().map(Arc::<str>::from);
            let tool = text(tool)?;
            let tool = (!tool.is_empty()).then_some(tool);
            Some(OpenedTask { downstream: named(downstream)?, tool, id: text(id)? })
        };
        read().ok_or(CallerError::UnknownTask)
    }

    /// A place in a list for a client.
    ///
    /// # Errors
    /// No randomness.
    pub(crate) fn cursor(&self, cursor: &str, binding: &Binding) -> Result<String, Error> {
        self.seal(cursor.as_bytes().to_vec(), binding)
    }

    /// The place that a client's cursor names.
    ///
    /// # Errors
    /// [`CallerError::InvalidCursor`], whatever is wrong with it.
    pub(crate) fn open_cursor(&self, text: &str, binding: &Binding) -> Result<String, CallerError> {
        let opened = self.open(text, binding).and_then(|cursor| String::from_utf8(cursor).ok());
        opened.ok_or(CallerError::InvalidCursor)
    }

    fn seal(&self, mut plain: Vec<u8>, binding: &Binding) -> Result<String, Error> {
        let failed = || Error::from(InternalError { what: "nothing can be sealed: no randomness" });
        let key = self.0.as_ref().ok_or_else(failed)?;
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| failed())?;
        let mut sealed = vec![VERSION];
        sealed.extend_from_slice(&nonce);
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, Aad::from(&binding.0), &mut plain).map_err(|_| failed())?;
        sealed.append(&mut plain);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open(&self, text: &str, binding: &Binding) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (version, rest) = bytes.split_first_mut()?;
        let (nonce, sealed) = rest.split_first_chunk_mut::<NONCE_LEN>()?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.0.as_ref()?.open_in_place(nonce, Aad::from(&binding.0), sealed).ok()?;
        (*version == VERSION).then(|| plain.to_vec())
    }
}

/// What no downstream's name begins with.
const WORKFLOW: char = '=';

fn written(asker: &Asker) -> String {
    match asker {
        Asker::Downstream(name) => name.to_string(),
        Asker::Workflow(name) => format!("{WORKFLOW}{name}"),
    }
}

fn read_asker(text: &[u8]) -> Option<Asker> {
    match std::str::from_utf8(text).ok()?.strip_prefix(WORKFLOW) {
        Some(workflow) => Some(Asker::Workflow(workflow.into())),
        None => named(text).map(Asker::Downstream),
    }
}

fn named(name: &[u8]) -> Option<DownstreamName> {
    std::str::from_utf8(name).ok().and_then(|name| DownstreamName::parse(name).ok())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Of the members that stay the same, in the order of their names: clients write them anew in each round.
fn digest(params: &Params) -> [u8; 32] {
    let mut members: Vec<_> =
        params.object.iter().filter(|(name, _)| !VARIES.contains(&name.as_ref())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = Vec::new();
    for (name, value) in members {
        push(&mut text, name.as_bytes());
        push(&mut text, value.as_bytes());
    }
    sha256(&text)
}

/// Appends a part whose end can be told.
fn push(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_be_bytes());
    out.extend_from_slice(part);
}

/// A part from the front, and the rest.
fn pull(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests;
