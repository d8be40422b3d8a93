use gateway_domain::ClientCapabilities;

use super::*;

fn limits(max_runs: usize, max_runs_per_caller: usize) -> ComposerConfig {
    ComposerConfig { max_runs, max_runs_per_caller, ..ComposerConfig::default() }
}

fn legacy(id: &str) -> SessionKey {
    SessionKey::Legacy { id: id.into() }
}

fn modern() -> SessionKey {
    SessionKey::Modern { caller: Caller::anonymous(), capabilities: ClientCapabilities::none() }
}

fn client(name: &str) -> Option<Owner> {
    Owner::of(&Caller::client(name), &legacy(name))
}

#[test]
fn there_are_so_many_places_in_all_and_for_each_caller() {
    let (places, limits) = (Arc::new(Places::default()), limits(3, 2));
    let take = |caller| places.take(client(caller), &limits);
    let first = take("a").unwrap();
    let _second = take("a").unwrap();
    let of_caller = CallerError::Overloaded { what: "workflows of this caller", limit: 2 };
    assert_eq!(take("a").unwrap_err(), of_caller);
    let _third = take("b").unwrap();
    let in_all = CallerError::Overloaded { what: "workflows", limit: 3 };
    assert_eq!(take("c").unwrap_err(), in_all);
    drop(first);
    take("a").unwrap();
    take("c").unwrap();
}

#[test]
fn runs_count_together_if_they_are_of_one_caller_or_of_one_session_without_any() {
    let (named, nobody) = (Caller::client("a"), Caller::anonymous());
    for (one, other, counts) in [
        ((&named, legacy("1")), (&named, legacy("2")), true),
        ((&named, legacy("1")), (&named, modern()), true),
        ((&named, legacy("1")), (&Caller::client("b"), legacy("1")), false),
        ((&nobody, legacy("1")), (&nobody, legacy("1")), true),
        ((&nobody, legacy("1")), (&nobody, legacy("2")), false),
        ((&nobody, legacy("1")), (&nobody, modern()), false),
        ((&nobody, modern()), (&nobody, modern()), false),
        ((&nobody, legacy("a")), (&named, legacy("a")), false),
    ] {
        let places = Arc::new(Places::default());
        let _one = places.take(Owner::of(one.0, &one.1), &limits(9, 1)).unwrap();
        let refused = places.take(Owner::of(other.0, &other.1), &limits(9, 1)).is_err();
        assert_eq!(refused, counts, "{one:?} and {other:?}");
    }
}

#[test]
fn callers_without_a_name_are_bounded_by_the_total() {
    let places = Arc::new(Places::default());
    let take = || places.take(Owner::of(&Caller::anonymous(), &modern()), &limits(2, 1));
    let _both = (take().unwrap(), take().unwrap());
    assert_eq!(take().unwrap_err(), CallerError::Overloaded { what: "workflows", limit: 2 });
}

#[test]
fn callers_that_have_left_leave_nothing() {
    let places = Arc::new(Places::default());
    drop(places.take(client("a"), &limits(1, 1)).unwrap());
    let taken = places.locked();
    assert!(taken.in_all == 0 && taken.by_owner.is_empty());
}
