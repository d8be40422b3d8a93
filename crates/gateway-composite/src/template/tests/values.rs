use super::*;

#[test]
fn exactly_one_expression_keeps_type_and_bytes() {
    for value in [
        "null",
        "true",
        "1",
        "-0",
        "1.50",
        "1e400",
        "1E2",
        "9007199254740993",
        "1180591620717411303424",
        "123456789012345678901234567890123456789012345678901234567890",
        "0.1234567890123456789012345678901234567890",
        "\"a\\u00e9\\/b\"",
        "\"\\ud800\"",
        "\"\"",
        "[ 1 , 2.0, 1e400 ]",
        r#"{"b": 1.50,  "a" : [1e400], "b2":{"z":0.10,"a":null}}"#,
    ] {
        check("{{ params.x }}", &format!(r#"{{"x":{value}}}"#), value);
        check("{{ params['x'] }}", &format!(r#"{{"x":{value}}}"#), value);
        check("{{ params.o.x[0] }}", &format!(r#"{{"o":{{"x":[{value}]}}}}"#), value);
        check("{{ params.o.x[-1] }}", &format!(r#"{{"o":{{"x":[0,{value}]}}}}"#), value);
        let item = ForEachScope { item_var: "it".into(), item: json(value), index: 0 };
        let context = Context::new(&scope("{}")).with_item(&item);
        let item = Template::compile("{{ forEach.it }}").unwrap().value(&context).unwrap();
        assert_eq!(item.as_str(), value, "as an item");
        check("{{ [params.x] }}", &format!(r#"{{"x":[{value}]}}"#), &format!("[[{value}]]"));
    }
}

#[test]
fn integers_stay_exact_in_calculations() {
    check("{{ params.x + 1 }}", r#"{"x":9007199254740992}"#, "9007199254740993");
    check("{{ params.x - 1 }}", r#"{"x":1180591620717411303425}"#, "1180591620717411303424");
    check("{{ params.x == 9007199254740993 }}", r#"{"x":9007199254740993}"#, "true");
    check("{{ params.x == 9007199254740992 }}", r#"{"x":9007199254740993}"#, "false");
    check("{{ params.x * 2 }}", r#"{"x":1.5}"#, "3.0");
    check("{{ 2 ** 70 }}", "{}", "1180591620717411303424");
}

#[test]
fn numbers_that_fit_no_type_are_handed_on_and_compared_but_not_calculated_with() {
    check("{{ params.x == params.y }}", r#"{"x":1e400,"y":10e399}"#, "true");
    check("{{ params.x < params.y }}", r#"{"x":-1e400,"y":1e400}"#, "true");
    check("{{ {'n': params.x} }}", r#"{"x":1e400}"#, r#"{"n":1e400}"#);
    check("n={{ params.x }}", r#"{"x":1e400}"#, "\"n=1e400\"");
    check_error("{{ params.x + 1 }}", r#"{"x":1e400}"#, "unsupported types");
}

#[test]
fn values_as_they_came_are_looked_into() {
    let params = r#"{"o":{"b":[1,{"c":"x"}],"a":null},"l":[1,2,3],"s":"abc"}"#;
    for (template, expected) in [
        ("{{ params.o.b[1].c }}", "\"x\""),
        ("{{ params.l[-1] }}", "3"),
        ("{{ params.l[1:] }}", "[2,3]"),
        ("{{ params.l[::-1] }}", "[3,2,1]"),
        ("{{ params.l | length }}", "3"),
        ("{{ params.o | length }}", "2"),
        ("{{ params.o | list }}", r#"["b","a"]"#),
        ("{{ params.o | items | first }}", r#"["b",[1,{"c":"x"}]]"#),
        ("{{ 2 in params.l }}", "true"),
        ("{{ 'a' in params.o }}", "true"),
        ("{{ 'z' in params.o }}", "false"),
        ("{{ params.l == [1, 2, 3] }}", "true"),
        ("{{ [1, 2, 3] == params.l }}", "true"),
        ("{{ params.o == {'a': none, 'b': [1, {'c': 'x'}]} }}", "true"),
        ("{{ params.o.a is none }}", "true"),
        ("{{ params.l | sum }}", "6"),
        ("{{ params.l | map('string') | join('-') }}", "\"1-2-3\""),
        ("{{ params.l | reverse }}", "[3,2,1]"),
        ("{{ params.l | last }}", "3"),
        ("{{ params.s[1] }}", "\"b\""),
        ("{{ params.l + [4] }}", "[1,2,3,4]"),
    ] {
        check(template, params, expected);
    }
}

#[test]
fn of_a_name_that_stands_twice_the_last_value_counts_and_all_is_handed_on() {
    let params = r#"{"o":{"a":1,"b":2,"a":3}}"#;
    check("{{ params.o.a }}", params, "3");
    check("{{ params.o | length }}", params, "2");
    check("{{ params.o }}", params, r#"{"a":1,"b":2,"a":3}"#);
}

#[test]
fn what_is_missing_is_an_error_with_its_name() {
    for (template, name) in [
        ("{{ params.x }}", "`params.x`"),
        ("x is {{ params.x }}", "`params.x`"),
        ("{{ params.x == 3 }}", "`params.x`"),
        ("{{ params.x.y }}", "`params.x`"),
        ("{{ params.x.y | default(1) }}", "`params.x`"),
        ("{{ params.x + 1 }}", "`params.x`"),
        ("{{ params.x | upper }}", "params.x"),
        ("{{ params.x | json }}", "missing"),
        ("{{ [params.x] }}", "params.x"),
        ("{{ {'a': params.x} }}", "params.x"),
        ("{{ steps.fetch.output.none }}", "`steps.fetch.output.none`"),
        ("{{ steps.fetch.output.items[7] }}", "`steps.fetch.output.items[7]`"),
        ("{{ steps.nobody.output }}", "`steps.nobody`"),
        ("{{ steps.fetch.error }}", "`steps.fetch.error`"),
        ("{{ params.x and true }}", "`params.x`"),
        ("{{ not params.x }}", "`params.x`"),
        ("{{ ['a'] | join(params.x) }}", "`params.x`"),
        ("{{ 1.5 | round(precision=params.x) }}", "`params.x`"),
        ("{{ ['a'][params.x:] }}", "params.x"),
        ("{{ range(3, params.x) }}", "`params.x`"),
        ("{{ params.x + (1 if true else 2) }}", "`params.x` is missing"),
    ] {
        let error = value(template, "{}").unwrap_err();
        assert!(error.is_missing, "{template}: {error}");
        assert!(error.reason.contains(name), "{template}: {error}");
    }
    check("{{ params.x | default('d') }}", "{}", "\"d\"");
    check("{{ 1 if true else (['a'] | join(params.x)) }}", "{}", "1");
    check("{{ params.y | default(params.x) }}", r#"{"y":1}"#, "1");
    check("{{ params.x | default([1]) }}", r#"{"x":null}"#, "null");
    check("{{ params.x is defined }}", "{}", "false");
    let other = value("{{ 1 / 0 }}", "{}").unwrap_err();
    assert!(!other.is_missing, "{other}");
}

#[test]
fn what_is_no_json_value_is_an_error() {
    check_error("{{ 'inf' | float }}", "{}", "no JSON value");
    check_error("{{ 'nan' | float }}", "{}", "no JSON value");
    check_error("{{ [1e308 * 10] }}", "{}", "no JSON value");
    check_error("{{ range }}", "{}", "no JSON value");
    check_error("{{ {1: 2} }}", "{}", "must be a text");
}

#[test]
fn values_that_look_like_templates_are_inserted_and_never_evaluated() {
    let params = r#"{"x":"{{ params.secret }}","l":["{% if %}"],"secret":"s"}"#;
    check("{{ params.x }}", params, "\"{{ params.secret }}\"");
    check("a {{ params.x }} b", params, "\"a {{ params.secret }} b\"");
    check("{{ params.x ~ '{{ params.secret }}' }}", params, "\"{{ params.secret }}{{ params.secret }}\"");
    check("{{ params.l | first }}", params, "\"{% if %}\"");
    check("{{ params.l | map('default') | list }}", params, "[\"{% if %}\"]");
    check("{{ fromJson('\"{{ 1 }}\"') }}", params, "\"{{ 1 }}\"");
}

#[test]
fn quotes_and_line_breaks_are_escaped() {
    check("a\n\"{{ params.x }}\"\\", r#"{"x":"\n\t\"\\\u0001"}"#, r#""a\n\"\n\t\"\\\u0001\"\\""#);
}

#[test]
fn texts_and_conditions_come_from_the_same_value() {
    let text =
        |template: &str| Template::compile(template).unwrap().text_within(&context("{}"), 100).unwrap();
    assert_eq!(text("{{ 'a\"b' }}"), "a\"b");
    assert_eq!(text("{{ [1, 'x'] }}"), r#"[1,"x"]"#);
    assert_eq!(text("plain"), "plain");
    assert_eq!(text(""), "");
    let condition = |template: &str| Template::compile(template).unwrap().condition(&context("{}")).unwrap();
    for yes in ["{{ 1 < 2 }}", "true", "True", "TRUE", "{{ 'true' }}", "{{ steps.fetch.output.items[0].on }}"]
    {
        assert_eq!(condition(yes), Ok(true), "{yes}");
    }
    for no in ["{{ 1 > 2 }}", "false", "False", "FALSE", "{{ not true }}"] {
        assert_eq!(condition(no), Ok(false), "{no}");
    }
    for (other, found) in
        [("yes", "\"yes\""), ("", "\"\""), ("{{ 1 }}", "1"), ("tRUE", "\"tRUE\""), ("{{ none }}", "null")]
    {
        assert_eq!(condition(other), Err(found.to_owned()), "{other}");
    }
    assert_eq!(condition(&"x".repeat(1000)).unwrap_err().chars().count(), 101);
}

#[test]
fn a_path_comes_to_the_same_alone_and_within_an_expression() {
    let params = r#"{"s":"abc","l":[1.0,[2]],"o":{"a":null,"1":"one","key":"k"},"n":1e400}"#;
    for path in [
        "params",
        "params.s",
        "params.s[0]",
        "params.s[-1]",
        "params.s.length",
        "params.l[0]",
        "params.l[-1]",
        "params.l[-1][0]",
        "params.l[7]",
        "params.l['a']",
        "params.l.a",
        "params.o.a",
        "params.o.a.b",
        "params.o[1]",
        "params.o['1']",
        "params.o.items",
        "params.missing",
        "params.missing.more",
        "params.n",
        "params.n.x",
        "steps.fetch.output.items[1].name",
        "steps['look-up'].error",
        "steps.nobody.output",
        "workflow.duration_ms",
        "workflow.id[0]",
        "forEach.index",
        "forEach.item.id",
        "nothing",
        "range",
    ] {
        let alone = value(&format!("{{{{ {path} }}}}"), params);
        let within = value(&format!("{{{{ {path} if true else 0 }}}}"), params);
        match (&alone, &within) {
            (Ok(alone), Ok(within)) => assert_eq!(alone, within, "{path}"),
            (Err(alone), Err(within)) => assert_eq!(alone.is_missing, within.is_missing, "{path}"),
            _ => panic!("{path}: {alone:?} is not {within:?}"),
        }
    }
}
