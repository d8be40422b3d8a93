use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{
    Asker, Call, CallerError, Directory, Dispatcher, DownstreamName, Error, ListKind, OfferedTool, Outcome,
    RawObject, Reference, Sessions, Subject, Target, TaskSupport, View,
};

use crate::{
    LiveCatalog,
    offer::Seeker,
    private::For,
    words::{Said, Words},
};

mod ask;
mod owner;
mod subscriptions;

use self::owner::{Whose, resource_unknown};

/// The *resolve* stage: finds the downstream and its own words for what clients are shown, by looking it up, never
/// by splitting a name (design §4), and puts what comes back into the words of the client (protocol.md §20.9).
///
/// Around a [`Dispatcher`] it is one; around a [`Subscriptions`](gateway_domain::Subscriptions) it is that.
#[derive(Debug)]
pub struct Resolve<D> {
    catalog: LiveCatalog,
    inner: Arc<D>,
}

/// Where a call goes.
enum Route {
    To(DownstreamName, Subject),
    /// To whoever of these has the resource.
    ToAny(Vec<DownstreamName>, Subject),
}

impl<D> Resolve<D> {
    /// Resolves by `catalog` what `inner` then dispatches, or watches.
    pub fn new(catalog: LiveCatalog, inner: D) -> Self {
        Self { catalog, inner: Arc::new(inner) }
    }

    async fn route(&self, whose: For<'_>, subject: &Subject, call: &Call) -> Result<Route, Error> {
        let own_path = match whose.view {
            View::All => None,
            View::Downstream(name) if self.catalog.has_view(whose.view) => Some(name),
            // One that is not there has no tools and no prompts either.
            View::Downstream(name) => match subject {
                Subject::Tool { .. } | Subject::Prompt { .. } => None,
                _ => return Err(CallerError::UnknownDownstream { name: name.to_string() }.into()),
            },
        };
        Ok(match (subject, own_path) {
            (Subject::Tool { name, .. }, _) => {
                let seeker = seeker(call);
                let Some(offered) = self.tool(seeker, whose, name).await? else {
                    return Err(CallerError::UnknownTool { name: name.to_string() }.into());
                };
                Route::To(offered.downstream.clone(), subject_of(&offered))
            }
            (Subject::Prompt { name }, _) => {
                let (downstream, name) = self.prompt(whose, name).await?;
                Route::To(downstream, Subject::Prompt { name })
            }
            (Subject::Completion(Reference::Prompt(name)), _) => {
                let (downstream, name) = self.prompt(whose, name).await?;
                Route::To(downstream, Subject::Completion(Reference::Prompt(name)))
            }
            (subject, Some(name)) => Route::To(name.clone(), subject.clone()),
            (Subject::Resource { uri }, None) => match &call.follow_up {
                Some(follow_up) => self.followed(&follow_up.asker, uri)?,
                None => self.resource(whose, uri, |uri| Subject::Resource { uri }).await?,
            },
            (Subject::Completion(Reference::Resource(uri)), None) => {
                let subject = |uri| Subject::Completion(Reference::Resource(uri));
                self.resource(whose, uri, subject).await?
            }
            (Subject::Task { .. }, None) => return Err(CallerError::UnknownTask.into()),
            (Subject::Other { method }, None) => {
                return Err(CallerError::UnknownMethod { method: method.to_string() }.into());
            }
        })
    }

    async fn tool(
        &self,
        seeker: Seeker,
        whose: For<'_>,
        name: &str,
    ) -> Result<Option<Arc<OfferedTool>>, Error> {
        let For { view, caller, exchange } = whose;
        let find = || self.catalog.find_tool(seeker, view, caller, &exchange.session, name);
        if let Some(found) = find() {
            return Ok(Some(found));
        }
        if let Some(found) = self.catalog.shared.resolve_private(seeker, whose, name).await {
            return found;
        }
        self.wait_for(view, name).await?;
        Ok(find())
    }

    async fn prompt(&self, whose: For<'_>, name: &str) -> Result<(DownstreamName, Arc<str>), Error> {
        let shared = &self.catalog.shared;
        let unknown = || CallerError::UnknownPrompt { name: name.to_owned() };
        if let Some(found) = shared.prompt(whose.view, name) {
            return Ok(found);
        }
        if let Some(found) = shared.private_prompt(whose, name).await {
            let (downstream, own) = found?;
            return Ok((downstream, own.ok_or_else(unknown)?));
        }
        self.wait_for(whose.view, name).await?;
        if let Some(found) = shared.prompt(whose.view, name) {
            return Ok(found);
        }
        // What is on a list that cannot be read the downstream knows itself.
        match whose.view {
            View::Downstream(own)
                if shared.source(own).is_some_and(|tracked| {
                    tracked.source.enabled && tracked.is_unread(ListKind::Prompts)
                }) =>
            {
                Ok((own.clone(), name.into()))
            }
            _ => Err(unknown().into()),
        }
    }

    /// A client that remembers a list from before may call before the downstream is there.
    async fn wait_for(&self, view: &View, name: &str) -> Result<(), Error> {
        if !self.catalog.listed(view, name).await? {
            self.catalog.patience(view).await;
        }
        Ok(())
    }

    /// Where a resource is read, or completed, that a client names on `/mcp`.
    async fn resource(
        &self,
        whose: For<'_>,
        uri: &Arc<str>,
        subject: impl Fn(Arc<str>) -> Subject,
    ) -> Result<Route, Error> {
        let is_read = matches!(subject(uri.clone()), Subject::Resource { .. });
        let candidates = match self.find(whose, uri, is_read).await {
            Whose::Of(downstream, own) => return Ok(Route::To(downstream, subject(own))),
            Whose::OneOf(candidates) => candidates,
            Whose::Nobodys => self.candidates(if is_read { "resources" } else { "completions" }),
        };
        match <[DownstreamName; 1]>::try_from(candidates) {
            Ok([only]) => Ok(Route::To(only, subject(uri.clone()))),
            Err(none) if none.is_empty() => Err(resource_unknown(uri)),
            Err(candidates) => Ok(Route::ToAny(candidates, subject(uri.clone()))),
        }
    }

    /// Who has a resource, or the template if it is not to be read.
    async fn find(&self, whose: For<'_>, uri: &Arc<str>, is_read: bool) -> Whose {
        let find = || if is_read { self.owner(whose, uri) } else { self.owner_of_template(whose, uri) };
        match find() {
            Whose::Nobodys => {
                self.catalog.patience(whose.view).await;
                find()
            }
            found => found,
        }
    }

    /// A read that goes on with an earlier one goes where that went.
    fn followed(&self, asker: &Asker, uri: &Arc<str>) -> Result<Route, Error> {
        let downstream = asker.downstream().ok_or(CallerError::UnknownState)?;
        let uri = match self.marked(uri) {
            None => uri.clone(),
            Some((marked, own)) if marked == *downstream => own,
            Some(_) => return Err(CallerError::UnknownState.into()),
        };
        Ok(Route::To(downstream.clone(), Subject::Resource { uri }))
    }
}

#[async_trait]
impl<D: Dispatcher + Sessions + 'static> Dispatcher for Resolve<D> {
    async fn dispatch(&self, mut call: Call) -> Result<Outcome, Error> {
        let Target::Exposed { view, subject } = &call.target else {
            follows(&call)?;
            return self.inner.dispatch(call).await;
        };
        let whose = For { view, caller: &call.caller, exchange: &call.exchange };
        match self.route(whose, subject, &call).await? {
            Route::To(downstream, own) => {
                let words = self.words(view, &call, &downstream, subject, &own);
                call.target = Target::Downstream { downstream, subject: own };
                follows(&call)?;
                let outcome = self.inner.dispatch(call).await?;
                Ok(match words {
                    Some(words) => words.put(outcome),
                    None => outcome,
                })
            }
            Route::ToAny(candidates, own) => self.ask(candidates, own, call).await,
        }
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
            _ if *view != View::All => return None,
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

/// Who looks for the tool of a call: no client says that it comes from a workflow (C-79).
fn seeker(call: &Call) -> Seeker {
    match call.origin {
        Some(_) => Seeker::Step,
        None => Seeker::Client,
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
