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

/// Elsewhere the allocator is left alone.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn give_back() {}

/// In bytes. Setting it is what keeps it there. Blocks of usual requests stay below: a system call and fresh
/// pages for each would cost more than the call itself.
#[cfg(target_env = "gnu")]
const LARGE: i32 = 1 << 20;

/// How much of a heap's unused end is kept, in bytes, so that it need not be fetched again for the next request.
#[cfg(target_env = "gnu")]
const KEPT: i32 = 8 << 20;
