use super::*;
use crate::template::language::{FILTERS, FUNCTIONS, TESTS, whole};

const DOCUMENT: &str = include_str!("../../../../../docs/workflow-expressions.md");

/// The values that the examples are about, as the document shows them.
fn documented() -> Context {
    let block = DOCUMENT.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    let shown = object(block);
    let mut scope = scope(shown.get_object("params").unwrap().as_str());
    let fetch = step(StepStatus::Completed, shown.get_object("output").unwrap().as_str());
    Arc::make_mut(&mut scope.steps).insert("fetch".into(), Arc::new(fetch));
    Context::new(&scope).with_item(&item())
}

/// The rows of the table under a heading, their cells without what marks them as code.
fn rows(heading: &str) -> Vec<(String, String)> {
    let section = DOCUMENT.split(&format!("## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let line = line.replace("\\|", "\u{0}");
        let cells: Vec<_> =
            line.trim_matches('|').split('|').map(|cell| cell.replace('\u{0}', "|")).collect();
        assert_eq!(cells.len(), 2, "{line}");
        (cells[0].trim().to_owned(), cells[1].trim().to_owned())
    });
    rows.collect()
}

#[test]
fn every_example_comes_to_what_the_document_says() {
    let context = documented();
    let rows = rows("Examples");
    assert!(rows.len() > 50, "the table is read");
    for (template, expected) in rows {
        let template = template.trim_matches('`');
        let found = Template::compile(template).and_then(|template| template.value(&context));
        match (expected.strip_prefix("error: "), found) {
            (Some(reason), Err(error)) => assert!(error.reason.contains(reason), "{template}: {error}"),
            (None, Ok(value)) => assert_eq!(value.as_str(), expected.trim_matches('`'), "for {template}"),
            (_, found) => panic!("{template} came to {found:?} instead of {expected}"),
        }
    }
}

#[test]
fn the_document_lists_what_there_is() {
    let listed = |label: &str| {
        let list = DOCUMENT.split(label).nth(1).and_then(|rest| rest.split('.').next()).unwrap();
        list.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed("**Filters**"), FILTERS);
    let words: Vec<_> = TESTS.iter().filter(|name| name.starts_with(char::is_alphabetic)).collect();
    assert_eq!(listed("**Tests** after")[1..].iter().collect::<Vec<_>>(), words);
}

#[test]
fn there_is_nothing_but_what_is_listed() {
    let shown = format!("{:?}", whole());
    for (kind, names) in [("filters", FILTERS), ("tests", TESTS), ("globals", FUNCTIONS)] {
        let part = shown.split(&format!("{kind}: ")).nth(1).unwrap_or_else(|| panic!("{shown}"));
        let part = part.split([']', '}']).next().unwrap();
        let known: Vec<_> = part.split('"').skip(1).step_by(2).collect();
        assert_eq!(known, names, "the {kind}");
    }
}

#[test]
fn what_the_language_does_not_have_is_told_when_it_is_compiled() {
    for (template, reason) in [
        ("{{ params.x | safe }}", "no filter `safe`"),
        ("{{ params.x | lenght }}", "did you mean `length`?"),
        ("{{ params.x is sameas(1) }}", "no test `sameas`"),
        ("{{ debug() }}", "no function `debug`"),
        ("{{ rnge(3) }}", "did you mean `range`?"),
        ("{{ params.x.items() }}", "no methods"),
        ("{{ params['x'](1) }}", "only functions can be called"),
        ("{{ params.l | map('escape') }}", "no filter or test `escape`"),
        ("{{ params.l | map(params.x) }}", "written out as a text"),
        ("{{ params.l | select('odd', *params.x) }}", "no `*` before them"),
        ("{{ params.l[::params.x] }}", "the step of a slice"),
        ("{{ params.l[::-9223372036854775808] }}", "the step of a slice"),
        ("{{ 1 if true }}", "needs an `else`"),
        ("{{ }}", "is empty"),
        ("{{- 1 }}", "space is never cut"),
        ("{{ 1 -}}", "space is never cut"),
        ("{{ 1 + }}", "is no expression"),
        ("{{ 'a }}", "is not closed"),
        ("{{ {'a': 1 }}", "is not closed"),
        ("a {# b #}", "there are only expressions"),
        ("{{ for x in y }}", "is no expression"),
        ("{{ 1 }} {% raw %}", "there are only expressions"),
    ] {
        check_error(template, "{}", reason);
    }
}
