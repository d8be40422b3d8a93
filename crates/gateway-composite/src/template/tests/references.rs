use super::*;

#[track_caller]
fn references(template: &str, expected: &[&str]) {
    let found = Template::compile(template).unwrap().references();
    let found: Vec<_> = found
        .iter()
        .map(|reference| reference.path.join(".") + if reference.may_be_missing { "?" } else { "" })
        .collect();
    assert_eq!(found, expected, "for {template}");
}

#[test]
fn paths_are_found_wherever_they_stand() {
    for (template, expected) in [
        ("plain", &[][..]),
        ("{{ params.x }}", &["params.x"]),
        ("{{ params }}", &["params"]),
        ("a {{ params.x }} b {{ vars.y }}", &["params.x", "vars.y"]),
        ("{{ steps['a-b'].output[\"x\"][0].y }}", &["steps.a-b.output.x.0.y"]),
        ("{{ steps.a.output.list[-1] }}", &["steps.a.output.list.-1"]),
        ("{{ steps[params.name].output }}", &["steps", "params.name"]),
        ("{{ steps.a.output[forEach.index].x }}", &["steps.a.output", "forEach.index"]),
        ("{{ steps.a.output.list[1:vars.n] }}", &["steps.a.output.list", "vars.n"]),
        ("{{ params.a + params.b * -params.c }}", &["params.a", "params.b", "params.c"]),
        ("{{ params.a < params.b <= params.c }}", &["params.a", "params.b", "params.c"]),
        ("{{ params.a if params.b else params.c }}", &["params.b", "params.a", "params.c"]),
        ("{{ params.a in [params.b, {'k': params.c}] }}", &["params.a", "params.b", "params.c"]),
        ("{{ params.a | join(params.b) }}", &["params.a", "params.b"]),
        ("{{ json(params.a) ~ quote(params.b) }}", &["params.a", "params.b"]),
        ("{{ fromJson(steps.a.output.text).x }}", &["steps.a.output.text"]),
        ("{{ params.a is divisibleby(params.b) }}", &["params.a", "params.b"]),
        ("{{ params.a and not params.b or params.c }}", &["params.a", "params.b", "params.c"]),
        ("{{ unknown.x }}", &["unknown.x"]),
        ("{{ range(3) }}", &[]),
        ("{{ 'params.x' }}", &[]),
    ] {
        references(template, expected);
    }
}

#[test]
fn what_a_default_stands_behind_may_be_missing() {
    for (template, expected) in [
        ("{{ params.x | default('y') }}", &["params.x?"][..]),
        ("{{ params.x | d(params.y) }}", &["params.x?", "params.y"]),
        ("{{ params.x is defined }}", &["params.x?"]),
        ("{{ params.x is not defined }}", &["params.x?"]),
        ("{{ params.x is undefined }}", &["params.x?"]),
        ("{{ params.x | upper | default('y') }}", &["params.x"]),
        (
            "{{ (params.x if params.c else params.y) | default('z') }}",
            &["params.c", "params.x?", "params.y?"],
        ),
        ("{{ params.x[params.y] | default('z') }}", &["params.x", "params.y"]),
        ("{{ params.x if params.x is defined else params.y }}", &["params.x?", "params.x?", "params.y"]),
        ("{{ params.x is defined and params.x.y > 1 }}", &["params.x?", "params.x.y"]),
        ("{{ params.x is defined and params.x > 1 }}", &["params.x?", "params.x?"]),
        ("{{ params.x is defined or params.x > 1 }}", &["params.x?", "params.x"]),
        (
            "{{ (params.x if params.a and params.x is defined else 0) + params.x }}",
            &["params.a", "params.x?", "params.x?", "params.x"],
        ),
        ("{{ params.x + (params.x | default(0)) }}", &["params.x", "params.x?"]),
    ] {
        references(template, expected);
    }
}

#[test]
fn it_is_known_what_is_tested_around_a_reference() {
    for (template, expected) in [
        ("{{ params.x.y }}", &[0][..]),
        ("{{ params.a == 1 and params.x.y }}", &[0, 1]),
        ("{{ params.x.z == 1 and params.x.y }}", &[0, 2]),
        ("{{ params.x.z != 1 or params.x.y }}", &[0, 2]),
        ("{{ params.x.y and params.x.y }}", &[0, 3]),
        ("{{ params.x.y if params.x.z else params.x.w }}", &[0, 2, 2]),
        ("{{ (params.x.y if params.x.z else 0) + params.x.y }}", &[0, 2, 0]),
        ("{{ params.x.z == params.x.y }}", &[0, 0]),
        ("{{ params.x.z and (vars.a and params.x.y) }}", &[0, 0, 2]),
    ] {
        let found: Vec<_> = Template::compile(template).unwrap().references();
        let found: Vec<_> = found.iter().map(|reference| reference.tested).collect();
        assert_eq!(found, expected, "for {template}");
    }
}
