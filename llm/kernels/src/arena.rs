//! Memory for packed weights: large regions on huge pages, given out in order and never moved.
//!
//! A model has a hundred matrices of about a megabyte. Each on its own huge pages would waste half a page
//! per matrix, each on small pages costs TLB misses in the one loop that is bound by memory. So matrices are
//! laid one after another in a few regions, in the order in which a forward pass reads them.
#![expect(unsafe_code, reason = "anonymous memory maps, and exclusive ranges within them")]

use crate::error::{Error, Result};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of every allocation: a cache line, and a full AVX-512 register.
const ALIGN: usize = 64;
const HUGE_PAGE: usize = 2 << 20;
/// Address space per region. Pages that are never written cost nothing.
const REGION: usize = 256 << 20;

/// Gives out zeroed, 64-byte aligned blocks of memory.
#[derive(Debug, Default)]
pub struct Arena {
    region: Option<Arc<Region>>,
    used: usize,
}

impl Arena {
    /// A zeroed block of `len` bytes, aligned to 64.
    pub fn alloc(&mut self, len: usize) -> Result<Block> {
        let rounded = len.checked_next_multiple_of(ALIGN).ok_or(Error::Memory { bytes: len })?;
        let region = match &self.region {
            Some(region) if region.len - self.used >= rounded => region.clone(),
            _ => {
                let region = Arc::new(Region::map(rounded.max(REGION))?);
                self.used = 0;
                self.region = Some(region.clone());
                region
            }
        };
        let offset = self.used;
        self.used += rounded;
        Ok(Block { region, offset, len })
    }
}

/// An exclusive range of a region.
#[derive(Debug)]
pub struct Block {
    region: Arc<Region>,
    offset: usize,
    len: usize,
}

impl Block {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Arena::alloc` checked that offset + len lies in the region, the region lives as long as
        // the Arc, its memory is initialised (zero from the start), and ranges of blocks never overlap, so
        // nothing else writes here while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.region.ptr.as_ptr().add(self.offset), self.len) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` makes the range exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.region.ptr.as_ptr().add(self.offset), self.len) }
    }
}

#[derive(Debug)]
struct Region {
    ptr: NonNull<u8>,
    len: usize,
    map: Map,
}

// SAFETY: a region is plain memory; `Block` guards who may read and write which range.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

#[cfg(unix)]
#[derive(Debug)]
struct Map {
    base: NonNull<u8>,
    len: usize,
}

#[cfg(unix)]
impl Region {
    fn map(len: usize) -> Result<Self> {
        let memory = || Error::Memory { bytes: len };
        let map_len = len.checked_add(HUGE_PAGE).ok_or_else(memory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous map at an address of the kernel's choice touches no existing memory.
        let base =
            unsafe { libc::mmap(std::ptr::null_mut(), map_len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(memory());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(memory)?;
        let skip = base.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: skip is less than HUGE_PAGE, by which the map is longer than `len`.
        let ptr = unsafe { base.add(skip) };
        #[cfg(target_os = "linux")]
        // SAFETY: the range lies inside the map. The advice may fail; small pages then serve.
        unsafe {
            libc::madvise(ptr.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
        }
        Ok(Region { ptr, len, map: Map { base, len: map_len } })
    }
}

#[cfg(unix)]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: base and len are what mmap returned; no block refers to the region any more.
        unsafe {
            libc::munmap(self.map.base.as_ptr().cast(), self.map.len);
        }
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Map {
    layout: std::alloc::Layout,
}

#[cfg(not(unix))]
impl Region {
    fn map(len: usize) -> Result<Self> {
        let memory = || Error::Memory { bytes: len };
        let layout = std::alloc::Layout::from_size_align(len, 4096).map_err(|_| memory())?;
        // SAFETY: len is at least REGION, so the layout is not of size zero.
        let ptr = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or_else(memory)?;
        Ok(Region { ptr, len, map: Map { layout } })
    }
}

#[cfg(not(unix))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: pointer and layout are those of the allocation.
        unsafe { std::alloc::dealloc(self.ptr.as_ptr(), self.map.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_zeroed_aligned_and_apart() {
        let mut arena = Arena::default();
        let mut blocks: Vec<Block> = [0, 1, 63, 64, 65, 5000].iter().map(|&n| arena.alloc(n).unwrap()).collect();
        for (i, block) in blocks.iter_mut().enumerate() {
            assert_eq!(block.bytes().as_ptr() as usize % ALIGN, 0);
            assert!(block.bytes().iter().all(|&b| b == 0));
            block.bytes_mut().fill(i as u8 + 1);
        }
        for (i, block) in blocks.iter().enumerate() {
            assert!(block.bytes().iter().all(|&b| b == i as u8 + 1));
        }
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Arena::default().alloc(usize::MAX).is_err());
        assert!(Arena::default().alloc(usize::MAX / 2).is_err());
    }
}
