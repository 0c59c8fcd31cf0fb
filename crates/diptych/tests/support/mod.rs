//! What the tests share.

#![allow(dead_code, reason = "each file of tests uses its part of this")]

pub(crate) mod again;
pub(crate) mod back;
pub(crate) mod folder;
pub(crate) mod job;
pub(crate) mod made;
pub(crate) mod photo;
pub(crate) mod place;
pub(crate) mod release;
pub(crate) mod scene;
pub(crate) mod shards;
pub(crate) mod toy;
