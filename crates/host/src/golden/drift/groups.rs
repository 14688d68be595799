//! Groups the fields of a subtree that is new as a whole, under the subtree's root.
//!
//! ```text
//! result/success.stats.killed.parent, result/success.stats.killed.user ─▶ result/success.stats.*
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::parts::is_inside;
use super::{Drift, DriftFound, DriftSubject};

/// Number of single fields in one parent that make a group.
const SIBLINGS: usize = 3;
/// Most fields whose names are shown for such a group.
const NAMES: usize = 4;

/// Findings that are reported in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftGroup<'a> {
    /// The name of the only finding, of the subtree, `result/success.stats.*`, or of several fields in one parent,
    /// `result/success.{mood, tone, …}`.
    pub name: String,
    /// Its findings, most frequent first.
    pub found: Vec<&'a DriftFound>,
}

impl Drift {
    /// Groups findings, ordered by the most frequent one of each group. A subtree is a group if none of its fields is shown and
    /// all of them are among the findings.
    pub fn grouped<'a>(&self, found: &[&'a DriftFound]) -> Vec<DriftGroup<'a>> {
        let new: BTreeSet<(DriftSubject, &str)> =
            found.iter().map(|one| (one.what, one.name.as_str())).collect();
        let others: BTreeSet<&str> = self
            .known
            .keys()
            .filter(|(what, name)| *what != DriftSubject::Tool && !new.contains(&(*what, name.as_str())))
            .map(|(_, name)| name.as_str())
            .collect();
        let mut groups: Vec<DriftGroup<'a>> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for one in found {
            let root = (one.what == DriftSubject::Field).then(|| root(&one.name, &others)).flatten();
            let Some(root) = root else {
                groups.push(DriftGroup { name: one.name.clone(), found: vec![*one] });
                continue;
            };
            let place = *places.entry(root.to_owned()).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.found.push(*one),
                None => groups.push(DriftGroup { name: format!("{root}.*"), found: vec![*one] }),
            }
        }
        for group in groups.iter_mut().filter(|group| group.found.len() == 1) {
            group.name.clone_from(&group.found[0].name);
        }
        with_siblings(groups)
    }
}

/// Groups the single fields of one parent, at the position of the first, if there are at least [`SIBLINGS`].
fn with_siblings(groups: Vec<DriftGroup<'_>>) -> Vec<DriftGroup<'_>> {
    let mut siblings: BTreeMap<String, Vec<&DriftFound>> = BTreeMap::new();
    for group in &groups {
        if let (Some(parent), [one]) = (parent(group), &*group.found) {
            siblings.entry(parent.to_owned()).or_default().push(one);
        }
    }
    siblings.retain(|_, found| found.len() >= SIBLINGS);
    let mut all = Vec::new();
    for group in groups {
        let parent = parent(&group).map(str::to_owned);
        match parent.as_ref().map(|parent| (parent, siblings.get_mut(parent))) {
            Some((parent, Some(found))) if !found.is_empty() => {
                let found = std::mem::take(found);
                let names: Vec<&str> =
                    found.iter().take(NAMES).map(|one| &one.name[parent.len() + 1..]).collect();
                let more = if found.len() > NAMES { ", …" } else { "" };
                all.push(DriftGroup { name: format!("{parent}.{{{}{more}}}", names.join(", ")), found });
            }
            Some((_, Some(_))) => {}
            _ => all.push(group),
        }
    }
    all
}

/// The parent of the only field in a group.
fn parent<'a>(group: &'a DriftGroup<'_>) -> Option<&'a str> {
    match &*group.found {
        [one] if one.what == DriftSubject::Field => Some(group.name.rsplit_once('.')?.0),
        _ => None,
    }
}

/// The largest subtree around a field that contains none of `others`.
fn root<'a>(name: &'a str, others: &BTreeSet<&str>) -> Option<&'a str> {
    // The type of a line isn't a subtree.
    let ends = name.match_indices('.').map(|(end, _)| &name[..end]).skip(1);
    let is_free = |root: &str| {
        let near = others.range(root..).take_while(|other| other.starts_with(root));
        near.into_iter().all(|other| !is_inside(other, root))
    };
    ends.map(|root| root.strip_suffix(".*").unwrap_or(root)).find(|root| is_free(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtree_begins_where_nothing_else_is_in_it() {
        let others = BTreeSet::from(["result.usage.input", "result.stats-old.x"]);
        assert_eq!(root("result.stats.killed.user", &others), Some("result.stats"));
        assert_eq!(root("result.models.*.cost", &others), Some("result.models"));
        assert_eq!(root("result.usage.cache.read", &others), Some("result.usage.cache"));
        assert_eq!(root("result.usage.output", &others), None);
        assert_eq!(root("result.mood", &others), None);
    }
}
