"""Checks that an output holds what a release of Inter-Edit-Train holds.

usage: check_release.py OUT RELEASE [--need datasets,webdataset,wids]

OUT is what `diptych convert RELEASE --to webdataset --out OUT` wrote. The release is read here
by the standard library alone, and the output by `datasets`, `webdataset` and `wids`, whichever are
installed. Every edit must be there with its instruction, box, labels and pictures, or be listed
in `rejections.jsonl`. Ends with 1 at any difference.
"""

import argparse
import collections
import gzip
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compare import (
    Findings, differences, library, load, open_image, open_wids, quiet_datasets, undecoded, undotted,
)

# An ideograph anywhere makes an instruction Chinese.
HAN = re.compile("[\u3005\u3007\u3021-\u3029\u3038-\u303b\u2e80-\u2fd5\u3400-\u4dbf\u4e00-\u9fff"
                 "\uf900-\ufaff\U00020000-\U0002fa1f\U00030000-\U000323af]")

Edit = dict[str, Any]
Sample = dict[str, Any]


def read_edits(release: Path) -> dict[str, Edit]:
    """The rows of the release by the ids of their pairs, each with its text."""
    edits: dict[str, Edit] = {}
    for file in sorted((release / "metadata").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8", newline="\n") as rows:
            for row in filter(str.strip, rows):
                edit = json.loads(row)
                pair_id = f"inter-edit-train:{edit['sample_id']:07}"
                if pair_id not in edits:
                    edits[pair_id] = {"row": edit, "text": row.strip(), "split": file.name.split("-")[0]}
    return edits


class Pictures:
    """The members of the release's archives, found by archive and name."""

    def __init__(self, release: Path) -> None:
        self.release = release
        self.archives: dict[str, dict[str, bytes]] = {}

    def get(self, archive: str, name: str) -> bytes:
        """The bytes of a picture; of members with one name the last is meant."""
        if archive not in self.archives:
            with tarfile.open(self.release / archive, "r:") as tar:
                files = ((member.name, tar.extractfile(member)) for member in tar)
                self.archives[archive] = {name: file.read() for name, file in files if file}
        return self.archives[archive][name]

    def of(self, row: Edit) -> dict[str, bytes]:
        """The pictures of an edit by their roles."""
        source = self.get(row["source_archive"], row["source_file"])
        target = self.get(row["asset_archive"], row["target_file"])
        return {"source": source, "target": target,
                "mask": self.get(row["asset_archive"], row["mask_file"])}


def wanted_box(row: Edit) -> Edit:
    """The box of a row, with how it lies in its frame."""
    edges = [float(edge) for edge in row["bounding_box"]]
    width, height = (row["bbox_reference_dimensions"][side] for side in ("width", "height"))
    clamped = [min(max(edge, 0), limit) for edge, limit in zip(edges, (width, height) * 2)]
    status = "out_of_frame" if clamped != edges else "ok"
    if clamped[2] <= clamped[0] or clamped[3] <= clamped[1]:
        status = "degenerate"
    return {**dict(zip(("x0", "y0", "x1", "y1"), edges)),
            "frame_width": width, "frame_height": height, "status": status}


def wanted_record(pair_id: str, edit: Edit, pictures: dict[str, bytes]) -> Edit:
    """What a record must say, as far as it follows from the row alone. Sizes are told by Pillow."""
    row = edit["row"]
    sizes = {role: open_image(data).size for role, data in pictures.items()}
    names = {"source": "source_file", "target": "target_file", "mask": "mask_file"}
    grid = "target" if row["edit_type"] == "Add" else "source"
    told: Edit = {
        role: {
            "part": f"{role}.png",
            "name": row[names[role]],
            "width": sizes[role][0],
            "height": sizes[role][1],
        }
        for role in names
    }
    return {
        "pair_id": pair_id,
        "dataset": "inter-edit-train",
        "split": edit["split"],
        "edit_type": row["edit_type"].lower(),
        "edit_type_native": [row["edit_type"]],
        "instruction": row["instruction"],
        "language": "zh" if HAN.search(row["instruction"]) else "en",
        "pictures": {**told, "references": []},
        "mask_grid": grid,
        "mask_origin": "release",
        "box": wanted_box(row),
        "scores": [],
        "regions": [],
        "native": f'{{"row":{edit["text"]}}}',
    }


def same_mask(data: bytes, written: bytes) -> bool:
    """Whether a mask says the same, in its written form: bright pixels are 255, dark ones 0."""
    bright = open_image(data).convert("L").point(lambda value: 255 if value >= 128 else 0)
    mask = open_image(written)
    return mask.mode == "L" and (mask.size, mask.tobytes()) == (bright.size, bright.tobytes())


class Check:
    """A release, and what was found of it in an output."""

    def __init__(self, out: Path, release: Path, findings: Findings) -> None:
        self.out = out
        self.edits = read_edits(release)
        self.pictures = Pictures(release)
        self.findings = findings
        lines = (out / "rejections.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        self.rejections = [json.loads(line) for line in lines]

    def sample(self, where: str, sample: Sample) -> collections.Counter[str]:
        """Compares one sample with its row."""
        record = sample["json"]
        pair_id = record["pair_id"]
        at, edit = f"{where}, {pair_id}", self.edits.get(pair_id)
        if edit is None:
            self.findings.add(at, "the release has no such edit")
            return collections.Counter()
        pictures = self.pictures.of(edit["row"])
        wanted = wanted_record(pair_id, edit, pictures)
        found = {key: record.get(key) for key in wanted}
        for difference in differences(wanted, found, "json"):
            self.findings.add(at, difference)
        better = [label["value"] for label in record["labels"] if label["name"] == "better_data"]
        if better != [json.dumps(edit["row"]["better_data"])]:
            self.findings.add(at, f"better_data is {better}")
        for role, data in pictures.items():
            given = sample[f"{role}.png"]
            given = given["bytes"] if isinstance(given, dict) else given
            right = same_mask(data, given) if role == "mask" else data == given
            if not right:
                self.findings.add(at, f"{role} is another picture")
        status = record["box"]["status"]
        return collections.Counter({"pairs": 1, "pictures": len(pictures), f"boxes {status}": 1,
                                    f"better_data {better}": 1, record["language"]: 1})

    def whole(self, where: str, samples: Iterable[Sample]) -> None:
        """Compares all that a library gives, and looks for edits that are nowhere."""
        seen: list[str] = []
        counts: collections.Counter[str] = collections.Counter()
        for sample in samples:
            counts += self.sample(where, sample)
            seen.append(sample["json"]["pair_id"])
        rejected = [rejection["pair_id"] for rejection in self.rejections]
        missing = sorted(self.edits.keys() - set(seen) - set(rejected))
        if missing or len(set(seen)) != len(seen) or set(seen) & set(rejected):
            self.findings.add(where, f"missing {missing[:5]}, {len(seen)} samples for {len(set(seen))} ids")
        told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        print(f"{where}: {told}; {len(rejected)} rejected of {len(self.edits)} edits")


def with_datasets(datasets: Any, out: Path, streaming: bool) -> Iterator[Sample]:
    """The samples of all splits."""
    loaded = load(datasets, str(out), streaming)
    for split in loaded.values():
        yield from undecoded(datasets, split)


def with_webdataset(webdataset: Any, out: Path) -> Iterator[Sample]:
    """The samples of all shards."""
    shards = sorted(str(shard) for shard in (out / "data").glob("*.tar"))
    yield from webdataset.WebDataset(shards, shardshuffle=False).decode()


def with_wids(wids: Any, out: Path) -> Iterator[Sample]:
    """The samples of all splits, by their indexes."""
    for index in sorted(out.glob("wids-*.json")):
        dataset = open_wids(wids, index, transformations=[])
        for sample in (undotted(dataset[place]) for place in range(len(dataset))):
            yield {**sample, "json": json.loads(sample["json"])}


def main() -> None:
    """Compares with every library that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("release", type=Path)
    parser.add_argument("--need", default="", help="fail where one of these is not installed")
    args = parser.parse_args()
    needed = set(filter(None, args.need.split(",")))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HF_HOME"] = tempfile.tempdir = scratch
        check = Check(args.out.resolve(), args.release, Findings())
        if datasets := quiet_datasets(needed):
            where = f"datasets {datasets.__version__}"
            check.whole(f"{where} cached", with_datasets(datasets, check.out, False))
            check.whole(f"{where} streaming", with_datasets(datasets, check.out, True))
        if webdataset := library("webdataset", needed):
            where = f"webdataset {getattr(webdataset, '__version__', '')}"
            check.whole(where, with_webdataset(webdataset, check.out))
        if wids := library("wids", needed):
            check.whole(f"wids {wids.__version__}", with_wids(wids, check.out))
        check.findings.end()
    print("complete: every edit of the release is there or listed as rejected")


if __name__ == "__main__":
    main()
