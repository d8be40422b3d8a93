//! What a gateway has to live through, with figures: the program `scenarios`.
//!
//! `scenarios [--gatewayd PATH] [--seconds N] [--only NAME]… [--scale F] [--lenient]` starts a `gatewayd` (the one beside
//! it) for each scenario, puts fakes behind it and callers in front of it, and prints `ok NAME: figures` or
//! `FAILED NAME: figures; what was not as it must be`. The exit code is 1 if any failed. `--seconds` (60) is
//! how long the storm lasts, `--scale` (1) shortens and shrinks the rest, and
//! with `--lenient` times are told but not judged, for machines that have other things to do.
//!
//! | Scenario | What happens |
//! |---|---|
//! | `storm` | 200 callers, 8 servers with grandchildren, one `kill -9` of a server each half second |
//! | `gateway-kill` | the same load, and the gateway is killed, 20 times |
//! | `sessions` | 10,000 sessions opened and never deleted |
//! | `reconnects` | 10,000 reconnects of one event stream |
//! | `isolation` | a counter whose state belongs to a session or process, seen by 2 and by 32 clients |
//! | `heal` | eight downstreams, each faulty in its own way for 20 s, then healed |
//! | `lists` | 16 downstreams, one of which never answers |
//! | `late` | a command and a URL that come into being later; a server that is silent when probed |
//! | `clients` | more idle clients than a downstream may have processes |
//!
//! A failed scenario leaves its folder (configuration, log of the gateway, records of the fakes) and says where.

mod caller;
mod clients;
mod crowd;
mod figures;
mod folder;
mod gateway;
mod gateway_kill;
mod heal;
mod isolation;
mod late;
mod lists;
mod process;
mod report;
mod sessions;
mod storm;
mod verdict;

use std::{io, path::PathBuf, time::Duration};

use self::{folder::Folder, report::Report};

/// Runs what the arguments say and returns the exit code: 0, 1 if a scenario failed, 2 if the arguments make no
/// sense.
#[expect(clippy::print_stderr, reason = "stderr is what a program has for people")]
pub fn run(args: impl IntoIterator<Item = String>) -> i32 {
    let bench = match Bench::parse(args.into_iter()) {
        Ok(bench) => bench,
        Err(why) => {
            eprintln!("scenarios: {why}");
            return 2;
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap_or_else(|why| panic!("no runtime: {why}"));
    let code = runtime.block_on(all(&bench));
    runtime.shutdown_background();
    code
}

#[expect(clippy::print_stdout, reason = "the lines are the result of the program")]
async fn all(bench: &Bench) -> i32 {
    let mut code = 0;
    for name in NAMES.into_iter().filter(|name| bench.only.is_empty() || bench.only.iter().any(|o| o == name))
    {
        let (line, failed) = one(name, bench).await;
        println!("{line}");
        code |= i32::from(failed);
    }
    code
}

async fn one(name: &str, bench: &Bench) -> (String, bool) {
    let begun = tokio::time::Instant::now();
    let mut folder = match Folder::new(name) {
        Ok(folder) => folder,
        Err(why) => return (format!("FAILED {name}: no folder: {why}"), true),
    };
    let report = perform(name, bench, &folder).await.unwrap_or_else(|why| {
        let mut report = Report::default();
        report.demand(false, || format!("it could not be carried out: {why}"));
        report
    });
    let took = begun.elapsed().as_secs();
    // Whatever outlived its gateway has been reported; it must not disturb the next one.
    process::marked(&folder.marker()).into_iter().for_each(process::end);
    if !report.failed(bench.lenient) {
        return (format!("ok {name}: {report}; {took} s"), false);
    }
    folder.keep();
    (format!("FAILED {name}: {report}; {took} s; see {}", folder.path().display()), true)
}

async fn perform(name: &str, bench: &Bench, folder: &Folder) -> io::Result<Report> {
    match name {
        "storm" => storm::run(bench, folder).await,
        "gateway-kill" => gateway_kill::run(bench, folder).await,
        "sessions" => sessions::abandoned(bench, folder).await,
        "reconnects" => sessions::reconnects(bench, folder).await,
        "isolation" => isolation::run(bench, folder).await,
        "heal" => heal::run(bench, folder).await,
        "lists" => lists::run(bench, folder).await,
        "late" => late::run(bench, folder).await,
        _ => clients::run(bench, folder).await,
    }
}

/// What is tested, and how hard.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) gatewayd: PathBuf,
    /// How long the storm lasts.
    pub(crate) storm: Duration,
    /// Whether times are told and not judged.
    lenient: bool,
    scale: f64,
    only: Vec<String>,
}

impl Bench {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut bench = Self {
            gatewayd: beside_us(),
            storm: Duration::from_secs(60),
            lenient: false,
            scale: 1.0,
            only: Vec::new(),
        };
        while let Some(switch) = args.next() {
            if switch == "--lenient" {
                bench.lenient = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{switch} needs a value"))?;
            let number = || value.parse::<f64>().ok().filter(|n| (0.001..=10_000.0).contains(n));
            let wrong = || format!("{switch}: {value} is not a number it takes");
            match switch.as_str() {
                "--gatewayd" => bench.gatewayd = value.into(),
                "--seconds" => bench.storm = Duration::from_secs_f64(number().ok_or_else(wrong)?),
                "--scale" => bench.scale = number().ok_or_else(wrong)?,
                "--only" if NAMES.contains(&value.as_str()) => bench.only.push(value),
                "--only" => return Err(format!("no scenario {value}; there are: {}", NAMES.join(" "))),
                _ => return Err(format!("unknown switch {switch}")),
            }
        }
        if !bench.gatewayd.is_file() {
            let path = bench.gatewayd.display();
            return Err(format!("{path} is not there; build it, or name it by --gatewayd"));
        }
        // It is started in another folder.
        bench.gatewayd = std::path::absolute(&bench.gatewayd).map_err(|why| why.to_string())?;
        Ok(bench)
    }

    /// How long the gateway may take to see that a process is gone.
    pub(crate) fn unnoticed(&self) -> Duration {
        Duration::from_millis(if self.lenient { 2000 } else { 100 })
    }

    /// So many, as scaled, but not fewer than `least`.
    pub(crate) fn count(&self, full: u32, least: u32) -> u32 {
        // In range: a product of a u32 and a small number, cut off by `as`.
        ((f64::from(full) * self.scale).round() as u32).max(least)
    }

    /// So long, as scaled, but not shorter than `least`.
    pub(crate) fn span(&self, full: Duration, least: Duration) -> Duration {
        full.mul_f64(self.scale).max(least)
    }
}

fn beside_us() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name(format!("gatewayd{}", std::env::consts::EXE_SUFFIX))
}

/// In the order in which they run.
const NAMES: [&str; 9] =
    ["isolation", "clients", "lists", "late", "heal", "reconnects", "sessions", "gateway-kill", "storm"];
