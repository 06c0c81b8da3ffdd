//! Counts what a piece of code allocates, so that tests can hold audio callbacks to nothing.
#![allow(unsafe_code, reason = "an allocator that counts must be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nobody who asks.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every method hands its arguments to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How often `body` allocated, freed or resized memory.
pub(crate) fn calls(body: impl FnOnce()) -> usize {
    let before = CALLS.with(Cell::get);
    body();
    CALLS.with(Cell::get) - before
}

#[test]
fn the_guard_sees_an_allocation() {
    assert_eq!(calls(|| drop(std::hint::black_box(vec![0u8; 100]))), 2);
    assert_eq!(calls(|| {}), 0);
}
