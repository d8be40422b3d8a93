use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};

use crate::{
    error::WorkflowError,
    state::{RunRecord, RunStatus, StateStore},
};

/// How long a store may take for one record (C-75).
const SAVE_TIME: Duration = Duration::from_secs(5);

/// Saves a record whenever it has changed, the latest state of it, until it is final. A store that is slow holds up no
/// step, and one that fails no run.
pub(super) async fn keep(store: Arc<dyn StateStore>, mut records: watch::Receiver<RunRecord>) {
    loop {
        let record = records.borrow_and_update().clone();
        let is_last = record.status.is_final();
        let mut later = records.clone();
        tokio::select! {
            () = save(&*store, &record) => {}
            // The end does not wait for what it replaces.
            _ = later.wait_for(|record| record.status.is_final()), if !is_last => {}
        }
        if is_last {
            return;
        }
        if records.changed().await.is_err() {
            // Nobody is left to say how it ended: the run's task broke off.
            let error = Some(WorkflowError::Internal.to_string());
            return save(&*store, &RunRecord { status: RunStatus::Failed, error, ..record }).await;
        }
    }
}

async fn save(store: &dyn StateStore, record: &RunRecord) {
    let reason = match timeout(SAVE_TIME, store.save(record)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it took longer than {}", humantime::format_duration(SAVE_TIME)),
    };
    tracing::warn!(run = %record.id, workflow = %record.workflow, "the record of a run was not saved: {reason}");
}
