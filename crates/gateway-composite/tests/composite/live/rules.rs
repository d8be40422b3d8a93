//! Workflows that not everybody may call (C-5), and what is around those that are called.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use gateway_domain::{
    Act, Call, Caller, CallerError, Decision, Directory, Dispatcher, DownstreamName, Error, Grants, Incoming,
    ListKind, Outcome, Subject, Target, TraceContext, View,
};

use super::{
    fakes::*,
    suspended::{answering, asked},
};

fn desk() -> View {
    View::Profile(DownstreamName::parse("desk").expect("a name"))
}

fn on(view: &View, name: &str) -> Call {
    Call { target: Target::Exposed { view: view.clone(), subject: Subject::tool(name) }, ..call(name, "{}") }
}

async fn listed(world: &World, view: &View) -> Vec<String> {
    let (caller, exchange) = (caller(), modern(&caller(), FORMS));
    let page = world.live.list(ListKind::Tools, view, &caller, &exchange, None).await.expect("a page");
    items(&page).iter().map(|item| item.get_text("name").expect("a name")).collect()
}

#[tokio::test]
async fn a_workflow_that_may_not_be_called_is_looked_for_among_the_tools() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"]), &calling("v", &["d__t"])]);
    world.shelves.state().denied = vec!["w"];
    assert_eq!(listed(&world, &View::All).await, ["d__t", "v"]);
    let denied = call("w", "{}");
    let notes = denied.exchange.notes.clone();
    completed(world.live.dispatch(denied).await);
    assert_eq!(world.calls.called(), [("w".to_owned(), None)], "as what is no workflow");
    assert_eq!(notes.found().decision, Some(Decision::Denied));
    world.calls.take();
    let allowed = call("v", "{}");
    let notes = allowed.exchange.notes.clone();
    completed(world.live.dispatch(allowed).await);
    assert_eq!(world.calls.called(), [("d__t".to_owned(), Some("v".to_owned()))]);
    assert_eq!(notes.found().decision, Some(Decision::Allowed));
    let status = world.live.status(&caller(), &modern(&caller(), FORMS));
    let hidden = status.into_iter().find(|one| *one.name == *"w").and_then(|one| one.hidden);
    assert_eq!(hidden.expect("it is").text, "the rules do not allow the caller to call it");
}

#[tokio::test]
async fn a_workflow_is_there_for_whom_all_its_steps_are() {
    let world = World::new(&[("d__t", ""), ("d__u", "")], &[&calling("w", &["d__t", "d__u"])]);
    assert!(listed(&world, &View::All).await.contains(&"w".to_owned()));
    world.shelves.state().denied = vec!["d__u"];
    assert!(!listed(&world, &View::All).await.contains(&"w".to_owned()));
    refused(world.call("w").await, &unknown("w"));
    assert!(world.calls.called().is_empty());
}

#[tokio::test]
async fn a_profile_has_the_workflows_that_are_selected_for_it() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"]), &calling("v", &["d__t"])]);
    assert_eq!(listed(&world, &desk()).await, ["d__t", "w"]);
    completed(world.live.dispatch(on(&desk(), "w")).await);
    completed(world.live.dispatch(on(&desk(), "v")).await);
    let by = |workflow: &str| Some(workflow.to_owned());
    assert_eq!(world.calls.called(), [("d__t".to_owned(), by("w")), ("v".to_owned(), None)]);
    let one = View::Downstream(DownstreamName::parse("d").expect("a name"));
    assert_eq!(listed(&world, &one).await, ["d__t"]);
    let offers_tools = async |view: &View| world.live.offer(view).await.capabilities.as_str().to_owned();
    assert!(offers_tools(&desk()).await.contains("listChanged"));
    assert!(!offers_tools(&one).await.contains("listChanged"));
}

/// Counts what comes by.
struct Counter(Arc<dyn Dispatcher>, Arc<AtomicUsize>);

#[async_trait::async_trait]
impl Dispatcher for Counter {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        self.1.fetch_add(1, SeqCst);
        self.0.dispatch(call).await
    }
}

#[tokio::test(start_paused = true)]
async fn stages_are_around_workflows_and_nothing_else() {
    let workflows = [calling("w", &["d__t"]), asking("q")];
    let mut world = World::new(&[("d__t", "")], &[&workflows[0], &workflows[1]]);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    world.live = world.live.with_stages(|runs| Arc::new(Counter(runs, counted)));
    completed(world.call("w").await);
    assert_eq!(count.load(SeqCst), 1, "not what its steps call");
    completed(world.call("d__t").await);
    completed(world.call("nothing").await);
    assert_eq!(count.load(SeqCst), 1);
    let questions = asked(&world, call("q", "{}")).await;
    world.live.replace(definitions(&[])).expect("it can be");
    completed(world.live.dispatch(answering(&questions, call("q", "{}"))).await);
    assert_eq!(count.load(SeqCst), 3, "what goes on with a run too, though it is not offered any more");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_asked_goes_on_only_for_who_may_still_call_it() {
    let world = World::new(&[], &[&asking("q")]);
    let questions = asked(&world, call("q", "{}")).await;
    world.shelves.state().denied = vec!["q"];
    let follow_up = answering(&questions, call("q", "{}"));
    let notes = follow_up.exchange.notes.clone();
    completed(world.live.dispatch(follow_up).await);
    assert_eq!(world.calls.called(), [("q".to_owned(), None)]);
    assert_eq!((notes.found().decision, world.runs().await), (Some(Decision::Denied), 1));
    world.shelves.state().denied.clear();
    completed(world.live.dispatch(answering(&questions, call("q", "{}"))).await);
    assert_eq!(world.runs().await, 0);
}

#[tokio::test(start_paused = true)]
async fn steps_call_with_what_the_latest_request_proves() {
    let workflow = asking("q").replace(
        r#""steps":["#,
        r#""steps":[{"id":"after","tool":"d__t","dependsOn":["ask"],"arguments":{"a":"{{ steps.ask.output.action }}"}},"#,
    );
    let world = World::new(&[("d__t", "")], &[&workflow]);
    let proven = |scope: &str| {
        let grants = Grants { scopes: vec![scope.into()], ..Grants::default() };
        Call { caller: Caller::user("https://a", "ann", grants), ..call("q", "{}") }
    };
    let questions = asked(&world, proven("read")).await;
    completed(world.live.dispatch(answering(&questions, proven("write"))).await);
    let called = world.calls.take();
    assert!(called[0].caller.has_scope("write") && !called[0].caller.has_scope("read"));
}

#[tokio::test]
async fn what_is_noted_of_a_step_is_noted_of_no_other_and_the_trace_goes_on() {
    let world = World::new(&[("d__t", ""), ("d__u", "")], &[&calling("w", &["d__t", "d__u"])]);
    let mut first = call("w", "{}");
    let trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let incoming = Arc::new(Incoming::from(caller()));
    (first.exchange.trace, first.exchange.incoming) = (trace.clone(), Some(incoming.clone()));
    let notes = first.exchange.notes.clone();
    completed(world.live.dispatch(first).await);
    let steps = world.calls.take();
    assert_eq!(steps.len(), 2);
    assert!(!Arc::ptr_eq(&steps[0].exchange.notes, &steps[1].exchange.notes));
    for step in steps {
        assert!(!Arc::ptr_eq(&step.exchange.notes, &notes));
        assert_eq!(step.exchange.trace, trace);
        assert!(step.exchange.incoming.is_some_and(|its| Arc::ptr_eq(&its, &incoming)));
    }
}

#[tokio::test]
async fn a_workflow_needs_the_scopes_of_its_own_name_and_none_of_its_steps() {
    let lacking = CallerError::InsufficientScope { scopes: vec!["s".to_owned()] };
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"]), &calling("v", &["d__u"])]);
    world.shelves.state().locked = vec!["d__t"];
    completed(world.call("w").await);
    assert_eq!(world.calls.called().len(), 1);
    world.calls.take();
    world.shelves.state().locked = vec!["w", "v"];
    refused(world.call("w").await, &lacking);
    refused(world.call("v").await, &unknown("v"));
    assert!(world.calls.called().is_empty());
    assert!(listed(&world, &View::All).await.contains(&"w".to_owned()), "it stays listed");
    assert_eq!(world.live.missing_scopes(&caller(), Act::Call, &["w"]), Some(vec!["s".to_owned()]));
}

#[tokio::test]
async fn a_profile_is_there_for_whom_a_workflow_on_it_is() {
    let world = World::new(&[("d__t", "")], &[&calling("w", &["d__t"]), &calling("v", &["d__t"])]);
    let d = View::Downstream(DownstreamName::parse("d").expect("a name"));
    let nowhere = View::Downstream(DownstreamName::parse("nowhere").expect("a name"));
    let visits = |views: &[&View]| -> Vec<bool> {
        views.iter().map(|view| world.live.may_visit(view, &caller())).collect()
    };
    assert_eq!(visits(&[&View::All, &desk(), &d, &nowhere]), [true, true, true, false]);
    world.shelves.state().barred = vec![desk(), d.clone()];
    assert_eq!(visits(&[&desk(), &d]), [true, false], "`w` is on the profile");
    world.shelves.state().denied = vec!["w"];
    assert_eq!(visits(&[&desk(), &d]), [false, false]);
}
