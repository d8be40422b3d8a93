use std::{
    fmt, future,
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;
use gateway_domain::{
    Access, Act, Answering, Call, Caller, CallerError, Decider, Decision, Dispatcher, DownstreamName, Error,
    Exchange, Notes, Params, ParkId, RawJson, Reference, SessionKey, Sessions, Subject, Subscription,
    Subscriptions, Target, Tool, ToolRef, Updates, View,
};

/// Lets pass what its caller may do (P-35). What is refused is answered as if there were no such thing.
///
/// What is resolved passes if the notes say that it was allowed when it was looked up by the name it has on `/mcp`.
/// If nothing was decided by then it is decided here, by `DOWNSTREAM__NAME` and as a tool of which the worst is true:
/// so nothing passes undecided. What is not resolved is a workflow's, and is decided by its name. A task is
/// as the tool that began it. Where nobody knows that tool, this stage stops it if a rule denies all tools of its
/// downstream.
///
/// Around a [`Dispatcher`] it is one, and so with [`Subscriptions`] and [`Sessions`]. Cancel-safe as they are: it
/// waits for nothing else.
pub struct PolicyStage<D> {
    decider: Arc<dyn Decider>,
    inner: D,
}

impl<D> PolicyStage<D> {
    /// Asks `decider` before `inner`.
    pub fn new(decider: Arc<dyn Decider>, inner: D) -> Self {
        Self { decider, inner }
    }

    /// Decides, unless it is decided already, and notes it.
    fn decision(&self, caller: &Caller, wanted: &Wanted<'_>, notes: &Notes) -> Decision {
        if let (Some(decision), true) = (notes.decision(), wanted.is_resolved()) {
            return decision;
        }
        let decision = match (wanted.subject, wanted.decided_by(self.decider.as_ref(), caller)) {
            (Subject::Task { tool: None, .. }, Decision::DeniedByDefault) => Decision::Allowed,
            (_, decision) => decision,
        };
        notes.decided(decision);
        decision
    }
}

impl<D> fmt::Debug for PolicyStage<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyStage").finish_non_exhaustive()
    }
}

impl<D: Dispatcher> Dispatcher for PolicyStage<D> {
    /// Decides before there is anything to wait for: what passes costs no future of its own.
    fn dispatch<'a, 'b>(&'a self, call: Call) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let wanted = Wanted { origin: call.origin.as_ref(), ..Wanted::of(&call.target, false) };
        if !self.decision(&call.caller, &wanted, &call.exchange.notes).is_allowed() {
            let refusal = unknown(wanted.subject, Some(&call.params)).into();
            return Box::pin(future::ready(Err(refusal)));
        }
        self.inner.dispatch(call)
    }
}

#[async_trait]
impl<S: Subscriptions> Subscriptions for PolicyStage<S> {
    async fn subscribe(
        &self,
        target: Target,
        caller: &Caller,
        exchange: &Exchange,
        updates: Arc<dyn Updates>,
    ) -> Result<Subscription, Error> {
        let wanted = Wanted::of(&target, true);
        if !self.decision(caller, &wanted, &exchange.notes).is_allowed() {
            return Err(unknown(wanted.subject, None).into());
        }
        self.inner.subscribe(target, caller, exchange, updates).await
    }
}

#[async_trait]
impl<S: Sessions> Sessions for PolicyStage<S> {
    async fn end(&self, key: &SessionKey) {
        self.inner.end(key).await;
    }

    async fn end_caller(&self, caller: &Caller) {
        self.inner.end_caller(caller).await;
    }

    fn abandon(&self, park: &ParkId) {
        self.inner.abandon(park);
    }

    fn is_over(&self, park: &ParkId) -> bool {
        self.inner.is_over(park)
    }

    async fn roots_changed(&self, key: &SessionKey) {
        self.inner.roots_changed(key).await;
    }
}

/// What is to be done, as far as it can be told from where it goes.
struct Wanted<'a> {
    subject: &'a Subject,
    downstream: Option<&'a DownstreamName>,
    is_exposed: bool,
    is_watched: bool,
    origin: Option<&'a gateway_domain::Origin>,
}

impl<'a> Wanted<'a> {
    fn of(target: &'a Target, is_watched: bool) -> Self {
        let (subject, downstream, is_exposed) = match target {
            Target::Downstream { downstream, subject } => (subject, Some(downstream), false),
            Target::Exposed { view: View::Downstream(name), subject } => (subject, Some(name), true),
            Target::Exposed { view: View::All | View::Profile(_), subject } => (subject, None, true),
        };
        Self { subject, downstream, is_exposed, is_watched, origin: None }
    }

    /// Whether it was looked up by its name on `/mcp`. A task may have none.
    fn is_resolved(&self) -> bool {
        !self.is_exposed && !matches!(self.subject, Subject::Task { tool: None, .. })
    }

    fn decided_by(&self, decider: &dyn Decider, caller: &Caller) -> Decision {
        let (act, own) = match self.subject {
            Subject::Tool { name, .. } => (Act::Call, &**name),
            Subject::Prompt { name } => (Act::Get, &**name),
            Subject::Resource { uri } if self.is_watched => (Act::Subscribe, &**uri),
            Subject::Resource { uri } => (Act::Read, &**uri),
            Subject::Completion(Reference::Prompt(name)) => (Act::Complete, &**name),
            Subject::Completion(Reference::Resource(uri)) => (Act::Complete, &**uri),
            Subject::Task { tool, .. } => (Act::Call, tool.as_deref().unwrap_or_default()),
            Subject::Other { method } => (Act::Other, &**method),
        };
        let name = match self.downstream {
            Some(downstream) if self.has_prefix() => ToolRef::new(downstream.as_str(), own).to_string(),
            _ => own.to_owned(),
        };
        let tool = matches!(self.subject, Subject::Task { tool: None, .. }).then_some(&*HARMLESS);
        let access = Access { act, name: &name, downstream: self.downstream, tool, origin: self.origin };
        decider.decide(caller, &access)
    }

    /// Whether its name on `/mcp` has the downstream in front.
    fn has_prefix(&self) -> bool {
        match self.subject {
            Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Task { tool: None, .. } => true,
            Subject::Completion(reference) => matches!(reference, Reference::Prompt(_)),
            Subject::Task { tool: Some(_), .. } | Subject::Resource { .. } | Subject::Other { .. } => false,
        }
    }
}

/// A tool that is denied only where all are.
static HARMLESS: LazyLock<Tool> = LazyLock::new(|| {
    let hints = RawJson::parse(r#"{"readOnlyHint":true,"destructiveHint":false}"#);
    hints.map_or_else(|_| Tool::new(""), |hints| Tool::new("").with("annotations", &hints))
});

/// What is said of something that is not there, in the client's own words.
fn unknown(subject: &Subject, params: Option<&Params>) -> CallerError {
    let said = |member: &str, own: &str| {
        let object = params.map(|params| &params.object);
        let asked = object.and_then(|object| match object.get_object("ref") {
            Some(reference) if matches!(subject, Subject::Completion(_)) => reference.get_text(member),
            _ => object.get_text(member),
        });
        asked.unwrap_or_else(|| own.to_owned())
    };
    match subject {
        Subject::Tool { name, .. } => CallerError::UnknownTool { name: said("name", name) },
        Subject::Prompt { name } | Subject::Completion(Reference::Prompt(name)) => {
            CallerError::UnknownPrompt { name: said("name", name) }
        }
        Subject::Resource { uri } | Subject::Completion(Reference::Resource(uri)) => {
            CallerError::UnknownResource { uri: said("uri", uri) }
        }
        Subject::Task { .. } => CallerError::UnknownTask,
        Subject::Other { method } => CallerError::UnknownMethod { method: method.to_string() },
    }
}
