use async_trait::async_trait;
use gateway_domain::{Caller, ParkId, SessionKey, Sessions};

use super::LiveWorkflows;

/// What a client's session holds of runs are those that wait for its answers.
#[async_trait]
impl Sessions for LiveWorkflows {
    async fn end(&self, key: &SessionKey) {
        self.shared.runs.suspended.cancel_where(|owner| owner.session == *key);
        self.sessions.end(key).await;
    }

    async fn end_caller(&self, caller: &Caller) {
        let is_callers =
            |key: &SessionKey| matches!(key, SessionKey::Modern { caller: owner, .. } if owner == caller);
        self.shared.runs.suspended.cancel_where(|owner| is_callers(&owner.session));
        self.sessions.end_caller(caller).await;
    }

    fn abandon(&self, park: &ParkId) {
        if !self.shared.runs.suspended.cancel(park) {
            self.sessions.abandon(park);
        }
    }

    fn is_over(&self, park: &ParkId) -> bool {
        self.shared.runs.suspended.is_over(park).unwrap_or_else(|| self.sessions.is_over(park))
    }

    async fn roots_changed(&self, key: &SessionKey) {
        self.sessions.roots_changed(key).await;
    }
}
