//! A session as bytes: magic, format version, model fingerprint, tokens, KV cache, checksum; all little-endian.

use crate::config::TokenId;
use crate::error::{Error, Result};
use crate::fnv::Fnv;
use crate::forward::State;

const MAGIC: &[u8; 8] = b"PVKV\0\0\0\x01"; // the last byte is the version
const HEADER: usize = 8 + 8 + 8;

pub(super) fn write(fingerprint: u64, tokens: &[TokenId], state: &dyn State) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&fingerprint.to_le_bytes());
    out.extend_from_slice(&(tokens.len() as u64).to_le_bytes());
    out.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
    state.save(tokens.len(), &mut out);
    out.extend_from_slice(&checksum(&out).to_le_bytes());
    out
}

/// The tokens, and the bytes of the KV cache.
pub(super) fn read(fingerprint: u64, bytes: &[u8]) -> Result<(Vec<TokenId>, &[u8])> {
    let damaged = |what: &str| Error::State(what.to_owned());
    if bytes.len() < HEADER + 8 || &bytes[..8] != MAGIC {
        return Err(damaged("it is no saved session of this version"));
    }
    let (content, sum) = bytes.split_at(bytes.len() - 8);
    if u64_at(sum, 0) != checksum(content) {
        return Err(damaged("it is damaged: the checksum differs"));
    }
    if u64_at(content, 8) != fingerprint {
        return Err(damaged("it belongs to another model or engine"));
    }
    let count = u64_at(content, 16);
    let rest = &content[HEADER..];
    let length = usize::try_from(count).ok().and_then(|n| n.checked_mul(4)).filter(|&n| n <= rest.len());
    let (tokens, cache) = rest.split_at(length.ok_or_else(|| damaged("it claims more tokens than it holds"))?);
    let tokens = tokens.chunks_exact(4).map(|b| TokenId::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok((tokens, cache))
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.update(bytes);
    hash.finish()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut array = [0; 8];
    array.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(array)
}
