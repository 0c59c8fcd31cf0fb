"""Checks that a folder output is complete, by hand and in `datasets`.

usage: check_folder.py OUT TRUTH [--need datasets,torch]

The truth is what the example `mixed_set` writes, or what `as_written.py` makes of the same pairs as
WebDataset. Every record is compared field by field, in value and type, and every picture in bytes
and in pixels: by hand, and with `load_dataset(OUT)` and `load_dataset("imagefolder", data_dir=OUT)`,
from the cache and streaming. A table of JSON lines has its types guessed by `datasets`: it is read a
split at a time there, with the features that the card declares, which is what the documents say. Then
folders are made as they should not be, to see that the readers still fail at them. Ends with 1 at any
difference.
"""

import argparse
import datetime
import json
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow
import pyarrow.parquet
from check_parquet import COLUMNS, PICTURES, Check, Row, check_loader, see_picture
from check_webdataset import read_truth, wrong_bytes
from compare import Findings, library, load, open_image, quiet_datasets, undecoded

ROLES = {"source": "source", "references": "reference", "target": "target", "mask": "mask"}
NAMES = {role: f"{role}_file_names" if role == "references" else f"{role}_file_name" for role in PICTURES}
FILE_COLUMNS = [NAMES.get(column, column) for column in COLUMNS]
ENDS = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tif"}

# What Windows keeps for devices, as the part of a name before its dot.
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)

SPLITS = ("train", "val", "test")

# Rows whose pictures lie in one folder.
ROWS = 1000

DATE = re.compile(r"\d{4}-\d\d-\d\d")


class FolderCheck(Check):
    """An output of folders: the truth, what was found, and the bytes of every picture."""

    def table(self, split: str) -> Path:
        """The table of a split."""
        tables = list((self.folder / split).glob("metadata.*"))
        if len(tables) != 1:
            self.findings.add("files", f"{split} has the tables {tables}")
        return tables[0]

    def is_lines(self) -> bool:
        """Whether tables are JSON lines."""
        return self.table(next(iter(self.truth))).suffix == ".jsonl"

    def rows(self, split: str) -> list[Row]:
        """The rows of a table."""
        table = self.table(split)
        if table.suffix == ".jsonl":
            return [json.loads(line) for line in table.read_text(encoding="utf-8").split("\n")[:-1]]
        return pyarrow.parquet.read_table(table).to_pylist()

    def see_file(self, role: str, given: Any, digest: str) -> str | None:
        """A path, or a struct of `datasets` with one."""
        path = given if isinstance(given, Path) else Path(given["path"])
        return wrong_bytes(role, path.read_bytes(), digest)


def check_by_hand(check: FolderCheck) -> None:
    """Names and places of all files, and what the tables say."""
    files = {path for path in check.folder.rglob("*") if path.is_file()}
    beside = ("README.md", "report.json", "rejections.jsonl", "splits.parquet")
    files -= {check.folder / name for name in beside}
    files -= {check.table(split) for split in check.truth}

    def rows_of(split: str) -> list[Row]:
        rows = []
        for number, row in enumerate(check.rows(split)):
            if list(row) != FILE_COLUMNS:
                check.findings.add(f"by hand, {split} {number}", f"its columns are {list(row)}")
            given: Row = {}
            for column in COLUMNS:
                value = row[NAMES.get(column, column)]
                if column == "references":
                    value = [check.folder / split / name for name in value]
                elif column in PICTURES and value is not None:
                    value = check.folder / split / value
                given[column] = value
            for role in PICTURES:
                paths = given[role] if role == "references" else [given[role]]
                for index, path in enumerate(path for path in paths if path is not None):
                    at = f"by hand, {path.relative_to(check.folder)}"
                    check_name(check, at, role, number, index, path)
                    if path not in files:
                        check.findings.add(at, "it is not there, or named twice")
                    files.discard(path)
                    check.remember(role, path.read_bytes())
            rows.append(given)
        return rows

    check.whole("by hand", rows_of, check.see_file)
    for path in files:
        check.findings.add("by hand", f"{path.relative_to(check.folder)}: no row names it")


def check_name(check: FolderCheck, at: str, role: str, number: int, index: int, path: Path) -> None:
    """The name of a picture's file: safe everywhere, with the true extension."""
    stem, dot, end = path.name.partition(".")
    key = stem.removesuffix(f"-{index}") if role == "references" else stem
    if not re.fullmatch("[a-zA-Z0-9=_-]{1,60}", key) or not dot or DEVICES.fullmatch(stem):
        check.findings.add(at, "its name is not safe")
    if role == "references" and key == stem:
        check.findings.add(at, f"it is not number {index}")
    if ENDS[open_image(path.read_bytes()).format] != end:
        check.findings.add(at, "its extension is of another type")
    # Some were rejected while they were written: the others keep the places that they had.
    place = f"{ROLES[role]}/{number // ROWS:05}"
    if not str(path.parent).endswith(place):
        check.findings.add(at, f"it is not in {place}")


def check_folded(check: FolderCheck) -> None:
    """No two names are one where case is folded."""
    names = Counter(str(path).casefold() for path in check.folder.rglob("*"))
    for name, count in names.items():
        if count > 1:
            check.findings.add("names", f"{name} is there {count} times")


def check_tables(check: FolderCheck) -> None:
    """The tables by themselves: one schema, which holds no types of its own where nothing is."""
    schemas = set()
    for split in check.truth:
        file = pyarrow.parquet.ParquetFile(check.table(split))
        schema = file.schema_arrow
        schemas.add(schema.to_string(show_schema_metadata=True))
        for role, name in NAMES.items():
            text = pyarrow.string()
            want = pyarrow.list_(pyarrow.field("element", text)) if role == "references" else text
            if schema.field(name) != pyarrow.field(name, want):
                check.findings.add(f"tables, {split}", f"{name} is {schema.field(name)}")
    if len(schemas) != 1:
        check.findings.add("tables", f"{len(schemas)} schemas")


def check_datasets(check: FolderCheck, datasets: ModuleType) -> None:
    """`datasets`, from the cache and streaming, by the card and by the builder's name."""
    version = f"datasets {datasets.__version__}"
    has_all_masks = all(pair["sha256"]["mask"] for pairs in check.truth.values() for pair in pairs)
    if int(datasets.__version__.split(".")[0]) < 5 and not has_all_masks:
        check_refusal(check, datasets, version)
        return
    folder = str(check.folder)
    for streaming in (False, True):
        how = "streaming" if streaming else "cached"
        by_card = load(datasets, folder, streaming)
        if list(by_card) != [split for split in SPLITS if split in check.truth]:
            check.findings.add(version, f"its splits are {list(by_card)}, not {list(check.truth)}")
        whole(check, datasets, f"{version}, {how}", by_card)
        options = {"streaming": True} if streaming else {"cache_dir": tempfile.mkdtemp(prefix="cache-")}
        by_name = datasets.load_dataset("imagefolder", data_dir=folder, **options)
        # By the folders' names, without the card.
        named = {{"validation": "val"}.get(split, split): by_name[split] for split in by_name}
        whole(check, datasets, f"{version}, imagefolder, {how}", named)


def whole(check: FolderCheck, datasets: ModuleType, where: str, loaded: Any) -> None:
    """Compares what was loaded, split by split."""
    raw = {split: undecoded(datasets, loaded[split]) for split in loaded}
    check.whole(f"{where}, files", raw.__getitem__, check.see_file)
    check.whole(f"{where}, pixels", loaded.__getitem__, see_picture(check.bytes))


def check_refusal(check: FolderCheck, datasets: ModuleType, version: str) -> None:
    """What the card says of versions before 5: a mask that is not there is an error."""
    try:
        for split in load(datasets, str(check.folder), False).values():
            list(split)
        check.findings.add(version, "it loads, and the card says that it does not")
    except Exception as error:  # Which one is up to the library.
        cause = error.__cause__ or error
        print(f"{version}: {type(cause).__name__}, as the card says")


def check_lines(check: FolderCheck, datasets: ModuleType) -> None:
    """JSON lines: a split at a time, with the features that the card declares."""
    version = f"datasets {datasets.__version__}"
    features = datasets.load_dataset_builder(str(check.folder)).info.features
    if list(features) != COLUMNS:
        check.findings.add(f"{version}, features", f"they are {list(features)}")
    for streaming in (False, True):
        def loaded(split: str) -> Any:
            options = {"streaming": True} if streaming else {"cache_dir": tempfile.mkdtemp(prefix="c-")}
            files = {split: str(check.folder / split / "**")}
            return datasets.load_dataset(
                "imagefolder", data_files=files, features=features, split=split, **options)

        by_split = {split: loaded(split) for split in check.truth}
        told = [split for split, pairs in check.truth.items() if are_dates(pairs)]
        for split in told:
            # What a table of text cannot prevent, and the documents tell of.
            seen = next(iter(by_split.pop(split)))["instruction"]
            print(f"{version}, {split}: where all instructions are dates, {seen!r} is made of them")
            if DATE.fullmatch(seen):
                check.findings.add(version, "dates stay as they are, and the documents deny it")
        truth, check.truth = check.truth, {s: p for s, p in check.truth.items() if s not in told}
        whole(check, datasets, f"{version}, lines, {'streaming' if streaming else 'cached'}", by_split)
        check.truth = truth


def are_dates(pairs: list[Row]) -> bool:
    """Whether every instruction looks like a date."""
    return all(DATE.fullmatch(pair["record"]["instruction"] or "") for pair in pairs)


def check_wrong_forms(check: FolderCheck, datasets: ModuleType) -> None:
    """Forms that are not written: that readers fail at them without a word is why."""
    split, pairs = next(iter(check.truth.items()))
    rows = [row for row in check.rows(split) if row["mask_file_name"] is None][:4]
    if int(datasets.__version__.split(".")[0]) < 5 or len(rows) < 2:
        return

    def loaded(changed: list[Row]) -> Any:
        folder = Path(tempfile.mkdtemp(prefix="wrong-"))
        for row in rows:
            for name in (row["source_file_name"], row["target_file_name"]):
                (folder / "train" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "train" / name).write_bytes((check.folder / split / name).read_bytes())
        lines = "".join(json.dumps(row) + "\n" for row in changed)
        (folder / "train" / "metadata.jsonl").write_text(lines)
        return load(datasets, str(folder), False)["train"]

    bare = loaded([
        {"target_file_name": row["target_file_name"], "file_name": row["source_file_name"]}
        for row in rows])
    source = open_image((check.folder / split / rows[0]["source_file_name"]).read_bytes())
    if bare[0]["target"].tobytes() != source.tobytes() or bare[0]["image"] is not None:
        check.findings.add("wrong forms", "a bare file_name beside others does no harm any more")
    names = ("source_file_name", "target_file_name", "mask_file_name")
    lines = loaded([{**{name: row[name] for name in names}, "instruction": "2024-01-01"} for row in rows])
    if not isinstance(lines[0]["instruction"], datetime.datetime):
        check.findings.add("wrong forms", "dates in lines stay text")
    if "mask" in lines.features or lines[0]["mask_file_name"] is not None:
        check.findings.add("wrong forms", "a mask that is null in every line has its column")
    print("wrong forms: a bare file_name, dates in lines, masks that are null in all lines")


def main() -> None:
    """Runs every check there is a library for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--need", default="", help="fail where one of these is not installed")
    args = parser.parse_args()
    needed = set(filter(None, args.need.split(",")))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HF_HOME"] = tempfile.tempdir = scratch
        findings = Findings()
        check = FolderCheck(args.folder.resolve(), read_truth(args.truth), findings)
        check_by_hand(check)
        check_folded(check)
        if not check.is_lines():
            check_tables(check)
        if datasets := quiet_datasets(needed):
            if check.is_lines():
                check_lines(check, datasets)
            else:
                check_datasets(check, datasets)
                check_wrong_forms(check, datasets)
                if torch := library("torch", needed):
                    check_loader(check, torch, datasets, check.see_file)
        findings.end()
    print("complete: every record, field and picture is there")


if __name__ == "__main__":
    main()
