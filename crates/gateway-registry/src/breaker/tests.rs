use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

fn breaker(limit: u32, cooldown: Cooldown, now: Instant) -> Breaker {
    Breaker::new(limit, cooldown, Jitter::seeded(7), now)
}

fn growing(limit: u32, now: Instant) -> Breaker {
    breaker(limit, Cooldown::from_setting(None), now)
}

fn try_and(breaker: &mut Breaker, outcome: Option<Failure>, now: Instant) {
    let admission = breaker.admit(now).unwrap();
    match outcome {
        None => breaker.succeeded(admission, now),
        Some(failure) => breaker.failed(admission, failure, "no".into(), now),
    }
}

fn tripped(limit: u32, now: Instant) -> Breaker {
    let mut breaker = breaker(limit, Cooldown::Fixed(30 * SECOND), now);
    for _ in 0..limit {
        try_and(&mut breaker, Some(Failure::Hard), now);
    }
    breaker
}

fn fail(breaker: &mut Breaker, admission: Admission, reason: &str, now: Instant) {
    breaker.failed(admission, Failure::Hard, reason.into(), now);
}

#[test]
fn the_limit_opens_and_the_cooldown_admits_one_probe() {
    let start = Instant::now();
    let mut breaker = tripped(5, start);
    let refusal = breaker.admit(start + 29 * SECOND).unwrap_err();
    assert_eq!(refusal, Refusal { retry_in: SECOND, reason: "no".into() });
    let probe = breaker.admit(start + 31 * SECOND).unwrap();
    for _ in 0..31 {
        assert!(breaker.admit(start + 31 * SECOND).is_err(), "R-23: one probe only");
    }
    fail(&mut breaker, probe, "still", start + 40 * SECOND);
    assert!(breaker.admit(start + 60 * SECOND).is_err(), "R-80: counted from the failure");
    let probe = breaker.admit(start + 71 * SECOND).unwrap();
    breaker.succeeded(probe, start + 71 * SECOND);
    assert!(breaker.admit(start + 71 * SECOND).is_ok());
}

/// What happens, how often it happens again, one outcome each tenth of a second, and what the breaker is then.
type Row<'a> = (&'a str, &'a [(usize, &'a [Option<Failure>])], &'a str);

#[test]
fn each_signal_opens_it_and_timeouts_alone_do_not() {
    const G: Option<Failure> = None;
    const H: Option<Failure> = Some(Failure::Hard);
    const S: Option<Failure> = Some(Failure::Slow);
    const L: Option<Failure> = Some(Failure::RateLimited);
    let rows: &[Row<'_>] = &[
        ("five in a row", &[(5, &[H])], "open"),
        ("R-81: a success starts the count anew", &[(1, &[H, H, H, H, G, H, H, H, H])], "closed"),
        ("fewer than half of twenty", &[(6, &[G, H, H, G]), (8, &[H, G, H])], "open"),
        ("half of them", &[(20, &[G, H])], "closed"),
        ("most of nineteen", &[(6, &[H, G, H]), (1, &[H])], "closed"),
        ("most of twenty", &[(6, &[H, G, H]), (1, &[H, H])], "open"),
        ("P-45: five timeouts in a row", &[(5, &[S])], "suspect"),
        ("R-W3: fewer timeouts", &[(4, &[S])], "closed"),
        ("most are timeouts", &[(7, &[S, G, S])], "suspect"),
        ("a call is answered after them", &[(5, &[S]), (1, &[G])], "closed"),
        ("some of them are worse", &[(1, &[S, H, H, H, H])], "suspect"),
        ("most are timeouts, and one is worse", &[(1, &[H]), (7, &[S, G, S])], "suspect"),
        ("five of them are worse, whatever is between", &[(5, &[S, H])], "open"),
        ("told to wait, five in a row", &[(19, &[L])], "closed"),
        ("told to wait, most of twenty", &[(20, &[L])], "open"),
        ("told to wait, neither counted nor a success", &[(1, &[H, H, L, H, H, L])], "closed"),
        ("the same and one more", &[(1, &[H, H, L, H, H, L, H])], "open"),
    ];
    for (what, outcomes, expected) in rows {
        let start = Instant::now();
        let mut breaker = growing(5, start);
        let mut now = start;
        for (times, outcomes) in *outcomes {
            for outcome in outcomes.repeat(*times) {
                if !breaker.is_refusing() {
                    try_and(&mut breaker, outcome, now);
                }
                now += 100 * MILLI;
            }
        }
        let state = match (breaker.is_refusing(), breaker.probe_due()) {
            (true, _) => "open",
            (false, Some(_)) => "suspect",
            (false, None) => "closed",
        };
        assert_eq!(state, *expected, "{what}");
    }
}

#[test]
fn the_rate_is_that_of_the_last_ten_seconds() {
    for (pause, opens) in [(8, true), (11, false)] {
        let start = Instant::now();
        let mut breaker = growing(100, start);
        for _ in 0..15 {
            try_and(&mut breaker, Some(Failure::Hard), start);
        }
        let later = start + pause * SECOND;
        for _ in 0..5 {
            try_and(&mut breaker, Some(Failure::Hard), later);
        }
        assert_eq!(breaker.is_refusing(), opens, "after {pause} s");
    }
}

#[test]
fn outcomes_from_before_a_change_are_ignored() {
    let now = Instant::now();
    let mut breaker = breaker(1, Cooldown::Fixed(SECOND), now);
    let (early, late) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
    fail(&mut breaker, early, "", now);
    breaker.succeeded(late, now);
    assert!(breaker.admit(now).is_err(), "R-W6: a success begun before the trip does not clear it");
}

#[test]
fn late_outcomes_do_not_touch_a_probe_or_what_it_mended() {
    let start = Instant::now();
    let mut breaker = breaker(1, Cooldown::Fixed(SECOND), start);
    let [trips, fails, gives_up] = [(); 3].map(|()| breaker.admit(start).unwrap());
    fail(&mut breaker, trips, "", start);
    let later = start + SECOND;
    let probe = breaker.admit(later).unwrap();
    breaker.abandoned(gives_up, later);
    assert!(breaker.admit(later).is_err(), "R-23: the probe's place is taken");
    fail(&mut breaker, fails, "", later);
    breaker.succeeded(probe, later);
    assert!(breaker.admit(later).is_ok());
    fail(&mut breaker, fails, "", later);
    assert!(breaker.admit(later).is_ok(), "R-W6");
}

#[test]
fn an_abandoned_probe_leaves_its_place_to_the_next() {
    let start = Instant::now();
    let mut breaker = tripped(1, start);
    let later = start + 31 * SECOND;
    let probe = breaker.admit(later).unwrap();
    breaker.abandoned(probe, later);
    assert!(breaker.admit(later).is_ok(), "R-W4");
}

#[test]
fn the_cooldown_grows_to_its_end_and_is_shortened_by_a_quarter_at_most() {
    for seed in 0..200 {
        let mut jitter = Jitter::seeded(seed);
        let cooldown = Cooldown::from_setting(None);
        for (probes, seconds) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 15), (5, 15), (u32::MAX, 15)] {
            let (drawn, full) = (cooldown.after(probes, &mut jitter), seconds * SECOND);
            assert!(drawn <= full && drawn >= full * 3 / 4, "{drawn:?} for {full:?}");
        }
        assert_eq!(Cooldown::from_setting(Some(SECOND)).after(3, &mut jitter), SECOND, "R-19: fixed");
    }
}

#[test]
fn a_probe_that_hangs_adds_nothing_to_a_cooldown_that_grows() {
    for (setting, due) in [(None, 15), (Some(15 * SECOND), 20)] {
        let start = Instant::now();
        let mut breaker = breaker(1, Cooldown::from_setting(setting), start);
        try_and(&mut breaker, Some(Failure::Hard), start);
        let mut now = start;
        for _ in 0..5 {
            now = breaker.probe_due().unwrap().max(now);
            let probe = breaker.admit(now).unwrap();
            fail(&mut breaker, probe, "no answer", now + 5 * SECOND);
        }
        let next = breaker.probe_due().unwrap() - now;
        assert!(next <= due * SECOND && next > (due - 4) * SECOND, "{setting:?}: {next:?}");
    }
}

#[test]
fn it_goes_on_growing_until_something_real_succeeds() {
    let start = Instant::now();
    let mut breaker = growing(1, start);
    let mut now = start;
    let open_for = |breaker: &mut Breaker, now: Instant| {
        try_and(breaker, Some(Failure::Hard), now);
        breaker.probe_due().unwrap() - now
    };
    for (round, seconds) in [1, 2, 4, 8, 15, 15].into_iter().enumerate() {
        let cooldown = open_for(&mut breaker, now);
        assert!(cooldown <= seconds * SECOND && cooldown > seconds * SECOND / 2, "{round}: {cooldown:?}");
        now += cooldown;
        let probe = breaker.begin_probe(now).unwrap();
        breaker.verified(probe, now);
    }
    try_and(&mut breaker, None, now);
    assert!(open_for(&mut breaker, now) <= SECOND);
}

#[test]
fn timeouts_soon_after_a_probe_ask_for_none() {
    let start = Instant::now();
    let mut breaker = growing(5, start);
    let suspect = |breaker: &mut Breaker, now: Instant| {
        (0..5).for_each(|_| try_and(breaker, Some(Failure::Slow), now));
        breaker.probe_due().unwrap() - now
    };
    assert_eq!(suspect(&mut breaker, start), Duration::ZERO, "at once");
    let probe = breaker.begin_probe(start).unwrap();
    assert!(breaker.admit(start).is_ok(), "P-45: nobody is refused meanwhile");
    breaker.verified(probe, start);
    assert_eq!(suspect(&mut breaker, start + 5 * SECOND), 10 * SECOND, "no storm of probes");
}

#[test]
fn a_failed_probe_of_a_suspect_opens_it_unless_a_call_was_answered() {
    for answered in [false, true] {
        let now = Instant::now();
        let mut breaker = growing(5, now);
        let probe = breaker.doubt("silence".into(), now).unwrap();
        assert_eq!(breaker.doubt("silence".into(), now), None, "one at a time");
        if answered {
            try_and(&mut breaker, None, now);
        }
        fail(&mut breaker, probe, "no", now);
        assert_eq!(breaker.is_refusing(), !answered);
    }
}

/// The breaker as its rules read, each worked out anew from what has happened.
struct Model {
    limit: usize,
    /// Since it last opened or was closed by a probe: when, in seconds, and how.
    outcomes: Vec<(u64, Option<Failure>)>,
    phase: Phase,
    openings: u32,
    opened_ms: Option<u64>,
    generation: u64,
    probes: u64,
    verified_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Closed,
    Suspect(u64),
    Open(u64),
    /// Its number, since when, and whether others are refused.
    Probing(u64, u64, bool),
}

impl Model {
    fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_) | Phase::Probing(_, _, true))
    }

    fn probe_due(&self) -> Option<u64> {
        match self.phase {
            Phase::Open(at) | Phase::Suspect(at) => Some(at),
            _ => None,
        }
    }

    fn begin_probe(&mut self, now: u64) -> Admission {
        self.probes += 1;
        self.phase = Phase::Probing(self.probes, now, self.is_open());
        Admission::Probe(self.probes)
    }

    fn admit(&mut self, now: u64) -> Option<Admission> {
        match self.phase {
            Phase::Open(until) if until <= now => Some(self.begin_probe(now)),
            _ if self.is_open() => None,
            _ => Some(Admission::Try(self.generation)),
        }
    }

    /// Whether the outcome is of interest at all.
    fn awaits(&self, admission: Admission) -> bool {
        match admission {
            Admission::Try(generation) => generation == self.generation,
            Admission::Probe(probe) => matches!(self.phase, Phase::Probing(number, ..) if number == probe),
        }
    }

    fn ended(&mut self, admission: Admission, outcome: Ending, now: u64) {
        if !self.awaits(admission) {
            return;
        }
        let is_probe = matches!(admission, Admission::Probe(_));
        match outcome {
            Ending::Verified if is_probe => {
                self.verified_ms = Some(now + 15_000);
                (self.phase, self.outcomes) = (Phase::Closed, Vec::new());
            }
            Ending::Succeeded if is_probe => {
                self.openings = 0;
                (self.phase, self.outcomes) = (Phase::Closed, Vec::new());
            }
            Ending::Failed(_) if is_probe => match self.phase {
                Phase::Probing(_, since, _) => self.open(since),
                _ => unreachable!("it is awaited"),
            },
            Ending::Abandoned if is_probe => {
                self.phase = if self.is_open() { Phase::Open(now) } else { Phase::Suspect(now) };
            }
            Ending::Succeeded => {
                self.openings = 0;
                self.outcomes.push((now / 1000, None));
                self.phase = Phase::Closed;
            }
            Ending::Failed(failure) => {
                self.outcomes.push((now / 1000, Some(failure)));
                self.judge(failure, now);
            }
            Ending::Verified | Ending::Abandoned => {}
        }
    }

    fn judge(&mut self, latest: Failure, now: u64) {
        let counted = self.outcomes.iter().rev().map_while(|(_, outcome)| *outcome);
        let in_a_row: Vec<_> = counted.filter(|failure| *failure != Failure::RateLimited).collect();
        let recent: Vec<_> = self
            .outcomes
            .iter()
            .filter(|(second, _)| second + 10 > now / 1000)
            .map(|(_, how)| *how)
            .collect();
        let good = recent.iter().filter(|how| how.is_none()).count();
        let slow = recent.iter().filter(|how| **how == Some(Failure::Slow)).count();
        let counts = latest != Failure::RateLimited;
        let hard_in_a_row = in_a_row.iter().filter(|failure| **failure == Failure::Hard).count();
        let judged = recent.len() - slow;
        if counts && hard_in_a_row >= self.limit || judged >= 20 && good * 2 < judged {
            self.open(now);
        } else if (counts && in_a_row.len() >= self.limit || recent.len() >= 20 && good * 2 < recent.len())
            && self.phase == Phase::Closed
        {
            self.phase = Phase::Suspect(self.verified_ms.unwrap_or(now).max(now));
        }
    }

    /// Counted from then; the cooldown is still to be added.
    fn open(&mut self, from: u64) {
        if self.opened_ms.is_some_and(|last| from.saturating_sub(last) > 60_000) {
            self.openings = 0;
        }
        self.opened_ms = Some(from);
        self.openings += 1;
        self.generation += 1;
        (self.phase, self.outcomes) = (Phase::Open(from), Vec::new());
    }
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Succeeded,
    Verified,
    Failed(Failure),
    Abandoned,
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Admit,
    Probe,
    Doubt,
    /// Which of those on their way, counted round.
    End(usize, Ending),
    /// Begin and end many.
    Many(usize, Ending),
}

fn step() -> impl Strategy<Value = Step> {
    let failure = prop_oneof![Just(Failure::Hard), Just(Failure::Slow), Just(Failure::RateLimited)];
    let ending = prop_oneof![
        4 => Just(Ending::Succeeded),
        2 => Just(Ending::Verified),
        6 => failure.prop_map(Ending::Failed),
        1 => Just(Ending::Abandoned),
    ];
    prop_oneof![
        2 => prop_oneof![0..3_000_u64, 0..20_000_u64].prop_map(Step::Wait),
        4 => Just(Step::Admit),
        2 => Just(Step::Probe),
        1 => Just(Step::Doubt),
        5 => (any::<usize>(), ending.clone()).prop_map(|(which, how)| Step::End(which, how)),
        2 => (1..12_usize, ending).prop_map(|(times, how)| Step::Many(times, how)),
    ]
}

/// Both sides of one run.
struct Run {
    start: Instant,
    now: u64,
    breaker: Breaker,
    model: Model,
    running: Vec<Admission>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let start = Instant::now();
        let breaker = Breaker::new(3, Cooldown::from_setting(None), Jitter::seeded(seed), start);
        let model = Model {
            limit: 3,
            outcomes: Vec::new(),
            phase: Phase::Closed,
            openings: 0,
            opened_ms: None,
            generation: 0,
            probes: 0,
            verified_ms: None,
        };
        Self { start, now: 0, breaker, model, running: Vec::new() }
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_millis(self.now)
    }

    fn admit(&mut self) -> Result<Option<Admission>, TestCaseError> {
        let (admitted, expected) = (self.breaker.admit(self.at()).ok(), self.model.admit(self.now));
        prop_assert_eq!(admitted, expected);
        Ok(admitted)
    }

    fn end(&mut self, admission: Admission, how: Ending) -> Result<(), TestCaseError> {
        let (now, generation) = (self.at(), self.model.generation);
        match how {
            Ending::Succeeded => self.breaker.succeeded(admission, now),
            Ending::Verified => self.breaker.verified(admission, now),
            Ending::Failed(failure) => self.breaker.failed(admission, failure, String::new(), now),
            Ending::Abandoned => self.breaker.abandoned(admission, now),
        }
        self.model.ended(admission, how, self.now);
        if self.model.generation > generation {
            self.take_over_cooldown()?;
        }
        Ok(())
    }

    /// Chance is not the model's: it takes over what was drawn, if that is as the rule says.
    fn take_over_cooldown(&mut self) -> Result<(), TestCaseError> {
        let full = 1000 * (1_u64 << (self.model.openings - 1).min(4)).min(15);
        let until = (self.breaker.probe_due().unwrap() - self.start).as_micros();
        let Phase::Open(from) = self.model.phase else { return Err(TestCaseError::fail("not open")) };
        let drawn = until - u128::from(from) * 1000;
        let full = u128::from(full) * 1000;
        prop_assert!(drawn <= full && drawn * 4 >= full * 3, "{} of {}", drawn, full);
        // Up to the next millisecond, in which the steps are.
        self.model.phase = Phase::Open(u64::try_from(until.div_ceil(1000)).unwrap());
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Wait(ms) => self.now += ms,
            Step::Admit => {
                let admitted = self.admit()?;
                self.running.extend(admitted);
            }
            Step::Probe => {
                let due = self.model.probe_due().is_some_and(|due| due <= self.now);
                let expected = due.then(|| self.model.begin_probe(self.now));
                let probe = self.breaker.begin_probe(self.at());
                prop_assert_eq!(probe, expected);
                self.running.extend(probe);
            }
            Step::Doubt => {
                let may = matches!(self.model.phase, Phase::Closed | Phase::Suspect(_));
                let expected = may.then(|| self.model.begin_probe(self.now));
                let probe = self.breaker.doubt(String::new(), self.at());
                prop_assert_eq!(probe, expected);
                self.running.extend(probe);
            }
            Step::End(which, how) if !self.running.is_empty() => {
                let admission = self.running.swap_remove(which % self.running.len());
                self.end(admission, how)?;
            }
            Step::End(..) => {}
            Step::Many(times, how) => {
                for _ in 0..times {
                    if let Some(admission) = self.admit()? {
                        self.end(admission, how)?;
                    }
                }
            }
        }
        prop_assert_eq!(self.breaker.is_refusing(), self.model.is_open());
        prop_assert_eq!(self.breaker.probe_due().is_some(), self.model.probe_due().is_some());
        Ok(())
    }
}

proptest! {
    #[test]
    fn it_does_what_its_rules_say(seed: u64, steps in prop::collection::vec(step(), 1..120)) {
        let mut run = Run::new(seed);
        for step in steps {
            run.step(step)?;
        }
        // Whatever has happened: once nobody answers for a probe, one is possible again within 15 s.
        for admission in std::mem::take(&mut run.running) {
            run.end(admission, Ending::Abandoned)?;
        }
        run.now += 15_001;
        prop_assert!(run.admit()?.is_some(), "R-W4: {:?}", run.model.phase);
    }
}
