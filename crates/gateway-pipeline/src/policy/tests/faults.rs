use super::*;

#[track_caller]
fn check(config: &PolicyConfig, expected: &[&str]) {
    let errors = Policy::new(config).map_or_else(|faults| faults.errors, |_| Vec::new());
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected);
}

fn of_rule(who: Who, what: What) -> PolicyConfig {
    config(Vec::new(), vec![Rule::default(), rule(Effect::Allow, who, what)])
}

#[test]
fn every_fault_is_told_with_its_place() {
    let long = "x".repeat(1_025);
    check(
        &config(
            vec![
                client("desk", &["ok", ""], &[&long, "a\u{1b}b"]),
                client("", &[], &[]),
                client("desk", &[], &[]),
            ],
            vec![rule(Effect::Deny, Who::default(), names(&["ok", ""]))],
        ),
        &[
            "clients.desk.allow[1]: is empty",
            "clients.desk.deny[0]: is longer than 1024 bytes",
            "clients.desk.deny[1]: has the control character U+001B",
            "clients.: is empty",
            "clients.desk: is the name of another client too",
            "policy.rules[0].names[1]: is empty",
        ],
    );
}

#[test]
fn a_pattern_may_be_as_long_as_the_limit() {
    check(&config(vec![client("desk", &[&"x".repeat(1_024)], &[])], Vec::new()), &[]);
}

#[test]
fn an_empty_list_is_not_taken_for_everybody() {
    let none = || Some(Vec::new());
    let empty = "is an empty list, which nothing ever matches; leave it out, or name something";
    for (place, who) in [
        ("clients", Who { clients: none(), ..Who::default() }),
        ("issuers", Who { issuers: none(), ..Who::default() }),
        ("scopes", Who { scopes: none(), ..Who::default() }),
        ("claims", Who { claims: Some(BTreeMap::new()), ..Who::default() }),
        ("claims.\"groups\"", claims(&[("groups", &[])])),
    ] {
        check(&of_rule(who, What::default()), &[&format!("policy.rules[1].{place}: {empty}")]);
    }
    for (place, what) in [
        ("names", What { names: none(), ..What::default() }),
        ("downstreams", What { downstreams: none(), ..What::default() }),
        ("methods", What { methods: none(), ..What::default() }),
    ] {
        check(&of_rule(Who::default(), what), &[&format!("policy.rules[1].{place}: {empty}")]);
    }
}

#[test]
fn a_rule_that_can_be_about_nobody_or_about_too_many_is_refused() {
    let some = |text: &str| Some(texts(&[text]));
    let clients = || Who { clients: some("desk"), ..Who::default() };
    let both = "policy.rules[1]: asks for a configured client and for a token at once; no caller has both";
    for who in [
        Who { issuers: some("i"), ..clients() },
        Who { issuers: some("i"), subjects: some("s"), ..clients() },
        Who { scopes: some("s"), ..clients() },
        Who { claims: claims(&[("a", &["b"])]).claims, ..clients() },
    ] {
        check(&of_rule(who, What::default()), &[both]);
    }
    check(&of_rule(clients(), What::default()), &[]);
    let subjects = || Who { subjects: some("ann"), ..Who::default() };
    check(
        &of_rule(subjects(), What::default()),
        &["policy.rules[1].subjects: allows something to subjects of any issuer; name the `issuers`"],
    );
    check(&of_rule(Who { issuers: some("i"), ..subjects() }, What::default()), &[]);
    // To deny it to more is no danger.
    check(&config(Vec::new(), vec![rule(Effect::Deny, subjects(), What::default())]), &[]);
    // Nobody is a client and has a token, were it only asked for as a subject.
    let who = Who { subjects: some("s"), ..clients() };
    check(
        &config(Vec::new(), vec![rule(Effect::Deny, who, What::default())]),
        &[&both.replace("[1]", "[0]")],
    );
}

#[test]
fn methods_are_those_there_are() {
    let methods =
        |list: &[&str]| of_rule(Who::default(), What { methods: Some(texts(list)), ..What::default() });
    check(&methods(&["tools/call", "resources/*", "other"]), &[]);
    let known = "tools/call, prompts/get, resources/read, resources/subscribe, completion/complete, other";
    check(
        &methods(&["tools/call", "tools/list"]),
        &[&format!("policy.rules[1].methods[1]: \"tools/list\" matches none of the methods {known}")],
    );
}

#[test]
fn a_pointer_to_a_claim_is_one() {
    let of = |name: &str| of_rule(claims(&[(name, &["x"])]), What::default());
    for good in ["a~b", "/a~0b", "/a~1", "/", "//"] {
        check(&of(good), &[]);
    }
    for bad in ["/~", "/a~2", "/a~01~", "/a~/b"] {
        let place = format!("policy.rules[1].claims.{bad:?}");
        check(&of(bad), &[&format!("{place}: is no JSON Pointer: `~` is followed by neither 0 nor 1")]);
    }
}

#[test]
fn there_are_bounds_on_everything() {
    let many: Vec<_> = (0..1_001).map(|n| format!("p{n}")).collect();
    let too_many = |place: &str| format!("{place}: has more than 1000 entries");
    let named = |allow: &[String]| ClientRules { allow: allow.to_vec(), ..client("desk", &[], &[]) };
    check(&config(vec![named(&many)], Vec::new()), &[&too_many("clients.desk.allow")]);
    check(&config(vec![named(&many[1..])], Vec::new()), &[]);
    check(&config(Vec::new(), vec![Rule::default(); 1_001]), &[&too_many("policy.rules")]);
    let clients = many.iter().map(|name| client(name, &[], &[])).collect();
    check(&config(clients, Vec::new()), &[&too_many("clients")]);
    let values: Vec<_> = many.iter().map(String::as_str).collect();
    check(&of_rule(claims(&[("c", &values)]), What::default()), &[&too_many("policy.rules[1].claims.\"c\"")]);
}

#[test]
fn all_faults_are_one_text() {
    let faults = Policy::new(&config(vec![client("", &[""], &[])], Vec::new())).unwrap_err();
    assert_eq!(faults.to_string(), "clients.: is empty; clients..allow[0]: is empty");
}

#[test]
fn full_names_of_clients_and_downstreams_are_told() {
    let some = |list: &[&str]| Some(texts(list));
    let who = Who { clients: some(&["desk", "lap*"]), ..Who::default() };
    let what =
        What { names: some(&["web__*", "deploy"]), downstreams: some(&["files", "f*"]), ..What::default() };
    let lists = ["files__read", "*", "f*__x", "deploy", "https://x/a__b", "db__*", "a__b__c"];
    let config = config(vec![client("desk", &lists, &["mail__send"])], vec![rule(Effect::Deny, who, what)]);
    let found: Vec<_> = { Policy::mentions(&config).into_iter() }
        .map(|mention| match mention.what {
            Mentioned::Client(name) => (mention.place, "client", name),
            Mentioned::Downstream(name) => (mention.place, "downstream", name),
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(place, what, name)| (&**place, *what, &**name)).collect();
    assert_eq!(
        found,
        [
            ("clients.desk.allow[0]", "downstream", "files"),
            ("clients.desk.allow[5]", "downstream", "db"),
            ("clients.desk.allow[6]", "downstream", "a"),
            ("clients.desk.deny[0]", "downstream", "mail"),
            ("policy.rules[0].clients[0]", "client", "desk"),
            ("policy.rules[0].names[0]", "downstream", "web"),
            ("policy.rules[0].downstreams[0]", "downstream", "files"),
        ]
    );
}
