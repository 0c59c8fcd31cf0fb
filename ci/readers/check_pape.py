"""Checks that an output in PAPE's layout is complete, by hand and in `datasets`.

usage: check_pape.py OUT [--release DIR --expected FILE] [--need datasets,torch]

By hand, OUT is read with json and Pillow, following nothing but the layout: each row of each
manifest names its files by role and base name, and may hold the records of its pairs under `extra`.
Then `load_dataset(OUT)` must give the same pairs, cached and streaming: each column of every record,
and each picture in bytes. With `--release` and `--expected`, every row and picture of a release of
PAPE must be there as it was, but for pairs that are listed as rejected. Ends with 1 at any
difference.
"""

import argparse
import json
import math
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from check_release import HAN
from check_webdataset import KEYS
from compare import (
    Findings, differences, library, load, open_image, quiet_datasets, sha256, undecoded, with_workers,
)
from PIL import Image, ImageChops

SIDES = ("normal", "abnormal")
SPLITS = ("train", "val", "test")

# The keys of a row that no row of PAPE was the origin of, in order.
ROW_KEYS = ("id image_id language object normal_prompt abnormal_prompt mask_iou mask_origin"
            " source_paths export_paths extra").split()

# Where files of a role lie below an editor's folder.
FOLDERS = {"source": "source", "normal": "normal", "abnormal": "abnormal",
           "mask_normal": "masks/normal", "mask_abnormal": "masks/abnormal",
           "references_normal": "references", "references_abnormal": "references"}

# How far an overlap that is stated may be from that of the masks: rows state four digits.
IOU = 0.0001

Row = dict[str, Any]


@dataclass
class Pair:
    """A pair as the layout tells it."""

    at: str
    pair_id: str
    # What its record says, as far as the layout tells.
    record: Row
    # Its files from the root of the output; of one that is not there None.
    files: dict[str, Any]
    split: str


@dataclass
class Line:
    """A row of a manifest with its pairs."""

    subset: str
    editor: str
    number: int
    text: str
    row: Row
    pairs: dict[str, Pair]


def base_name(path: str | None) -> str | None:
    """The last name of a path, whatever machine it is of."""
    return re.split(r"[/\\]", path)[-1] if path else None


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts in a value, with the key that each is under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)


def role_of(key: str, path: str) -> str | None:
    """What a path in a row is of: its key says it, else the folder that it was in."""
    for told in (key, "/".join(re.split(r"[/\\]", path)[-3:-1])):
        side = next((side for side in reversed(SIDES) if side in told), None)
        if "mask" in told and side:
            return f"mask_{side}"
        if role := side or ("source" if "source" in told else None):
            return role
    return None


def names_of(row: Row) -> dict[str, Any]:
    """The base names of a row's files by role."""
    names: dict[str, Any] = {role_of(key, path): base_name(path)
                             for key, path in leaves(row.get("export_paths"))}
    return {**names, **row.get("extra", {}).get("files", {})}


def same_id(image_id: Any) -> str:
    """An id of an image as ids are compared: as text, numbers without zeros in front."""
    text = str(image_id)
    return text.lstrip("0") if text.isdigit() else text


class Output:
    """An output, read by hand."""

    def __init__(self, root: Path, findings: Findings) -> None:
        self.root, self.findings = root, findings
        self.digests: dict[str, str] = {}
        self.splits = self.read_splits()
        self.lines = [line for manifest in sorted(root.glob("*/*/manifest.jsonl"))
                      for line in self.read_manifest(manifest)]
        pairs = [pair for line in self.lines for pair in line.pairs.values()]
        self.pairs = {pair.pair_id: pair for pair in pairs}
        if len(self.pairs) != len(pairs):
            findings.add("by hand", f"{len(pairs)} pairs have {len(self.pairs)} ids")

    def read_splits(self) -> dict[tuple[str, str], str]:
        """The split of each image: of several the strictest."""
        found: dict[tuple[str, str], str] = {}
        for file in sorted((self.root / "splits").glob("*.json")):
            for subset, splits in json.loads(file.read_text(encoding="utf-8")).items():
                for split in SPLITS if isinstance(splits, dict) else ():
                    ids = splits.get(split, [])
                    if len(set(map(str, ids))) != len(ids):
                        self.findings.add("by hand", f"{file.name}: {subset}: ids repeat")
                    found.update({(subset, same_id(image_id)): split for image_id in ids})
        return found

    def read_manifest(self, manifest: Path) -> Iterator[Line]:
        """The rows of an editor's folder."""
        subset, editor = manifest.parts[-3:-1]
        texts = manifest.read_text(encoding="utf-8").split("\n")[:-1]
        rows = [json.loads(text) for text in texts]
        ids = Counter((str(row.get("image_id")), row.get("language")) for row in rows)
        for number, (text, row) in enumerate(zip(texts, rows), 1):
            line = Line(subset, editor, number, text, row, {})
            repeated = ids[str(row.get("image_id")), row.get("language")] > 1
            for side in SIDES:
                if pair := self.read_side(line, side, repeated):
                    line.pairs[side] = pair
            if not line.pairs:
                self.findings.add("by hand", f"{subset}/{editor}, row {number} has no side")
            yield line

    def read_side(self, line: Line, side: str, repeated: bool) -> Pair | None:
        """A side of a row as a pair; None where the row has none."""
        names, extra = names_of(line.row), line.row.get("extra")
        record = extra[side] if extra else self.told(line, side, repeated)
        at = f"{line.subset}/{line.editor}, row {line.number}, {side}"
        if record is None or (not extra and not names.get(side)):
            if names.get(side) or names.get(f"mask_{side}") or line.row.get(f"{side}_prompt"):
                self.findings.add("by hand", f"{at} has no record, but a file or a prompt")
            return None
        folder = f"{line.subset}/{line.editor}"
        roles = {"source": "source", "target": side, "mask": f"mask_{side}"}
        files: dict[str, Any] = {of: self.file(at, folder, role, names.get(role))
                                 for of, role in roles.items()}
        role = f"references_{side}"
        files["references"] = [self.file(at, folder, role, name) for name in names.get(role, [])]
        split = self.splits.get((line.subset, same_id(line.row.get("image_id"))))
        if extra and record["split"] and SPLITS.index(record["split"]) > SPLITS.index(split or "train"):
            self.findings.add("by hand", f"{at} is of {record['split']}, its image of {split}")
        split = record["split"] if extra else split
        return Pair(at, record["pair_id"], record, files, split or "train")

    def file(self, at: str, folder: str, role: str, name: str | None) -> str | None:
        """The path of a file that a row names."""
        if name is None:
            return None
        path = f"{folder}/{FOLDERS[role]}/{name}"
        if path not in self.digests:
            try:
                self.digests[path] = sha256((self.root / path).read_bytes())
            except OSError as error:
                self.findings.add("by hand", f"{at}: {role}: {error}")
                return None
        return path

    def told(self, line: Line, side: str, repeated: bool) -> Row:
        """What a row of PAPE says of the record of its side."""
        row, instruction = line.row, line.row.get(f"{side}_prompt")
        image_id = str(row.get("image_id"))
        language = row.get("language")
        group = f"pape:{line.subset}:{line.editor}:{image_id}:{language or ''}"
        group += f"#{line.number}" if repeated else ""
        labels = {key: str(row[key]) for key in ("anomaly_category", "image_id", "object")
                  if row.get(key) is not None}
        iou = row.get("mask_iou")
        stated = isinstance(iou, (int, float)) and not isinstance(iou, bool)
        return {
            "pair_id": f"{group}:{side}",
            "dataset": "pape",
            "subset": line.subset,
            "split": self.splits.get((line.subset, same_id(image_id))),
            "group_id": group,
            "variant": side,
            "edit_type": "replace",
            "edit_type_native": [],
            "instruction": instruction,
            "language": language or ("zh" if HAN.search(instruction or "") else "en"),
            "editor": line.editor,
            "scores": [{"name": "mask_iou", "value": float(iou)}] if stated else [],
            "labels": [{"name": name, "value": labels[name]} for name in labels],
        }

    def image(self, path: str) -> Image.Image:
        """A picture of the output."""
        return open_image((self.root / path).read_bytes())


def check_rows(out: Output) -> None:
    """Rows that hold records agree with them, and no file is without a row."""
    for line in out.lines:
        extra, row = line.row.get("extra"), line.row
        if not extra:
            continue
        at = f"by hand, {line.subset}/{line.editor}, row {line.number}"
        if extra["diptych"] != 1 or set(extra) - {"change"} != {"diptych", *SIDES, "files"}:
            out.findings.add(at, f"extra has {list(extra)}")
        foreign = all(pair.record["dataset"] != "pape" for pair in line.pairs.values())
        if foreign and list(row) != ROW_KEYS:
            out.findings.add(at, f"its keys are {list(row)}")
        for side, pair in line.pairs.items():
            if list(pair.record) != KEYS:
                out.findings.add(at, f"the keys of {side} are {list(pair.record)}")
            if foreign and row[f"{side}_prompt"] != pair.record["instruction"]:
                out.findings.add(at, f"{side}_prompt is {row[f'{side}_prompt']!r:.80}")
            if foreign and row["mask_origin"][side] != pair.record["mask_origin"]:
                out.findings.add(at, f"mask_origin of {side} is {row['mask_origin'][side]}")
        for role, path in row["export_paths"].items() if foreign else ():
            name = extra["files"][role]
            if path != (name and f"{FOLDERS[role]}/{name}"):
                out.findings.add(at, f"{role} is {path} in export_paths and {name} in extra")
    pictures = {path.relative_to(out.root).as_posix() for folder in set(FOLDERS.values())
                for path in out.root.glob(f"*/*/{folder}/*") if path.is_file()}
    if stray := sorted(pictures - set(out.digests)):
        out.findings.add("by hand", f"{len(stray)} files are of no row: {stray[:3]}")


def check_pictures(out: Output) -> None:
    """Sizes are as the records say, and masks are binary and on the grid that they are said to be on."""
    for pair in out.pairs.values():
        at, told = f"by hand, {pair.at}", pair.record.get("pictures")
        for role in ("source", "target", "mask"):
            file = pair.files[role]
            size = out.image(file).size if file else None
            if told and size != (told[role] and (told[role]["width"], told[role]["height"])):
                out.findings.add(at, f"{role} is {size}, not {told[role]}")
        sizes = [out.image(file).size for file in pair.files["references"] if file]
        if told and sizes != [(of["width"], of["height"]) for of in told["references"]]:
            out.findings.add(at, f"references are {sizes}, not {told['references']}")
        if mask := pair.files["mask"] and out.image(pair.files["mask"]):
            grid = pair.record.get("mask_grid", "source")
            if mask.size != out.image(pair.files["target" if grid == "target" else "source"]).size:
                out.findings.add(at, f"the mask is {mask.size}, not on the grid of the {grid}")
            colours = {colour for _, colour in mask.getcolors(2) or []}
            # A mask of PAPE may be as it was published, any other has its one written form.
            if not colours or (told and not (mask.mode == "L" and colours <= {0, 255})):
                out.findings.add(at, f"the mask is {mask.mode} with {colours or 'more than two colours'}")


def edited(mask: Image.Image) -> Image.Image:
    """A mask of one bit: edited or not."""
    return mask.convert("L").point(lambda value: 255 if value else 0).convert("1")


def iou_of(out: Output, line: Line) -> float | None:
    """How far the masks of a row's two sides are the same; None where there are not two."""
    files = [pair.files["mask"] for pair in line.pairs.values()]
    if len(files) < 2 or None in files:
        return None
    one, other = (edited(out.image(file)) for file in files)
    if one.size != other.size:
        return None
    either = ImageChops.logical_or(one, other).histogram()[255]
    return ImageChops.logical_and(one, other).histogram()[255] / either if either else None


def check_ious(out: Output) -> dict[tuple[str, str, int], float]:
    """The overlaps of all rows; where a row states one, it is that of its masks."""
    found: dict[tuple[str, str, int], float] = {}
    for line in out.lines:
        iou, stated = iou_of(out, line), line.row.get("mask_iou")
        if iou is not None:
            found[line.subset, line.editor, line.number] = iou
        if isinstance(stated, float) and (iou is None or not math.isclose(iou, stated, abs_tol=IOU)):
            out.findings.add(f"by hand, {line.subset}/{line.editor}, row {line.number}",
                             f"its masks overlap by {iou}, it says {stated}")
    return found


def file_digest(root: Path, given: dict[str, Any] | None) -> tuple[str | None, str | None]:
    """The path from the root, and the digest, of a picture that `datasets` gives undecoded."""
    if given is None:
        return None, None
    path = Path(given["path"])
    data = given["bytes"] if given["bytes"] is not None else path.read_bytes()
    return path.relative_to(root).as_posix() if path.is_absolute() else None, sha256(data)


def check_sample(out: Output, at: str, pair: Pair, sample: Row) -> None:
    """Compares a row that `datasets` gives with what was read by hand."""
    given = {role: file_digest(out.root, sample[role]) for role in ("source", "target", "mask")}
    wanted = {role: (pair.files[role], out.digests.get(pair.files[role])) for role in given}
    if given != wanted:
        out.findings.add(at, f"its pictures are {given}, not {wanted}")
    references = [file_digest(out.root, reference) for reference in sample["references"]]
    if references != [(file, out.digests.get(file)) for file in pair.files["references"]]:
        out.findings.add(at, f"its references are {references}, not {pair.files['references']}")
    record = {key: sample[key] for key in KEYS}
    told = pair.record
    if "native" not in told:
        # A row of PAPE says part of its record; the labels may be more than the row's.
        labels = [label for label in record["labels"] if label["name"] in {of["name"] for of in told["labels"]}]
        record = {**{key: record[key] for key in told}, "labels": labels}
    for difference in differences(told, record, "record"):
        out.findings.add(at, difference)


def check_datasets(out: Output, datasets: ModuleType, torch: ModuleType | None) -> None:
    """`load_dataset(OUT)` gives the pairs that are there, in their splits; torch's loader, too."""
    major = int(datasets.__version__.split(".")[0])
    without_mask = sum(pair.files["mask"] is None for pair in out.pairs.values())
    if major < 4 or (major < 5 and without_mask):
        why = "some pairs have no mask" if major == 4 else "it finds no metadata in this layout"
        print(f"datasets {datasets.__version__}: left out, {why}")
        return
    # What a row without records begins to say in `native`.
    native = {pair.pair_id: f'{{"row":{line.text}' for line in out.lines
              for pair in line.pairs.values() if "extra" not in line.row}
    wanted = Counter(pair.split for pair in out.pairs.values())
    for how in ("cached", "streaming", *(["torch, 2 workers"] if torch else [])):
        where = f"datasets {datasets.__version__}, {how}"
        try:
            loaded = load(datasets, str(out.root), how == "streaming")
        except Exception as error:
            out.findings.add(where, f"raised {error!r:.500}")
            continue
        if list(loaded) != [split for split in SPLITS if wanted[split]]:
            out.findings.add(where, f"its splits are {list(loaded)}, not {dict(wanted)}")
        counts: Counter[str] = Counter()
        seen: set[str] = set()
        for split, rows in loaded.items():
            samples = undecoded(datasets, rows)
            for sample in with_workers(torch, samples) if how.startswith("torch") else samples:
                pair = out.pairs.get(sample["pair_id"])
                at = f"{where}, {sample['pair_id']}"
                if pair is None or pair.pair_id in seen or pair.split != split:
                    out.findings.add(at, f"it is in {split}, and {pair and pair.split} by hand")
                    continue
                seen.add(pair.pair_id)
                check_sample(out, at, pair, sample)
                if not (sample["native"] or "").startswith(native.get(pair.pair_id, "")):
                    out.findings.add(at, f"native is {sample['native']!r:.80}")
                counts.update({"pairs": 1, split: 1, "masks": int(sample["mask"] is not None),
                               "references": len(sample["references"])})
            # Again as users see them, decoded.
            for sample in rows:
                roles, pictures = ("source", "target", "mask"), sample["pictures"]
                sizes = [sample[role] and sample[role].size for role in roles]
                told = [of and (of["width"], of["height"]) for of in map(pictures.get, roles)]
                if sizes != told:
                    out.findings.add(f"{where}, {sample['pair_id']}", f"sizes are {sizes}, not {told}")
        if missing := sorted(out.pairs.keys() - seen):
            out.findings.add(where, f"{len(missing)} pairs are missing: {missing[:3]}")
        print(f"{where}: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")


def read_rejected(root: Path) -> set[tuple[str, ...]]:
    """Pairs that are listed as rejected: subset, editor, image, language and side."""
    lines = (root / "rejections.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    ids = [(json.loads(line).get("pair_id") or "").split(":") for line in lines]
    return {(subset, editor, same_id(image_id), language.split("#")[0], side)
            for dataset, subset, editor, image_id, language, side in (of for of in ids if len(of) == 6)
            if dataset == "pape"}


def check_expected(out: Output, ious: dict[tuple[str, str, int], float], release: Path, expected: Path) -> None:
    """Every row and picture of a release of PAPE is there as it was."""
    found: dict[tuple[str, str, str, Any], list[Line]] = defaultdict(list)
    for line in out.lines:
        if any(pair.record["dataset"] == "pape" for pair in line.pairs.values()):
            subset = line.subset.removeprefix("pape-")
            found[subset, line.editor, same_id(line.row["image_id"]), line.row.get("language")].append(line)
    rows: dict[tuple[str, str], list[Row]] = {}
    rejected, counts = read_rejected(out.root), Counter[str]()
    for text in expected.read_text(encoding="utf-8").splitlines():
        told = json.loads(text)
        folder = told["subset"], told["editor"]
        if folder not in rows:
            manifest = release.joinpath(*folder, "manifest.jsonl").read_text(encoding="utf-8")
            rows[folder] = [json.loads(row) for row in manifest.split("\n")[:-1]]
        original = rows[folder][told["line"] - 1]
        at = f"the release, {'/'.join(folder)}, row {told['line']}"
        lines = found[*folder, same_id(told["image_id"]), told["language"]]
        line = next((line for line in lines if same_row(original, line.row)), None)
        sides = [side for side in SIDES if told.get(side)]
        missing = [side for side in sides if line is None or side not in line.pairs]
        counts.update({"rejected": len(missing), "rows": line is not None})
        for side in missing:
            if (*folder, same_id(told["image_id"]), told["language"], side) not in rejected:
                out.findings.add(at, f"{side} is neither there nor rejected")
        if line is None:
            continue
        lines.remove(line)
        for side, pair in line.pairs.items():
            check_side(out, at, told, side, pair)
            counts["pairs"] += 1
        iou = ious.get((line.subset, line.editor, line.number))
        if iou is not None and not math.isclose(iou, told["iou"], abs_tol=IOU):
            out.findings.add(at, f"the masks overlap by {iou}, not {told['iou']}")
    if left := [line for lines in found.values() for line in lines]:
        out.findings.add("the release", f"{len(left)} rows are not of the release: {left[0].text:.80}")
    print(f"the release: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")


def same_row(original: Row, row: Row) -> bool:
    """Whether a row is one of the release: as it was, or with `extra` and null where a side is not."""
    written = {key: value for key, value in row.items() if key != "extra"}
    if "extra" not in row:
        return list(written.items()) == list(original.items())
    return all(written.get(key) in (value, None) or isinstance(value, dict)
               for key, value in original.items())


def check_side(out: Output, at: str, told: Row, side: str, pair: Pair) -> None:
    """Compares a pair with what is expected of it."""
    if pair.record["instruction"] != told[f"{side}_prompt"]:
        out.findings.add(at, f"the prompt of {side} is {pair.record['instruction']!r:.80}")
    if (pair.record["split"] or "train") != (told["split"] or "train"):
        out.findings.add(at, f"{side} is of {pair.record['split']}, not {told['split']}")
    for role, of in (("source", "source"), ("target", side), ("mask", f"mask_{side}")):
        file, wanted = pair.files[role], told[of]
        if (file is None) != (wanted is None):
            out.findings.add(at, f"{role} of {side} is {file}, not {wanted}")
        elif file:
            image = out.image(file)
            given = {"sha256": out.digests[file], "width": image.width, "height": image.height,
                     "format": (image.format or "").lower()}
            if given != wanted:
                out.findings.add(at, f"{role} of {side} is {given}, not {wanted}")


def main() -> None:
    """Reads the output by hand, and compares it with whatever there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--release", type=Path, help="the release of PAPE that OUT was made from")
    parser.add_argument("--expected", type=Path, help="what is in that release, a line for each row")
    parser.add_argument("--need", default="", help="fail where one of these is not installed")
    args = parser.parse_args()
    if (args.release is None) != (args.expected is None):
        parser.error("--release and --expected go together")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HF_HOME"] = tempfile.tempdir = scratch
        findings = Findings()
        out = Output(args.out.resolve(), findings)
        check_rows(out)
        check_pictures(out)
        ious = check_ious(out)
        least = f", at least {min(ious.values()):.4f}" if ious else ""
        splits = Counter(pair.split for pair in out.pairs.values())
        print(f"by hand: {len(out.pairs)} pairs in {len(out.lines)} rows, {len(out.digests)} pictures,"
              f" {dict(splits)}; {len(ious)} rows with two masks{least}")
        if not out.pairs:
            findings.add("by hand", "there is no pair")
        needed = set(filter(None, args.need.split(",")))
        if datasets := quiet_datasets(needed):
            check_datasets(out, datasets, library("torch", needed))
        if args.expected:
            check_expected(out, ious, args.release, args.expected)
        findings.end()
    print("complete: every row, record and picture is there")


if __name__ == "__main__":
    main()
