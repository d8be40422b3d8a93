use tokio::task::JoinHandle;

/// Runs what ends sessions side by side and waits for all: one that takes long does not delay the others
/// (R-W22). Dropping the future leaves them running, so that nothing stays half closed.
pub(crate) async fn side_by_side<F>(endings: impl IntoIterator<Item = F>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let running: Vec<JoinHandle<()>> = endings.into_iter().map(tokio::spawn).collect();
    for ending in running {
        // They are not aborted, and a panic has been reported by its hook.
        drop(ending.await);
    }
}
