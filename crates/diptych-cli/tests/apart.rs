//! A conversion in shares: each unit in a process of its own makes the same output.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state what they expect by panicking"
)]

mod support;

use support::folder::{assert_same, good_release, tree};
use support::{convert, diptych, ran};

#[test]
fn units_in_processes_of_their_own_make_the_same_output_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, apart) = (dir.path().join("whole"), dir.path().join("apart"));
    let size = ["--shard-size", "30KB"];
    assert_eq!(ran(convert(&good_release(), &whole).args(size)).code, Some(0));
    let mut plan = diptych();
    plan.arg("plan").arg(good_release()).args(["--to", "webdataset", "--json", "--out"]);
    let planned = ran(plan.arg(&apart).args(size));
    let units = planned.json()["units"].as_u64().unwrap();
    assert!(units >= 8, "{planned:?}");
    // Steps of a prime that does not divide their number visit each of them once.
    let step = [3, 5, 7, 11, 13].into_iter().find(|prime| !units.is_multiple_of(*prime)).unwrap();
    let order: Vec<_> = (0..units).map(|i| (i * step + 3) % units).collect();
    for unit in &order {
        let done = ran(diptych().args(["run", "--units", &unit.to_string(), "--out"]).arg(&apart));
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    // One of them once more: it is done and stays as it is.
    let again = ran(diptych().args(["run", "--units", "0", "--out"]).arg(&apart));
    assert_eq!(again.code, Some(0), "{again:?}");
    let finished = ran(diptych().args(["finish", "--out"]).arg(&apart));
    assert_eq!(finished.code, Some(0), "visited {order:?}: {finished:?}");
    assert_same(&tree(&apart), &tree(&whole));
}
