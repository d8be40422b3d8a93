use gateway_domain::Grants;
use proptest::prelude::*;

use super::{super::buckets::Buckets, *};

fn take(buckets: &mut Buckets<u16>, key: u16, now: Instant, rate: Rate) -> bool {
    let wait = buckets.wait(&key, now, || key, || Some(rate)).unwrap();
    if wait.is_zero() {
        buckets.take(&key, now, || Some(rate));
    }
    wait.is_zero()
}

#[test]
fn ten_thousand_callers_are_known_and_those_beyond_share_a_bucket() {
    const MAX: u16 = 10_000;
    let (mut buckets, start, rate) = (Buckets::new(MAX.into()), Instant::now(), rate(1.0, 2));
    for key in 0..MAX {
        assert!(take(&mut buckets, key, start, rate));
    }
    // All lack a token. Two newcomers get what is in the shared bucket, the third nothing.
    let newcomers = [MAX, MAX + 1, MAX + 2].map(|key| take(&mut buckets, key, start, rate));
    assert_eq!((newcomers, buckets.len()), ([true, true, false], MAX.into()));
    // Those who are known have theirs.
    assert!(take(&mut buckets, 7, start, rate) && !take(&mut buckets, 7, start, rate));
    // Later on all but one bucket are full, and forgotten. What the shared one lacks, its users' own ones lack.
    let later = start + SECOND;
    let own = [true, false].map(|expected| (take(&mut buckets, MAX, later, rate), expected));
    assert!(own.iter().all(|(is, expected)| is == expected), "{own:?}");
    assert_eq!(buckets.len(), 2);
}

#[test]
fn who_shares_a_bucket_is_bound_by_its_own_rate() {
    let (mut buckets, now) = (Buckets::new(0), Instant::now());
    assert!(take(&mut buckets, 1, now, rate(0.01, 1)));
    let wait = |buckets: &mut Buckets<u16>, rate| buckets.wait(&2, now, || 2, || Some(rate));
    assert_eq!(wait(&mut buckets, rate(0.01, 1)), Some(Duration::from_secs(100)));
    assert_eq!(wait(&mut buckets, rate(1.0, 1)), Some(SECOND));
    assert_eq!(buckets.wait(&2, now, || 2, || None), None);
}

#[test]
fn full_buckets_are_looked_for_once_in_a_while() {
    let (mut buckets, start, rate) = (Buckets::new(1), Instant::now(), rate(10.0, 1));
    assert!(take(&mut buckets, 1, start, rate));
    assert!(take(&mut buckets, 2, start, rate), "of the shared bucket");
    let soon = start + Duration::from_millis(500);
    assert!(take(&mut buckets, 2, soon, rate), "of the shared bucket");
    assert!(buckets.wait(&1, soon, || panic!("it is known"), || None).is_some());
    assert!(take(&mut buckets, 2, start + SECOND, rate), "of its own");
    assert!(buckets.wait(&2, start + SECOND, || panic!("it is known"), || None).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_a_token_grants_is_not_kept() {
    let grants = Grants { claims: RawObject::parse(r#"{"a":"b"}"#).unwrap(), ..Grants::default() };
    let one = || Limit::of(rate(0.01, 1));
    let rig =
        Rig::new(rates(Rates { caller: one(), caller_tool: one(), task_polls: one(), ..Rates::default() }));
    let user = Caller::user("https://a", "ann", grants);
    assert_eq!(rig.call(Call { caller: user.clone(), ..tool("", "d", "t") }).await, Ok(()));
    // The same person with another token.
    let again = Caller::user("https://a", "ann", Grants::default());
    assert!(rig.call(Call { caller: again, ..tool("", "d", "t") }).await.is_err());
    let other = Caller::user("https://b", "ann", Grants::default());
    assert_eq!(rig.call(Call { caller: other, ..tool("", "d", "t") }).await, Ok(()));
    assert!(!rig.limits.keeps_grants());
}

proptest! {
    /// Of any key, whatever others do and whoever is forgotten: in no time more than a burst and what comes in it.
    #[test]
    fn nobody_ever_has_more_than_its_due(
        max in 0_usize..4,
        calls in prop::collection::vec((0_u16..6, 0_u64..1500), 1..200),
    ) {
        let (burst, rate) = (3, rate(1.0, 3));
        let (mut buckets, start) = (Buckets::new(max), Instant::now());
        let mut now = start;
        let mut taken: Vec<(u16, Instant)> = Vec::new();
        for (key, pause) in calls {
            now += Duration::from_millis(pause);
            if take(&mut buckets, key, now, rate) {
                taken.push((key, now));
            }
            prop_assert!(buckets.len() <= max);
        }
        for key in 0..6 {
            let own: Vec<_> = taken.iter().filter(|(of, _)| *of == key).map(|(_, at)| *at).collect();
            for (first, from) in own.iter().enumerate() {
                for (last, until) in own.iter().enumerate().skip(first) {
                    let due = burst + (*until - *from).as_secs() as usize;
                    prop_assert!(last - first < due, "{} in {:?}", last - first + 1, *until - *from);
                }
            }
        }
    }
}
