use gateway_composite::{ComposerConfig, WorkflowError};
use gateway_domain::{CallerError, Dispatcher, Origin, Params, RawObject, Subject, Target, View};

use super::fakes::*;

fn text(result: &RawObject) -> String {
    let content = result.get("content").expect("there is some").elements(1).expect("one block");
    let block = RawObject::try_from(content[0].clone()).expect("an object");
    block.get_text("text").expect("a text")
}

#[tokio::test]
async fn a_call_of_a_workflow_runs_it_in_the_callers_name() {
    let world = World::new(&[("d__t", ""), ("d__u", "")], &[&calling("w", &["d__t", "d.u"])]);
    let result = completed(world.call("w").await);
    assert!(!result.contains("isError"));
    let mut called = world.calls.called();
    called.sort();
    let by_workflow = Some("w".to_owned());
    assert_eq!(called, [("d__t".to_owned(), by_workflow.clone()), ("d__u".to_owned(), by_workflow)]);
    assert_eq!(world.runs().await, 0);
}

#[tokio::test]
async fn what_is_no_workflows_goes_on_as_it_came() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"])]);
    let result = completed(world.live.dispatch(call("d__t", r#"{"n":1.0}"#)).await);
    assert_eq!(result.as_str(), r#"{"content":[],"structuredContent":{"by":"d__t"}}"#);
    let mut prompt = call("w", "{}");
    prompt.target = Target::Exposed { view: View::All, subject: Subject::Prompt { name: "w".into() } };
    completed(world.live.dispatch(prompt).await);
    let params = [r#"{"name":"d__t","arguments":{"n":1.0}}"#, r#"{"name":"w","arguments":{}}"#];
    assert_eq!(world.calls.params(), params);
}

#[tokio::test]
async fn a_workflow_whose_tools_are_not_there_is_unknown() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t", "d__no"])]);
    refused(world.call("w").await, &unknown("w"));
    assert!(world.calls.called().is_empty());
    assert_eq!(world.shelves.state().listed, 1, "what is still starting was waited for, once");
}

#[tokio::test]
async fn a_call_waits_for_tools_that_are_not_known_yet() {
    let world = World::new(&[], &[&calling("w", &["d.t"])]);
    world.shelves.change(|state| state.late.push(entry("d__t", "")));
    assert!(!completed(world.call("w").await).contains("isError"));
    assert_eq!(world.shelves.state().listed, 1);
    completed(world.call("w").await);
    assert_eq!(world.shelves.state().listed, 1, "nothing is listed for tools that are there");
}

#[tokio::test]
async fn workflows_cannot_call_workflows() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"])]);
    let mut inner = call("w", "{}");
    inner.origin = Some(Origin { workflow: "other".into(), run: "r".into(), step: "s".into() });
    refused(world.live.dispatch(inner).await, &unknown("w"));
    assert!(world.calls.called().is_empty());
}

#[tokio::test]
async fn arguments_are_an_object_or_nothing() {
    let workflow = r#"{"name":"w","description":"d",
        "parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},
        "steps":[{"id":"a","tool":"d__t","arguments":{"n":"{{ params.n }}"}}]}"#;
    let world = World::new(&[("d__t", "")], &[workflow]);
    completed(world.live.dispatch(call("w", r#"{"n":9007199254740993}"#)).await);
    assert!(world.calls.params()[0].contains(r#"{"n":9007199254740993}"#), "{:?}", world.calls.params());
    for (arguments, words) in [("[1]", "`arguments`"), (r#"{"n":1,"n":2}"#, "`arguments`")] {
        match world.live.dispatch(call("w", arguments)).await {
            Err(gateway_domain::Error::Caller(CallerError::InvalidParams { reason })) => {
                assert!(reason.contains(words), "{reason}");
            }
            other => panic!("not refused: {other:?}"),
        }
    }
    let mut none = call("w", "{}");
    none.params = Params { object: RawObject::parse(r#"{"name":"w"}"#).expect("an object"), meta: None };
    let result = completed(world.live.dispatch(none).await);
    assert!(text(&result).starts_with("invalid arguments: "), "{result:?}");
    assert_eq!(world.calls.called().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_cancels_what_its_steps_have_called() {
    let world = World::new(&[("d__hangs", "")], &[&calling("w", &["d__hangs"])]);
    let mut open = world.calls.open.subscribe();
    let running = tokio::spawn({
        let live = world.live.clone();
        async move { live.dispatch(call("w", "{}")).await }
    });
    open.wait_for(|open| *open == 1).await.expect("it is not gone");
    running.abort();
    open.wait_for(|open| *open == 0).await.expect("it is not gone");
    world.live.close().await;
    assert_eq!(world.runs().await, 0);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_all_runs_and_begins_no_more() {
    let world = World::new(&[("d__hangs", "")], &[&calling("w", &["d__hangs"]), &asking("q")]);
    let mut open = world.calls.open.subscribe();
    let running = tokio::spawn({
        let live = world.live.clone();
        async move { live.dispatch(call("w", "{}")).await }
    });
    open.wait_for(|open| *open == 1).await.expect("it is not gone");
    assert!(world.call("q").await.is_ok());
    assert_eq!(world.runs().await, 2);
    world.live.close().await;
    assert_eq!((world.runs().await, *open.borrow()), (0, 0));
    let result = completed(running.await.expect("no panic"));
    assert_eq!(text(&result), "the workflow was cancelled");
    refused(world.call("w").await, &CallerError::SessionClosed);
}

#[tokio::test]
async fn a_workflow_that_asks_where_nobody_can_is_refused_at_the_start() {
    let deaf = || ComposerConfig { can_ask: false, ..ComposerConfig::default() };
    let texts = [&*calling("w", &["d__t"]), &*asking("one"), &*asking("two")];
    let Err(WorkflowError::InvalidDefinition(errors)) = World::with(deaf(), &[], &texts) else {
        panic!("it is refused");
    };
    let found: Vec<_> = errors.iter().map(|error| (error.step.as_deref(), error.to_string())).collect();
    assert_eq!(found.len(), 2);
    for ((step, text), name) in found.iter().zip(["one", "two"]) {
        assert_eq!(*step, Some("ask"));
        assert!(text.contains(&format!("of workflow `{name}` is `elicitation`")), "{text}");
    }
    let world = World::with(deaf(), &[("d__t", "")], &texts[..1]).expect("it asks nothing");
    assert!(world.live.replace(definitions(&texts)).is_err());
    assert_eq!(world.listed().await, ["d__t", "w"], "everything is as it was");
}

#[tokio::test]
async fn who_is_one_too_many_is_told_so() {
    let config = ComposerConfig { max_runs_per_caller: 1, ..ComposerConfig::default() };
    let world = World::with(config, &[], &[&asking("q")]).expect("it can be");
    assert!(world.call("q").await.is_ok(), "it waits for its client");
    assert!(matches!(
        world.call("q").await,
        Err(gateway_domain::Error::Caller(CallerError::Overloaded { limit: 1, .. }))
    ));
}
