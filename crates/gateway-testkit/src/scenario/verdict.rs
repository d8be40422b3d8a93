//! Judges what callers saw while servers were killed.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::caller::{Call, Outcome};

/// A server that was killed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kill {
    /// Since the start of the load.
    pub(crate) at: Duration,
    pub(crate) pid: u32,
    pub(crate) target: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) calls: usize,
    pub(crate) done: usize,
    /// Calls that were in flight on a victim and ended in an error.
    pub(crate) refused: usize,
    /// Those of them that no server had run, by kind of error.
    pub(crate) unrun: BTreeMap<String, usize>,
    /// Those of these that were begun only after the kill.
    pub(crate) unrun_after: usize,
    /// What may not happen.
    pub(crate) faults: Vec<String>,
    /// From each kill to the end of the first success of a call begun after it.
    pub(crate) recoveries: Vec<Duration>,
    pub(crate) unrecovered: usize,
    /// Of the calls that were done.
    pub(crate) latencies: Vec<Duration>,
}

impl Verdict {
    /// `ran` has the processes that ran each token; `per_client` says of each target whether every client has a
    /// process of its own.
    pub(crate) fn of(
        calls: &[Call],
        kills: &[Kill],
        ran: &HashMap<String, Vec<u32>>,
        per_client: &[bool],
        unnoticed: Duration,
    ) -> Self {
        let mut verdict = Self { calls: calls.len(), ..Self::default() };
        let losses: Vec<Loss<'_>> = kills
            .iter()
            .map(|kill| {
                let ran_on = |call: &&Call| {
                    call.target == kill.target
                        && ran.get(&call.token).is_some_and(|by| by.contains(&kill.pid))
                };
                let owner = calls.iter().rev().find(ran_on).filter(|_| per_client[kill.target]);
                Loss { kill: *kill, owner, seen: kill.at + unnoticed }
            })
            .collect();
        for call in calls {
            let by = ran.get(&call.token).map_or(&[][..], Vec::as_slice);
            verdict.judge(call, by, &losses);
        }
        for loss in &losses {
            verdict.recover(loss, calls, kills);
        }
        verdict
    }

    fn judge(&mut self, call: &Call, by: &[u32], losses: &[Loss<'_>]) {
        let token = &call.token;
        if by.len() > 1 {
            self.faults.push(format!("{token} ran {} times", by.len()));
        }
        match &call.outcome {
            Outcome::Done => {
                self.done += 1;
                self.latencies.push(call.ended.saturating_sub(call.begun));
            }
            Outcome::Refused { kind, may_have_executed } => {
                if !by.is_empty() && !may_have_executed {
                    self.faults.push(format!("{token} ran, and its error ({kind}) says that it did not"));
                }
                let Some(loss) = losses.iter().find(|loss| loss.explains(call, by)) else {
                    self.faults.push(format!("{kind} without a kill: {}", place(call, losses)));
                    return;
                };
                self.refused += 1;
                if by.is_empty() {
                    *self.unrun.entry(kind.clone()).or_default() += 1;
                    self.unrun_after += usize::from(call.begun > loss.kill.at);
                }
            }
            Outcome::Wrong(text) => self.faults.push(format!("{token} was answered {text}")),
            Outcome::Lost(why) => self.faults.push(format!("{token} had no answer: {why}")),
        }
    }

    fn recover(&mut self, loss: &Loss<'_>, calls: &[Call], kills: &[Kill]) {
        let kill = &loss.kill;
        let after = calls
            .iter()
            .filter(|call| loss.concerns(call) && call.begun >= kill.at && call.outcome == Outcome::Done);
        let Some(recovered) = after.map(|call| call.ended).min() else {
            self.unrecovered += 1;
            return;
        };
        // Killed again before it was up: that counts for the later kill.
        let again = |other: &&Kill| other.target == kill.target && other.at > kill.at && other.at < recovered;
        if kills.iter().find(again).is_none() {
            self.recoveries.push(recovered.saturating_sub(kill.at));
        }
    }
}

/// A kill and whom it may hurt.
struct Loss<'a> {
    kill: Kill,
    /// The last call that the process ran, if it was one client's own.
    owner: Option<&'a Call>,
    /// When the gateway must have noticed it.
    seen: Duration,
}

impl Loss<'_> {
    fn concerns(&self, call: &Call) -> bool {
        self.kill.target == call.target && self.owner.is_none_or(|owner| owner.session == call.session)
    }

    /// Whether the call was in flight on the victim, or came before the gateway can have noticed.
    fn explains(&self, call: &Call, by: &[u32]) -> bool {
        self.concerns(call)
            && call.begun <= self.seen
            && call.ended >= self.kill.at
            && (by.is_empty() || by.contains(&self.kill.pid))
    }
}

fn place(call: &Call, losses: &[Loss<'_>]) -> String {
    let kills = || losses.iter().map(|loss| loss.kill);
    let before = kills().rev().find(|kill| kill.target == call.target && kill.at <= call.begun);
    let since =
        before.map(|kill| format!(", {:?} after the last kill there", call.begun.saturating_sub(kill.at)));
    let session = call.session.as_deref().unwrap_or("none");
    let since = since.unwrap_or_default();
    format!("target {} session {session} at {:?}{since}", call.target, call.begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNNOTICED: Duration = Duration::from_millis(100);
    const KILL: Kill = Kill { at: Duration::from_millis(1000), pid: 7, target: 0 };

    fn call(target: usize, begun: u64, ended: u64, outcome: Outcome) -> Call {
        let (begun, ended) = (Duration::from_millis(begun), Duration::from_millis(ended));
        Call { token: "t".into(), session: None, target, begun, ended, outcome }
    }

    fn refused(may_have_executed: bool) -> Outcome {
        Outcome::Refused { kind: "downstream_ended".into(), may_have_executed }
    }

    #[test]
    fn only_calls_in_flight_on_the_victim_may_fail_and_none_runs_twice() {
        let rows: [(&str, Call, &[u32], usize); 9] = [
            ("done", call(0, 900, 1100, Outcome::Done), &[7], 0),
            ("in flight on the victim", call(0, 900, 1100, refused(true)), &[7], 0),
            ("before the gateway noticed", call(0, 1090, 1091, refused(false)), &[], 0),
            ("on another process of it", call(0, 900, 1100, refused(true)), &[8], 1),
            ("on another server", call(1, 900, 1100, refused(true)), &[], 1),
            ("over before the kill", call(0, 900, 999, refused(true)), &[7], 1),
            ("begun long after", call(0, 1300, 1400, refused(false)), &[], 1),
            ("ran, says it did not", call(0, 900, 1100, refused(false)), &[7], 1),
            ("ran twice", call(0, 900, 1100, Outcome::Done), &[7, 9], 1),
        ];
        for (name, call, by, faults) in rows {
            let ran = HashMap::from([("t".to_owned(), by.to_vec())]);
            let verdict = Verdict::of(&[call], &[KILL], &ran, &[false, false], UNNOTICED);
            assert_eq!(verdict.faults.len(), faults, "{name}: {:?}", verdict.faults);
        }
    }

    #[test]
    fn a_kill_of_one_clients_process_excuses_no_other_client() {
        let other = |session: Option<&str>| {
            let mut call = call(0, 950, 1050, refused(false));
            (call.session, call.token) = (session.map(Into::into), "other".into());
            call
        };
        let ran = HashMap::from([("t".to_owned(), vec![7])]);
        for (session, per_client, faults) in [(None, true, 0), (Some("s"), true, 1), (Some("s"), false, 0)] {
            let calls = [call(0, 900, 990, Outcome::Done), other(session)];
            let verdict = Verdict::of(&calls, &[KILL], &ran, &[per_client], UNNOTICED);
            assert_eq!(verdict.faults.len(), faults, "session {session:?}: {:?}", verdict.faults);
        }
    }

    #[test]
    fn recovery_is_the_first_success_begun_after_the_kill() {
        let calls = [
            call(0, 900, 1500, Outcome::Done),
            call(0, 1400, 1450, refused(false)),
            call(0, 1600, 1700, Outcome::Done),
        ];
        let verdict = Verdict::of(&calls, &[KILL], &HashMap::new(), &[false], UNNOTICED);
        assert_eq!(verdict.recoveries, [Duration::from_millis(700)]);
        assert_eq!(Verdict::of(&calls[..2], &[KILL], &HashMap::new(), &[false], UNNOTICED).unrecovered, 1);
    }
}
