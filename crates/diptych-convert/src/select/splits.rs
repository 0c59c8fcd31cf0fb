//! x
/// x
#[derive(Debug, Clone, PartialEq)]
pub struct Shares(Vec<f64>);
impl std::fmt::Display for Shares { fn fmt(&self, f:&mut std::fmt::Formatter<'_>)->std::fmt::Result{f.write_str("pair")} }
impl std::str::FromStr for Shares { type Err=String; fn from_str(_:&str)->Result<Self,String>{Ok(Self(vec![]))} }
