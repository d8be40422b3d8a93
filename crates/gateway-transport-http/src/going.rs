use std::{
    fmt,
    future::{pending, ready as now},
    mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use async_trait::async_trait;
use gateway_domain::{
    CallerError, Error, Exchange, InputRequired, Outcome, ParkedCall, RawObject, State, Subject,
};
use gateway_protocol::{
    Response,
    client::{self, questions::GATHER},
};
use http::HeaderMap;
use tokio::{
    task::{AbortHandle, JoinHandle},
    time::{Instant, sleep_until},
};

use crate::{calls::OpenCall, cancel, deadline::Deadline, failure::Failure, inquiry::Ear, link::Link};

type Answering = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// A call of a legacy session, until its end. Dropped before, it is cancelled, and what the server asks in it is
/// answered that nobody will.
pub(crate) struct Going {
    link: Arc<Link>,
    call: Arc<OpenCall>,
    answer: Answering,
    /// The task that `answer` is, if it runs while nobody looks.
    beside: Option<AbortHandle>,
    settled: bool,
    /// Whether the server has ended it itself.
    ended: bool,
    reason: &'static str,
}

/// What a call comes to next.
enum Next {
    Answer(Result<Response, Failure>),
    Questions,
}

impl Going {
    /// A call that is made once it is waited for.
    pub(crate) fn new(
        link: &Arc<Link>,
        id: u64,
        headers: HeaderMap,
        message: Vec<u8>,
        (subject, exchange): (&Subject, &Exchange),
    ) -> Self {
        let call = link.hub.calls.begin(id, subject, exchange, &link.endpoint.config);
        let answer = {
            let (link, call) = (Arc::clone(link), Arc::clone(&call));
            Box::pin(async move {
                // How long is waited is up to us, and no time counts in which the call is parked.
                let answered = link.inquire(id, headers, message, Ear::Call(&call), Deadline::none()).await;
                // What is asked from now on is about another, even if this one is still to be resumed.
                link.hub.calls.end(id);
                answered
            })
        };
        let link = Arc::clone(link);
        Self { link, call, answer, beside: None, settled: false, ended: false, reason: cancel::GIVEN_UP }
    }

    /// Waits for the end of the call or for questions.
    pub(crate) async fn next(mut self) -> Result<Outcome, Error> {
        match self.wait().await {
            Next::Answer(answered) => self.finish(answered),
            Next::Questions => Ok(self.park()),
        }
    }

    async fn wait(&mut self) -> Next {
        // Once something is asked, more is waited for a moment.
        let mut gathered = None;
        loop {
            let until = gathered.unwrap_or_else(|| self.call.until());
            tokio::select! {
                biased;
                answered = &mut self.answer => return Next::Answer(answered),
                () = self.call.asked.notified(), if gathered.is_none() => {
                    gathered = self.call.has_questions().then(|| Instant::now() + GATHER);
                }
                () = sleep_until(until) => {
                    if gathered.take().is_none() {
                        if let Some(failure) = self.call.overdue() {
                            return Next::Answer(Err(failure));
                        }
                    } else if self.call.has_questions() {
                        return Next::Questions;
                    }
                }
            }
        }
    }

    fn finish(&mut self, answered: Result<Response, Failure>) -> Result<Outcome, Error> {
        (self.settled, self.reason) = cancel::verdict(&answered);
        self.ended = answered.is_ok();
        let name = &self.link.endpoint.name;
        let response = answered.map_err(|failure| failure.of(name))?;
        let outcome = client::outcome(self.link.era(), response.answer);
        outcome.map_err(|nonsense| Failure::nonsense(nonsense).of(name))
    }

    /// Lets the call wait for answers, and its stream be read meanwhile.
    fn park(mut self) -> Outcome {
        let requests = self.call.park();
        if self.beside.is_none() {
            let answer = mem::replace(&mut self.answer, Box::pin(pending()));
            let task = tokio::spawn(answer);
            self.beside = Some(task.abort_handle());
            self.answer = Box::pin(Beside(task));
        }
        let state = State::Waiting(Arc::new(Parked(Mutex::new(Some(self)))));
        Outcome::InputRequired(InputRequired { asker: None, requests, state })
    }

    /// Whether the answer is there, or nothing is asked any more.
    fn is_over(&self) -> bool {
        self.beside.as_ref().is_some_and(AbortHandle::is_finished) || !self.call.has_questions()
    }

    /// Gives the server its answers, even if it has ended this call: another may be what it asked about. They are sent
    /// by a task, so that neither a result nor a client that leaves keeps them from it.
    async fn resume(mut self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let messages = self.call.resume(responses, exchange);
        if messages.is_empty() {
            return self.next().await;
        }
        let link = Arc::clone(&self.link);
        let telling = tokio::spawn(async move {
            for message in messages {
                link.reply(message).await?;
            }
            Ok(())
        });
        let failed = tokio::select! {
            biased;
            told = telling => told.unwrap_or(Ok(())).err(),
            answered = &mut self.answer => return self.finish(answered),
        };
        let Some(failure) = failed else { return self.next().await };
        let answered = tokio::select! {
            biased;
            answered = &mut self.answer => answered,
            () = now(()) => Err(failure),
        };
        self.finish(answered)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let (id, link) = (self.call.id, &self.link);
        link.hub.calls.end(id);
        let questions = self.call.give_up().into_iter();
        let messages: Vec<_> = match self.ended {
            true => questions.filter_map(|question| link.hand_over(question, &self.call)).collect(),
            false => questions.map(|question| question.abandoned()).collect(),
        };
        let (settled, reason) = (self.settled, self.reason);
        if settled && messages.is_empty() {
            return;
        }
        let link = Arc::clone(link);
        self.link.endpoint.errand(async move {
            // A server that does not hear it waits in vain; it is told of the end all the same.
            let replies = async {
                for message in messages {
                    let _ = link.reply(message).await;
                }
            };
            let end = async {
                if !settled {
                    link.cancel(id, reason).await;
                }
            };
            tokio::join!(replies, end);
        });
    }
}

/// A task that ends when it is no longer waited for.
struct Beside(JoinHandle<Result<Response, Failure>>);

impl Future for Beside {
    type Output = Result<Response, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(ended.unwrap_or_else(|_| Err(Failure::ended("the runtime it was read in has ended"))))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that waits for answers, until it is resumed.
struct Parked(Mutex<Option<Going>>);

#[async_trait]
impl ParkedCall for Parked {
    fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(Going::is_over)
    }

    async fn resume(&self, responses: &RawObject, exchange: &Exchange) -> Result<Outcome, Error> {
        let going = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        going.ok_or(CallerError::UnknownState)?.resume(responses, exchange).await
    }
}

impl fmt::Debug for Parked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parked").finish_non_exhaustive()
    }
}
