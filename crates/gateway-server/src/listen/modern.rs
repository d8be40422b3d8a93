//! `subscriptions/listen` of modern clients (protocol.md §14).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gateway_domain::{
    CallerError, Era, Error, Exchange, Generations, JsonKind, RawJson, RawObject, Subject, Subscription,
    Target, Updates,
};
use gateway_protocol::{Request, RequestId, meta, method, write};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{Place, over};
use crate::{
    edge::Edge,
    endpoint::{Answer, Conversation, Payload, Speaker, Visit, failed, request::Manner, tasks_required},
    in_flight::Entry,
    rescue::Refusal,
};

/// Changes that come together are told together.
const TOGETHER: Duration = Duration::from_millis(40);
/// How long the acknowledgement waits to learn what is offered, and then for resources to be watched.
const OFFER_TIME: Duration = Duration::from_millis(300);
const WATCH_TIME: Duration = Duration::from_secs(2);
/// How many changes of resources may wait to be told, for each that is watched: it may name some below it.
const WAITING: usize = 8;

/// Opens a modern stream: the acknowledgement with what is granted, changes as they come, and a result
/// when the gateway shuts down or the client's key or token is no longer good. With `entry` the client ends it by its
/// id, which it gets no answer to.
///
/// # Errors
/// The answer to a request that opens none.
pub(crate) fn modern(
    visit: &Visit,
    request: &Request,
    manner: &Manner<'_>,
    entry: Option<Entry>,
) -> Result<Conversation, Box<Answer>> {
    let opened = open(visit, request, manner, entry);
    let kind = opened.as_ref().err().map_or("ok", |answer| answer.kind);
    if opened.is_err() {
        visit.refused(request, kind);
    }
    visit.edge.metrics.answered(method::LISTEN, Era::Modern, kind);
    opened
}

fn open(
    visit: &Visit,
    request: &Request,
    manner: &Manner<'_>,
    entry: Option<Entry>,
) -> Result<Conversation, Box<Answer>> {
    let id = request.id.clone();
    let filter = Filter::read(request).map_err(|error| Box::new(failed(&error.into(), &id)))?;
    if filter.names_tasks && manner.declared.extension(meta::TASKS).is_none() {
        return Err(failed(&tasks_required().into(), &id).into());
    }
    if !visit.streams {
        return Err(Refusal::NotAcceptable.answer(Era::Modern, Some(&id)).into());
    }
    let place = Place::take(visit).map_err(|refusal| Box::new(refusal.answer(Era::Modern, Some(&id))))?;
    let stdio = entry.is_some();
    let limit = visit.rules.config.limits.subscriptions_per_listen;
    // Taken now, so that no change between here and the first look is missed.
    let seen = Seen::new(visit);
    let exchange = manner.exchange(visit, &request.params);
    let mut rulings = visit.edge.rulings.subscribe();
    let visit = visit.clone();
    Ok(Conversation::new(move |speaker| async move {
        let over = over(&place);
        let stream = Stream { tag: Tag::new(&id), visit, speaker };
        let talk = async {
            let news = async {
                let mut filter = stream.offered(filter, limit).await;
                let updates = Arc::new(Queue::new(stream.visit.edge.clone(), filter.resources.len()));
                let watched =
                    std::mem::take(&mut filter.resources).into_iter().map(|uri| (uri, None)).collect();
                let mut watched = stream.watch(watched, &exchange, &updates).await;
                filter.resources = watched.iter().map(|(uri, _)| uri.clone()).collect();
                stream.say(method::ACKNOWLEDGED, stream.tag.acknowledgement(&filter)).await;
                let again = async {
                    while rulings.changed().await.is_ok() {
                        watched = stream.watch(std::mem::take(&mut watched), &exchange, &updates).await;
                    }
                };
                tokio::join!(stream.lists(&filter, seen), stream.resources(&updates), again);
            };
            tokio::select! {
                () = news => {}
                () = over => {
                    let result = format!(r#"{{"resultType":"complete",{}}}"#, stream.tag.member());
                    stream.speaker.say(write::result(&id, result.as_bytes()).into()).await;
                    if stdio {
                        stream.speaker.say(end_of(&id)).await;
                    }
                }
            }
        };
        match entry {
            Some(entry) => drop(entry.run(talk).await.ok()),
            None => talk.await,
        }
    }))
}

/// Over stdio the end is told twice: the texts contradict each other (protocol.md §21).
fn end_of(id: &RequestId) -> Payload {
    write::notification(method::CANCELLED, format!(r#"{{"requestId":{id}}}"#).as_bytes()).into()
}

/// What is asked for, and later what is granted of it.
#[derive(Debug, Default)]
struct Filter {
    tools: bool,
    prompts: bool,
    lists_of_resources: bool,
    /// URIs, each once.
    resources: Vec<String>,
    names_tasks: bool,
}

impl Filter {
    fn read(request: &Request) -> Result<Self, CallerError> {
        let filter = request.params.object.get("notifications");
        let filter = filter.and_then(|filter| RawObject::try_from(filter).ok());
        let filter = filter.ok_or_else(|| invalid("`notifications` is not an object"))?;
        let wants = |member: &str| match filter.get(member) {
            None => Ok(false),
            Some(wanted) if wanted.kind() == JsonKind::Null => Ok(false),
            Some(wanted) => wanted.to_bool().ok_or_else(|| invalid(&format!("`{member}` is not a boolean"))),
        };
        let texts = |member: &str| {
            let wrong = || invalid(&format!("`{member}` is not an array of strings"));
            let Some(listed) = filter.get(member).filter(|listed| listed.kind() != JsonKind::Null) else {
                return Ok(Vec::new());
            };
            let listed = listed.elements(10_000).ok_or_else(wrong)?;
            listed.iter().map(|uri| uri.to_text().map(String::from).ok_or_else(wrong)).collect()
        };
        let mut resources: Vec<String> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for uri in texts("resourceSubscriptions")? {
            if known.insert(uri.clone()) {
                resources.push(uri);
            }
        }
        Ok(Self {
            tools: wants("toolsListChanged")?,
            prompts: wants("promptsListChanged")?,
            lists_of_resources: wants("resourcesListChanged")?,
            resources,
            names_tasks: !texts("taskIds")?.is_empty(),
        })
    }
}

fn invalid(reason: &str) -> CallerError {
    CallerError::InvalidParams { reason: reason.to_owned() }
}

/// What says which stream a message belongs to.
struct Tag(String);

impl Tag {
    /// The id keeps its JSON type.
    fn new(id: &RequestId) -> Self {
        Self(id.as_str().to_owned())
    }

    fn member(&self) -> String {
        format!(r#""_meta":{{"{}":{}}}"#, meta::SUBSCRIPTION_ID, self.0)
    }

    fn acknowledgement(&self, granted: &Filter) -> String {
        let mut members = Vec::new();
        for (name, is) in [
            ("toolsListChanged", granted.tools),
            ("promptsListChanged", granted.prompts),
            ("resourcesListChanged", granted.lists_of_resources),
        ] {
            if is {
                members.push(format!(r#""{name}":true"#));
            }
        }
        if !granted.resources.is_empty() {
            let uris = RawJson::array(granted.resources.iter().map(|uri| RawJson::string(uri)));
            members.push(format!(r#""resourceSubscriptions":{uris}"#));
        }
        format!(r#"{{{},"notifications":{{{}}}}}"#, self.member(), members.join(","))
    }

    /// Params of a downstream's notification, tagged.
    fn on(&self, params: &RawObject) -> RawJson {
        let own = params.get_object("_meta").unwrap_or_default();
        let own = own.edit().set(meta::SUBSCRIPTION_ID, &self.0).finish();
        params.edit().set("_meta", own.as_bytes()).finish()
    }
}

/// What a view showed when it was looked at last.
struct Seen {
    generation: u64,
    lists: Generations,
}

impl Seen {
    fn new(visit: &Visit) -> Self {
        let directory = &visit.edge.ports.directory;
        // In this order: what changes between the two is found to be a change of nothing.
        let generation = directory.generation(&visit.view);
        Self { generation, lists: directory.generations_to(&visit.view, &visit.caller) }
    }
}

struct Stream {
    tag: Tag,
    visit: Visit,
    speaker: Speaker,
}

impl Stream {
    async fn say(&self, method: &str, params: impl AsRef<str>) -> bool {
        self.speaker.say(write::notification(method, params.as_ref().as_bytes()).into()).await
    }

    /// What is asked for without what nobody offers. Where that is not known soon, everything is hoped for.
    async fn offered(&self, mut filter: Filter, limit: usize) -> Filter {
        filter.resources.truncate(limit);
        let directory = &self.visit.edge.ports.directory;
        let Ok(offer) = timeout(OFFER_TIME, directory.offer_to(&self.visit.view, &self.visit.caller)).await
        else {
            return filter;
        };
        let says = |capability: &str, what: &str| {
            let capability = offer.capabilities.get_object(capability);
            capability.and_then(|capability| capability.get(what)?.to_bool()).unwrap_or(false)
        };
        filter.tools &= says("tools", "listChanged");
        filter.prompts &= says("prompts", "listChanged");
        filter.lists_of_resources &= says("resources", "listChanged");
        if !says("resources", "subscribe") {
            filter.resources.clear();
        }
        filter
    }

    /// Watches resources, or asks again whether those that are watched still may be; gives those that are watched by
    /// then. Where a downstream has no answer, what is watched stays so.
    async fn watch(
        &self,
        resources: Vec<(String, Option<Subscription>)>,
        exchange: &Exchange,
        updates: &Arc<Queue>,
    ) -> Vec<(String, Option<Subscription>)> {
        let mut watching = JoinSet::new();
        for (place, (uri, _)) in resources.iter().enumerate() {
            let subject = Subject::Resource { uri: uri.as_str().into() };
            let target = Target::Exposed { view: self.visit.view.clone(), subject };
            let (visit, updates) = (self.visit.clone(), updates.clone());
            let exchange = Exchange { notes: Arc::default(), ..exchange.clone() };
            watching.spawn(async move {
                let subscriptions = &visit.edge.ports.subscriptions;
                let watched = subscriptions.subscribe(target, &visit.caller, &exchange, updates);
                (place, watched.await)
            });
        }
        let mut answers: Vec<_> = resources.iter().map(|_| None).collect();
        let until = Instant::now() + WATCH_TIME;
        while let Ok(Some(watched)) = timeout_at(until, watching.join_next()).await {
            match watched {
                Ok((place, answer)) => answers[place] = Some(answer),
                Err(_) => tracing::error!("watching a resource panicked"),
            }
        }
        let kept = resources.into_iter().zip(answers).filter_map(|((uri, before), answer)| {
            let now = match answer? {
                Ok(subscription) => Some(subscription),
                Err(error) => {
                    tracing::debug!(%error, "a resource is not watched");
                    self.visit.unwatched(&uri, &error);
                    before.filter(|_| matches!(error, Error::Downstream(_)))
                }
            };
            now.map(|subscription| (uri, Some(subscription)))
        });
        kept.collect()
    }

    /// Tells of lists that are others now, for ever.
    async fn lists(&self, granted: &Filter, mut seen: Seen) {
        let directory = &self.visit.edge.ports.directory;
        loop {
            if seen.generation == directory.generation(&self.visit.view) {
                directory.changed(&self.visit.view, seen.generation).await;
            }
            sleep(TOGETHER).await;
            let now = Seen::new(&self.visit);
            for (is_granted, before, after, method) in [
                (granted.tools, seen.lists.tools, now.lists.tools, method::TOOLS_LIST_CHANGED),
                (granted.prompts, seen.lists.prompts, now.lists.prompts, method::PROMPTS_LIST_CHANGED),
                (
                    granted.lists_of_resources,
                    seen.lists.resources,
                    now.lists.resources,
                    method::RESOURCES_LIST_CHANGED,
                ),
            ] {
                if is_granted && before != after {
                    self.say(method, format!("{{{}}}", self.tag.member())).await;
                }
            }
            seen = now;
        }
    }

    /// Tells of resources that have changed, for ever.
    async fn resources(&self, updates: &Queue) {
        loop {
            updates.come.notified().await;
            sleep(TOGETHER).await;
            for params in updates.take() {
                let params = self.visit.edge.ports.notices.shown(params);
                self.say(method::RESOURCE_UPDATED, self.tag.on(&params).as_str()).await;
            }
        }
    }
}

/// Changes of resources that wait to be told; of each resource the last.
struct Queue {
    waiting: Mutex<Vec<(String, RawObject)>>,
    most: usize,
    come: Notify,
    edge: Arc<Edge>,
}

impl Queue {
    fn new(edge: Arc<Edge>, watched: usize) -> Self {
        let most = watched.saturating_mul(WAITING);
        Self { waiting: Mutex::default(), most, come: Notify::new(), edge }
    }

    fn take(&self) -> Vec<RawObject> {
        let taken = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        taken.into_iter().map(|(_, params)| params).collect()
    }
}

impl Updates for Queue {
    fn updated(&self, params: RawObject) {
        let Some(uri) = params.get_text("uri") else { return };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.iter().position(|(known, _)| *known == uri) {
            Some(known) => waiting[known].1 = params,
            None if waiting.len() < self.most => waiting.push((uri, params)),
            None => {
                self.edge.metrics.dropped_events.inc();
            }
        }
        drop(waiting);
        self.come.notify_one();
    }
}
