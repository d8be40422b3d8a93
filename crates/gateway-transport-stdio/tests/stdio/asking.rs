//! Servers that ask something in mid-call.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_domain::{
    CallerError, ClientCapabilities, ClientLink, DownstreamFault, DownstreamName, DownstreamSession, Era,
    Error, EventSink, Exchange, InputRequired, LogLevel, Notice, Outcome, ParkedCall, RawObject, Reference,
    Session, SessionKey, State, Subject,
};
use gateway_transport_stdio::{StdioConfig, StdioSession};

use crate::{script::*, support::*};

/// Asks for a form and for roots with each call of `ask`, and ends the call when both are answered; `quick` answers
/// at once.
const ASKS: &str = r#"
    *'"name":"ask"'*) call=$id; ask "e$id" elicitation/create '{"message":"m","requestedSchema":{},"_meta":{"x":1}}'
        ask "r$id" roots/list '{}';;
    *'"name":"quick"'*) result "$id" '{"quick":true}';;
    *'"ping"'*) result "$id" '{}';;
    *'"id":"e'*) form=$line; [ -n "$roots" ] && result "$call" "{\"form\":$form,\"roots\":$roots}";;
    *'"id":"r'*) roots=$line; [ -n "$form" ] && result "$call" "{\"form\":$form,\"roots\":$roots}";;
"#;

async fn asking(cases: &str, change: impl FnOnce(&mut StdioConfig)) -> (StdioSession, Seen) {
    let (mut config, seen) = server(Era::Legacy, r#"{"logging":{}}"#, cases);
    change(&mut config);
    (able(&factory(config).0, Era::Legacy).await, seen)
}

fn of(era: Era, who: &str) -> Exchange {
    let capabilities = ClientCapabilities::from(object(ALL));
    let session = match era {
        Era::Legacy => SessionKey::Legacy { id: who.into() },
        Era::Modern => {
            let caller = gateway_domain::Caller::client(who);
            SessionKey::Modern { caller, capabilities: capabilities.clone() }
        }
    };
    Exchange::quiet(era, session, capabilities)
}

async fn call_by(session: &StdioSession, tool: &str, exchange: &Exchange) -> Result<Outcome, Error> {
    session.call_tool(tool, &[], &params("{}"), exchange).await
}

fn asked(outcome: Result<Outcome, Error>) -> (RawObject, Arc<dyn ParkedCall>) {
    match outcome {
        Ok(Outcome::InputRequired(InputRequired {
            requests: Some(requests),
            state: State::Waiting(parked),
            ..
        })) => (requests, parked),
        other => panic!("nothing is asked: {other:?}"),
    }
}

const FORM: &str = r#"{"action":"accept","content":{"n":1.0}}"#;
const ROOTS: &str = r#"{"roots":[{"uri":"file:///a"}]}"#;

#[tokio::test]
async fn a_call_waits_for_the_answers_and_goes_on_with_their_bytes() {
    for era in [Era::Legacy, Era::Modern] {
        let (session, _seen) = asking(ASKS, |_| {}).await;
        let exchange = of(era, "a");
        let (requests, parked) = asked(call_by(&session, "ask", &exchange).await);
        assert_eq!(
            requests.as_str(),
            concat!(
                r#"{"q1":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}},"#,
                r#""q2":{"method":"roots/list","params":{}}}"#
            )
        );
        // What is missing is asked again, under its own key.
        let some = object(&format!(r#"{{"q1":{FORM},"q9":{{}}}}"#));
        let (missing, again) = asked(parked.resume(&some, &exchange).await);
        assert_eq!(missing.as_str(), r#"{"q2":{"method":"roots/list","params":{}}}"#);
        assert!(parked.resume(&some, &exchange).await.is_err(), "good for one use");
        drop(parked);
        let rest = object(&format!(r#"{{"q2":{ROOTS}}}"#));
        let result = complete(again.resume(&rest, &exchange).await);
        let expected = [("form", FORM), ("roots", ROOTS)];
        for (member, answer) in expected {
            assert_eq!(result.get_object(member).unwrap().get("result").unwrap().as_str(), answer);
        }
        assert!(again.resume(&rest, &exchange).await.is_err(), "it is over");
    }
}

#[tokio::test]
async fn an_abandoned_question_is_answered_and_blocks_nobody() {
    for era in [Era::Legacy, Era::Modern] {
        let (session, seen) = asking(ASKS, |_| {}).await;
        let (_, parked) = asked(call_by(&session, "ask", &of(era, "a")).await);
        assert_eq!(complete(call_by(&session, "quick", &of(era, "a")).await).as_str(), r#"{"quick":true}"#);
        drop(parked);
        seen.times(1, r#""id":"e2","result":{"action":"cancel"}"#).await;
        seen.times(1, r#""id":"r2","error":{"code":-1,"#).await;
        seen.times(1, r#"{"requestId":2,"#).await;
        complete(call_by(&session, "quick", &of(era, "a")).await);
    }
}

#[tokio::test]
async fn a_server_that_waits_for_nothing_else_is_told_when_a_modern_client_goes_on_with_another_call() {
    // It reads until its answer comes, and forgets what it reads meanwhile.
    let cases = r#"*'"name":"ask"'*) asked=$id; ask s sampling/createMessage '{}'
            while read -r line; do case $line in *'"id":"s"'*) break;; esac; done; result "$asked" '{}';;
        *'"name":"quick"'*) result "$id" '{"quick":true}';;"#;
    let (session, _seen) = asking(cases, |_| {}).await;
    let a = of(Era::Modern, "a");
    let (_, parked) = asked(call_by(&session, "ask", &a).await);
    assert_eq!(complete(call_by(&session, "quick", &a).await).as_str(), r#"{"quick":true}"#);
    let gone = parked.resume(&object(r#"{"q1":{}}"#), &a).await;
    assert_eq!(gone.unwrap_err(), CallerError::UnknownState.into());
    assert!(session.is_open());
}

#[tokio::test]
async fn a_resumed_call_that_is_dropped_or_too_slow_is_cancelled() {
    let stubborn = r#"*'"name":"ask"'*) ask s sampling/createMessage '{}';;"#;
    let answers = object(r#"{"q1":{"role":"assistant"}}"#);
    for limit in [SOON, Duration::from_millis(400)] {
        let (session, seen) = asking(stubborn, |c| c.call_timeout = limit).await;
        let (_, parked) = asked(call_by(&session, "ask", &of(Era::Modern, "a")).await);
        // The time in which it waits for us is not its own.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(seen.count("cancelled"), 0);
        let exchange = of(Era::Modern, "a");
        let resumed = parked.resume(&answers, &exchange);
        if limit == SOON {
            assert!(tokio::time::timeout(Duration::from_millis(200), resumed).await.is_err());
        } else {
            let error = fault(resumed.await);
            assert!(matches!(error.fault, DownstreamFault::TimedOut { .. }), "{error}");
        }
        seen.times(1, r#""id":"s","result":{"role":"assistant"}"#).await;
        seen.times(1, "notifications/cancelled").await;
    }
}

#[tokio::test]
async fn calls_of_modern_clients_take_turns_and_nobody_is_asked_what_may_be_anothers() {
    let cases = r#"*'"name":"ask"'*) call=$id; ask "s$id" sampling/createMessage '{}';;
        *'"ping"'*) result "$id" '{}';;
        *'"id":"s'*error*) result "$call" '{"refused":true}';;"#;
    let (session, seen) = asking(cases, |c| c.call_timeout = Duration::from_millis(700)).await;
    let (a, b) = (of(Era::Modern, "a"), of(Era::Modern, "b"));
    let (first, second) = tokio::join!(call_by(&session, "ask", &a), call_by(&session, "ask", &b));
    // The second began when the first had come to wait; a ping came between. What it asks may be about the first.
    let (_, parked) = asked(first);
    assert_eq!(complete(second).as_str(), r#"{"refused":true}"#);
    seen.times(2, "tools/call").await;
    // A call that goes on takes a turn, so that the next waits for it.
    let answers = object(r#"{"q1":{}}"#);
    let resumed = parked.resume(&answers, &a);
    let waiting = async {
        seen.times(1, r#""id":"s2","result":{}"#).await;
        tokio::time::timeout(Duration::from_millis(200), call_by(&session, "ask", &b)).await
    };
    let (resumed, waiting) = tokio::join!(resumed, waiting);
    assert!(waiting.is_err(), "it must wait");
    assert!(matches!(fault(resumed).fault, DownstreamFault::TimedOut { .. }));
    assert_eq!(seen.count("tools/call"), 2);
}

#[tokio::test]
async fn calls_of_one_run_are_all_asked_whatever_the_server_does_meanwhile() {
    let answering = r#"*'"name":"ask"'*) eval "call$id=$id"; ask "s$id" sampling/createMessage '{}';;
        *'"ping"'*) result "$id" '{}';;
        *'"id":"s'*error*) exit 1;;
        *'"id":"s'*) n=${line#*'"id":"s'}; n=${n%%'"'*}; result "$n" '{"asked":true}';;"#;
    // The same, of a server that reads nothing but its answer while it waits, not even a ping.
    let waiting = r#"*'"name":"ask"'*) asked=$id; ask "s$id" sampling/createMessage '{}'
            while read -r line; do case $line in *'"id":"s'*) break;; *) later=$line;; esac; done
            result "$asked" '{"asked":true}'
            if [ -n "$later" ]; then id=${later#*'"id":'}; id=${id%%,*}; later=; result "$id" '{"asked":true}'; fi;;"#;
    for cases in [answering, waiting] {
        let (session, _seen) = asking(cases, |_| {}).await;
        let run = Exchange { run: Some("r".into()), ..of(Era::Modern, "a") };
        let answers = object(r#"{"q1":{}}"#);
        let one = async || match call_by(&session, "ask", &run).await {
            Ok(Outcome::Complete(result)) => result,
            asks => {
                let (_, parked) = asked(asks);
                // Long enough for the other to begin, and to look whether the server still lives.
                tokio::time::sleep(Duration::from_millis(2500)).await;
                complete(parked.resume(&answers, &run).await)
            }
        };
        let (first, second) = tokio::join!(one(), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            one().await
        });
        for result in [first, second] {
            assert_eq!(result.as_str(), r#"{"asked":true}"#);
        }
    }
}

#[tokio::test]
async fn an_answer_reaches_the_server_at_once_whichever_call_runs_or_has_ended() {
    // Each call needs the answer that the other was asked for.
    let cases = r#"*'"name":"first"'*) first=$id; ask s sampling/createMessage '{}';;
        *'"name":"second"'*) second=$id;;
        *'"ping"'*) result "$id" '{}';;
        *'"id":"s"'*) result "$second" '{"second":true}'; result "$first" '{"first":true}';;"#;
    let (session, seen) = asking(cases, |c| c.call_timeout = Duration::from_secs(3)).await;
    let a = of(Era::Modern, "a");
    let (_, parked) = asked(call_by(&session, "first", &a).await);
    let second = call_by(&session, "second", &a);
    let resumed = async {
        seen.times(1, r#""name":"second""#).await;
        parked.resume(&object(r#"{"q1":{"n":1}}"#), &a).await
    };
    let (second, first) = tokio::join!(second, resumed);
    assert_eq!(complete(second).as_str(), r#"{"second":true}"#);
    assert_eq!(complete(first).as_str(), r#"{"first":true}"#);

    // The question was another call's; the one that was asked ends meanwhile.
    let cases = r#"*'"name":"slow"'*) slow=$id;;
        *'"name":"ends"'*) ask s sampling/createMessage '{}'; sleep 0.2; result "$id" '{"done":1}';;
        *'"name":"at-once"'*) ask s sampling/createMessage '{}'; result "$id" '{"done":2}';;
        *'"id":"s"'*) result "$slow" "{\"told\":$line}";;"#;
    let (session, seen) = asking(cases, |_| {}).await;
    let a = of(Era::Legacy, "a");
    let told = r#"{"told":{"jsonrpc":"2.0","id":"s","result":{"n":1}}}"#;
    let slow = call_by(&session, "slow", &a);
    let ends = async {
        seen.times(1, r#""name":"slow""#).await;
        let (_, parked) = asked(call_by(&session, "ends", &a).await);
        tokio::time::sleep(Duration::from_millis(400)).await;
        parked.resume(&object(r#"{"q1":{"n":1}}"#), &a).await
    };
    let (slow, ends) = tokio::join!(slow, ends);
    assert_eq!((complete(slow).as_str(), complete(ends).as_str()), (told, r#"{"done":1}"#));

    // It ends before anybody was asked.
    let slow = call_by(&session, "slow", &a);
    let at_once = async {
        seen.times(2, r#""name":"slow""#).await;
        call_by(&session, "at-once", &a).await
    };
    let (slow, at_once) = tokio::join!(slow, at_once);
    assert_eq!(complete(at_once).as_str(), r#"{"done":2}"#);
    let (_, parked) = asked(slow);
    assert_eq!(complete(parked.resume(&object(r#"{"q1":{"n":1}}"#), &a).await).as_str(), told);
}

#[tokio::test]
async fn one_legacy_clients_calls_run_side_by_side_and_the_last_is_asked() {
    let cases = r#"*'"name":"slow"'*) slow=$id;; *'"name":"ask"'*) ask s sampling/createMessage '{}';;
        *'"id":"s"'*) result "$slow" "{\"told\":$line}";;"#;
    let (session, seen) = asking(cases, |_| {}).await;
    let a = of(Era::Legacy, "a");
    let slow = call_by(&session, "slow", &a);
    let asks = async {
        seen.times(1, r#""name":"slow""#).await;
        let (_, parked) = asked(call_by(&session, "ask", &a).await);
        drop(parked);
    };
    let (slow, ()) = tokio::join!(slow, asks);
    assert!(complete(slow).as_str().contains(r#""code":-1"#));

    // With another's call under way nobody is asked.
    let b = of(Era::Legacy, "b");
    let slow = call_by(&session, "slow", &b);
    let asks = async {
        seen.times(2, r#""name":"slow""#).await;
        let ask = call_by(&session, "ask", &a);
        assert!(tokio::time::timeout(Duration::from_millis(300), ask).await.is_err());
    };
    let (slow, ()) = tokio::join!(slow, asks);
    assert!(complete(slow).as_str().contains(r#""code":-1"#));
}

#[tokio::test]
async fn what_asks_nothing_takes_no_turn_and_is_not_asked() {
    // As with a core task: one request waits for its result, others look at it.
    let cases = r#"*tasks/result*) result=$id;;
        *tasks/get*) ask s sampling/createMessage '{}'; result "$id" '{"status":"input_required"}';;
        *completion*) result "$id" '{}';;
        *'"id":"s"'*) result "$result" '{}';;"#;
    let (session, seen) = asking(cases, |_| {}).await;
    let (a, given) = (of(Era::Modern, "a"), params("{}"));
    let other = |method: &str| Subject::Other { method: method.into() };
    let (waits, looks) = (other("tasks/result"), other("tasks/get"));
    let waiting = session.call(&waits, &given, &a);
    let looking = async {
        seen.times(1, "tasks/result").await;
        complete(session.call(&looks, &given, &a).await);
        let reference = Subject::Completion(Reference::Prompt("p".into()));
        complete(session.call(&reference, &given, &a).await);
    };
    let (waiting, ()) = tokio::join!(waiting, looking);
    let (_, parked) = asked(waiting);
    complete(parked.resume(&object(r#"{"q1":{}}"#), &a).await);
}

#[tokio::test]
async fn a_wait_for_a_task_does_not_keep_others_from_being_served() {
    let cases = r#"*'"name":"quick"'*) result "$id" '{"quick":true}';;"#;
    let (session, seen) = asking(cases, |_| {}).await;
    let (a, given) = (of(Era::Modern, "a"), params("{}"));
    let result = Subject::Other { method: "tasks/result".into() };
    let waiting = session.call(&result, &given, &a);
    let quick = async {
        seen.times(1, "tasks/result").await;
        complete(call_by(&session, "quick", &a).await)
    };
    tokio::select! {
        outcome = waiting => panic!("it ended: {outcome:?}"),
        quick = quick => assert_eq!(quick.as_str(), r#"{"quick":true}"#),
    }
}

#[tokio::test]
async fn a_server_that_ends_meanwhile_is_told_to_who_comes_back() {
    let (session, _seen) = asking(ASKS, |_| {}).await;
    let (_, parked) = asked(call_by(&session, "ask", &of(Era::Modern, "a")).await);
    let pid = rustix::process::Pid::from_raw(i32::try_from(session.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("the session is closed", || !session.is_open()).await;
    let error = fault(parked.resume(&object("{}"), &of(Era::Modern, "a")).await);
    assert!(matches!(error.fault, DownstreamFault::Ended { .. }), "{error}");
    assert_eq!(error.execution, gateway_domain::Execution::Possible);
}

#[tokio::test]
async fn what_happens_while_a_call_waits_is_told_first_when_it_goes_on() {
    let cases = r#"
        *'"name":"ask"'*) call=$id; ask s sampling/createMessage '{}'; sleep 0.2
            note notifications/progress "{\"progressToken\":$id,\"progress\":1}"
            note notifications/message '{"level":"debug","data":1}'
            note notifications/message '{"level":"error","data":2}';;
        *'"id":"s"'*) note notifications/progress "{\"progressToken\":$call,\"progress\":2}"; result "$call" '{}';;
    "#;
    let (session, seen) = asking(cases, |_| {}).await;
    let [first, second] = [Arc::new(Events::default()), Arc::new(Events::default())];
    let with = |events: &Arc<Events>| {
        let mut exchange = of(Era::Modern, "a");
        exchange.wants_progress = true;
        exchange.log_level = Some(LogLevel::Warning);
        exchange.events = Arc::clone(events) as Arc<dyn EventSink>;
        exchange
    };
    let (_, parked) = asked(call_by(&session, "ask", &with(&first)).await);
    tokio::time::sleep(Duration::from_millis(400)).await;
    complete(parked.resume(&object(r#"{"q1":{}}"#), &with(&second)).await);
    assert!(first.0.lock().unwrap().is_empty());
    let told = second.0.lock().unwrap().join("\n");
    let token = r#""progressToken":3"#;
    let expected =
        format!("{{{token},\"progress\":1}}\n{{\"level\":\"error\",\"data\":2}}\n{{{token},\"progress\":2}}");
    assert_eq!(told, expected);
    seen.times(1, r#""level":"warning""#).await;
}

#[tokio::test]
async fn a_call_that_ends_all_the_same_is_answered_and_a_question_taken_back_is_not_asked() {
    let cases = r#"
        *'"name":"ends"'*) ask s1 sampling/createMessage '{}'; result "$id" '{"done":1}';;
        *'"name":"late"'*) ask s2 sampling/createMessage '{}'; sleep 0.3; result "$id" '{"done":2}';;
        *'"name":"takes"'*) ask s3 sampling/createMessage '{}'; note notifications/cancelled '{"requestId":"s3"}'
            sleep 0.3; result "$id" '{"done":3}';;"#;
    let (session, seen) = asking(cases, |_| {}).await;
    let a = of(Era::Modern, "a");
    assert_eq!(complete(call_by(&session, "ends", &a).await).as_str(), r#"{"done":1}"#);
    seen.times(1, r#""id":"s1","error":{"code":-1,"#).await;
    let (_, parked) = asked(call_by(&session, "late", &a).await);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(complete(parked.resume(&object("{}"), &a).await).as_str(), r#"{"done":2}"#);
    assert_eq!(complete(call_by(&session, "takes", &a).await).as_str(), r#"{"done":3}"#);
    assert_eq!(seen.count(r#""id":"s3""#), 0);
}

#[tokio::test]
async fn a_request_that_can_carry_no_question_is_asked_none() {
    let (session, seen) = asking(ASKS, |_| {}).await;
    let mut mute = of(Era::Legacy, "a");
    mute.capabilities = ClientCapabilities::none();
    let result = complete(call_by(&session, "ask", &mute).await);
    assert!(result.get_object("form").unwrap().get_object("error").is_some());
    seen.times(2, "-32601").await;
}

/// Remembers what it is told, and has roots.
#[derive(Debug, Default)]
pub(crate) struct Client(pub(crate) Mutex<Vec<String>>);

#[async_trait]
impl ClientLink for Client {
    fn tell(&self, downstream: &DownstreamName, notice: Notice) {
        let told = match notice {
            Notice::Log(params) => format!("{downstream} log {params}", params = params.as_str()),
            Notice::ElicitationComplete(params) => format!("{downstream} done {}", params.as_str()),
        };
        self.0.lock().unwrap().push(told);
    }

    async fn roots(&self) -> Option<RawObject> {
        Some(object(ROOTS))
    }
}

#[tokio::test]
async fn roots_outside_any_call_are_those_of_the_owner_or_nobodys() {
    let cases = r#"*initialized*) ask r1 roots/list '{}'; ask e1 elicitation/create '{}';;"#;
    for attended in [true, false] {
        let (session, seen) = asking(cases, |_| {}).await;
        let client: Arc<dyn ClientLink> = Arc::new(Client::default());
        if attended {
            session.attend(Arc::downgrade(&client));
        }
        let answer =
            if attended { format!(r#""id":"r1","result":{ROOTS}"#) } else { r#""code":-32601"#.to_owned() };
        seen.times(1, &answer).await;
        seen.times(1, r#""id":"e1","result":{"action":"cancel"}"#).await;
    }
}
