//! What the process does with memory it no longer needs.

/// Has large blocks given back to the system as soon as they are free.
///
/// glibc begins that way, but raises its threshold with each large block that is freed, up to 32 MiB; from then
/// on such blocks come from the heaps of its threads and stay there. After a burst of large answers that kept
/// hundreds of MiB for good.
#[cfg(target_env = "gnu")]
pub(crate) fn give_back() {
    #[expect(unsafe_code, reason = "there is no safe way to set an option of the C library")]
    // SAFETY: called at the start of `main`, before there are other threads; it takes two numbers and has no
    // other effect than the setting. That it may refuse costs nothing but memory.
    let _ = unsafe {
        (libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE), libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT))
    };
}

/// Gives free pages in the middle of the heaps back from time to time: after many sessions or answers the ends of
/// the heaps are mostly in use, and by themselves they give back nothing else. Never completes.
#[cfg(target_env = "gnu")]
pub(crate) async fn keep_giving_back() {
    let mut rounds = tokio::time::interval(ROUND);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        #[expect(unsafe_code, reason = "there is no safe way to ask the C library for it")]
        // SAFETY: it takes a number, locks each heap while it looks at it, and touches only what is free.
        let trim = || unsafe { libc::malloc_trim(KEPT_IN_HEAP) };
        // Only the runtime's end takes the thread away.
        drop(tokio::task::spawn_blocking(trim).await);
    }
}

/// A millisecond of work for tens of MiB.
#[cfg(target_env = "gnu")]
const ROUND: std::time::Duration = std::time::Duration::from_secs(10);

/// How much of the first heap's unused end is left then, in bytes.
#[cfg(target_env = "gnu")]
const KEPT_IN_HEAP: usize = 1 << 20;

/// Elsewhere the allocator is left alone.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn give_back() {}

/// Never completes.
#[cfg(not(target_env = "gnu"))]
pub(crate) async fn keep_giving_back() {
    std::future::pending().await
}

/// In bytes. Setting it is what keeps it there. Blocks of usual requests stay below: a system call and fresh
/// pages for each would cost more than the call itself.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 1 << 20;

/// How much of a heap's unused end is kept, in bytes, so that it need not be fetched again for the next request.
#[cfg(target_env = "gnu")]
const KEPT: i32 = 8 << 20;
