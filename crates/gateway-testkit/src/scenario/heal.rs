//! Downstreams that fail, each in its own way, and heal.

mod patient;

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::sleep};

use self::patient::{Patient, Reached, patients};
use super::{
    Bench,
    caller::{Call, Load, Outcome, Running, ask},
    figures::{millis, quantile, seconds},
    folder::Folder,
    gateway::{Gateway, ROOM},
    report::Report,
};
use crate::client::{HttpClient, Speaks};

pub(crate) async fn run(bench: &Bench, folder: &Folder) -> io::Result<Report> {
    let patients = patients(folder);
    let config: String = patients.iter().map(|patient| patient.config(folder)).collect();
    let gateway = Gateway::start(bench, folder, &(config + ROOM)).await?;
    let client = Arc::new(gateway.client(Speaks::modern()).await?);
    let ill = bench.span(Duration::from_secs(20), Duration::from_secs(16));
    let (course, calls) = course(&patients, folder, load(&client, &patients).start(), ill).await?;
    let mut report = Report::default();
    for (target, patient) in patients.iter().enumerate() {
        let own: Vec<&Call> = calls.iter().filter(|call| call.target == target).collect();
        course.judge_illness(&mut report, patient.name, &own, course.requests[target]);
        course.judge_recovery(&mut report, patient.name, &own);
        if patient.is_process() {
            let starts = patient.reached(folder).starts - course.starts[target];
            report.figure(format!("{starts} starts"));
            report.demand(starts <= 5, || format!("{}: {starts} starts in less than a minute", patient.name));
        }
        let done = hundred(&client, patient.name).await;
        report.demand(done == 100, || format!("{}: {done} of 100 calls after it healed", patient.name));
    }
    Ok(report)
}

/// Twenty callers for each.
fn load(client: &Arc<HttpClient>, patients: &[Patient]) -> Load {
    Load {
        clients: vec![Arc::clone(client)],
        targets: patients.iter().map(|patient| patient.name.to_owned()).collect(),
        callers: 20 * patients.len(),
        pace: Duration::from_millis(250),
        faithful: true,
    }
}

/// What happened when, since the start of the load.
#[derive(Debug, Default)]
struct Course {
    ill: Duration,
    /// The middle of the illness.
    half: Duration,
    healed: Duration,
    /// How often each had been started before it fell ill.
    starts: Vec<usize>,
    /// What each was asked in the second half of its illness.
    requests: Vec<usize>,
}

/// All fall ill and heal together.
async fn course(
    patients: &[Patient],
    folder: &Folder,
    load: Running,
    ill: Duration,
) -> io::Result<(Course, Vec<Call>)> {
    let reached = || -> Vec<Reached> { patients.iter().map(|patient| patient.reached(folder)).collect() };
    sleep(Duration::from_secs(4)).await;
    let mut course = Course { ill: load.began.elapsed(), ..Course::default() };
    course.starts = reached().iter().map(|reached| reached.starts).collect();
    patients.iter().try_for_each(Patient::fail)?;
    sleep(ill / 2).await;
    course.half = load.began.elapsed();
    let half = reached();
    sleep(ill / 2).await;
    course.requests = reached().iter().zip(half).map(|(end, half)| end.requests - half.requests).collect();
    course.healed = load.began.elapsed();
    patients.iter().try_for_each(Patient::heal)?;
    sleep(INTERVAL + Duration::from_secs(2)).await;
    Ok((course, load.stop().await))
}

impl Course {
    fn judge_illness(&self, report: &mut Report, name: &str, calls: &[&Call], requests: usize) {
        let healthy: Vec<_> = calls.iter().filter(|call| call.ended < self.ill).collect();
        let fine = !healthy.is_empty() && healthy.iter().all(|call| call.outcome == Outcome::Done);
        report.demand(fine, || format!("{name}: not healthy at the start"));
        let opened = calls.iter().filter(|call| call.ended >= self.ill && is_broken(call));
        let opened = opened.map(|call| call.ended).min().map(|at| at.saturating_sub(self.ill));
        let ill = calls.iter().filter(|call| call.ended >= self.half && call.begun < self.healed);
        let ends = ends(ill.clone());
        let mut latencies: Vec<_> = ill.map(|call| call.ended.saturating_sub(call.begun)).collect();
        latencies.sort_unstable();
        let late = quantile(&latencies, 95);
        let rate = requests as f64 / (self.healed - self.half).as_secs_f64();
        report.figure(format!(
            "{name}: open after {}, then p95 {} ms and {rate:.1} requests/s",
            told(opened),
            millis(late)
        ));
        let soon = opened.is_some_and(|time| time <= OPEN);
        report.demand_in_time(soon, || format!("{name}: open after {}; {ends}", told(opened)));
        report.demand_in_time(late <= FAST, || format!("{name}: refused in {} ms; {ends}", millis(late)));
        report
            .demand_in_time(rate <= 5.0, || format!("{name}: {rate:.1} requests/s reach it while it is ill"));
    }

    fn judge_recovery(&self, report: &mut Report, name: &str, calls: &[&Call]) {
        let well = calls.iter().filter(|call| call.begun >= self.healed && call.outcome == Outcome::Done);
        let well = well.map(|call| call.ended).min();
        let after = well.map(|at| at.saturating_sub(self.healed));
        report.figure(format!("well after {}", told(after)));
        report.demand(after.is_some(), || format!("{name}: never well again"));
        report.demand_in_time(after.is_some_and(|time| time <= INTERVAL), || {
            format!("{name}: well after {}", told(after))
        });
        let relapses = calls.iter().filter(|call| well.is_some_and(|well| call.begun > well));
        let relapses = relapses.filter(|call| call.outcome != Outcome::Done).count();
        report.demand(relapses == 0, || format!("{name}: {relapses} calls fail after the first success"));
        for call in calls {
            if let Outcome::Wrong(text) | Outcome::Lost(text) = &call.outcome {
                report.demand(false, || format!("{name}: {} {text}", call.token));
            }
        }
    }
}

/// How calls ended, how many did so and how long the longest of them took.
fn ends<'a>(calls: impl Iterator<Item = &'a &'a Call>) -> String {
    let mut ends: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for call in calls {
        let end = match &call.outcome {
            Outcome::Refused { kind, .. } => kind,
            Outcome::Done => "done",
            Outcome::Wrong(_) => "wrong",
            Outcome::Lost(_) => "lost",
        };
        let (count, longest) = ends.entry(end).or_default();
        *count += 1;
        *longest = call.ended.saturating_sub(call.begun).max(*longest);
    }
    let end = |(end, (count, longest)): (&&str, &(usize, Duration))| {
        format!("{count} {end} within {} ms", millis(*longest))
    };
    ends.iter().map(end).collect::<Vec<_>>().join(", ")
}

/// Refused without being tried.
fn is_broken(call: &Call) -> bool {
    matches!(&call.outcome, Outcome::Refused { kind, .. } if kind == "downstream_broken")
}

fn told(time: Option<Duration>) -> String {
    time.map_or_else(|| "never".to_owned(), seconds)
}

/// How many of a hundred calls succeed.
async fn hundred(client: &Arc<HttpClient>, name: &str) -> usize {
    let mut callers = JoinSet::new();
    for caller in 0..10 {
        let (client, tool) = (Arc::clone(client), format!("{name}__echo"));
        callers.spawn(async move {
            let mut done = 0;
            for call in 0..10 {
                let arguments = format!(r#"{{"call":"{caller}-{call}"}}"#);
                done += usize::from(ask(&client, &tool, &arguments).await == Outcome::Done);
            }
            done
        });
    }
    callers.join_all().await.into_iter().sum()
}

/// Until it is no longer tried by everybody: calls have to time out first, after 2 s each, and then a probe.
const OPEN: Duration = Duration::from_secs(8);

/// How soon a call is refused then; one of many may be the one that tries.
const FAST: Duration = Duration::from_millis(250);

/// The longest time between two tries, and some slack.
const INTERVAL: Duration = Duration::from_secs(17);
