//! The fake stdio MCP server.
//!
//! Tests start it as a child: [`command`] gives the argv, [`fake_mcp`] the program alone. It is one binary whose
//! faults are switches, freely combined:
//!
//! | Switch | Effect |
//! |---|---|
//! | `--era legacy\|modern\|dual` | the eras it serves (dual) |
//! | `--protocol REV` | newest legacy revision it agrees to (2025-11-25) |
//! | `--tools N` | exactly N tools: the default ones first, then generated ones that echo |
//! | `--tools-file F` | a JSON array of definitions, listed byte for byte |
//! | `--page-size N`, `--same-cursor`, `--endless-pages` | how `tools/list` is cut |
//! | `--ttl MS` | `ttlMs` of modern results (0) |
//! | `--marker TEXT` | appears in results, progress, logs and server info, and on the command line |
//! | `--probe reply-error CODE\|silent\|exit\|garbage\|empty` | how `server/discover` is refused |
//! | `--request-roots` | legacy: asks `roots/list` (id `"roots-1"`) once initialized |
//! | `--list-changed-after MS` | adds the tool `late` and says so on every open way |
//! | `--start-delay MS` | reads nothing before |
//! | `--silent` | reads, never answers |
//! | `--exit CODE` | a line on stderr, then exits at once |
//! | `--exit-after N` | exits with 1 after answering N calls |
//! | `--crash-on TOOL`, `--hang-on TOOL` | a call to it aborts the process, or is never answered |
//! | `--stop-reading` | on the first call, stops reading stdin for good |
//! | `--close-stdout` | on the first call, closes stdout and lives on, silent |
//! | `--ignore-eof`, `--ignore-term` | outlives the end of stdin, or SIGTERM |
//! | `--grandchild` | starts a copy that sleeps, holds stdout open; `grandchild pid=N` on stderr |
//! | `--grandchild-escapes` | the same in a process group of its own |
//! | `--grandchild-session` | the same in a session of its own; it may come besides one of the others |
//! | `--stderr-flood RATE\|unlimited` | bytes a second on stderr |
//! | `--noise N` | N lines that are no JSON before each answer |
//! | `--shuffle` | each call's answer waits a random time, so answers overtake each other |
//! | `--answer-twice` | every answer to a call is sent twice |
//! | `--foreign-id` | before each answer to a call, answers to ids never asked |
//! | `--long-line BYTES` | calls are answered by a line with a text of that many bytes, never held in memory |
//! | `--crlf` | lines end in `\r\n` |
//! | `--progress-always N` | N progress notifications before every answer to a call with a token |
//! | `--faulty-while FILE` | faults count only if FILE is there when the process starts: remove it to heal |
//! | `--starts-file FILE` | appends a line with the pid at each start |
//! | `--whole` | offers the whole protocol: prompts, resources, completion, questions, tasks |
//! | `--together FILE` | processes with the same FILE are one server: a list that changes in one changes in all |
//! | `--record FILE` | appends every message it takes (`PID < message`) and asks (`PID > message`) |
//! | `--requests-file FILE` | appends a line for each request it takes: pid, method, raw arguments |
//! | `--control FILE` | FILE holds the fault of the moment, looked at at the start and for each request: `exit`, `hang`, `garbage`, nothing |
//! | `--new-session` | leads a session of its own |
//! | `--sleep` | does nothing at all until its lifetime ends |
//! | `--lifetime MS` | the process ends itself after that (10 minutes), so that no test leaves one behind |

mod control;
mod facts;
mod options;
mod process;
mod program;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout},
    task::AbortHandle,
};

pub use self::program::{command, fake_mcp};
use self::{
    control::Fault,
    options::Options,
    process::{close_stdout, flood, ignore_term, note_start, start_grandchildren},
};
use crate::{
    changes::Filter,
    engine::{Conversation, Engine, acknowledgement, locked, subscription},
    fixtures,
    message::{self, Message, Refusal},
    reply::{End, Reply},
};

/// Runs the fake over this process's stdin and stdout; `args` are the switches, without the program's name.
///
/// Returns the exit code, or ends the process where a switch says so: nothing but `main` should call it. Unknown
/// switches are answered with code 2 and a line on stderr.
#[expect(clippy::print_stderr, reason = "stderr is what a server has for people")]
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    let facts = facts::of_this_process();
    let options = match Options::parse(args.into_iter().collect()) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("fake-mcp: {why}");
            return 2;
        }
    };
    if let Some(why) = options.starts_file.as_ref().and_then(|file| note_start(file).err()) {
        eprintln!("fake-mcp: --starts-file: {why}");
        return 2;
    }
    if options.new_session {
        // It fails only for the leader of a group, who cannot leave it.
        let _ = rustix::process::setsid();
    }
    if Fault::of_the_moment(&options) == Some(Fault::Exit) {
        eprintln!("fake-mcp: exiting with 1 as told");
        return 1;
    }
    if let Some(code) = options.exit {
        eprintln!("fake-mcp: exiting with {code} as told");
        return code;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            eprintln!("fake-mcp: no runtime: {why}");
            return 1;
        }
    };
    let code = runtime.block_on(serve(options, facts));
    // A read of stdin may still block a thread; it must not hold the exit up.
    runtime.shutdown_background();
    code
}

async fn serve(options: Options, facts: Vec<(&'static str, String)>) -> i32 {
    let lifetime = options.lifetime.unwrap_or(LIFETIME);
    tokio::spawn(async move {
        tokio::time::sleep(lifetime).await;
        std::process::exit(LIFETIME_OVER);
    });
    if options.ignore_term {
        tokio::spawn(ignore_term());
    }
    start_grandchildren(&options);
    if let Some(rate) = options.stderr_flood {
        tokio::spawn(flood(rate));
    }
    if options.sleep {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(options.start_delay).await;
    let fake = Arc::new(Fake::new(options));
    for (name, json) in facts {
        fake.engine.note(name, json);
    }
    if let Some(after) = fake.options.list_changed_after {
        tokio::spawn(change(Arc::clone(&fake), after));
    }
    tokio::spawn(tell_changes(Arc::clone(&fake)));
    if fake.options.profile.together.is_some() {
        let (fake, read) = (Arc::clone(&fake), fake.engine.catch_up());
        tokio::spawn(async move { fake.engine.follow(read).await });
    }
    read(&fake).await;
    if fake.options.ignore_eof {
        std::future::pending::<()>().await;
    }
    0
}

struct Fake {
    options: Options,
    engine: Engine,
    conversation: Conversation,
    out: tokio::sync::Mutex<Stdout>,
    /// Requests being answered, by raw id.
    running: Mutex<HashMap<String, AbortHandle>>,
    answered: AtomicU64,
    seed: AtomicU64,
}

impl Fake {
    fn new(options: Options) -> Self {
        Self {
            engine: Engine::new(options.profile.clone()),
            options,
            conversation: Conversation::default(),
            out: tokio::sync::Mutex::new(tokio::io::stdout()),
            running: Mutex::default(),
            answered: AtomicU64::new(0),
            seed: AtomicU64::new(u64::from(std::process::id()) | 1),
        }
    }

    async fn line(&self, text: &str) {
        self.write(&[text.as_bytes()]).await;
    }

    /// One line out of parts. Errors are left: who closed our stdout will close stdin too.
    async fn write(&self, parts: &[&[u8]]) {
        let mut bytes = parts.concat();
        bytes.extend_from_slice(self.line_end());
        let mut out = self.out.lock().await;
        if out.write_all(&bytes).await.is_ok() {
            drop(out.flush().await);
        }
    }

    fn line_end(&self) -> &'static [u8] {
        if self.options.crlf { b"\r\n" } else { b"\n" }
    }

    /// A pseudo-random number below `bound`: Lehmer's generator is random enough to mix answers up.
    fn random(&self, bound: u64) -> u64 {
        let next = self.seed.load(Ordering::Relaxed).wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
        self.seed.store(next, Ordering::Relaxed);
        (next >> 33) % bound
    }

    async fn answer(&self, message: &Message, reply: Reply) {
        for notice in reply.notices {
            if !reply.pace.is_zero() {
                tokio::time::sleep(reply.pace).await;
            }
            self.line(&notice).await;
        }
        let mix = if self.options.shuffle && message.is_call() { self.random(SHUFFLE_MS) } else { 0 };
        let wait = reply.delay + Duration::from_millis(mix);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        self.end(message, reply.end).await;
    }

    async fn end(&self, message: &Message, end: End) {
        let id = message.id.as_deref().unwrap_or("null");
        match end {
            End::Result(result) => self.answered(message, &message::result(id, &result)).await,
            End::Error(refusal) => self.answered(message, &refusal.render(Some(id))).await,
            End::Interact(interaction) => {
                for request in &interaction.requests {
                    self.line(request).await;
                }
                let then = interaction.answered(&self.engine).await;
                Box::pin(self.answer(message, then)).await;
            }
            End::Ask(request) => self.line(&request).await,
            End::Garbage => self.line(r#"{"jsonrpc":"2.0", oops"#).await,
            End::Listen => self.listen(message).await,
            End::Crash if message.is_call() => std::process::abort(),
            End::Crash => std::process::exit(1),
            End::Never | End::Nothing => {}
        }
    }

    async fn answered(&self, message: &Message, text: &str) {
        for n in 0..self.options.noise {
            self.line(&format!("noise {n}: this line is no JSON")).await;
        }
        if !message.is_call() {
            return self.line(text).await;
        }
        if self.options.foreign_id {
            self.line(&message::result("\"never-asked\"", FOREIGN)).await;
            self.line(&message::result("987654321", FOREIGN)).await;
        }
        match self.options.long_line {
            Some(bytes) => self.long_answer(message, bytes).await,
            None => self.line(text).await,
        }
        if self.options.answer_twice {
            self.line(text).await;
        }
        let answered = self.answered.fetch_add(1, Ordering::Relaxed) + 1;
        if self.options.exit_after.is_some_and(|n| answered >= n) {
            std::process::exit(1);
        }
    }

    /// A whole, valid answer in pieces, so that a line of a gibibyte costs us 64 KiB.
    async fn long_answer(&self, message: &Message, bytes: u64) {
        let id = message.id.as_deref().unwrap_or("null");
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#);
        let piece = vec![b'x'; 65_536];
        let mut out = self.out.lock().await;
        let mut good = out.write_all(head.as_bytes()).await.is_ok();
        let mut left = bytes;
        while left > 0 && good {
            let size = usize::try_from(left).map_or(piece.len(), |l| l.min(piece.len()));
            good = out.write_all(&piece[..size]).await.is_ok();
            left -= size as u64;
        }
        let end = [br#""}],"resultType":"complete"}}"#, self.line_end()].concat();
        if good && out.write_all(&end).await.is_ok() {
            drop(out.flush().await);
        }
    }

    /// Runs until the request is cancelled.
    async fn listen(&self, message: &Message) {
        let (mut changes, filter, meta) = (self.engine.changes(), Filter::of(message), subscription(message));
        self.line(&acknowledgement(message)).await;
        while let Ok(change) = changes.recv().await {
            if let Some(text) = change.modern(&filter, &meta) {
                self.line(&text).await;
            }
        }
    }
}

/// Reads until stdin ends.
async fn read(fake: &Arc<Fake>) {
    let mut stdin = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line).await.is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if !text.is_empty() && !fake.options.silent {
            take(fake, &text).await;
        }
    }
}

async fn take(fake: &Arc<Fake>, text: &str) {
    let Some(message) = Message::parse(text) else {
        return fake.line(&Refusal::new(-32700, 400, "this line is no JSON object").render(None)).await;
    };
    control::note_request(&fake.options, &message);
    match Fault::of_the_moment(&fake.options) {
        Some(Fault::Exit) => std::process::exit(1),
        Some(Fault::Hang) => return,
        Some(Fault::Garbage) => return fake.line(r#"{"jsonrpc":"2.0", oops"#).await,
        None => {}
    }
    if message.is_call() && fake.options.stop_reading {
        std::future::pending::<()>().await;
    }
    if message.is_call() && fake.options.close_stdout {
        close_stdout(&fake.options);
    }
    if message.method.as_deref() == Some("notifications/cancelled")
        && let Some(id) = message.params.get("requestId")
        && let Some(task) = locked(&fake.running).remove(id.get())
    {
        task.abort();
    }
    let reply = fake.engine.answer(&message, &fake.conversation);
    let shuffled = fake.options.shuffle && message.is_call();
    if reply.is_immediate() && !shuffled {
        return fake.answer(&message, reply).await;
    }
    let id = message.id.clone().unwrap_or_default();
    let task = tokio::spawn({
        let (fake, id) = (Arc::clone(fake), id.clone());
        async move {
            fake.answer(&message, reply).await;
            locked(&fake.running).remove(&id);
        }
    });
    locked(&fake.running).insert(id, task.abort_handle());
}

async fn change(fake: Arc<Fake>, after: Duration) {
    tokio::time::sleep(after).await;
    fake.engine.add_tool(fixtures::LATE_TOOL);
}

/// Legacy clients hear of changes without asking.
async fn tell_changes(fake: Arc<Fake>) {
    let mut changes = fake.engine.changes();
    while let Ok(change) = changes.recv().await {
        if fake.conversation.revision().is_some()
            && let Some(text) = change.legacy(&fake.conversation)
        {
            fake.line(&text).await;
        }
    }
}

const FOREIGN: &str = r#"{"content":[{"type":"text","text":"an answer to nobody"}]}"#;

/// The longest a shuffled answer waits, in milliseconds.
const SHUFFLE_MS: u64 = 30;

/// How long a fake lives that nobody ends.
const LIFETIME: Duration = Duration::from_secs(600);

/// Exit code of a fake whose lifetime was over.
const LIFETIME_OVER: i32 = 86;
