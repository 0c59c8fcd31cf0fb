"""Checks that a Parquet output is complete in the libraries that people load it with.

usage: check_parquet.py OUT TRUTH [--need datasets,polars,duckdb,torch]

The truth is what the example `mixed_set` writes, or what `as_written.py` makes of the same pairs as
WebDataset. Every record is compared field by field,
in value and type, and every picture in bytes and in pixels: with pyarrow, with `datasets` from its
cache and streaming, by torch's loader, with polars and with DuckDB, as far as they are installed. The files' own
structure is looked at too: a picture is a page by itself, as it was in the release. Ends with 1 at
any difference.
"""

import argparse
import json
import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow
import pyarrow.parquet
from check_webdataset import KEYS, Pair, Truth, read_truth, wrong_bytes
from compare import (
    Findings, differences, library, load, open_image, quiet_datasets, same_pixels, sha256, undecoded,
    with_workers,
)

# The columns of pictures, which stand before `pictures`.
PICTURES = ("source", "references", "target", "mask")
COLUMNS = [*KEYS[: KEYS.index("pictures")], *PICTURES, *KEYS[KEYS.index("pictures") :]]

IMAGE = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])

# A row as a library gives it: the record's keys, and the columns of pictures.
Row = dict[str, Any]
# What is wrong with a picture as it was given: its role, what was given, its digest.
See = Callable[[str, Any, str], str | None]


def record_of(pair: Pair) -> Row:
    """The record of a pair in this layout: pictures have columns of their own, so no part is named."""
    record = json.loads(json.dumps(pair["record"]))
    pictures = record["pictures"]
    for picture in (pictures["source"], *pictures["references"], pictures["target"], pictures["mask"]):
        if picture is not None:
            picture.pop("part")
    return record


def see_bytes(role: str, given: Any, digest: str) -> str | None:
    """A struct of bytes and a name."""
    if set(given) != {"bytes", "path"}:
        return f"it has {sorted(given)}"
    return wrong_bytes(role, given["bytes"], digest)


def see_picture(by_digest: dict[str, bytes]) -> See:
    """A decoded picture, by the bytes with that digest."""
    def see(_: str, given: Any, digest: str) -> str | None:
        same = same_pixels(open_image(by_digest[digest]), given)
        return None if same else f"its pixels are others ({given!r})"

    return see


class Check:
    """The truth, what was found, and the bytes of every picture once the files were read."""

    def __init__(self, folder: Path, truth: Truth, findings: Findings) -> None:
        self.folder, self.truth, self.findings = folder, truth, findings
        self.bytes: dict[str, bytes] = {}

    def remember(self, role: str, data: bytes) -> None:
        """Keeps the bytes of a picture by their digest: a mask's is that of its pixels."""
        digest = sha256(open_image(data).tobytes() if role == "mask" else data)
        self.bytes[digest] = data

    def files(self, split: str) -> list[Path]:
        """The files of a split, in order."""
        return sorted((self.folder / "data").glob(f"{split}-*.parquet"))

    def whole(self, where: str, rows_of: Callable[[str], Iterable[Row]], see: See) -> None:
        """Compares every split as a library gives it."""
        told, pictures = [], 0
        for split, pairs in self.truth.items():
            count = 0
            try:
                for count, row in enumerate(rows_of(split), 1):
                    if count <= len(pairs):
                        at = f"{where}, {split} {count - 1}"
                        pictures += self.row(at, pairs[count - 1], dict(row), see)
            except Exception as error:  # Whatever a library raises, its user would see it too.
                self.findings.add(f"{where}, {split}", f"raised {error!r:.300}")
                traceback.print_exc()
            if count != len(pairs):
                self.findings.add(f"{where}, {split}", f"{count} rows, not {len(pairs)}")
            told.append(f"{split} {len(pairs)}")
        print(f"{where}: {', '.join(told)} pairs and {pictures} pictures were looked at")

    def row(self, at: str, pair: Pair, row: Row, see: See) -> int:
        """Compares a row with its pair; says how many pictures were right."""
        if list(row) != COLUMNS:
            self.findings.add(at, f"its columns are {list(row)}")
        given = {name: row.pop(name, None) for name in PICTURES}
        for difference in differences(record_of(pair), row, "row"):
            self.findings.add(at, difference)
        digests, right = pair["sha256"], 0
        if len(given["references"]) != len(digests["references"]):
            self.findings.add(at, f"it has {len(given['references'])} references")
        wanted = [(name, given[name], digests[name]) for name in ("source", "target", "mask")]
        wanted += [("reference", *of) for of in zip(given["references"], digests["references"])]
        for role, picture, digest in wanted:
            if (picture is None) != (digest is None):
                self.findings.add(at, f"{role}: it is there or missing where it should not be")
            elif picture is not None:
                wrong = see(role, picture, digest)
                right += not wrong
                if wrong:
                    self.findings.add(at, f"{role}: {wrong}")
        return right


def check_files(check: Check) -> None:
    """The files by themselves: what readers are told, and how the bytes of pictures lie in them."""
    schemas, groups = set(), 0
    for split in check.truth:
        for path in check.files(split):
            file = pyarrow.parquet.ParquetFile(path)
            schemas.add(file.schema_arrow.to_string(show_schema_metadata=True))
            groups += file.metadata.num_row_groups
            check_columns(check, f"files, {path.name}", file)
            for row in file.read(columns=list(PICTURES)).to_pylist():
                singles = [(role, row[role]) for role in ("source", "target", "mask")]
                for role, picture in [*singles, *(("reference", of) for of in row["references"])]:
                    if picture is not None:
                        check_path(check, f"files, {path.name}", role, picture)
    if groups <= len(check.files("*")) or len(check.files("train")) < 2:
        check.findings.add("files", "so few files and row groups show too little")
    if len(schemas) != 1:
        check.findings.add("files", f"{len(schemas)} schemas")
    print(f"files: {groups} row groups of one schema")


def check_path(check: Check, at: str, role: str, picture: Row) -> None:
    """The name of a picture, from whose end `datasets` tells the type; keeps its bytes."""
    ends = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tif"}
    image = open_image(picture["bytes"])
    if picture["path"].count(".") != 2 or not picture["path"].endswith("." + ends[image.format]):
        check.findings.add(at, f"a {image.format} is called {picture['path']}")
    check.remember(role, picture["bytes"])


def check_columns(check: Check, at: str, file: Any) -> None:
    """Types, metadata, encodings and compression."""
    schema = file.schema_arrow
    if schema.names != COLUMNS:
        check.findings.add(at, f"its columns are {schema.names}")
    for name in PICTURES:
        want = pyarrow.list_(pyarrow.field("element", IMAGE)) if name == "references" else IMAGE
        if schema.field(name) != pyarrow.field(name, want):
            check.findings.add(at, f"{name} is {schema.field(name)}")
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    if list(features) != COLUMNS:
        check.findings.add(at, f"its features are {list(features)}")
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        for column in map(group.column, range(group.num_columns)):
            if not column.has_offset_index:
                check.findings.add(at, f"{column.path_in_schema} has no offset index")
            if column.path_in_schema.split(".")[0] in PICTURES and column.path_in_schema.endswith("bytes"):
                plain = set(column.encodings) == {"PLAIN", "RLE"} and column.compression == "UNCOMPRESSED"
                if not plain or column.is_stats_set or column.has_column_index:
                    check.findings.add(at, f"{column.path_in_schema} is not as it should be")


def check_datasets(check: Check, datasets: ModuleType) -> None:
    """`datasets`, from the cache and streaming, with nothing said but the folder; and by its files."""
    folder = str(check.folder)
    for streaming in (False, True):
        where = f"datasets {datasets.__version__}, {'streaming' if streaming else 'cached'}"
        loaded = load(datasets, folder, streaming)
        if list(loaded) != list(check.truth):
            check.findings.add(where, f"its splits are {list(loaded)}, not {list(check.truth)}")
        raw = {split: undecoded(datasets, loaded[split]) for split in loaded}
        check.whole(f"{where}, bytes", raw.__getitem__, see_bytes)
        check.whole(f"{where}, pixels", loaded.__getitem__, see_picture(check.bytes))

    def by_files(split: str) -> Any:
        files = [str(path) for path in check.files(split)]
        options = {"data_files": files, "split": "train", "cache_dir": tempfile.mkdtemp(prefix="cache-")}
        return datasets.load_dataset("parquet", **options)

    check.whole(f"datasets {datasets.__version__}, data_files", by_files, see_picture(check.bytes))
    for split in check.truth:
        for lost in {check.files(split)[0], check.files(split)[-1]}:
            aside = lost.rename(lost.with_suffix(".aside"))
            try:
                load(datasets, folder, False)
                check.findings.add(f"datasets, {lost.name}", "it is not missed")
            except Exception as error:  # Which one is up to the library.
                print(f"datasets, {lost.name} missing: {type(error).__name__}")
            finally:
                aside.rename(lost)


def check_loader(check: Check, torch: ModuleType, datasets: ModuleType, see: See) -> None:
    """Torch's loader, its processes reading what `datasets` has in its cache."""
    loaded = load(datasets, str(check.folder), False)

    def rows(split: str) -> Any:
        return with_workers(torch, undecoded(datasets, loaded[split]))

    check.whole(f"torch {torch.__version__}, 2 workers", rows, see)


def check_pyarrow(check: Check) -> None:
    """pyarrow, file by file, and a row in the middle by its row group."""
    def rows(split: str) -> Iterator[Row]:
        for path in check.files(split):
            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(3):
                yield from batch.to_pylist()

    check.whole(f"pyarrow {pyarrow.__version__}", rows, see_bytes)


def check_polars(check: Check, polars: ModuleType) -> None:
    """polars, read at once and as a plan."""
    def rows(split: str) -> Iterator[Row]:
        return polars.read_parquet(check.files(split)).iter_rows(named=True)

    def scanned(split: str) -> Iterator[Row]:
        return polars.scan_parquet(check.files(split)).collect().iter_rows(named=True)

    check.whole(f"polars {polars.__version__}, read", rows, see_bytes)
    check.whole(f"polars {polars.__version__}, scanned", scanned, see_bytes)


def check_duckdb(check: Check, duckdb: ModuleType) -> None:
    """DuckDB, and a question that passes over the pictures."""
    def rows(split: str) -> list[Row]:
        files = [str(path) for path in check.files(split)]
        relation = duckdb.read_parquet(files)
        names = relation.columns
        return [dict(zip(names, row)) for row in relation.fetchall()]

    check.whole(f"duckdb {duckdb.__version__}", rows, see_bytes)
    asked = f"select count(*) from '{check.folder}/data/*.parquet' where mask is not null"
    ((masks,),) = duckdb.sql(asked).fetchall()
    wanted = sum(pair["sha256"]["mask"] is not None for pairs in check.truth.values() for pair in pairs)
    if masks != wanted:
        check.findings.add("duckdb, masks", f"{masks}, not {wanted}")


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
        check = Check(args.folder.resolve(), read_truth(args.truth), findings)
        check_files(check)
        check_pyarrow(check)
        if datasets := quiet_datasets(needed):
            check_datasets(check, datasets)
            if torch := library("torch", needed):
                check_loader(check, torch, datasets, see_bytes)
        if polars := library("polars", needed):
            check_polars(check, polars)
        if duckdb := library("duckdb", needed):
            check_duckdb(check, duckdb)
        findings.end()
    print("complete: every record, field and picture is there")


if __name__ == "__main__":
    main()
