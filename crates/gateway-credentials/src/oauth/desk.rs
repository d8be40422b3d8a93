use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateway_domain::Secret;
use tokio::time::Instant;

use super::{OauthError, address::Address, client::Client, scopes::Scopes, store::Owner};

/// What is recorded of an authorization before anybody is redirected (protocol.md §18.3 no. 6).
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) owner: Owner,
    pub(crate) verifier: Secret,
    pub(crate) issuer: String,
    pub(crate) sends_iss: bool,
    pub(crate) token: Address,
    pub(crate) client: Client,
    pub(crate) redirect: String,
    pub(crate) resource: String,
    pub(crate) scopes: Scopes,
    /// What the browser that began it must prove.
    pub(crate) browser: Option<String>,
    /// The visit that it is of.
    pub(crate) visit: Option<String>,
}

/// The authorizations under way, by their `state`: a bounded number, one for each owner, each once and not for long.
pub(crate) struct Desk {
    limit: usize,
    time: Duration,
    flows: Mutex<HashMap<String, (Instant, Flow)>>,
}

impl Desk {
    pub(crate) fn new(limit: usize, time: Duration) -> Self {
        Self { limit, time, flows: Mutex::default() }
    }

    /// Records a flow; an earlier one of the same owner is over.
    pub(crate) fn begin(&self, state: String, flow: Flow, now: Instant) -> Result<(), OauthError> {
        let mut flows = self.flows();
        flows.retain(|_, (begun, other)| now < *begun + self.time && other.owner != flow.owner);
        if flows.len() >= self.limit {
            return Err(OauthError::Busy);
        }
        flows.insert(state, (now, flow));
        Ok(())
    }

    /// Takes a flow, once.
    pub(crate) fn take(&self, state: &str, now: Instant) -> Result<Flow, OauthError> {
        let found = self.flows().remove(state);
        found
            .filter(|(begun, _)| now < *begun + self.time)
            .map(|(_, flow)| flow)
            .ok_or(OauthError::UnknownState)
    }

    fn flows(&self) -> MutexGuard<'_, HashMap<String, (Instant, Flow)>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::client::Method;

    const TIME: Duration = Duration::from_secs(600);

    fn flow(owner: &str) -> Flow {
        let client = Client { id: "c".into(), secret: None, method: Method::Nothing };
        Flow {
            owner: Owner::Client(owner.into()),
            verifier: "v".into(),
            issuer: "https://i".into(),
            sends_iss: false,
            token: Address::parse("https://i/token").unwrap(),
            client,
            redirect: "http://127.0.0.1:1/callback".into(),
            resource: "https://r".into(),
            scopes: Scopes::default(),
            browser: None,
            visit: None,
        }
    }

    #[test]
    fn a_flow_is_taken_once_and_in_time() {
        let (desk, start) = (Desk::new(9, TIME), Instant::now());
        desk.begin("a".into(), flow("ann"), start).unwrap();
        desk.begin("b".into(), flow("bob"), start).unwrap();
        assert!(desk.take("a", start + TIME - Duration::from_nanos(1)).is_ok());
        assert_eq!(desk.take("a", start).unwrap_err(), OauthError::UnknownState);
        assert_eq!(desk.take("b", start + TIME).unwrap_err(), OauthError::UnknownState);
    }

    #[test]
    fn an_owner_has_one_and_all_together_have_few() {
        let (desk, start) = (Desk::new(2, TIME), Instant::now());
        desk.begin("a".into(), flow("ann"), start).unwrap();
        desk.begin("b".into(), flow("bob"), start).unwrap();
        assert_eq!(desk.begin("c".into(), flow("cat"), start), Err(OauthError::Busy));
        desk.begin("d".into(), flow("ann"), start).unwrap();
        assert_eq!(desk.take("a", start).unwrap_err(), OauthError::UnknownState);
        assert!(desk.take("b", start).is_ok() && desk.take("d", start).is_ok());
        desk.begin("e".into(), flow("ann"), start).unwrap();
        desk.begin("f".into(), flow("bob"), start).unwrap();
        desk.begin("g".into(), flow("cat"), start + TIME).unwrap();
    }
}
