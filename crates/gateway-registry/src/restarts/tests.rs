use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn restarts(limit: u32) -> Restarts {
    Restarts::new(RestartBudget { limit, ..RestartBudget::default() }, Jitter::seeded(3))
}

fn start(restarts: &mut Restarts, now: Instant) -> Start {
    assert_eq!(restarts.check(now), Leave::Granted);
    restarts.begin(now)
}

fn fails(restarts: &mut Restarts, now: Instant) {
    let begun = start(restarts, now);
    restarts.ended(begun);
    restarts.came_to_nothing(begun, "exit status 1".into());
}

fn refused(restarts: &Restarts, now: Instant) -> Option<Duration> {
    match restarts.check(now) {
        Leave::Refused(refusal) => Some(refusal.retry_in),
        _ => None,
    }
}

#[test]
fn one_quick_retry_then_spaced_starts() {
    let mut restarts = restarts(5);
    let mut now = Instant::now();
    for (least, most) in [(750, 1000), (15_000, 16_000), (15_000, 16_000), (15_000, 16_000)] {
        fails(&mut restarts, now);
        let wait = refused(&restarts, now).unwrap();
        assert!((least..=most).contains(&wait.as_millis()), "{wait:?}");
        now += wait;
    }
    let Leave::Refused(refusal) = restarts.check(now - SECOND) else { panic!("not refused") };
    assert_eq!(refusal.reason, "exit status 1");
}

#[test]
fn what_works_is_restarted_at_once_however_often_it_is_killed() {
    let mut restarts = restarts(5);
    let now = Instant::now();
    for killed in 0..100_u32 {
        let now = now + 2 * killed * SECOND;
        let begun = start(&mut restarts, now);
        restarts.ended(begun);
        restarts.proved(begun);
        restarts.lost(now);
    }
    assert_eq!(restarts.check(now + 200 * SECOND), Leave::Granted);
}

#[test]
fn what_ends_after_each_answer_is_not_started_for_each_call() {
    let mut restarts = restarts(5);
    let began = Instant::now();
    let (mut now, mut starts) = (began, 0);
    while now - began < 60 * SECOND {
        if restarts.check(now) == Leave::Granted {
            let begun = restarts.begin(now);
            restarts.ended(begun);
            restarts.proved(begun);
            // Many at a time count once.
            (0..5).for_each(|_| restarts.lost(now));
            starts += 1;
        }
        now += Duration::from_millis(300);
    }
    assert!((50..=60).contains(&starts), "{starts}");
    let Leave::Refused(refusal) = restarts.check(now - SECOND) else { panic!("not refused") };
    assert!(refusal.reason.contains("again and again"));
}

#[test]
fn one_starts_alone_until_it_has_been_of_use() {
    let mut restarts = restarts(5);
    let now = Instant::now();
    let first = start(&mut restarts, now);
    assert_eq!(restarts.check(now), Leave::Wait(None));
    restarts.ended(first);
    restarts.proved(first);
    let side_by_side = [start(&mut restarts, now), start(&mut restarts, now)];
    restarts.lost(now);
    let alone = start(&mut restarts, now);
    side_by_side.into_iter().for_each(|begun| restarts.ended(begun));
    assert_eq!(restarts.check(now), Leave::Wait(None), "others that end are not that one");
    restarts.ended(alone);
    assert_eq!(restarts.check(now), Leave::Granted);
}

#[test]
fn an_older_session_proves_nothing_about_a_later_failure() {
    let mut restarts = restarts(5);
    let now = Instant::now();
    let [older, old] = [(); 2].map(|()| {
        let begun = start(&mut restarts, now);
        restarts.ended(begun);
        begun
    });
    fails(&mut restarts, now);
    restarts.proved(old);
    assert!(refused(&restarts, now).is_some());
    let later = now + SECOND;
    let new = start(&mut restarts, later);
    restarts.proved(new);
    for before in [older, old] {
        restarts.came_to_nothing(before, String::new());
    }
    restarts.ended(new);
    assert_eq!(restarts.check(later), Leave::Granted, "what was started before has no say any more");
}

#[test]
fn after_a_failure_others_wait_for_an_answer_of_the_next_start() {
    for outcome in [End::Works, End::Dies, End::Abandoned] {
        let mut restarts = restarts(5);
        let now = Instant::now();
        fails(&mut restarts, now);
        let now = now + SECOND;
        let trial = start(&mut restarts, now);
        restarts.ended(trial);
        let Leave::Wait(Some(until)) = restarts.check(now) else { panic!("no wait") };
        assert!((15..=16).contains(&(until - now).as_secs()), "{:?}", until - now);
        assert_eq!(restarts.check(until), Leave::Granted, "but not for ever");
        match outcome {
            End::Works => restarts.proved(trial),
            End::Abandoned => restarts.abandoned(trial),
            End::Dies | End::Fails => restarts.came_to_nothing(trial, String::new()),
        }
        assert_eq!(restarts.check(now) == Leave::Granted, outcome != End::Dies);
        assert_eq!(refused(&restarts, now).is_some(), outcome == End::Dies);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// Start, take so long, and end so.
    Start(u64, End),
    /// A session that had been of use is killed.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Fails,
    /// Has a session that ends without an answer.
    Dies,
    Works,
    Abandoned,
}

fn step() -> impl Strategy<Value = Step> {
    let end = prop_oneof![
        4 => Just(End::Fails),
        4 => Just(End::Dies),
        1 => Just(End::Works),
        1 => Just(End::Abandoned),
    ];
    prop_oneof![
        2 => prop_oneof![0..2_000_u64, 0..20_000_u64].prop_map(Step::Wait),
        6 => (prop_oneof![Just(0), 0..20_000_u64], end).prop_map(|(ms, end)| Step::Start(ms, end)),
        1 => Just(Step::Lost),
    ]
}

proptest! {
    #[test]
    fn no_period_sees_more_than_the_limit_and_the_next_start_is_never_far(
        limit in 1..8_u32,
        seed: u64,
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let budget = RestartBudget { limit, period: Duration::from_secs(60) };
        let mut restarts = Restarts::new(budget, Jitter::seeded(seed));
        let mut now = Instant::now();
        // Starts that came to nothing since something was last of use.
        let mut in_vain: Vec<Instant> = Vec::new();
        let longest = budget.period / limit.saturating_sub(1).max(1) + SECOND;
        for step in steps {
            match step {
                Step::Wait(ms) => now += Duration::from_millis(ms),
                Step::Lost => restarts.lost(now),
                Step::Start(ms, end) => {
                    if let Some(wait) = refused(&restarts, now) {
                        prop_assert!(wait <= longest, "{wait:?}");
                        if ms % 2 == 0 {
                            continue;
                        }
                        now += wait;
                    }
                    prop_assert_eq!(restarts.check(now), Leave::Granted, "it comes when it was promised");
                    let (begun, at) = (restarts.begin(now), now);
                    now += Duration::from_millis(ms);
                    restarts.ended(begun);
                    match end {
                        End::Abandoned => restarts.abandoned(begun),
                        End::Works => {
                            restarts.proved(begun);
                            in_vain.clear();
                        }
                        End::Fails | End::Dies => {
                            restarts.came_to_nothing(begun, String::new());
                            in_vain.push(at);
                        }
                    }
                    let recent = in_vain.iter().filter(|start| at - **start < budget.period).count();
                    prop_assert!(recent <= limit as usize, "{recent} starts within a period");
                }
            }
        }
    }
}
