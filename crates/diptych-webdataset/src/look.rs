//! A first look at a release: whose samples it has, and what their fields are.

use std::collections::BTreeMap;

use diptych_format::foreign::known::{Known, Shape, Shapes, known};
use diptych_format::record::restore;
use diptych_format::written::resembles_record;
use diptych_storage::tar::{MemberKind, Walk};
use diptych_storage::{Limits, ReadAt, ReadTree, RelPath};
use serde_json::{Map, Value};

use crate::layout::shard_paths;
use crate::names::{Kind, key_length, kind_of, longer_keys, part};

/// Shards that are looked into: the first may be damaged.
const SHARDS: usize = 4;

/// Members of each that are looked at.
const MEMBERS: usize = 64;

/// Members that are looked at until there are two of one sample.
const MOST_MEMBERS: usize = 4096;

/// What was seen.
#[derive(Default)]
pub(crate) struct Look {
    /// A shard whose samples have the record that this program writes.
    pub(crate) ours: Option<RelPath>,
    /// A shard whose samples had such records, and what is wrong with them.
    pub(crate) damaged: Option<(RelPath, String)>,
    /// Fields of the samples, and what they hold.
    pub(crate) shapes: Shapes,
    /// Pictures as they are called if dots in front of their names belong to keys.
    behind_dots: Shapes,
    /// A shard with a sample whose members are apart: anything may look so by chance.
    scattered: Option<RelPath>,
    /// A shard with a sample of two pictures or more, or of a picture and JSON.
    pub(crate) samples: Option<RelPath>,
}

impl Look {
    /// Looks into the first shards of a tree. What cannot be read shows nothing.
    pub(crate) fn at(tree: &dyn ReadTree) -> Self {
        let mut look = Self::default();
        for path in shard_paths(tree).take(SHARDS) {
            if let Ok(file) = tree.open(path) {
                look.shard(path, file.as_ref());
            }
            if look.ours.is_some() {
                break;
            }
        }
        if look.samples.is_none() && look.known().is_some() {
            look.samples = look.scattered.take();
        }
        look
    }

    /// The layout that it is known to be of.
    pub(crate) fn known(&self) -> Option<&'static Known> {
        known(&self.shapes).or_else(|| known(&self.all_shapes()))
    }

    /// Fields, those among them that are there only if dots in front belong to keys.
    pub(crate) fn all_shapes(&self) -> Shapes {
        let mut shapes = self.behind_dots.clone();
        shapes.extend(self.shapes.iter().map(|(name, shape)| (name.clone(), *shape)));
        shapes
    }

    fn shard(&mut self, path: &RelPath, file: &dyn ReadAt) {
        let mut walk = Walk::new(file, &Limits::LOOK);
        // Members of a sample need not be next to each other.
        let mut samples: BTreeMap<Vec<u8>, (u32, u32)> = BTreeMap::new();
        let (mut last_key, mut begun) = (Vec::new(), (0, 0));
        for count in 0..MOST_MEMBERS {
            if count >= MEMBERS && self.scattered.is_some() {
                break;
            }
            let Ok(Some(member)) = walk.next_member() else { break };
            let name = member.name;
            let (MemberKind::File, Some(key)) = (member.kind, key_length(name)) else { continue };
            let of_key = name.get(..key).unwrap_or_default().to_vec();
            if of_key != last_key {
                begun = (0, 0);
                last_key.clone_from(&of_key);
            }
            let in_all = samples.entry(of_key).or_default();
            let whole = part(name, key);
            let (kind, field) = kind_of(&whole);
            for (pictures, records) in [&mut *in_all, &mut begun] {
                *pictures += u32::from(kind == Kind::Picture);
                *records += u32::from(matches!(kind, Kind::Record | Kind::Json));
            }
            let is_sample = |(pictures, records)| pictures > 1 || (pictures > 0 && records > 0);
            let (is_scattered, is_sample) = (is_sample(*in_all), is_sample(begun));
            match kind {
                Kind::Picture => {
                    self.see(field, Shape::Picture);
                    for longer in longer_keys(name, key) {
                        let part = part(name, longer);
                        let field = kind_of(&part).1.to_owned();
                        self.behind_dots.insert(field, Shape::Picture);
                    }
                }
                Kind::Text => self.see(field, Shape::Text),
                Kind::Record | Kind::Json => {
                    let bytes = json_bytes(file, member.offset, member.length);
                    self.json(path, kind, field, bytes.as_deref().unwrap_or_default());
                }
                Kind::Other => {}
            }
            if is_scattered {
                self.scattered.get_or_insert_with(|| path.clone());
            }
            if is_sample {
                self.samples.get_or_insert_with(|| path.clone());
            }
        }
    }

    fn json(&mut self, path: &RelPath, kind: Kind, field: &str, text: &str) {
        if kind == Kind::Json {
            if let Ok(value) = serde_json::from_str(text) {
                self.see(field, Shape::of(&value));
            }
            return;
        }
        let why = match restore(text) {
            Ok(_) => {
                self.ours.get_or_insert_with(|| path.clone());
                return;
            }
            Err(error) => error.to_string(),
        };
        let fields: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        if resembles_record(&fields) {
            self.damaged.get_or_insert_with(|| (path.clone(), why));
        }
        for (name, value) in &fields {
            self.see(name, Shape::of(value));
        }
    }

    /// Enters a field. One that is sometimes null is what it is otherwise, and a picture is no
    /// text because a text has its name.
    fn see(&mut self, name: &str, shape: Shape) {
        let known = self.shapes.entry(name.to_owned()).or_insert(shape);
        if *known == Shape::Nothing || shape == Shape::Picture {
            *known = shape;
        }
    }
}

/// The bytes of a member that is no longer than a row may be.
fn json_bytes(file: &dyn ReadAt, offset: u64, length: u64) -> Option<String> {
    let length = usize::try_from(length).ok().filter(|of| *of <= Limits::LOOK.row_bytes)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(offset, &mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}
