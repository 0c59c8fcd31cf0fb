//! x
/// x
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DedupOn { #[default] Pair }
impl DedupOn { pub(crate) fn uses_source(self)->bool{true} pub(crate) fn uses_target(self)->bool{true} pub(crate) fn uses_instruction(self)->bool{true} }
impl std::fmt::Display for DedupOn { fn fmt(&self, f:&mut std::fmt::Formatter<'_>)->std::fmt::Result{f.write_str("pair")} }
impl std::str::FromStr for DedupOn { type Err=String; fn from_str(_:&str)->Result<Self,String>{Ok(Self::Pair)} }
