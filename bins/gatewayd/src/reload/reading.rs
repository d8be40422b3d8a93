//! Reading files without waiting for ever for a disk that does not answer.

use std::time::Duration;

use tokio::task::{AbortHandle, JoinError, spawn_blocking};
use tokio::time::timeout;

/// How many may be stuck before no more are begun: each keeps a thread.
const MOST_STUCK: usize = 8;

/// Reads in threads of their own, each within its time.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Those that were given up and go on, because nothing can interrupt them.
    stuck: Vec<AbortHandle>,
    /// What becomes of the last one that was late.
    again: Again,
}

/// Whether what was late is worth another attempt once nothing is stuck. Two in a row are enough.
#[derive(Debug, Default, PartialEq, Eq)]
enum Again {
    /// None was late, or another has been read since.
    #[default]
    Settled,
    Owed,
    Made,
}

/// Why there is nothing.
#[derive(Debug)]
pub(super) enum Unread {
    /// It takes too long, or too many others do.
    Late,
    /// It has panicked.
    Failed(JoinError),
}

impl Reading {
    /// What `read` gives, if it does within `limit`.
    pub(super) async fn within<T: Send + 'static>(
        &mut self,
        limit: Duration,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unread> {
        self.stuck.retain(|reading| !reading.is_finished());
        if self.stuck.len() >= MOST_STUCK {
            return Err(Unread::Late);
        }
        let reading = spawn_blocking(read);
        let handle = reading.abort_handle();
        match timeout(limit, reading).await {
            Ok(read) => {
                self.again = Again::Settled;
                read.map_err(Unread::Failed)
            }
            Err(_) => {
                self.stuck.push(handle);
                if self.again == Again::Settled {
                    self.again = Again::Owed;
                }
                Err(Unread::Late)
            }
        }
    }

    /// Whether to read again what was late, because nothing is stuck any more. Said once.
    pub(super) fn is_free_again(&mut self) -> bool {
        self.stuck.retain(|reading| !reading.is_finished());
        let is_free = self.again == Again::Owed && self.stuck.is_empty();
        if is_free {
            self.again = Again::Made;
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn what_is_stuck_is_left_alone_and_the_next_is_read() {
        let mut reading = Reading::default();
        let (release, stuck) = mpsc::channel::<()>();
        let late = reading.within(Duration::from_millis(20), move || stuck.recv().is_ok()).await;
        assert!(matches!(late, Err(Unread::Late)), "{late:?}");
        assert!(!reading.is_free_again(), "it is still stuck");
        assert_eq!(reading.within(PATIENCE, || 7).await.unwrap(), 7);
        drop(release);
        ended(&reading).await;
        assert!(!reading.is_free_again(), "another was read since");
    }

    async fn ended(reading: &Reading) {
        let ended = async {
            while !reading.stuck.iter().all(AbortHandle::is_finished) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, ended).await.expect("it has ended");
    }

    #[tokio::test]
    async fn what_was_late_is_tried_twice() {
        let mut reading = Reading::default();
        for (attempt, again) in [("first", true), ("second", false), ("after another was read", true)] {
            if attempt == "after another was read" {
                reading.within(PATIENCE, || ()).await.unwrap();
            }
            let (release, stuck) = mpsc::channel::<()>();
            let late = reading.within(Duration::from_millis(20), move || stuck.recv().is_ok()).await;
            assert!(matches!(late, Err(Unread::Late)), "{late:?}");
            assert!(!reading.is_free_again(), "{attempt}: it is still stuck");
            drop(release);
            ended(&reading).await;
            assert_eq!([reading.is_free_again(), reading.is_free_again()], [again, false], "{attempt}");
        }
    }

    #[tokio::test]
    async fn no_more_are_begun_when_too_many_are_stuck() {
        let mut reading = Reading::default();
        let mut held = Vec::new();
        for _ in 0..MOST_STUCK {
            let (release, stuck) = mpsc::channel::<()>();
            held.push(release);
            let late = reading.within(Duration::from_millis(20), move || stuck.recv().is_ok()).await;
            assert!(matches!(late, Err(Unread::Late)), "{late:?}");
        }
        assert!(matches!(reading.within(PATIENCE, || 7).await, Err(Unread::Late)));
        held.pop();
        let read = async {
            while reading.within(PATIENCE, || 7).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, read).await.expect("there is room again");
    }

    #[tokio::test]
    async fn a_panic_is_no_end() {
        let mut reading = Reading::default();
        let failed = reading.within(PATIENCE, || -> u8 { panic!("on purpose") }).await;
        assert!(matches!(failed, Err(Unread::Failed(_))), "{failed:?}");
        assert_eq!(reading.within(PATIENCE, || 7).await.unwrap(), 7);
    }
}
