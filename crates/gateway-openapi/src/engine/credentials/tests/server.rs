use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};

use crate::engine::{ClientError, HttpClient, ResponseBody};

/// Gives tokens named `t1`, `t2`, …: what it says is set by the test, `{n}` is the number of the request.
pub(super) struct TokenServer {
    pub(super) asked: AtomicUsize,
    pub(super) delay: Duration,
    answer: Mutex<(u16, String)>,
    pub(super) seen: Mutex<Vec<Request<Bytes>>>,
}

impl TokenServer {
    pub(super) fn new(answer: &str) -> Arc<Self> {
        Self::slow(answer, Duration::ZERO)
    }

    pub(super) fn slow(answer: &str, delay: Duration) -> Arc<Self> {
        let (asked, seen) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { asked, delay, answer: Mutex::new((200, answer.to_owned())), seen })
    }

    /// Tokens for so many seconds.
    pub(super) fn lasting(seconds: u32) -> Arc<Self> {
        Self::new(&good(seconds))
    }

    pub(super) fn answers(&self, status: u16, answer: &str) {
        *self.answer.lock().unwrap() = (status, answer.to_owned());
    }

    pub(super) fn count(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

pub(super) fn good(seconds: u32) -> String {
    format!(r#"{{"access_token":"t{{n}}","token_type":"bearer","expires_in":{seconds}}}"#)
}

impl fmt::Debug for TokenServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenServer")
    }
}

#[async_trait]
impl HttpClient for TokenServer {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.lock().unwrap().push(request);
        tokio::time::sleep(self.delay).await;
        let (status, answer) = self.answer.lock().unwrap().clone();
        if status == 0 {
            return Err(ClientError { reason: "connection refused".into(), is_unsent: true });
        }
        let body = Full::new(Bytes::from(answer.replace("{n}", &number.to_string())));
        let body = body.map_err(|never| match never {}).boxed_unsync();
        Ok(Response::builder().status(status).body(body).unwrap())
    }
}
