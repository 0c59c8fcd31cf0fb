//! Splits: pairs that belong together get one.
//!
//! Pairs that share an anchor or a tie, or whose source pictures are near each other, are one
//! component, which is never cut. Its split is the one that is pinned; else the one that its release
//! gives one of its pairs, `test` before `val` before `train`; else the one that the hash of its
//! smallest anchor falls into.

mod file;
mod shares;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use diptych_pixels::near::{DistanceError, NearIndex, near_groups};
use diptych_schema::Split;

use super::anchors;

pub(crate) use file::{SplitRow, SplitsWriter, read_pins};
pub use shares::{Shares, SharesError};

/// What ties a pair to others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Member {
    /// What stands for data that are the same tomorrow; [`anchors::NONE`] where there is none.
    pub(crate) anchors: [u128; 4],
    /// What else ties it: itself, and the pair that it is the inverse of.
    pub(crate) ties: [u128; 2],
    /// The perceptual hash of its source picture.
    pub(crate) near: Option<u64>,
    /// The split that its release gives it.
    pub(crate) split: Option<Split>,
    /// Number of its dataset.
    pub(crate) dataset: u32,
}

/// A pair whose split is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) pair_id: String,
    pub(crate) split: Split,
    /// The smallest anchor of its component, where the table says it.
    pub(crate) component: Option<u128>,
    pub(crate) anchors: Vec<u128>,
    pub(crate) near: Option<u64>,
}

/// What splits are decided by.
pub(crate) struct Rules<'a> {
    pub(crate) shares: Option<&'a Shares>,
    pub(crate) pins: &'a [Pin],
    /// Perceptual hashes that differ in that many bits at most are of one picture.
    pub(crate) distance: u32,
}

/// A component that is to be told of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Some of its members.
    pub(crate) members: Vec<u32>,
    pub(crate) count: u64,
    pub(crate) datasets: BTreeSet<u32>,
    pub(crate) released: BTreeSet<Split>,
    pub(crate) split: Option<Split>,
}

/// What was decided.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// The split of each member.
    pub(crate) splits: Vec<Option<Split>>,
    /// The smallest anchor of each member's component.
    pub(crate) components: Vec<u128>,
    /// Members that would bring together what is pinned to different splits, and why; they have no
    /// split.
    pub(crate) conflicts: Vec<(u32, String)>,
    pub(crate) count: u64,
    pub(crate) largest: u64,
    /// Members that are pinned by their id.
    pub(crate) pinned: u64,
    /// What pairs share that are pinned to different splits: so many anchors and ties.
    pub(crate) contested: u64,
    /// Components with several splits of releases, or another than the one that is pinned.
    pub(crate) disagreements: (u64, Vec<Told>),
    /// Components with pairs of several datasets.
    pub(crate) collisions: (u64, Vec<Told>),
}

/// Components that are told of.
const TOLD: usize = 100;

/// Members of each that are told of.
const MEMBERS: usize = 5;

/// Decides the split of every member.
///
/// # Errors
/// Where the distance is none that hashes are searched by.
pub(crate) fn decide(members: &[Member], rules: &Rules<'_>) -> Result<Decided, DistanceError> {
    let mut hashes: Vec<u64> = members.iter().filter_map(|member| member.near).collect();
    let mut nodes = Nodes::of(members, rules.pins);
    // A pair that is in conflict with pins ties nothing together, so with pins it matters what came
    // before. Without, all that is near is tied.
    let index = if rules.pins.is_empty() {
        for (hash, first) in hashes.iter().zip(near_groups(&hashes, rules.distance)?) {
            if let Some(first) = hashes.get(first as usize)
                && let Some(hash) = nodes.number(anchors::near(*hash))
                && let Some(first) = nodes.number(anchors::near(*first))
            {
                nodes.union(first, hash);
            }
        }
        None
    } else {
        hashes.extend(rules.pins.iter().filter_map(|pin| pin.near));
        Some(NearIndex::new(rules.distance, hashes.len())?)
    };
    let mut ties = Ties { nodes, index, hashes: Vec::new(), contested: BTreeMap::new() };
    let pinned: BTreeMap<u128, u32> =
        (0_u32..).zip(rules.pins).map(|(number, pin)| (pair_node(pin), number)).collect();
    for (number, pin) in (0_u32..).zip(rules.pins) {
        let nodes: Vec<u128> =
            std::iter::once(pair_node(pin)).chain(pin.anchors.iter().copied()).collect();
        ties.pin(&nodes, pin.near, number, rules.pins);
    }
    let mut decided = Decided::default();
    let own =
        |member: &Member| pinned.get(&member.ties.first().copied().unwrap_or_default()).copied();
    // Those that are pinned first, wherever they come: what is new is held against all of them.
    for member in members {
        if let Some(pin) = own(member) {
            decided.pinned += 1;
            let nodes: Vec<u128> = nodes_of(member).collect();
            ties.pin(&nodes, member.near, pin, rules.pins);
        }
    }
    // The node that a member is found by; none for those in conflict.
    let mut places = Vec::with_capacity(members.len());
    for (number, member) in (0_u32..).zip(members) {
        let nodes: Vec<u128> = nodes_of(member).collect();
        if own(member).is_none()
            && let Err((one, other)) = ties.tie(&nodes, member.near, rules.pins)
        {
            decided.conflicts.push((number, conflict(one, other, rules.pins)));
            places.push(None);
            continue;
        }
        places.push(nodes.first().and_then(|node| ties.nodes.number(*node)));
    }
    decided.contested = ties.contested.len() as u64;
    finish(members, rules, &mut ties.nodes, &places, &mut decided);
    Ok(decided)
}

fn pair_node(pin: &Pin) -> u128 {
    anchors::pair(crate::plan::id_digest(&pin.pair_id))
}

/// The pair itself first.
fn nodes_of(member: &Member) -> impl Iterator<Item = u128> {
    let all = member.ties.into_iter().chain(member.anchors);
    all.filter(|node| *node != anchors::NONE)
}

fn conflict(one: u32, other: u32, pins: &[Pin]) -> String {
    let told = |pin: u32| {
        pins.get(pin as usize).map_or_else(String::new, |pin| {
            format!("{} ({})", diptych_storage::text::printable(pin.pair_id.as_bytes()), pin.split)
        })
    };
    format!(
        "it ties together what is pinned to different splits: {} and {}",
        told(one),
        told(other)
    )
}

/// What ties pairs together, so far.
struct Ties {
    nodes: Nodes,
    /// The hashes so far; `None` where all that are near are tied.
    index: Option<NearIndex>,
    /// The hashes of the index, by their number there.
    hashes: Vec<u64>,
    /// Nodes that pins of different splits share, with two of these.
    contested: BTreeMap<u32, (u32, u32)>,
}

impl Ties {
    /// The nodes of hashes that are near, and its own.
    fn near(&self, near: Option<u64>) -> Vec<u128> {
        let Some(hash) = near else { return Vec::new() };
        let near = self.index.iter().flat_map(|index| index.near(hash));
        let others = near.filter_map(|near| self.hashes.get(near.id as usize));
        others.copied().chain([hash]).map(anchors::near).collect()
    }

    fn add(&mut self, near: Option<u64>) {
        if let Some(hash) = near
            && let Some(index) = &mut self.index
            && index.insert(hash) as usize == self.hashes.len()
        {
            self.hashes.push(hash);
        }
    }

    /// Ties nodes to a pin, but for those that are tied to a pin of another split.
    fn pin(&mut self, nodes: &[u128], near: Option<u64>, pin: u32, pins: &[Pin]) {
        let near_nodes = self.near(near);
        let split = pins.get(pin as usize).map(|pin| pin.split);
        let mut first = None;
        for node in nodes.iter().chain(&near_nodes) {
            let Some(node) = self.nodes.number(*node) else { continue };
            let root = self.nodes.root(node);
            let other = self.nodes.pin(root).and_then(|pin| pins.get(pin as usize));
            if other.is_some_and(|other| Some(other.split) != split) {
                let other = self.nodes.pin(root).unwrap_or(pin);
                self.contested.entry(node).or_insert((other, pin));
                continue;
            }
            match first {
                None => {
                    first = Some(node);
                    self.nodes.set_pin(root, pin);
                }
                Some(first) => self.nodes.union(first, node),
            }
        }
        self.add(near);
    }

    /// Ties nodes together, or says which pins of different splits they would tie.
    fn tie(&mut self, nodes: &[u128], near: Option<u64>, pins: &[Pin]) -> Result<(), (u32, u32)> {
        let near_nodes = self.near(near);
        let all = nodes.iter().chain(&near_nodes);
        let numbers: Vec<u32> = all.filter_map(|node| self.nodes.number(*node)).collect();
        let mut found: Option<u32> = None;
        for number in &numbers {
            if let Some(pins) = self.contested.get(number) {
                return Err(*pins);
            }
            let root = self.nodes.root(*number);
            let Some(pin) = self.nodes.pin(root) else { continue };
            let split = |pin: u32| pins.get(pin as usize).map(|pin| pin.split);
            match found {
                Some(other) if split(other) != split(pin) => return Err((other, pin)),
                _ => found = Some(pin),
            }
        }
        if let [first, others @ ..] = numbers.as_slice() {
            others.iter().for_each(|other| self.nodes.union(*first, *other));
        }
        self.add(near);
        Ok(())
    }
}

/// Union-find over nodes, which are numbered by their place among all in order.
struct Nodes {
    keys: Vec<u128>,
    parents: Vec<u32>,
    /// The pin of a root.
    pins: Vec<u32>,
}

/// What stands for no pin.
const NO_PIN: u32 = u32::MAX;

impl Nodes {
    fn of(members: &[Member], pins: &[Pin]) -> Self {
        let mut keys: Vec<u128> = members.iter().flat_map(nodes_of).collect();
        keys.extend(members.iter().filter_map(|member| member.near).map(anchors::near));
        for pin in pins {
            keys.push(pair_node(pin));
            keys.extend(&pin.anchors);
            keys.extend(pin.near.map(anchors::near));
        }
        keys.sort_unstable();
        keys.dedup();
        keys.shrink_to_fit();
        // There are at most seven for each of 2^32 pairs, whose columns alone would not fit.
        let count = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        Self { pins: vec![NO_PIN; keys.len()], parents: (0..count).collect(), keys }
    }

    fn number(&self, node: u128) -> Option<u32> {
        self.keys.binary_search(&node).ok().and_then(|number| u32::try_from(number).ok())
    }

    fn root(&mut self, node: u32) -> u32 {
        let parent = |of: u32, parents: &[u32]| parents.get(of as usize).copied().unwrap_or(of);
        let mut root = node;
        while parent(root, &self.parents) != root {
            root = parent(root, &self.parents);
        }
        let mut at = node;
        while at != root {
            let next = parent(at, &self.parents);
            if let Some(of) = self.parents.get_mut(at as usize) {
                *of = root;
            }
            at = next;
        }
        root
    }

    fn pin(&self, root: u32) -> Option<u32> {
        self.pins.get(root as usize).copied().filter(|pin| *pin != NO_PIN)
    }

    /// The first pin of a root stays.
    fn set_pin(&mut self, root: u32, pin: u32) {
        if let Some(of) = self.pins.get_mut(root as usize).filter(|of| **of == NO_PIN) {
            *of = pin;
        }
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller number is the root, whatever the order: the same on every run. `root`
        // makes paths short on its way, which alone keeps them so.
        let (root, other) = (a.min(b), a.max(b));
        if root == other {
            return;
        }
        if let Some(pin) = self.pin(other) {
            self.set_pin(root, pin);
        }
        if let Some(parent) = self.parents.get_mut(other as usize) {
            *parent = root;
        }
    }
}

/// What is known of a component.
#[derive(Clone, Copy)]
struct Component {
    anchor: u128,
    count: u64,
    released: [bool; 3],
    dataset: u32,
    several: bool,
}

fn finish(
    members: &[Member],
    rules: &Rules<'_>,
    nodes: &mut Nodes,
    places: &[Option<u32>],
    decided: &mut Decided,
) {
    let empty =
        Component { anchor: u128::MAX, count: 0, released: [false; 3], dataset: 0, several: false };
    // Roots are numbered as they come, so that what is held is by component and not by node.
    let mut numbers: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
    let mut roots = Vec::new();
    let mut components: Vec<Component> = Vec::new();
    let mut of_member = Vec::with_capacity(members.len());
    for (member, place) in members.iter().zip(places) {
        let Some(place) = place else {
            of_member.push(None);
            continue;
        };
        let root = nodes.root(*place);
        let number = *numbers.entry(root).or_insert_with(|| {
            roots.push(root);
            components.push(empty);
            components.len() - 1
        });
        of_member.push(Some(number));
        let Some(component) = components.get_mut(number) else { continue };
        let anchors = member.anchors.into_iter().filter(|anchor| *anchor != anchors::NONE);
        component.anchor = anchors.fold(component.anchor, u128::min);
        if component.count > 0 && component.dataset != member.dataset {
            component.several = true;
        }
        component.dataset = member.dataset;
        component.count += 1;
        if let Some(released) =
            member.split.and_then(|split| component.released.get_mut(split as usize))
        {
            *released = true;
        }
    }
    let split_of = |(component, root): (&Component, &u32)| {
        let pin = nodes.pin(*root).and_then(|pin| rules.pins.get(pin as usize));
        let released = || {
            let has = |split: &&Split| component.released.get(**split as usize) == Some(&true);
            [Split::Test, Split::Val, Split::Train].iter().find(has).copied()
        };
        let pinned = pin.map(|pin| pin.split);
        let share = || rules.shares.map(|shares| shares.split_of(component.anchor));
        pinned.or_else(released).or_else(share)
    };
    let splits: Vec<_> = components.iter().zip(&roots).map(split_of).collect();
    decided.count = components.len() as u64;
    decided.largest = components.iter().map(|component| component.count).max().unwrap_or(0);
    for of in &of_member {
        let number = of.unwrap_or(usize::MAX);
        decided.splits.push(splits.get(number).copied().flatten());
        decided.components.push(components.get(number).map_or(anchors::NONE, |of| of.anchor));
    }
    let differs = |component: &Component, split: Option<Split>| {
        let other = |released: &Split| {
            component.released.get(*released as usize) == Some(&true) && Some(*released) != split
        };
        Split::ALL.iter().any(other)
    };
    decided.disagreements = told(members, &of_member, &splits, &components, differs);
    decided.collisions = told(members, &of_member, &splits, &components, |of, _| of.several);
}

/// How many components are to be told of, and the first of them.
fn told(
    members: &[Member],
    of_member: &[Option<usize>],
    splits: &[Option<Split>],
    components: &[Component],
    is_told: impl Fn(&Component, Option<Split>) -> bool,
) -> (u64, Vec<Told>) {
    let mut numbers = BTreeMap::new();
    let mut count = 0;
    let mut all = Vec::new();
    for (number, (component, split)) in components.iter().zip(splits).enumerate() {
        if is_told(component, *split) {
            count += 1;
            if all.len() < TOLD {
                numbers.insert(number, all.len());
                all.push(Told { count: component.count, split: *split, ..Told::default() });
            }
        }
    }
    for (number, (member, of)) in (0_u32..).zip(members.iter().zip(of_member)) {
        let place = of.and_then(|of| numbers.get(&of));
        let Some(told) = place.and_then(|place| all.get_mut(*place)) else { continue };
        told.datasets.insert(member.dataset);
        told.released.extend(member.split);
        if told.members.len() < MEMBERS {
            told.members.push(number);
        }
    }
    (count, all)
}
