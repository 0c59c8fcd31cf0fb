//! How much memory one input may take.

use std::alloc::System;

use cap::Cap;

/// Counts what is allocated, and refuses what is too much, which ends the program.
#[cfg_attr(any(test, fuzzing, feature = "libfuzzer"), global_allocator)]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that one input may take, whatever is in it.
pub const MOST: usize = 64 << 20;

/// Calls what may take [`MOST`] bytes beyond what is taken already.
pub fn bounded(call: impl FnOnce()) {
    let limit = ALLOCATOR.allocated().saturating_add(MOST);
    ALLOCATOR.set_limit(limit).expect("less than that is taken");
    call();
    ALLOCATOR.set_limit(usize::MAX).expect("no limit is always met");
}
