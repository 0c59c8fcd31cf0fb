"""Checks that releases which were converted together are all in the output, against the right
answers that lie beside them.

usage: check_together.py OUT RELEASES

OUT is a Parquet output or one in folders, of the three releases in the folder RELEASES, which also has
a `NAME.expected.jsonl` for each. Every line of these is looked for and compared: texts, types,
splits, boxes, what each picture is (digest, size, type), and how much of it each mask covers. What is
expected to be missing has to be in `rejections.jsonl`, and nothing else may be in the output. Ends
with 1 at any difference.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pyarrow.parquet
from compare import Findings, differences, open_image, sha256

Row = dict[str, Any]
# How far a mask may be from the area that is expected, as a share of the picture. Those of ImgEdit
# are on a grid of their own, and their area is that of the edit.
CLOSE = {"inter-edit-train": 1e-6, "imgedit": 0.002}


def parquet_rows(out: Path) -> Iterator[Row]:
    """The rows of a Parquet output, with the bytes of pictures in place of their columns."""
    for file in sorted((out / "data").glob("*.parquet")):
        for row in pyarrow.parquet.read_table(file).to_pylist():
            for role in ("source", "target", "mask"):
                row[role] = row[role] and row[role]["bytes"]
            row["references"] = [reference["bytes"] for reference in row["references"]]
            yield row


def folder_rows(out: Path) -> Iterator[Row]:
    """The same of an output in folders, whose rows name their files from the folder they are in."""
    for metadata in sorted(out.glob("*/metadata.parquet")):
        def read(name: str | None, folder: Path = metadata.parent) -> bytes | None:
            return None if name is None else (folder / name).read_bytes()

        for row in pyarrow.parquet.read_table(metadata).to_pylist():
            for role in ("source", "target", "mask"):
                row[role] = read(row[f"{role}_file_name"])
            row["references"] = [read(name) for name in row["references_file_names"]]
            yield row


def file_of(data: bytes) -> Row:
    """A picture as the expected lines have it."""
    image = open_image(data)
    return {"sha256": sha256(data), "width": image.width, "height": image.height,
            "format": str(image.format).lower()}


def edited(row: Row) -> numpy.ndarray:
    """The edited pixels of a pair's mask, which has to be in its written form."""
    mask = open_image(row["mask"])
    pixels = numpy.asarray(mask)
    if mask.mode != "L" or not set(numpy.unique(pixels)) <= {0, 255}:
        raise ValueError(f"the mask is {mask.mode} with {numpy.unique(pixels)[:5]}")
    return pixels == 255


def close(row: Row, area: float | None, found: Row) -> Row:
    """The area of a mask, which is the expected one where it is close to it."""
    if area is None or row["mask"] is None:
        return {**found, "area": None if row["mask"] is None else "there is a mask"}
    share = float(edited(row).mean())
    return {**found, "area": area if abs(share - area) <= CLOSE[row["dataset"]] else share}


def label(row: Row, name: str) -> str | None:
    """The value of a label."""
    return next((of["value"] for of in row["labels"] if of["name"] == name), None)


# Each gives the ids of the pairs that a line expects, and for a pair what is expected and found.
Pairs = Iterator[tuple[str, Callable[[Row], tuple[Row, Row]] | None]]


def inter_edit(line: Row) -> Pairs:
    """A line of Inter-Edit-Train: one pair."""
    def compare(row: Row) -> tuple[Row, Row]:
        box = row["box"]
        want = {key: line[key] for key in
                ("instruction", "language", "bounding_box", "reference", "source", "target")}
        found = {
            "instruction": row["instruction"], "language": row["language"],
            "bounding_box": [box[edge] for edge in ("x0", "y0", "x1", "y1")],
            "reference": [box["frame_width"], box["frame_height"]],
            "source": file_of(row["source"]), "target": file_of(row["target"]),
        }
        want["bounding_box"] = [float(edge) for edge in want["bounding_box"]]
        want |= {"edit_type": line["edit_type"].lower(), "native": [line["edit_type"]],
                 "better_data": str(line["better_data"]).lower(), "area": line["mask_area"],
                 "mask size": [line["mask"][side] for side in ("width", "height")]}
        found |= {"edit_type": row["edit_type"], "native": row["edit_type_native"],
                  "better_data": label(row, "better_data"),
                  "mask size": list(open_image(row["mask"]).size)}
        return want, close(row, line["mask_area"], found)

    yield f"inter-edit-train:{line['sample_id']:07}", compare


def imgedit(line: Row) -> Pairs:
    """A line of ImgEdit: one pair, or none."""
    def compare(row: Row) -> tuple[Row, Row]:
        keys = ("parquet", "turn", "instruction", "premise", "inputs", "output", "edit_type")
        want = {**{key: line[key] for key in keys}, "area": line["edit_area"]}
        found = {
            "parquet": row["subset"], "turn": row["turn"], "instruction": row["instruction"],
            "premise": row["premise"], "edit_type": label(row, "task"),
            "inputs": [file_of(data) for data in (row["source"], *row["references"])],
            "output": file_of(row["target"]),
        }
        return want, close(row, line["edit_area"], found)

    turn = "" if line["turn"] is None else f":{line['turn']}"
    yield f"imgedit:{line['parquet']}:{line['row']}{turn}", None if line["missing"] else compare


def pape(line: Row) -> Pairs:
    """A line of PAPE: two pairs of one group, which say themselves how far their masks overlap."""
    # The manifests of COCO have numbers where the expected ids have twelve digits.
    image_id = line["image_id"]
    image_id = image_id.lstrip("0") if line["subset"] == "COCO" else image_id
    group = f"pape:{line['subset']}:{line['editor']}:{image_id}:{line['language']}"
    masks = []
    for variant in ("normal", "abnormal"):
        def compare(row: Row, variant: str = variant) -> tuple[Row, Row]:
            masks.append(edited(row))
            keys = ("subset", "editor", "language", "split", "source")
            want = {**{key: line[key] for key in keys}, "target": line[variant],
                    "instruction": line[f"{variant}_prompt"], "group_id": group,
                    "variant": variant, "edit_type": "replace",
                    "mask size": [line[f"mask_{variant}"][side] for side in ("width", "height")]}
            found = {key: row[key] for key in
                     ("subset", "editor", "language", "split", "instruction", "group_id",
                      "variant", "edit_type")}
            found |= {"source": file_of(row["source"]), "target": file_of(row["target"]),
                      "mask size": list(open_image(row["mask"]).size)}
            if len(masks) == 2:
                both, either = masks[0] & masks[1], masks[0] | masks[1]
                want["iou"], found["iou"] = line["iou"], round(float(both.sum() / either.sum()), 4)
            return want, found

        yield f"{group}:{variant}", compare


DATASETS = {"Inter-Edit-Train": inter_edit, "ImgEdit": imgedit, "PAPE": pape}


def main() -> None:
    """Compares the output with every line that is expected."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, releases = map(Path, sys.argv[1:])
    findings = Findings()

    def differs(pair_id: str, what: str) -> None:
        findings.add(f"{pair_id.split(':')[0]}, {pair_id}", what)

    read = parquet_rows if (out / "data").is_dir() else folder_rows
    rows: dict[str, Row] = {}
    for row in read(out):
        if rows.setdefault(row["pair_id"], row) is not row:
            differs(row["pair_id"], "it is there twice")
    rejections = out / "rejections.jsonl"
    lines = rejections.read_text(encoding="utf-8").splitlines() if rejections.exists() else []
    rejected = {json.loads(line)["pair_id"] for line in lines}
    pairs = 0
    for name, pairs_of in DATASETS.items():
        text = (releases / f"{name}.expected.jsonl").read_text(encoding="utf-8")
        for line in map(json.loads, text.splitlines()):
            for pair_id, compare in pairs_of(line):
                row = rows.pop(pair_id, None)
                if compare is None:
                    if row is not None or pair_id not in rejected:
                        differs(pair_id, "it has no pictures and is not among the rejections")
                    rejected.discard(pair_id)
                elif row is None:
                    differs(pair_id, "it is not there")
                else:
                    pairs += 1
                    for difference in differences(*compare(row)):
                        differs(pair_id, difference)
    for pair_id in rows:
        differs(pair_id, "nothing like it is expected")
    for pair_id in rejected:
        differs(pair_id, "it is rejected and should not be")
    findings.end()
    print(f"complete: {pairs} pairs are as expected, field by field")


if __name__ == "__main__":
    main()
