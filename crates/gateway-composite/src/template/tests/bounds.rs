use std::time::Duration;

use super::{super::Tree, *};

/// How long the worst expression may take here, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn hostile_expressions_end_early() {
    let list = format!(r#"{{"l":[{}],"t":"{}"}}"#, vec!["1"; 2000].join(","), "x".repeat(100_000));
    for expression in [
        "'x' * 10**9",
        "'x' * 10**18",
        "'x' * -1 * 10",
        "'x' * 60000000",
        "[1] * 10**9",
        "([1] * 100000000) | length",
        "([1] * 100000000)[99999999:]",
        "([1] * 100000000)[99999999]",
        "([1] * 100000000) | last",
        "([[1] * 100000] * 100000)",
        "([1] * 100000000) == ([1] * 100000000)",
        "2 in ([1] * 100000000)",
        "range(10**9)",
        "range(0, 10**18, 1)",
        "range(-9223372036854775808, 9223372036854775807)",
        "range(10000) | map('string') | join('x' * 1000000)",
        "[range(10000), range(10000)] | map('join', 'xxxxxxxxxx' * 10000) | join",
        "('x' * 1000000) | replace('x', 'y' * 1000000)",
        "('x' * 1000000) | replace('', 'y' * 100)",
        "('x ' * 1000000) | split | sort | join",
        "('x' * 1000000) | list | unique",
        "('x' * 1000000) | list | groupby(attribute=0)",
        "('x' * 1000000) | batch(1) | list | map('join') | join",
        "[1] | batch(100000000, 'x') | list",
        "('x' * 1000000)[::-1] ~ ('x' * 10000000)[::2]",
        "10 ** 10 ** 10",
        "9 ** 9 ** 9 ** 9",
        "1.5 ** 100000",
        "1 | round(1000000000)",
        "1.5 | round(2147483647)",
        "-9223372036854775808 | abs",
        "-170141183460469231731687303715884105728 // -1",
        "params.l[-9223372036854775808:9223372036854775807]",
        "params.l[9223372036854775807:][::-1000]",
        "params.l | map('string') | map('upper') | map('json') | map('quote') | list | json | json | json | json",
        "params.t | json | json | json | json | json | json | json | json | json | json | json",
        "params.t ~ params.t ~ params.t ~ params.t ~ params.t",
        "params.l == params.l * 1",
        "params.l | sort | unique | list",
    ] {
        let started = std::time::SystemTime::now();
        let template = format!("{{{{ {expression} }}}}");
        if let Ok(value) = Template::compile(&template).and_then(|template| template.value(&context(&list))) {
            assert!(value.as_bytes().len() <= 10_000_000, "{expression}");
        }
        let took = started.elapsed().unwrap_or_default();
        assert!(took < PATIENCE, "{expression} took {took:?}");
    }
}

#[test]
fn what_is_repeated_without_end_runs_out_of_fuel() {
    check_error("{{ 'x' * 50000000 }}", "{}", "too much to do");
    check_error("{{ ('x' * 9000000) | list | sort }}", "{}", "too much to do");
    check_error("{{ [1] * 2 }}", "{}", "lists are not repeated");
    check_error("{{ params.l * 2 }}", r#"{"l":[1]}"#, "lists are not repeated");
    check_error("{{ 2 * (params.l | default([])) }}", r#"{"l":[1]}"#, "lists are not repeated");
    check_error("{{ 2 * params.l[params.n] }}", r#"{"l":[1],"n":0}"#, "lists are not repeated");
    check("{{ 2 * (params.l[params.n] | int) }}", r#"{"l":[1],"n":0}"#, "2");
    check("{{ 2 * (params.n + params.m | default(3)) }}", r#"{"n":1}"#, "8");
    check_error("{{ range(100000) }}", "{}", "at most 10000");
}

#[test]
fn results_are_bounded_while_they_are_written() {
    let params = format!(r#"{{"x":"{}"}}"#, "x".repeat(4_000_000));
    check_error("{{ params.x }}{{ params.x }}{{ params.x }}", &params, "more than 10000000 bytes");
    check_error("{{ [params.x, params.x, params.x] }}", &params, "more than 10000000 bytes");
    let list = format!(r#"{{"x":[{}]}}"#, vec!["\"xxxxxx\""; 500_000].join(","));
    check_error("{{ params.x + params.x + params.x }}", &list, "more than 10000000 bytes");
}

#[test]
fn templates_are_bounded_when_they_are_compiled() {
    check_error(&"x".repeat(64 * 1024 + 1), "{}", "may have 65536 bytes");
    check_error(&"{{1}}".repeat(201), "{}", "may be 200 expressions");
    assert!(Template::compile(&"{{1}}".repeat(200)).is_ok());
    let tree =
        |count: usize| json(&format!(r#"{{"a":[{}"{{{{1}}}}{{{{2}}}}"]}}"#, r#""{{1}}","#.repeat(count - 2)));
    assert!(Tree::compile(&tree(200)).is_ok());
    let errors = Tree::compile(&tree(201)).unwrap_err();
    assert_eq!(errors[0].to_string(), "there may be 200 expressions");
    check_error(&format!("{{{{ {}1 }}}}", "1+".repeat(300)), "{}", "may have 500 tokens");
    check(&format!("{{{{ {}1 }}}}", "1+".repeat(200)), "{}", "201");
    check_error(&format!("{{{{ {}1{} }}}}", "(".repeat(200), ")".repeat(200)), "{}", "recursion");
    check(&format!("{{{{ {}true }}}}", "not ".repeat(498)), "{}", "true");
    check(&format!("{{{{ 0 {}1 }}}}", "- ".repeat(498)), "{}", "1");
    check_error(&format!("{{{{ params{} }}}}", ".a".repeat(240)), "{}", "missing");
    check(&format!("{{{{ 'a'{} }}}}", "|upper".repeat(249)), "{}", "\"A\"");
}

#[test]
fn what_an_expression_makes_is_nested_only_so_deep() {
    let nested = |levels: usize| format!("{{{{ {}1{} }}}}", "[".repeat(levels), "]".repeat(levels));
    assert!(value(&nested(70), "{}").is_ok());
    let lists = "[".repeat(60);
    let ends = "]".repeat(60);
    let deep = format!(r#"{{"x":{lists}{ends}}}"#);
    check_error(&format!("{{{{ {}params.x{} }}}}", "[".repeat(70), "]".repeat(70)), &deep, "nested deeper");
}

#[test]
fn a_large_output_is_looked_through_once_for_all_items_of_a_loop() {
    let entries: Vec<_> =
        (0..100_000).map(|n| format!(r#"{{"id":{n},"name":"the name of entry {n:06}"}}"#)).collect();
    let mut scope = scope("{}");
    let output = format!(r#"{{"items":[{}]}}"#, entries.join(","));
    assert!(output.len() > 4_500_000);
    Arc::make_mut(&mut scope.steps).insert("large".into(), Arc::new(step(StepStatus::Completed, &output)));
    let context = Context::new(&scope);
    let template = Template::compile("{{ steps.large.output.items[forEach.n].id }}").unwrap();
    let started = std::time::SystemTime::now();
    for index in 0..1000 {
        let item =
            ForEachScope { item_var: "n".into(), item: RawJson::parse(index.to_string()).unwrap(), index };
        assert_eq!(template.value(&context.with_item(&item)).unwrap().as_str(), index.to_string());
    }
    // Once takes about half a second; a thousand times would take minutes.
    let took = started.elapsed().unwrap_or_default();
    assert!(took < PATIENCE, "it took {took:?}");
}
