use gateway_domain::{RawJson, RawObject};
use proptest::prelude::*;

use super::{context, json, value as come};
use crate::template::{Template, Tree};

/// Texts of JSON values, with white space and odd but legal spellings.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
        "\"([ a-zA-Z0-9é\u{2028}{}%#]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}){0,12}\"",
    ];
    leaf.prop_recursive(5, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec(("[a-f]{1,2}", inner), 0..5).prop_map(|members| {
                let mut seen = std::collections::HashSet::new();
                let unique = members.into_iter().filter(|(name, _)| seen.insert(name.clone()));
                let members: Vec<_> = unique.map(|(name, value)| format!("\"{name}\" :{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Expressions that mostly parse, over a few parameters of every type.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "params.s",
            "params.n",
            "params.l",
            "params.o",
            "params.o.a",
            "params.b",
            "params.z",
            "params.missing",
            "params.big",
            "params",
            "steps",
            "workflow",
            "forEach",
            "none",
            "true",
            "1.5",
            "-3",
            "0",
            "''",
            "'ab c'",
            "9223372036854775807",
            "-170141183460469231731687303715884105728",
            "[]",
            "{}",
            "[1,'a',[2]]",
            "{'a':1}",
        ])
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|number| format!("({number})")),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let operators = vec![
            "+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or",
        ];
        let filters = crate::template::language::FILTERS.to_vec();
        let tests =
            crate::template::language::TESTS.iter().filter(|name| name.starts_with(char::is_alphabetic));
        prop_oneof![
            (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            (inner.clone(), prop::sample::select(filters.clone()))
                .prop_map(|(value, name)| format!("({value}|{name})")),
            (inner.clone(), prop::sample::select(filters), inner.clone())
                .prop_map(|(value, name, argument)| format!("({value}|{name}({argument}))")),
            (inner.clone(), prop::sample::select(tests.copied().collect::<Vec<_>>()), inner.clone())
                .prop_map(|(value, name, argument)| format!("({value} is {name}({argument}))")),
            (inner.clone(), inner.clone()).prop_map(|(value, key)| format!("{value}[{key}]")),
            (inner.clone(), inner.clone(), inner.clone(), -3..3_i64)
                .prop_map(|(value, from, to, step)| format!("{value}[{from}:{to}:{step}]")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(yes, test, no)| format!("({yes} if {test} else {no})")),
        ]
    })
}

const PARAMS: &str =
    r#"{"s":"some text","n":3,"l":[3,1,2,{"a":1}],"o":{"a":1,"b":[null]},"b":true,"z":null,"big":1e400}"#;

proptest! {
    #[test]
    fn any_value_comes_out_as_it_went_in(value in any_json()) {
        let params = format!("{{\"x\":{value}}}");
        let came = come("{{ params.x }}", &params).unwrap();
        prop_assert_eq!(came.as_str(), value.as_str());
        let listed = come("{{ [params] }}", &params).unwrap();
        prop_assert_eq!(listed.as_str(), format!("[{params}]"));
    }

    #[test]
    fn any_value_is_equal_to_itself_read_again(value in any_json()) {
        let params = RawObject::parse(format!("{{\"x\":{value},\"t\":{}}}", RawJson::string(&value))).unwrap();
        let same = come("{{ params.x == fromJson(params.t) }}", params.as_str()).unwrap();
        prop_assert_eq!(same.as_str(), "true");
    }

    #[test]
    fn a_tree_without_templates_is_what_it_was(value in any_json()) {
        prop_assume!(!["{{", "{%", "{#", "\\u007b"].iter().any(|mark| value.contains(mark)));
        let tree = Tree::compile(&json(&value)).unwrap();
        let expanded = tree.expand(&context("{}"), None, value.len()).unwrap();
        prop_assert_eq!(expanded.as_str(), value.as_str());
        prop_assert!(tree.references().is_empty());
    }

    #[test]
    fn text_without_braces_is_a_string(text in "[^{]{0,40}") {
        prop_assert_eq!(come(&text, "{}").unwrap(), RawJson::string(&text));
    }

    #[test]
    fn no_text_makes_compiling_panic(text in "([a-z .|'\"(),:=+*~0-9-]|\\[|\\]|\\{\\{|\\}\\}|\\{%|[^a-z]){0,40}") {
        let _ = Template::compile(&text);
        let _ = Template::compile(&format!("{{{{{text}}}}}"));
    }

    #[test]
    fn no_expression_makes_evaluation_panic(expression in expression()) {
        if let Ok(template) = Template::compile(&format!("{{{{ {expression} }}}}")) {
            let _ = template.value(&context(PARAMS));
        }
    }

    #[test]
    fn expansion_keeps_within_its_limit(expression in expression(), limit in 0..400_usize) {
        let tree = RawJson::array([RawJson::string(&format!("{{{{ {expression} }}}}")), RawJson::string("{{ params }}")]);
        if let Ok(tree) = Tree::compile(&tree) && let Ok(value) = tree.expand(&context(PARAMS), None, limit) {
            prop_assert!(value.as_bytes().len() <= limit);
        }
    }
}
