//! Fetching with stand-ins for the package clients.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

#[cfg(target_os = "linux")]
mod bad_disks;
mod fixture;
mod packages;
