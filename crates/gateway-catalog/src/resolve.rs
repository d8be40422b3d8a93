use std::{fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::{
    Act, Asker, Call, CallerError, Decision, Directory, Dispatcher, DownstreamName, Error, ListKind,
    OfferedTool, Outcome, RawObject, Reference, Sessions, Subject, Target, TaskSupport, View,
};

use crate::{
    LiveCatalog,
    item::prefixed,
    private::For,
    words::{Said, Words},
};
use gateway_registry::or_visit;

mod admit;
mod ask;
mod owner;
mod scopes;
mod subscriptions;

use self::{
    admit::{admitted, list_of},
    owner::{Whose, resource_unknown},
    scopes::act_of,
};

/// The *resolve* stage: finds the downstream and its own words for what clients are shown, by looking it up, never
/// by splitting a name (design §4), and puts what comes back into the words of the client (protocol.md §20.9).
///
/// Around a [`Dispatcher`] it is one; around a [`Subscriptions`](gateway_domain::Subscriptions) it is that.
pub struct Resolve<D> {
    catalog: LiveCatalog,
    inner: Arc<D>,
    /// Reads what nobody is known to have, to find out who has it.
    reader: Option<Arc<dyn Dispatcher>>,
}

/// Where a call goes.
enum Route {
    /// To one, by its own name; with the one on `/mcp`, if that is another than can be told from it.
    To(DownstreamName, Subject, Option<String>),
    /// To whoever of these has the resource.
    ToAny(Vec<DownstreamName>, Subject),
}

impl<D> Resolve<D> {
    /// Resolves by `catalog` what `inner` then dispatches, or watches.
    pub fn new(catalog: LiveCatalog, inner: D) -> Self {
        Self { catalog, inner: Arc::new(inner), reader: None }
    }

    /// The same where a resource that is to be watched, and that nobody is known to have, is first read through `reader`:
    /// a read like that of a client, with all stages around it. Without it such a read goes to what is inside.
    #[must_use]
    pub fn with_reader(self, reader: Arc<dyn Dispatcher>) -> Self {
        Self { reader: Some(reader), ..self }
    }

    async fn route(&self, whose: For<'_>, subject: &Subject, call: &Call) -> Result<Route, Error> {
        let own_path = whose.view.downstream();
        // A view that is not there has no tools and no prompts either.
        let needs_view = !matches!(subject, Subject::Tool { .. } | Subject::Prompt { .. });
        if needs_view && !self.catalog.has_view(whose.view) {
            return Err(crate::directory::unknown(whose.view));
        }
        Ok(match (subject, own_path) {
            (Subject::Tool { name, .. }, _) => {
                let Some(offered) = self.tool(whose, name).await? else {
                    return Err(CallerError::UnknownTool { name: name.to_string() }.into());
                };
                let exposed = prefixed(&offered.downstream, offered.tool.name());
                Route::To(offered.downstream.clone(), subject_of(&offered), Some(exposed))
            }
            (Subject::Prompt { name }, _) => {
                let (downstream, name, exposed) = self.prompt(whose, Act::Get, name).await?;
                Route::To(downstream, Subject::Prompt { name }, Some(exposed))
            }
            (Subject::Completion(Reference::Prompt(name)), _) => {
                let (downstream, name, exposed) = self.prompt(whose, Act::Complete, name).await?;
                Route::To(downstream, Subject::Completion(Reference::Prompt(name)), Some(exposed))
            }
            (subject, Some(name)) => {
                self.admit_own(whose, name, subject).await?;
                Route::To(name.clone(), subject.clone(), None)
            }
            (Subject::Resource { uri }, None) => match &call.follow_up {
                Some(follow_up) => self.followed(whose, &follow_up.asker, uri)?,
                None => self.resource(whose, Act::Read, uri, |uri| Subject::Resource { uri }).await?,
            },
            (Subject::Completion(Reference::Resource(uri)), None) => {
                let subject = |uri| Subject::Completion(Reference::Resource(uri));
                self.resource(whose, Act::Complete, uri, subject).await?
            }
            (Subject::Task { .. }, None) => return Err(CallerError::UnknownTask.into()),
            (Subject::Other { method }, None) => {
                return Err(CallerError::UnknownMethod { method: method.to_string() }.into());
            }
        })
    }

    async fn tool(&self, whose: For<'_>, name: &str) -> Result<Option<Arc<OfferedTool>>, Error> {
        let For { view, exchange, .. } = whose;
        let find = || self.catalog.known_tool(whose.who(), view, &exchange.session, name);
        if let Some(found) = self.admit_tool(whose, find()) {
            return Ok(Some(found));
        }
        if let Some(found) = self.catalog.shared.resolve_private(whose, name).await {
            let found = self.or_unknown(found.map(Some), whose, (Act::Call, name))?.flatten();
            return Ok(self.admit_tool(whose, found));
        }
        self.wait_for(whose, (Act::Call, name)).await?;
        Ok(self.admit_tool(whose, find()))
    }

    async fn prompt(
        &self,
        whose: For<'_>,
        act: Act,
        name: &str,
    ) -> Result<(DownstreamName, Arc<str>, String), Error> {
        let shared = &self.catalog.shared;
        let unknown = || CallerError::UnknownPrompt { name: name.to_owned() };
        if let Some(found) = self.admit_prompt(whose, act, shared.prompt(whose.view, name)) {
            return Ok(found);
        }
        if let Some(found) = shared.private_prompt(whose, name).await {
            let found = self.or_unknown(found.map(Some), whose, (act, name))?.flatten();
            return Ok(self.admit_prompt(whose, act, found).ok_or_else(unknown)?);
        }
        self.wait_for(whose, (act, name)).await?;
        if let Some(found) = self.admit_prompt(whose, act, shared.prompt(whose.view, name)) {
            return Ok(found);
        }
        // What is on a list that cannot be read the downstream knows itself.
        match whose.view {
            View::Downstream(own)
                if shared.source(own).is_some_and(|tracked| {
                    tracked.source.enabled && tracked.is_unread(ListKind::Prompts)
                }) =>
            {
                let exposed = prefixed(own, name);
                let decision = shared.rules.of_prompt(whose.who(), act, own, &exposed);
                admitted(whose, own, decision)
                    .then(|| (own.clone(), name.into(), exposed))
                    .ok_or_else(|| unknown().into())
            }
            _ => Err(unknown().into()),
        }
    }

    /// A client that remembers a list from before may call before the downstream is there.
    async fn wait_for(&self, whose: For<'_>, (act, name): (Act, &str)) -> Result<(), Error> {
        let listed = self.catalog.listed(whose.view, list_of(act), name).await;
        if self.or_unknown(listed.map(Some), whose, (act, name))? == Some(false) {
            self.catalog.patience(whose.view).await;
        }
        Ok(())
    }

    /// Where a resource is read, or completed, that a client names on `/mcp`.
    async fn resource(
        &self,
        whose: For<'_>,
        act: Act,
        uri: &Arc<str>,
        subject: impl Fn(Arc<str>) -> Subject,
    ) -> Result<Route, Error> {
        let candidates = match self.find(whose, act, uri).await {
            Whose::Of(downstream, own) => {
                return Ok(Route::To(downstream, subject(own), Some(uri.to_string())));
            }
            Whose::OneOf(candidates) => candidates,
            Whose::Nobodys => self.candidates(whose, act, uri),
        };
        match <[DownstreamName; 1]>::try_from(candidates) {
            Ok([only]) => Ok(Route::To(only, subject(uri.clone()), None)),
            Err(none) if none.is_empty() => {
                self.note_hidden(whose, act, uri);
                Err(resource_unknown(uri))
            }
            Err(candidates) => Ok(Route::ToAny(candidates, subject(uri.clone()))),
        }
    }

    /// Who has a resource, or the template if it is completed, that the caller may know of.
    async fn find(&self, whose: For<'_>, act: Act, uri: &Arc<str>) -> Whose {
        let find = || self.allowed(whose, act, uri, self.owner(whose, act, uri));
        match find() {
            Whose::Nobodys => {
                self.catalog.patience(whose.view).await;
                find()
            }
            found => found,
        }
    }

    /// A read that goes on with an earlier one goes where that went.
    fn followed(&self, whose: For<'_>, asker: &Asker, uri: &Arc<str>) -> Result<Route, Error> {
        let downstream = asker.downstream().ok_or(CallerError::UnknownState)?;
        let own = match self.marked(whose, uri) {
            None => uri.clone(),
            Some((marked, own)) if marked == *downstream => own,
            Some(_) => return Err(CallerError::UnknownState.into()),
        };
        if !self.catalog.shared.is_behind(whose.view, downstream) {
            return Err(CallerError::UnknownState.into());
        }
        let decision = self.decide_uri(whose, Act::Read, downstream, &own);
        match admitted(whose, downstream, decision) {
            true => Ok(Route::To(downstream.clone(), Subject::Resource { uri: own }, Some(uri.to_string()))),
            false => Err(resource_unknown(uri)),
        }
    }
}

#[async_trait]
impl<D: Dispatcher + Sessions + 'static> Dispatcher for Resolve<D> {
    async fn dispatch(&self, mut call: Call) -> Result<Outcome, Error> {
        let Target::Exposed { view, subject } = &call.target else {
            follows(&call)?;
            self.admit_known(&call).await?;
            return self.inner.dispatch(call).await;
        };
        let (caller, exchange, origin) = (&call.caller, &call.exchange, call.origin.as_ref());
        let whose = For { view, caller, exchange, origin };
        let route = match self.route(whose, subject, &call).await {
            Ok(route) => route,
            // Its list is not for who has no credentials yet; a page may be where to get some.
            Err(error) => return or_visit(Err(error), &call),
        };
        match route {
            Route::To(downstream, own, exposed) => {
                admitted(whose, &downstream, Decision::Allowed);
                let only = std::slice::from_ref(&downstream);
                self.check_scopes(whose, act_of(&own), (only, &own), exposed.as_deref())?;
                let words = self.words(view, &call, &downstream, subject, &own);
                let begins = exposed.filter(|_| matches!(own, Subject::Tool { .. }));
                call.target = Target::Downstream { downstream, subject: own };
                follows(&call)?;
                let outcome = self.inner.dispatch(call).await?;
                let outcome = match begins {
                    Some(tool) => outcome.begun_by(&tool),
                    None => outcome,
                };
                Ok(match words {
                    Some(words) => words.put(outcome),
                    None => outcome,
                })
            }
            Route::ToAny(candidates, own) => {
                self.check_scopes(whose, act_of(&own), (&candidates, &own), None)?;
                let answer = self.ask(candidates, own, &call).await;
                match (&answer, subject) {
                    // Of whoever may have it but may not be asked nothing is said, but noted.
                    (Err(Error::Caller(CallerError::UnknownResource { .. })), Subject::Resource { uri }) => {
                        self.note_hidden(whose, Act::Read, uri);
                    }
                    _ => exchange.notes.decided(Decision::Allowed),
                }
                answer
            }
        }
    }
}

impl<D> fmt::Debug for Resolve<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolve").field("catalog", &self.catalog).finish_non_exhaustive()
    }
}

impl<D> Resolve<D> {
    /// How what comes back is put; `None`: as it is.
    fn words(
        &self,
        view: &View,
        call: &Call,
        downstream: &DownstreamName,
        asked: &Subject,
        own: &Subject,
    ) -> Option<Words> {
        let said = match (asked, own) {
            _ if view.downstream().is_some() => return None,
            (Subject::Tool { .. }, _) => Said::Tool,
            (Subject::Prompt { .. }, _) => Said::Prompt,
            (Subject::Resource { uri: asked }, Subject::Resource { uri: own }) => {
                Said::Resource { asked: asked.clone(), own: own.clone() }
            }
            _ => return None,
        };
        let (shared, caller) = (self.catalog.shared.clone(), call.caller.clone());
        Some(Words::new(shared, caller, downstream.clone(), said))
    }
}

/// A follow-up is for whom asked.
fn follows(call: &Call) -> Result<(), Error> {
    let (Some(follow_up), Target::Downstream { downstream, .. }) = (&call.follow_up, &call.target) else {
        return Ok(());
    };
    if follow_up.asker.downstream() == Some(downstream) {
        Ok(())
    } else {
        Err(CallerError::UnknownState.into())
    }
}

fn subject_of(offered: &OfferedTool) -> Subject {
    let (name, headers) = (offered.tool.original().clone(), offered.headers.clone());
    Subject::Tool { name, headers, task: task_support(offered.tool.definition()) }
}

/// `execution.taskSupport` of a definition.
fn task_support(definition: &RawObject) -> TaskSupport {
    let execution = definition.get_object("execution");
    match execution.and_then(|execution| execution.get_text("taskSupport")).as_deref() {
        Some("optional") => TaskSupport::Optional,
        Some("required") => TaskSupport::Required,
        _ => TaskSupport::Forbidden,
    }
}
