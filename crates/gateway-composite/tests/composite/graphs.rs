//! When steps run, and what comes of failures, for workflows of any shape: compared with a simulation that knows
//! nothing of tasks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gateway_composite::{
    Composer, ComposerConfig, Run, RunStatus, StepStatus, Turn, Workflow, WorkflowError, WorkflowResult,
};
use gateway_domain::RawObject;
use proptest::prelude::*;
use tokio::time::{Instant, sleep};

use crate::fake::{Tools, context, workflow};

#[derive(Debug, Clone)]
struct Node {
    /// Places in the file.
    needs: Vec<usize>,
    ms: u64,
    fails: bool,
    is_forgiven: bool,
}

impl Node {
    fn is_fatal(&self) -> bool {
        self.fails && !self.is_forgiven
    }

    fn step(&self, at: usize) -> String {
        let needs: Vec<_> = self.needs.iter().map(|need| format!(r#""s{need}""#)).collect();
        let seen: Vec<_> =
            self.needs.iter().map(|need| format!(r#""{{{{ steps.s{need}.output.id }}}}""#)).collect();
        let fail = if self.fails { r#","fail":"always""# } else { "" };
        let on_error = if self.is_forgiven { r#","onError":{"action":"continue"}"# } else { "" };
        format!(
            r#"{{"id":"s{at}","tool":"t__work","dependsOn":[{}],"timeout":"1h","defaultResults":{{"id":"default {at}"}},
              "arguments":{{"id":"from {at}","ms":{},"seen":[{}]{fail}}}{on_error}}}"#,
            needs.join(","),
            self.ms,
            seen.join(","),
        )
    }
}

/// Graphs without circles in which steps also need steps that stand later in the file.
fn graphs(fails: impl Strategy<Value = bool> + Clone) -> impl Strategy<Value = Vec<Node>> {
    (1..14usize).prop_flat_map(move |count| {
        let needs: Vec<_> = (0..count).map(|at| prop::collection::btree_set(0..at.max(1), 0..4)).collect();
        let acts = prop::collection::vec((1..10_000u64, fails.clone(), any::<bool>()), count);
        let places = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
        (needs, acts, places).prop_map(|(needs, acts, places)| {
            let mut nodes = BTreeMap::new();
            for (at, (needs, (tenths, fails, is_forgiven))) in needs.into_iter().zip(acts).enumerate() {
                let needs = needs.into_iter().filter(|need| *need < at).map(|need| places[need]).collect();
                nodes.insert(places[at], Node { needs, ms: tenths * 100, fails, is_forgiven });
            }
            nodes.into_values().collect()
        })
    })
}

/// What should become of a graph, by the tenth of a second.
#[derive(Debug, PartialEq)]
struct Course {
    begun: Vec<Option<u64>>,
    ends: Vec<Option<u64>>,
    fatal: Option<usize>,
    most: usize,
}

/// `None`: two things happen at once, and either may be first.
fn simulate(nodes: &[Node], limit: usize) -> Option<Course> {
    let nothing = || vec![None; nodes.len()];
    let mut course = Course { begun: nothing(), ends: nothing(), fatal: None, most: 0 };
    let mut now = 0;
    let mut going: Vec<(u64, usize)> = Vec::new();
    loop {
        for (at, node) in nodes.iter().enumerate() {
            let is_ready = node.needs.iter().all(|need| course.ends[*need].is_some());
            if course.begun[at].is_none() && is_ready && going.len() < limit {
                course.begun[at] = Some(now);
                going.push((now + node.ms / 100, at));
            }
        }
        course.most = course.most.max(going.len());
        going.sort_unstable();
        if going.is_empty() {
            return Some(course);
        }
        if going.get(1).is_some_and(|second| second.0 == going[0].0) {
            return None;
        }
        let (end, at) = going.remove(0);
        (now, course.ends[at]) = (end, Some(end));
        if nodes[at].is_fatal() {
            course.fatal = Some(at);
            return Some(course);
        }
    }
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(test)
}

fn of(nodes: &[Node]) -> Arc<Workflow> {
    let steps: Vec<_> = nodes.iter().enumerate().map(|(at, node)| node.step(at)).collect();
    workflow(&steps, r#","timeout":"24h""#)
}

fn begin(nodes: &[Node], limit: usize, tools: &Tools) -> (Composer, Run) {
    let day = Duration::from_secs(24 * 60 * 60);
    let config = ComposerConfig { parallel_steps: limit, max_time: day, ..ComposerConfig::default() };
    let composer = Composer::new(config, Arc::new(tools.clone()));
    let run = composer.begin(of(nodes), RawObject::empty(), context(tools, "c", "{}")).unwrap();
    (composer, run)
}

async fn end(mut run: Run) -> WorkflowResult {
    match run.next().await {
        Turn::Ended(result) => result,
        Turn::Asks(requests) => panic!("nobody asks: {requests:?}"),
    }
}

/// Timers may be late by a millisecond each.
fn tenths(since: Instant, until: Instant) -> u64 {
    u64::try_from((until - since).as_millis() + 50).unwrap() / 100
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_step_runs_once_as_early_as_its_needs_and_the_places_allow(
        nodes in graphs(Just(false)),
        limit in 1..6usize,
    ) {
        let Some(expected) = simulate(&nodes, limit) else { return Ok(()) };
        let tools = Tools::default();
        let result = paused(async {
            let since = Instant::now();
            (end(begin(&nodes, limit, &tools).1).await, since)
        });
        let (result, since) = result;
        prop_assert_eq!(result.status(), RunStatus::Completed);
        prop_assert_eq!(tools.most(), expected.most);
        for (at, node) in nodes.iter().enumerate() {
            let seen = tools.seen_of(&format!("s{at}"));
            prop_assert_eq!(seen.len(), 1);
            prop_assert_eq!(Some(tenths(since, seen[0].from)), expected.begun[at]);
            let outputs: Vec<_> = node.needs.iter().map(|need| format!(r#""from {need}""#)).collect();
            let outputs = format!("[{}]", outputs.join(","));
            prop_assert_eq!(seen[0].arguments.get("seen").unwrap().to_string(), outputs);
        }
    }

    #[test]
    fn failures_end_the_run_or_are_forgiven_as_their_steps_say(
        nodes in graphs(prop::bool::weighted(0.3)),
        limit in 1..6usize,
    ) {
        let Some(expected) = simulate(&nodes, limit) else { return Ok(()) };
        let tools = Tools::default();
        let (result, record) = paused(async {
            let (composer, run) = begin(&nodes, limit, &tools);
            let id = run.id().clone();
            let result = end(run).await;
            (result, composer.status(&id).await.unwrap())
        });
        prop_assert_eq!(tools.running(), 0);
        prop_assert_eq!(&record.steps, &result.steps);
        prop_assert_eq!(record.status, result.status());
        match (expected.fatal, &result.outcome) {
            (None, Ok(_)) => {}
            (Some(at), Err(WorkflowError::StepFailed { step, .. })) => {
                prop_assert_eq!(result.status(), RunStatus::Failed);
                prop_assert_eq!(&**step, format!("s{at}"));
            }
            other => prop_assert!(false, "{other:?}"),
        }
        for (at, node) in nodes.iter().enumerate() {
            let status = match (expected.begun[at], expected.ends[at]) {
                (None, _) => StepStatus::Pending,
                (Some(_), None) => StepStatus::Failed,
                (Some(_), Some(_)) if node.fails => StepStatus::Failed,
                (Some(_), Some(_)) => StepStatus::Completed,
            };
            prop_assert_eq!(result.steps[at].status, status, "step {}", at);
            let seen = tools.seen_of(&format!("s{at}"));
            prop_assert_eq!(seen.len(), usize::from(expected.begun[at].is_some()));
            for seen in seen {
                let given = |need: &usize| match nodes[*need].fails {
                    true => format!(r#""default {need}""#),
                    false => format!(r#""from {need}""#),
                };
                let outputs: Vec<_> = node.needs.iter().map(given).collect();
                let outputs = format!("[{}]", outputs.join(","));
                prop_assert_eq!(seen.arguments.get("seen").unwrap().to_string(), outputs);
            }
        }
    }

    #[test]
    fn a_run_that_is_dropped_leaves_no_call_behind_and_is_recorded_as_cancelled(
        nodes in graphs(Just(false)),
        limit in 1..6usize,
        after in 0..3_000_000u64,
    ) {
        let tools = Tools::default();
        let (record, is_ended) = paused(async {
            let (composer, run) = begin(&nodes, limit, &tools);
            let id = run.id().clone();
            sleep(Duration::from_millis(after)).await;
            let is_ended = composer.status(&id).await.unwrap().status.is_final();
            drop(run);
            sleep(Duration::from_secs(1)).await;
            let (record, calls) = (composer.status(&id).await.unwrap(), tools.seen().len());
            assert_eq!(tools.running(), 0);
            // Long after every step would have begun.
            sleep(Duration::from_secs(24 * 60 * 60)).await;
            assert_eq!(tools.seen().len(), calls);
            (record, is_ended)
        });
        let status = if is_ended { RunStatus::Completed } else { RunStatus::Cancelled };
        prop_assert_eq!(record.status, status);
    }
}
