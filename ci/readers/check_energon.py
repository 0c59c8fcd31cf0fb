"""Checks that Megatron-Energon gives all of an output, by the cooker that this repository offers.

usage: check_energon.py OUT TRUTH

OUT is opened as it was written, by its `.nv-meta` and `.tar.idx`: nothing is prepared. TRUTH is the
`truth.jsonl` of the example `mixed_set`, or the release that OUT was made from. Every record and
every picture is compared, read by the process itself and by two workers. Ends with 1 at any
difference, and where Energon wrote anything into OUT.
"""

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import check_release
import check_webdataset
import yaml
from check_webdataset import check_missing_shards, in_order, remove, rename
from compare import Findings
from megatron import energon

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
from energon_edit_pairs import EditPair, EditPairs, cook  # noqa: E402

Sample = dict[str, Any]

# How many processes read: 0 is the one that asks.
WORKERS = (0, 2)


@energon.stateless
def cook_bytes(sample: Sample) -> EditPair:
    """The cooker's work on a sample of which the record alone is decoded."""
    return cook({**sample, "json": json.loads(sample["json"])})


class Undecoded(EditPairs):
    """Edit pairs whose pictures are bytes."""

    decoder = None
    cookers = [energon.Cooker(cook_bytes)]


def as_sample(pair: EditPair) -> Sample:
    """A cooked pair as other readers give it: each picture under the part that the record names."""
    pictures = pair.record["pictures"]
    roles = ("source", "target", "mask")
    told = [(pictures[role], getattr(pair, role)) for role in roles]
    told += zip(pictures["references"], pair.references, strict=True)
    for picture, given in told:
        if (picture is None) != (given is None):
            raise ValueError(f"{pair.__key__}: {picture} was cooked to {given!r:.80}")
    return {"json": pair.record, **{picture["part"]: given for picture, given in told if picture}}


def read(folder: Path, split: str, workers: int, encoder: EditPairs) -> Iterator[Sample]:
    """The samples of a split, each once. Energon would log an error and go on; here it is raised."""
    config = energon.WorkerConfig(
        rank=0, world_size=1, num_workers=workers, global_error_handler=energon.reraise_exception
    )
    dataset = energon.get_val_dataset(
        folder, split_part=split, batch_size=3, worker_config=config, task_encoder=encoder
    )
    for batch in energon.get_loader(dataset):
        yield from map(as_sample, batch)


def files(folder: Path) -> dict[Path, int]:
    """Every file of an output, with when it was changed."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def check_truth(out: Path, truth: Path, where: str, findings: Findings) -> None:
    """Compares with the truth of the mixed set, as bytes and as pictures."""
    check = check_webdataset.Check(out, check_webdataset.read_truth(truth), findings)
    check_webdataset.check_archives(check)
    for workers in WORKERS:
        for encoder, see in ((Undecoded(), check.see_bytes), (EditPairs(), check.see_rgb)):

            def samples(split: str) -> list[Sample]:
                return in_order(check.truth[split], read(out, split, workers, encoder))

            name = type(encoder).__name__
            check.whole(f"{where}, {workers} workers, {name}", samples, see)

    def whole(folder: Path, split: str) -> list[Sample]:
        return list(read(folder, split, 0, Undecoded()))

    for lose in (remove, rename):
        check_missing_shards(check, f"{where}, {lose.__name__}d", lose, whole)


def check_a_release(out: Path, release: Path, where: str, findings: Findings) -> None:
    """Compares with the release itself."""
    check = check_release.Check(out, release, findings)
    splits = yaml.safe_load((out / ".nv-meta" / "split.yaml").read_text())["split_parts"]
    for workers in WORKERS:
        samples = (sample for split in splits for sample in read(out, split, workers, Undecoded()))
        check.whole(f"{where}, {workers} workers", samples)


def main() -> None:
    """Compares with whatever truth there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("truth", type=Path)
    args = parser.parse_args()
    # That there is no accelerator to pin memory for.
    warnings.filterwarnings("ignore", message=".*pin_memory")
    out, findings = args.out.resolve(), Findings()
    before = files(out)
    compare = check_a_release if args.truth.is_dir() else check_truth
    with tempfile.TemporaryDirectory() as scratch:
        tempfile.tempdir = scratch
        compare(out, args.truth, f"energon {energon.__version__}", findings)
    if files(out) != before:
        findings.add("energon", "it changed the output")
    findings.end()
    print("complete: every record and picture is there, and nothing was prepared")


if __name__ == "__main__":
    main()
