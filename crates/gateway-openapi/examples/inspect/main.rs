//! Reads descriptions of APIs, makes tools of all their operations, and judges the tools: names are unique and legal,
//! every schema is one of JSON Schema 2020-12 without dangling references, and a call arrives where the operation says.
//!
//!     inspect [--verbose] [--judge-figures] FILE…
//!
//! One line for each document, with the time to read it and to make the tools, and the peak of resident memory so far:
//! figures are those of a release build with one document. The last line is `N passed, N failed`.
#![expect(clippy::print_stdout, reason = "it is a command, and this is its result")]

mod judge;
mod recorder;
mod sample;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway_openapi::{
    engine::{BaseUrl, BuildConfig, Executor, ExecutorConfig, Tool, build},
    ir::{Listing, Skipped},
    source::{OpenApi, Place, Source as _},
};

use crate::recorder::Recorder;

/// What the largest document may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);
const MEMORY_LIMIT_MIB: u64 = 200;

#[derive(Default)]
struct Options {
    /// Whether each skipped operation, note and call that could not be made is told.
    verbose: bool,
    /// Whether more than the limits is a failure.
    judge_figures: bool,
    files: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--verbose" => options.verbose = true,
            "--judge-figures" => options.judge_figures = true,
            _ => options.files.push(argument),
        }
    }
    let mut failed = 0;
    for file in &options.files {
        let name =
            Path::new(file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into());
        match inspect(file, &options).await {
            Ok(line) => println!("passed {name}: {line}"),
            Err(reason) => {
                failed += 1;
                println!("FAILED {name}: {reason}");
            }
        }
    }
    println!("{} passed, {failed} failed", options.files.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The document's figures, or what is wrong with it.
async fn inspect(file: &str, options: &Options) -> Result<String, String> {
    let began = now();
    let listing = OpenApi::new(Place::File(file.into())).load().await.map_err(|error| error.to_string())?;
    let loaded = began.elapsed();
    let Listing { operations, skipped, .. } = listing;
    let recorder = Arc::new(Recorder::default());
    let base = BaseUrl::parse("https://api.example/base").map_err(|error| error.to_string())?;
    let executor = Executor::new(ExecutorConfig::new(base, recorder.clone()));
    let tools =
        build(operations, &BuildConfig::new(Arc::new(executor))).map_err(|error| error.to_string())?;
    let built = began.elapsed();
    let peak = peak_mib();
    let faults = judge::faults(&tools);
    let calls = recorder.call_all(&tools).await;
    if options.verbose {
        tell(&skipped, &tools, &calls.unmade);
    }
    let mut faults: Vec<_> = faults.into_iter().chain(calls.faults).collect();
    if options.judge_figures && (built > TIME_LIMIT || peak > MEMORY_LIMIT_MIB) {
        faults.push(format!("it takes {built:?} and {peak} MiB"));
    }
    let line = format!(
        "{} operations, {} skipped, {} called; read in {} ms, tools in {} ms, peak {peak} MiB",
        tools.len(),
        skipped.len(),
        calls.made,
        loaded.as_millis(),
        (built - loaded).as_millis(),
    );
    match faults.len() {
        0 => Ok(line),
        count => {
            faults.truncate(if options.verbose { usize::MAX } else { 8 });
            Err(format!("{line}; {count} faults\n  {}", faults.join("\n  ")))
        }
    }
}

fn tell(skipped: &[Skipped], tools: &[Tool], unmade: &[String]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for skipped in skipped {
        println!("  skipped {} {}: {}", skipped.method, skipped.path, skipped.reason);
    }
    for note in tools.iter().flat_map(Tool::notes) {
        *counts.entry(note).or_default() += 1;
    }
    for (note, count) in counts {
        println!("  {count} × note: {note}");
    }
    for reason in unmade {
        println!("  not called: {reason}");
    }
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// The most memory that this process has had at once.
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}
