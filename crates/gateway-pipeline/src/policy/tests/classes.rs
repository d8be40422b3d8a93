use std::{sync::Arc, thread};

use super::*;

fn class(policy: &Policy, caller: &Caller) -> u64 {
    policy.class(caller).unwrap()
}

#[test]
fn callers_with_the_same_rules_share_a_class() {
    let ops = rule(Effect::Allow, claims(&[("groups", &["ops"])]), names(&["*"]));
    let clients = vec![
        client("desk", &["a__*", "b__x"], &["c__y"]),
        client("same", &["b__x", "a__*", "a__*"], &["c__y"]),
        client("other", &["a__*"], &["c__y"]),
        client("swapped", &["c__y"], &["a__*", "b__x"]),
    ];
    let policy = Policy::new(&config(clients, vec![ops])).unwrap();
    let of = |caller: &Caller| class(&policy, caller);
    let desk = of(&Caller::client("desk"));
    assert_eq!(of(&Caller::client("desk")), desk);
    assert_eq!(of(&Caller::client("same")), desk);
    let ops = of(&user("i", "ann", &[], r#"{"groups":["ops"]}"#));
    assert_eq!(of(&user("i", "bob", &["x"], r#"{"groups":["ops","dev"]}"#)), ops);
    let none = of(&Caller::anonymous());
    assert_eq!(of(&user("i", "eve", &[], "{}")), none);
    assert_eq!(of(&Caller::client("unknown")), none);
    let all = [desk, of(&Caller::client("other")), of(&Caller::client("swapped")), ops, none];
    let distinct: std::collections::HashSet<_> = all.into_iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn what_a_token_grants_counts_and_not_what_an_earlier_one_of_the_same_caller_did() {
    let scoped = Who { scopes: Some(texts(&["write"])), ..Who::default() };
    let policy = Policy::new(&config(Vec::new(), vec![rule(Effect::Allow, scoped, names(&["*"]))])).unwrap();
    let wish = Wish::tool("f__t");
    let check = |scopes: &[&str], claims: &str, expected| {
        assert_eq!(wish.decided(&policy, &user("i", "ann", scopes, claims)), expected, "{scopes:?} {claims}");
    };
    // More tokens than are remembered, forth and back.
    for round in 0..4 {
        check(&["read"], "{}", Decision::DeniedByDefault);
        check(&["read", "write"], "{}", Decision::Allowed);
        for token in 0..6 {
            check(&["write"], &format!(r#"{{"jti":"{token}"}}"#), Decision::Allowed);
        }
        check(&[], &format!(r#"{{"jti":"{round}"}}"#), Decision::DeniedByDefault);
    }
}

#[test]
fn only_who_may_do_everything_has_no_class() {
    let open = |clients, rules| PolicyConfig { default: Effect::Allow, ..config(clients, rules) };
    let desk = Caller::client("desk");
    let check = |config: &PolicyConfig, caller: &Caller, restricted: bool| {
        assert_eq!(Policy::new(config).unwrap().class(caller).is_some(), restricted, "{config:?} {caller:?}");
    };
    let denying =
        || rule(Effect::Deny, Who { clients: Some(texts(&["desk"])), ..Who::default() }, What::default());
    check(&PolicyConfig::default(), &desk, true);
    check(&open(Vec::new(), Vec::new()), &desk, false);
    check(&open(vec![client("desk", &["a"], &[])], Vec::new()), &desk, false);
    check(&open(vec![client("desk", &[], &["a"])], Vec::new()), &desk, true);
    check(&open(vec![client("desk", &[], &["a*"])], Vec::new()), &desk, true);
    check(&open(vec![client("desk", &[], &["a"])], Vec::new()), &Caller::anonymous(), false);
    check(&open(Vec::new(), vec![denying()]), &desk, true);
    check(&open(Vec::new(), vec![denying()]), &Caller::client("lamp"), false);
    check(&open(Vec::new(), vec![rule(Effect::Allow, Who::default(), names(&["a"]))]), &desk, false);
}

#[test]
fn other_rules_are_in_force_at_once_and_give_other_classes() {
    let rules = |allow: &[&str]| config(vec![client("desk", allow, &[])], Vec::new());
    let policy = Policy::new(&rules(&["f__a"])).unwrap();
    let shared = policy.clone();
    let desk = Caller::client("desk");
    let before = class(&policy, &desk);
    shared.replace(&rules(&["f__b"])).unwrap();
    assert_eq!(Wish::tool("f__a").decided(&policy, &desk), Decision::DeniedByDefault);
    assert_eq!(Wish::tool("f__b").decided(&policy, &desk), Decision::Allowed);
    let after = class(&policy, &desk);
    assert_ne!(before, after);
    // Even if they are the same again.
    shared.replace(&rules(&["f__b"])).unwrap();
    assert_ne!(class(&policy, &desk), after);
}

#[test]
fn a_reload_takes_the_new_pins() {
    let pinned = |names: &[&str]| PolicyConfig {
        pinned: Some(names.iter().map(|name| (*name).into()).collect()),
        ..config(vec![client("desk", &["f__*"], &[])], Vec::new())
    };
    let policy = Policy::new(&pinned(&["f__a"])).unwrap();
    let decided = |name| Wish::tool(name).decided(&policy, &Caller::client("desk"));
    assert_eq!([decided("f__a"), decided("f__b")], [Decision::Allowed, Decision::DeniedByDefault]);
    policy.replace(&pinned(&["f__b"])).unwrap();
    assert_eq!([decided("f__a"), decided("f__b")], [Decision::DeniedByDefault, Decision::Allowed]);
}

#[test]
fn rules_that_are_not_good_leave_the_old_ones_in_force() {
    let policy = Policy::new(&config(vec![client("desk", &["f__a"], &[])], Vec::new())).unwrap();
    let desk = Caller::client("desk");
    let before = class(&policy, &desk);
    policy.replace(&config(vec![client("desk", &[""], &[])], Vec::new())).unwrap_err();
    assert_eq!(Wish::tool("f__a").decided(&policy, &desk), Decision::Allowed);
    assert_eq!(class(&policy, &desk), before);
}

#[test]
fn what_is_remembered_is_bounded_and_forgetting_changes_no_decision() {
    let scoped = |scope: &str| Who { scopes: Some(texts(&[scope])), ..Who::default() };
    let rules =
        ["a", "b", "c"].map(|scope| rule(Effect::Allow, scoped(scope), names(&[&format!("f__{scope}")])));
    for remembered in [0, 1, 2, 3, 100] {
        let config = PolicyConfig { remembered, ..config(Vec::new(), rules.to_vec()) };
        let policy = Policy::new(&config).unwrap();
        let mut classes = std::collections::HashMap::new();
        for round in 0..3 {
            for (subject, scope) in [("1", "a"), ("2", "b"), ("3", "c"), ("4", "a"), ("5", "b")] {
                let caller = user("i", subject, &[scope], "{}");
                for name in ["a", "b", "c"] {
                    let allowed = Wish::tool(&format!("f__{name}")).decided(&policy, &caller).is_allowed();
                    assert_eq!(allowed, name == scope, "{remembered} {round} {subject} {name}");
                }
                // A number is never given to others.
                let class = class(&policy, &caller);
                assert_eq!(*classes.entry(class).or_insert(scope), scope, "{remembered} {round} {subject}");
            }
        }
        if remembered == 100 {
            assert_eq!(classes.len(), 3, "nothing is forgotten without need");
        }
    }
}

#[test]
fn who_has_been_remembered_keeps_the_class() {
    let policy = Policy::new(&PolicyConfig { remembered: 2, ..config(Vec::new(), Vec::new()) }).unwrap();
    let (one, two) = (user("i", "1", &[], "{}"), user("i", "2", &[], "{}"));
    let class_of_one = class(&policy, &one);
    assert_eq!(class(&policy, &two), class_of_one);
    // Both are full now, and nobody new comes.
    assert_eq!(class(&policy, &user("i", "1", &["x"], "{}")), class_of_one);
    assert_eq!(class(&policy, &two), class_of_one);
    // A third is one too many.
    assert_ne!(class(&policy, &user("i", "3", &[], "{}")), class_of_one);
}

#[test]
fn classes_are_bounded_though_one_caller_has_many() {
    let scoped = |scope: &str| Who { scopes: Some(texts(&[scope])), ..Who::default() };
    let rules = ["a", "b", "c"].map(|scope| rule(Effect::Allow, scoped(scope), names(&["*"])));
    let policy = Policy::new(&PolicyConfig { remembered: 2, ..config(Vec::new(), rules.to_vec()) }).unwrap();
    let of = |scope: &str| class(&policy, &user("i", "ann", &[scope], "{}"));
    let (a, b) = (of("a"), of("b"));
    assert_eq!((of("a"), of("b")), (a, b));
    let c = of("c");
    assert!(of("a") > c, "it begins anew with the third");
}

#[test]
fn deciding_is_safe_while_rules_change() {
    let rules = |allow: &[&str]| config(vec![client("desk", allow, &[])], Vec::new());
    let policy = Policy::new(&rules(&["f__a", "f__both"])).unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let deciding: Vec<_> = (0..2)
        .map(|_| {
            let (policy, stop) = (policy.clone(), stop.clone());
            thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let desk = Caller::client("desk");
                    assert!(Wish::tool("f__both").decided(&policy, &desk).is_allowed());
                    assert!(!Wish::tool("f__none").decided(&policy, &desk).is_allowed());
                }
            })
        })
        .collect();
    for round in 0..500 {
        policy.replace(&rules(&[["f__a", "f__b"][round % 2], "f__both"])).unwrap();
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for thread in deciding {
        thread.join().unwrap();
    }
}
