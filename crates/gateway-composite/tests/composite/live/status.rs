use gateway_composite::{Remark, WorkflowStatus};

use super::fakes::*;

fn status(world: &World) -> Vec<WorkflowStatus> {
    world.live.status(&caller(), &modern(&caller(), FORMS))
}

const NOT_OFFERED: &str = "downstream `d` does not offer it to this caller; check its name, and `tools` of `d` (`deny`, \
                           `allow`, `workflows`)";

#[track_caller]
fn check_hidden(workflow: &str, expected: Option<(Option<&str>, &str)>) {
    let world =
        World::new(&[("d__t", ""), ("d__safe", r#"{"readOnlyHint":true}"#)], &[workflow, &asking("asks")]);
    let status = status(&world);
    let found = status.iter().find(|status| *status.name != *"asks").expect("it is there");
    let expected = expected.map(|(step, text)| Remark { step: step.map(Into::into), text: text.to_owned() });
    assert_eq!(found.hidden, expected);
}

#[tokio::test]
async fn why_a_workflow_is_hidden_is_told_with_its_step() {
    check_hidden(&calling("w", &["d__t", "d.safe"]), None);
    for (tool, why) in [
        ("d__no", NOT_OFFERED),
        ("d.no.such", NOT_OFFERED),
        ("nowhere__t", "there is no downstream `nowhere`"),
        ("nowhere.t", "there is no downstream `nowhere`"),
        ("slov.t", "there is no downstream `slov`; did you mean `slow`?"),
        ("off.t", "downstream `off` is disabled"),
        ("slow__t", "downstream `slow` is still starting"),
        ("t", "that names no tool; write `downstream__tool` or `downstream.tool`"),
        ("asks", "that is a workflow, and workflows cannot call workflows; write its steps here instead"),
    ] {
        check_hidden(
            &calling("w", &["d__t", tool]),
            Some((Some("s1"), &format!("step `s1` calls `{tool}`, but {why}"))),
        );
    }
    check_hidden(
        &calling("w", &["off.t", "nowhere.t"]),
        Some((
            Some("s0"),
            "step `s0` calls `off.t`, but downstream `off` is disabled; step `s1` calls `nowhere.t`, but there is no \
             downstream `nowhere`",
        )),
    );
    check_hidden(
        &calling("w", &["d__t", "d__safe"])
            .replace(r#""steps""#, r#""annotations":{"readOnlyHint":true},"steps""#),
        Some((
            None,
            "its annotations say that it is safer than its tools are: `readOnlyHint` is true, which does not hold \
             for `d__t`; leave those hints out",
        )),
    );
}

#[tokio::test]
async fn a_conflict_is_told() {
    let world = World::new(&[("d__t", "")], &[&asking("a"), &asking("b")]);
    world.shelves.change(|state| {
        let downstream = gateway_domain::DownstreamName::parse("d").expect("a name");
        let tool = gateway_domain::Tool::new("b");
        state.odd.push(gateway_domain::OfferedTool { downstream, tool, headers: [].into() }.into());
    });
    let hidden: Vec<_> =
        status(&world).into_iter().map(|status| status.hidden.map(|remark| remark.text)).collect();
    let text = "a tool that the caller is shown has its name, and keeps it; give the workflow another";
    assert_eq!(hidden, [None, Some(text.to_owned())]);
}

#[track_caller]
fn check_remarks(step: &str, expected: &[&str]) {
    let world = World::new(
        &[
            ("d__t", ""),
            ("d__reads", r#"{"readOnlyHint":true}"#),
            ("d__same", r#"{"idempotentHint":true}"#),
            ("d__odd", r#"{"idempotentHint":"true"}"#),
        ],
        &[&format!(r#"{{"name":"w","description":"d","steps":[{step}]}}"#)],
    );
    world.shelves.change(|state| state.hidden.push(entry("d__kept", "")));
    let status = status(&world);
    let texts: Vec<_> = status[0].remarks.iter().map(|remark| &*remark.text).collect();
    assert_eq!(texts, expected, "of {step}");
    assert!(status[0].remarks.iter().all(|remark| remark.step.as_deref() == Some("a")));
}

#[tokio::test]
async fn what_its_author_may_want_to_know_is_remarked() {
    let doubt = |tool: &str| {
        format!(
            "`{tool}` is declared neither read-only nor idempotent, so it is tried again only if a call certainly did \
             not run; set `retryUnsafe` if it may run twice"
        )
    };
    let retry = r#""onError":{"action":"retry","retryCount":1}"#;
    check_remarks(r#"{"id":"a","tool":"d__t"}"#, &[]);
    check_remarks(r#"{"id":"a","tool":"d__t","onError":{"action":"continue"}}"#, &[]);
    check_remarks(&format!(r#"{{"id":"a","tool":"d__reads",{retry}}}"#), &[]);
    check_remarks(&format!(r#"{{"id":"a","tool":"d__same",{retry}}}"#), &[]);
    check_remarks(&format!(r#"{{"id":"a","tool":"d.t",{retry}}}"#), &[&doubt("d.t")]);
    check_remarks(&format!(r#"{{"id":"a","tool":"d__odd",{retry}}}"#), &[&doubt("d__odd")]);
    check_remarks(
        r#"{"id":"a","tool":"d__t","onError":{"action":"retry","retryCount":1,"retryUnsafe":true}}"#,
        &[],
    );
    check_remarks(
        &format!(r#"{{"id":"a","type":"forEach","collection":[1],"step":{{"tool":"d__t",{retry}}}}}"#),
        &[&doubt("d__t")],
    );
    check_remarks(
        r#"{"id":"a","tool":"d__kept"}"#,
        &["`d__kept` is kept for workflows: clients are not shown it"],
    );
}
