//! Reads the tab-separated tables that the rules draw on.

use std::collections::HashMap;

use regex::escape;

/// Rows of a table: comment lines left out, cells split at tabs.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table
        .lines()
        .filter(|line| !line.starts_with('#') || line.starts_with("#\t"))
        .filter(|line| !line.is_empty())
        .map(|line| line.split('\t').collect())
}

/// A table with the first cell as key.
pub(crate) fn by_first(table: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    rows(table).filter_map(|row| row.first().copied().map(|key| (key, row))).collect()
}

/// A pattern for any of the words, the longest first.
pub(crate) fn any_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.filter(|w| !w.is_empty()).collect();
    words.sort_by_key(|w| std::cmp::Reverse(w.len()));
    words.into_iter().map(escape).collect::<Vec<_>>().join("|")
}
