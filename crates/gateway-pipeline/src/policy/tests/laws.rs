use proptest::{collection::vec, option, prelude::*};

use super::*;

/// Few enough that rules meet what is asked for.
fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]__[xy]",
        "[ab]__\\*",
        Just("*".to_owned()),
        Just("?__x".to_owned()),
        Just("u:[xy]".to_owned()),
        Just("u:*".to_owned()),
        Just("flow".to_owned()),
    ]
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    vec(pattern(), 1..3)
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        Just(Who::default()),
        vec("c[12]|c\\*", 1..3).prop_map(|clients| Who { clients: Some(clients), ..Who::default() }),
        vec("s[12]", 1..2).prop_map(|scopes| Who { scopes: Some(scopes), ..Who::default() }),
        Just(claims(&[("g", &["ops"])])),
    ]
}

fn what() -> impl Strategy<Value = What> {
    let downstreams = option::of(vec("[ab]|\\*", 1..2));
    let methods = option::of(Just(texts(&["tools/call"])));
    (option::of(patterns()), downstreams, methods, option::of(any::<bool>()), option::of(any::<bool>()))
        .prop_map(|(names, downstreams, methods, read_only, destructive)| What {
            names,
            downstreams,
            methods,
            read_only,
            destructive,
        })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let effect = prop_oneof![Just(Effect::Allow), Just(Effect::Deny)];
    let through = option::of(prop_oneof![Just(Through::Composites), Just(Through::Caller)]);
    (effect, who(), what(), through).prop_map(|(effect, who, what, through)| Rule {
        effect,
        who,
        what,
        through,
    })
}

prop_compose! {
    fn any_config()(
        default in prop_oneof![3 => Just(Effect::Deny), 1 => Just(Effect::Allow)],
        lists in vec((vec(pattern(), 0..3), vec(pattern(), 0..2)), 2),
        rules in vec(any_rule(), 0..5),
        pinned in option::of(vec("[ab]__[xy]", 0..3)),
    ) -> PolicyConfig {
        let clients = lists.into_iter().enumerate();
        PolicyConfig {
            default,
            clients: clients
                .map(|(at, (allow, deny))| ClientRules { name: format!("c{}", at + 1), allow, deny })
                .collect(),
            rules,
            pinned: pinned.map(|names| names.into_iter().map(Into::into).collect()),
            ..PolicyConfig::default()
        }
    }
}

fn any_caller() -> impl Strategy<Value = Caller> {
    prop_oneof![
        Just(Caller::anonymous()),
        "c[123]".prop_map(|name| Caller::client(&name)),
        ("[uv]", vec("s[12]", 0..2), any::<bool>()).prop_map(|(subject, scopes, ops)| {
            let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
            user("i", &subject, &scopes, if ops { r#"{"g":["ops"]}"# } else { "{}" })
        }),
    ]
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let hints =
        prop_oneof![Just("{}"), Just(r#"{"readOnlyHint":true}"#), Just(r#"{"destructiveHint":false}"#)];
    let wish = prop_oneof![
        4 => ("[ab]__[xyz]", hints).prop_map(|(name, hints)| Wish::annotated(&name, hints)),
        1 => Just(Wish::new(Act::Call, "flow", None)),
        1 => ("u:[xy]", "[ab]").prop_map(|(uri, of)| Wish::new(Act::Read, &uri, Some(&of))),
        1 => ("[ab]__[xy]").prop_map(|name| Wish::new(Act::Get, &name, Some(&name[..1]))),
        1 => ("[ab]").prop_map(|of| Wish::new(Act::Other, "odd/method", Some(&of))),
    ];
    (wish, any::<bool>()).prop_map(|(wish, is_step)| if is_step { wish.in_workflow() } else { wish })
}

fn decided(config: &PolicyConfig, caller: &Caller, wish: &Wish) -> Decision {
    wish.decided(&Policy::new(config).unwrap(), caller)
}

proptest! {
    #[test]
    fn deny_wins(config in any_config(), caller in any_caller(), wish in any_wish()) {
        let all = |effect| rule(effect, Who::default(), What::default());
        for with in [vec![all(Effect::Deny)], vec![all(Effect::Allow), all(Effect::Deny)]] {
            let mut config = config.clone();
            config.rules.extend(with);
            prop_assert_eq!(decided(&config, &caller, &wish), Decision::Denied);
        }
    }

    #[test]
    fn an_allowance_more_takes_nothing_away(
        config in any_config(), more in any_rule(), caller in any_caller(), wish in any_wish(),
    ) {
        let mut with = config.clone();
        with.rules.push(Rule { effect: Effect::Allow, ..more });
        let (before, after) = (decided(&config, &caller, &wish), decided(&with, &caller, &wish));
        prop_assert!(!before.is_allowed() || after.is_allowed(), "{before:?} became {after:?}");
        prop_assert_eq!(before == Decision::Denied, after == Decision::Denied);
    }

    #[test]
    fn a_denial_more_gives_nothing(
        config in any_config(), more in any_rule(), caller in any_caller(), wish in any_wish(),
    ) {
        let mut with = config.clone();
        with.rules.push(Rule { effect: Effect::Deny, ..more });
        let (before, after) = (decided(&config, &caller, &wish), decided(&with, &caller, &wish));
        prop_assert!(after == before || after == Decision::Denied, "{before:?} became {after:?}");
    }

    #[test]
    fn the_order_means_nothing(
        config in any_config().prop_flat_map(|config| {
            let rules = Just(config.rules.clone()).prop_shuffle();
            (Just(config), rules)
        }),
        caller in any_caller(),
        wish in any_wish(),
    ) {
        let (config, rules) = config;
        let mut other = PolicyConfig { rules, ..config.clone() };
        other.clients.reverse();
        for client in &mut other.clients {
            client.allow.reverse();
            client.deny.reverse();
        }
        prop_assert_eq!(decided(&config, &caller, &wish), decided(&other, &caller, &wish));
    }

    #[test]
    fn callers_of_one_class_may_do_the_same(
        config in any_config(), callers in vec(any_caller(), 2..6), wishes in vec(any_wish(), 1..8),
    ) {
        let policy = Policy::new(&config).unwrap();
        for pair in callers.windows(2) {
            let of = |caller: &Caller| wishes.iter().map(|wish| wish.decided(&policy, caller)).collect::<Vec<_>>();
            if policy.class(&pair[0]) == policy.class(&pair[1]) {
                prop_assert_eq!(of(&pair[0]), of(&pair[1]));
            }
        }
    }

    #[test]
    fn without_a_class_everything_is_allowed(config in any_config(), caller in any_caller(), wish in any_wish()) {
        let policy = Policy::new(&config).unwrap();
        if policy.class(&caller).is_none() {
            prop_assert!(wish.decided(&policy, &caller).is_allowed());
        }
    }

    #[test]
    fn who_may_do_something_with_a_downstream_may_use_it(
        config in any_config(), caller in any_caller(), wish in any_wish(),
    ) {
        let policy = Policy::new(&config).unwrap();
        if let (Some(downstream), None) = (&wish.downstream, &wish.origin) {
            prop_assert!(!wish.decided(&policy, &caller).is_allowed() || policy.may_use(&caller, downstream));
        }
    }

    #[test]
    fn pins_only_ever_take_away(config in any_config(), caller in any_caller(), wish in any_wish()) {
        let unpinned = PolicyConfig { pinned: None, ..config.clone() };
        let (with, without) = (decided(&config, &caller, &wish), decided(&unpinned, &caller, &wish));
        prop_assert!(with == without || (with, without) == (Decision::DeniedByDefault, Decision::Allowed));
    }

    #[test]
    fn what_was_decided_before_changes_nothing(
        config in any_config(), asked in vec((any_caller(), any_wish()), 1..12),
    ) {
        let policy = Policy::new(&PolicyConfig { remembered: 2, ..config.clone() }).unwrap();
        for (caller, wish) in &asked {
            prop_assert_eq!(wish.decided(&policy, caller), decided(&config, caller, wish));
        }
    }
}
