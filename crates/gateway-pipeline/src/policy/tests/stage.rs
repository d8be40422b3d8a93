use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use gateway_domain::{
    Call, CallerError, ClientCapabilities, Dispatcher, Era, Error, Exchange, Outcome, Params, ParkId,
    Reference, SessionKey, Sessions, Subject, Subscription, Subscriptions, Target, TaskAct, Updates, View,
};

use super::*;

#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl Dispatcher for Counting {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Outcome::Complete(RawObject::empty()))
    }
}

#[async_trait]
impl Subscriptions for Counting {
    async fn subscribe(
        &self,
        _: Target,
        _: &Caller,
        _: &Exchange,
        _: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Subscription::new(()))
    }
}

struct Deaf;

impl Updates for Deaf {
    fn updated(&self, _: RawObject) {}
}

fn exchange(caller: &Caller) -> Exchange {
    let session = SessionKey::Modern { caller: caller.clone(), capabilities: ClientCapabilities::default() };
    Exchange::quiet(Era::Modern, session, ClientCapabilities::default())
}

fn call(target: Target, params: &str) -> Call {
    let caller = Caller::client("desk");
    let params = Params { object: RawObject::parse(params.to_owned()).unwrap(), meta: None };
    let exchange = exchange(&caller);
    Call { target, params, follow_up: None, caller, exchange, origin: None }
}

fn at(downstream: &str, subject: Subject) -> Target {
    Target::Downstream { downstream: DownstreamName::parse(downstream).unwrap(), subject }
}

fn flow(name: &str) -> Target {
    Target::Exposed { view: View::All, subject: Subject::tool(name) }
}

fn resource(uri: &str) -> Subject {
    Subject::Resource { uri: uri.into() }
}

fn task() -> Subject {
    Subject::Task { id: "1".into(), act: TaskAct::Get, tool: None }
}

/// Dispatches it; what was answered, what is noted, and how many calls went through.
async fn dispatched(config: &PolicyConfig, call: Call) -> (Option<Error>, Option<Decision>, usize) {
    let inner = Counting::default();
    let stage = PolicyStage::new(Arc::new(Policy::new(config).unwrap()), inner.clone());
    let notes = call.exchange.notes.clone();
    let answer = stage.dispatch(call).await;
    (answer.err(), notes.decision(), inner.0.load(Ordering::Relaxed))
}

#[track_caller]
fn allowed(of: (Option<Error>, Option<Decision>, usize)) {
    assert!(matches!(of, (None, Some(Decision::Allowed), 1)), "{of:?}");
}

#[track_caller]
fn refused(of: (Option<Error>, Option<Decision>, usize), decision: Decision, expected: CallerError) {
    assert_eq!(of.0.map(|error| error.to_string()), Some(Error::from(expected).to_string()));
    assert_eq!((of.1, of.2), (Some(decision), 0));
}

fn desk(allow: &[&str], deny: &[&str]) -> PolicyConfig {
    config(vec![client("desk", allow, deny)], Vec::new())
}

#[tokio::test]
async fn what_nothing_was_decided_of_is_decided_by_its_own_name() {
    let prompt = |name: &str| Subject::Prompt { name: name.into() };
    let odd = || Subject::Other { method: "x/y".into() };
    for (target, pattern) in [
        (at("files", Subject::tool("read")), "files__read"),
        (at("files", prompt("p")), "files__p"),
        (at("files", resource("file:///a")), "file:///a"),
        (at("files", resource("file:///a")), "files__*"),
        (at("files", Subject::Completion(Reference::Prompt("p".into()))), "files__p"),
        (at("files", Subject::Completion(Reference::Resource("f:{x}".into()))), "f:{x}"),
        (at("files", odd()), "x/y"),
        (flow("deploy"), "deploy"),
        (
            Target::Exposed {
                view: View::Downstream(DownstreamName::parse("files").unwrap()),
                subject: Subject::tool("read"),
            },
            "files__read",
        ),
    ] {
        allowed(dispatched(&desk(&[pattern], &[]), call(target.clone(), "{}")).await);
        let (error, decision, through) = dispatched(&desk(&[], &[]), call(target.clone(), "{}")).await;
        assert_eq!(
            (error.is_some(), decision, through),
            (true, Some(Decision::DeniedByDefault), 0),
            "{target:?}"
        );
        let (error, decision, through) =
            dispatched(&desk(&["*"], &[pattern]), call(target.clone(), "{}")).await;
        assert_eq!((error.is_some(), decision, through), (true, Some(Decision::Denied), 0), "{target:?}");
    }
}

#[tokio::test]
async fn what_is_refused_is_answered_as_what_is_not_there_in_the_clients_words() {
    let (none, by_default) = (desk(&[], &[]), Decision::DeniedByDefault);
    let name = || "shown".to_owned();
    let named = r#"{"name":"shown","uri":"shown"}"#;
    let referred = r#"{"ref":{"name":"shown","uri":"shown"},"name":"other","uri":"other"}"#;
    for (subject, params, expected) in [
        (Subject::tool("own"), named, CallerError::UnknownTool { name: name() }),
        (
            Subject::tool("own"),
            r#"{"ref":{"name":"x"},"name":"shown"}"#,
            CallerError::UnknownTool { name: name() },
        ),
        (Subject::tool("own"), "{}", CallerError::UnknownTool { name: "own".into() }),
        (Subject::Prompt { name: "own".into() }, named, CallerError::UnknownPrompt { name: name() }),
        (resource("own"), named, CallerError::UnknownResource { uri: name() }),
        (resource("own"), "{}", CallerError::UnknownResource { uri: "own".into() }),
        (
            Subject::Completion(Reference::Prompt("own".into())),
            referred,
            CallerError::UnknownPrompt { name: name() },
        ),
        (
            Subject::Completion(Reference::Resource("own".into())),
            referred,
            CallerError::UnknownResource { uri: name() },
        ),
        (Subject::Other { method: "x/y".into() }, named, CallerError::UnknownMethod { method: "x/y".into() }),
    ] {
        refused(dispatched(&none, call(at("files", subject), params)).await, by_default, expected);
    }
    refused(
        dispatched(&none, call(flow("deploy"), "{}")).await,
        by_default,
        CallerError::UnknownTool { name: "deploy".into() },
    );
}

#[tokio::test]
async fn what_was_looked_up_is_not_decided_again_by_another_name() {
    let unknown = || CallerError::UnknownTool { name: "own".into() };
    let looked_up = |decision| {
        let call = call(at("files", Subject::tool("own")), "{}");
        call.exchange.notes.decided(decision);
        call
    };
    allowed(dispatched(&desk(&["files__alias"], &[]), looked_up(Decision::Allowed)).await);
    // Whoever looked it up should not have let it come here.
    for denied in [Decision::Denied, Decision::DeniedByDefault] {
        refused(dispatched(&desk(&["*"], &[]), looked_up(denied)).await, denied, unknown());
    }
}

#[tokio::test]
async fn a_workflow_is_decided_by_its_name_whatever_was_decided_of_its_steps() {
    let noted = |decision| {
        let call = call(flow("deploy"), "{}");
        call.exchange.notes.decided(decision);
        call
    };
    let unknown = || CallerError::UnknownTool { name: "deploy".into() };
    refused(
        dispatched(&desk(&["other"], &[]), noted(Decision::Allowed)).await,
        Decision::DeniedByDefault,
        unknown(),
    );
    allowed(dispatched(&desk(&["deploy"], &[]), noted(Decision::Allowed)).await);
}

#[tokio::test]
async fn a_step_is_decided_as_one() {
    let rule = Rule {
        through: Some(Through::Composites),
        ..rule(Effect::Allow, Who::default(), names(&["db__drop"]))
    };
    let config = config(Vec::new(), vec![rule]);
    let direct = || call(at("db", Subject::tool("drop")), "{}");
    let origin = Wish::tool("db__drop").in_workflow().origin;
    allowed(dispatched(&config, Call { origin, ..direct() }).await);
    refused(
        dispatched(&config, direct()).await,
        Decision::DeniedByDefault,
        CallerError::UnknownTool { name: "drop".into() },
    );
}

#[tokio::test]
async fn a_task_goes_on_unless_all_tools_of_its_downstream_are_denied() {
    let ask =
        |config: PolicyConfig| async move { dispatched(&config, call(at("files", task()), "{}")).await };
    let denying = |what: What| config(Vec::new(), vec![rule(Effect::Deny, Who::default(), what)]);
    let files = What { downstreams: Some(texts(&["files"])), ..What::default() };
    allowed(ask(desk(&["files__read"], &[])).await);
    allowed(ask(desk(&[], &[])).await);
    allowed(ask(desk(&["*"], &["files__write", "web__*"])).await);
    allowed(ask(denying(What { destructive: Some(true), ..What::default() })).await);
    allowed(ask(denying(What { read_only: Some(false), ..What::default() })).await);
    for config in [desk(&["*"], &["files__*"]), denying(files), denying(What::default())] {
        refused(ask(config).await, Decision::Denied, CallerError::UnknownTask);
    }
    // That something was allowed before says nothing about it.
    let noted = call(at("files", task()), "{}");
    noted.exchange.notes.decided(Decision::Allowed);
    refused(dispatched(&desk(&[], &["files__*"]), noted).await, Decision::Denied, CallerError::UnknownTask);
}

#[tokio::test]
async fn a_task_is_as_the_tool_that_began_it() {
    let of = |tool: &str| {
        let subject = Subject::Task { id: "1".into(), act: TaskAct::Get, tool: Some(tool.into()) };
        call(at("files", subject), "{}")
    };
    let ask = |config: PolicyConfig| async move { dispatched(&config, of("files__read")).await };
    allowed(ask(desk(&["files__read"], &[])).await);
    allowed(ask(desk(&["files__*"], &["files__write"])).await);
    refused(ask(desk(&["files__write"], &[])).await, Decision::DeniedByDefault, CallerError::UnknownTask);
    refused(ask(desk(&["*"], &["files__read"])).await, Decision::Denied, CallerError::UnknownTask);
    // What was decided by its definition stands.
    let noted = of("files__read");
    noted.exchange.notes.decided(Decision::Allowed);
    allowed(dispatched(&desk(&[], &[]), noted).await);
}

#[tokio::test]
async fn of_a_tool_that_was_not_looked_up_the_worst_is_true() {
    let reading = What { read_only: Some(true), ..What::default() };
    let config = config(Vec::new(), vec![rule(Effect::Allow, Who::default(), reading)]);
    refused(
        dispatched(&config, call(at("files", Subject::tool("read")), "{}")).await,
        Decision::DeniedByDefault,
        CallerError::UnknownTool { name: "read".into() },
    );
}

#[tokio::test]
async fn watching_is_another_thing_than_reading() {
    let ask = |method: &'static str, noted: Option<Decision>| async move {
        let what = What { methods: Some(texts(&[method])), ..What::default() };
        let config = config(Vec::new(), vec![rule(Effect::Allow, Who::default(), what)]);
        let inner = Counting::default();
        let stage = PolicyStage::new(Arc::new(Policy::new(&config).unwrap()), inner.clone());
        let caller = Caller::client("desk");
        let exchange = exchange(&caller);
        if let Some(noted) = noted {
            exchange.notes.decided(noted);
        }
        let answer = stage.subscribe(at("files", resource("f:x")), &caller, &exchange, Arc::new(Deaf)).await;
        let error = answer.err().map(|error| error.to_string());
        (error, exchange.notes.decision(), inner.0.load(Ordering::Relaxed))
    };
    let unknown = Error::from(CallerError::UnknownResource { uri: "f:x".into() }).to_string();
    assert_eq!(ask("resources/subscribe", None).await, (None, Some(Decision::Allowed), 1));
    assert_eq!(
        ask("resources/read", None).await,
        (Some(unknown.clone()), Some(Decision::DeniedByDefault), 0)
    );
    assert_eq!(ask("resources/read", Some(Decision::Allowed)).await, (None, Some(Decision::Allowed), 1));
    assert_eq!(
        ask("resources/subscribe", Some(Decision::Denied)).await,
        (Some(unknown), Some(Decision::Denied), 0)
    );
}

#[tokio::test]
async fn reading_is_another_thing_than_watching() {
    let ask = |method: &'static str| async move {
        let what = What { methods: Some(texts(&[method])), ..What::default() };
        let config = config(Vec::new(), vec![rule(Effect::Allow, Who::default(), what)]);
        dispatched(&config, call(at("files", resource("f:x")), "{}")).await
    };
    allowed(ask("resources/read").await);
    refused(
        ask("resources/subscribe").await,
        Decision::DeniedByDefault,
        CallerError::UnknownResource { uri: "f:x".into() },
    );
}

/// What it was told of sessions. One park is over.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn hear(&self, word: String) {
        self.0.lock().unwrap().push(word);
    }
}

#[async_trait]
impl Sessions for Told {
    async fn end(&self, key: &SessionKey) {
        self.hear(format!("end {key:?}"));
    }

    async fn end_caller(&self, caller: &Caller) {
        self.hear(format!("end caller {caller:?}"));
    }

    fn abandon(&self, park: &ParkId) {
        self.hear(format!("abandon {park:?}"));
    }

    fn is_over(&self, park: &ParkId) -> bool {
        &*park.0 == "over"
    }

    async fn roots_changed(&self, key: &SessionKey) {
        self.hear(format!("roots changed {key:?}"));
    }
}

#[tokio::test]
async fn what_becomes_of_sessions_is_none_of_its_business() {
    let [over, open] = ["over", "open"].map(|id| ParkId(id.into()));
    let told = Told::default();
    let stage = PolicyStage::new(Arc::new(Policy::new(&desk(&[], &[])).unwrap()), told.clone());
    let caller = Caller::client("desk");
    let key = exchange(&caller).session;
    stage.end(&key).await;
    stage.end_caller(&caller).await;
    stage.abandon(&open);
    stage.roots_changed(&key).await;
    let words = [
        format!("end {key:?}"),
        format!("end caller {caller:?}"),
        format!("abandon {open:?}"),
        format!("roots changed {key:?}"),
    ];
    assert_eq!(*told.0.lock().unwrap(), words);
    assert!(stage.is_over(&over) && !stage.is_over(&open));
}
