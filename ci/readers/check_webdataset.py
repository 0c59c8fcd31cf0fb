"""Checks that a WebDataset output is complete in the libraries that people load it with.

usage: check_webdataset.py OUT/wds OUT/truth.jsonl [--need datasets,webdataset,wids,torch] [--easy]

The truth is what the example `mixed_set` writes; with `--easy` it may be of any output, such as
`as_written.py` makes it. Every record is compared field by field, in
value and type, and every picture in bytes and in pixels, with whatever of `datasets`,
`webdataset` and `wids` is installed, and with torch's loader where torch is. Ends with 1 at any
difference.
"""

import argparse
import collections
import json
import os
import re
import shutil
import tarfile
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from compare import (
    Findings, differences, library, load, open_image, open_wids, quiet_datasets, same_pixels,
    sha256, undecoded, undotted, with_workers,
)
from PIL import Image

# The keys of a record, in order.
KEYS = (
    "pair_id dataset subset split session_id turn base premise group_id variant inverse_of"
    " edit_type edit_type_native instruction language instructions captions editor pictures"
    " mask_grid mask_origin box regions scores labels licence native"
).split()

Pair = dict[str, Any]
# Pairs by split, in order.
Truth = dict[str, list[Pair]]
# A sample as a library gives it: `__key__`, `json` and each picture by its part.
Sample = dict[str, Any]
# Whether what a library gave for a picture is right: the pair, its part, what was given.
See = Callable[[str, str, Any], str | None]
# What becomes of a shard that is to be missed.
Lose = Callable[[Path], None]


def read_truth(path: Path) -> Truth:
    """The truth, split by split."""
    truth: Truth = collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        pair = json.loads(line)
        truth[pair["split_file"]].append(pair)
    return dict(truth)


def pictures_of(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """Role, part and digest of each picture of a pair, in the order of the members."""
    pictures, digests = pair["record"]["pictures"], pair["sha256"]
    yield "source", pictures["source"]["part"], digests["source"]
    for index, (reference, digest) in enumerate(zip(pictures["references"], digests["references"])):
        yield f"reference{index}", reference["part"], digest
    yield "target", pictures["target"]["part"], digests["target"]
    if pictures["mask"] is not None:
        yield "mask", pictures["mask"]["part"], digests["mask"]


def wrong_bytes(role: str, data: bytes, digest: str) -> str | None:
    """What is wrong with the bytes of a picture. A mask may be written anew: its pixels count."""
    if role != "mask":
        return None if sha256(data) == digest else "its bytes are others"
    mask = open_image(data)
    if (mask.format, mask.mode) != ("PNG", "L"):
        return f"it is {mask.format} in mode {mask.mode}, not a grey PNG"
    return None if sha256(mask.tobytes()) == digest else "its pixels are others"


class Check:
    """The truth with all pictures' bytes, once the archives were read."""

    def __init__(self, folder: Path, truth: Truth, findings: Findings) -> None:
        self.folder = folder
        self.truth = truth
        self.findings = findings
        self.bytes: dict[tuple[str, str], bytes] = {}

    def shards(self, split: str) -> list[Path]:
        """The shards of a split, in order."""
        return sorted((self.folder / "data").glob(f"{split}-*.tar"))

    def samples(self, where: str, split: str, samples: Iterable[Sample], see: See) -> int:
        """Compares the samples of a split with the truth; says how many pictures were right."""
        pairs, count, right = self.truth[split], 0, 0
        for count, sample in enumerate(samples, 1):
            if count > len(pairs):
                continue
            pair = pairs[count - 1]
            at = f"{where}, {split} {count - 1} ({pair['record']['pair_id']})"
            for difference in differences(pair["record"], sample.get("json"), "json"):
                self.findings.add(at, difference)
            right += self.pictures(at, pair, sample, see)
        if count != len(pairs):
            self.findings.add(f"{where}, {split}", f"{count} samples, not {len(pairs)}")
        return right

    def pictures(self, at: str, pair: Pair, sample: Sample, see: See) -> int:
        """Compares a sample's pictures, and looks for any that should not be there."""
        right = 0
        parts = {part: role for role, part, _ in pictures_of(pair)}
        for part, role in parts.items():
            given = sample.get(part)
            wrong = "it is missing" if given is None else see(pair["record"]["pair_id"], part, given)
            if wrong:
                self.findings.add(at, f"{part}: {wrong}")
            right += not wrong
        for name, given in sample.items():
            if name not in parts and name != "json" and not name.startswith("__") and given is not None:
                self.findings.add(at, f"{name} should not be there")
        return right

    def whole(self, where: str, split_samples: Callable[[str], Iterable[Sample]], see: See) -> None:
        """Compares every split as a library gives it."""
        told, pictures = [], 0
        for split, pairs in self.truth.items():
            try:
                pictures += self.samples(where, split, split_samples(split), see)
            except Exception as error:  # Whatever a library raises, its user would see it too.
                self.findings.add(f"{where}, {split}", f"raised {error!r:.300}")
                traceback.print_exc()
            told.append(f"{split} {len(pairs)}")
        print(f"{where}: {', '.join(told)} pairs and {pictures} pictures were looked at")

    # What may be given for a picture.

    def see_bytes(self, pair_id: str, part: str, given: Any) -> str | None:
        """Bytes, or a struct of `datasets` that holds them."""
        data = given["bytes"] if isinstance(given, dict) else given
        return None if data == self.bytes[pair_id, part] else "its bytes are others"

    def see_pixels(self, pair_id: str, part: str, given: Any) -> str | None:
        """A picture as it is stored."""
        want = open_image(self.bytes[pair_id, part])
        return None if same_pixels(want, given) else f"its pixels are others ({given!r})"

    def see_wids(self, pair_id: str, part: str, given: Any) -> str | None:
        """A picture as it is stored, where `wids` decodes its type; else its bytes."""
        see = self.see_pixels if part.endswith((".jpg", ".png")) else self.see_bytes
        return see(pair_id, part, given)

    def see_rgb(self, pair_id: str, part: str, given: Any) -> str | None:
        """A picture turned into RGB."""
        if not isinstance(given, Image.Image):
            return f"it is {type(given).__name__}, no picture"
        want = open_image(self.bytes[pair_id, part]).convert("RGB")
        return None if same_pixels(want, given) else f"its pixels are others ({given!r})"


def members(shard: Path, findings: Findings) -> Iterator[tuple[str, str, bytes]]:
    """Key, field and bytes of each member of a shard, and what a plain archive must be."""
    data = shard.read_bytes()
    with tarfile.open(shard, "r:", errorlevel=2) as tar:
        for member in tar:
            header = data[member.offset : member.offset + 512]
            fixed = (member.mode, member.uid, member.gid, member.uname, member.gname, member.mtime)
            plain = member.type == tarfile.REGTYPE and member.offset_data - member.offset == 512
            if not plain or fixed != (0o644, 0, 0, "", "", 0) or any(header[345:]):
                findings.add(f"archives, {shard.name}, {member.name}", "it is no plain member")
            key, field = member.name.split(".", 1)
            stream = tar.extractfile(member)
            yield key, field, stream.read() if stream else b""
        end = (tar.members[-1].offset_data + tar.members[-1].size + 511) // 512 * 512
    if data[end:] != bytes(1024):
        findings.add(f"archives, {shard.name}", f"it ends with {len(data) - end} bytes, not 1024 zeros")


def check_archives(check: Check) -> None:
    """Reads the shards as archives, and keeps the pictures' bytes for what follows."""
    keys: list[str] = []
    for split, pairs in check.truth.items():
        shards, fields, left = check.shards(split), set(), iter(pairs)
        for shard in shards:
            samples: dict[str, list[tuple[str, bytes]]] = {}
            for key, field, data in members(shard, check.findings):
                samples.setdefault(key, []).append((field, data))
            for key, parts in samples.items():
                keys.append(key)
                check_sample(check, f"archives, {shard.name}, {key}", next(left, None), parts)
            fields.add(frozenset(field for parts in samples.values() for field, _ in parts))
        if next(left, None) is not None:
            check.findings.add(f"archives, {split}", "there are fewer samples than pairs")
        if len(shards) < 2:
            check.findings.add(f"archives, {split}", "one shard shows too little")
        print(f"archives: {split} {len(pairs)} pairs in {len(shards)} shards")
    folded = {key.casefold() for key in keys}
    if len(folded) != len(keys) or not all(re.fullmatch("[A-Za-z0-9=_-]{1,60}", key) for key in keys):
        check.findings.add("archives", "keys are not safe as names of files")


def check_sample(check: Check, at: str, pair: Pair | None, parts: list[tuple[str, bytes]]) -> None:
    """Compares the members of a sample: their order, the record's text, and the bytes."""
    if pair is None:
        return check.findings.add(at, "it should not be there")
    wanted = list(pictures_of(pair))
    names = ["json", *(part for _, part, _ in wanted)]
    if [name for name, _ in parts] != names:
        return check.findings.add(at, f"its members are {[n for n, _ in parts]}, not {names}")
    text = parts[0][1].decode("utf-8")
    record = json.loads(text)
    if list(record) != KEYS or "\n" in text:
        check.findings.add(at, f"its keys are {list(record)}")
    for difference in differences(pair["record"], record, "json"):
        check.findings.add(at, difference)
    for (role, part, digest), (_, data) in zip(wanted, parts[1:]):
        check.bytes[pair["record"]["pair_id"], part] = data
        if wrong := wrong_bytes(role, data, digest):
            check.findings.add(at, f"{part}: {wrong}")


def check_hardness(check: Check) -> None:
    """Sees that the set is still one that readers get wrong: it would be easy to soften it."""
    for split, pairs in check.truth.items():
        plain = [len(list(pictures_of(pair))) == 2 and not pair["record"]["scores"] for pair in pairs]
        masked = [pair["record"]["pictures"]["mask"] is not None for pair in pairs]
        if not all(plain[:8]) or (split != "test" and all(plain)) or any(masked[:8]):
            check.findings.add("the truth", f"{split} is too easy")


def check_datasets(check: Check, datasets: ModuleType) -> None:
    """`datasets`, from the cache and streaming, with nothing said but the folder."""
    folder = str(check.folder)
    for streaming in (False, True):
        where = f"datasets {datasets.__version__}, {'streaming' if streaming else 'cached'}"
        try:
            loaded = load(datasets, folder, streaming)
        except Exception as error:
            check.findings.add(where, f"raised {error!r:.500}")
            continue
        if list(loaded) != list(check.truth):
            check.findings.add(where, f"its splits are {list(loaded)}, not {list(check.truth)}")
        raw = {split: undecoded(datasets, loaded[split]) for split in loaded}
        check.whole(f"{where}, bytes", raw.__getitem__, check.see_bytes)
        check.whole(f"{where}, pixels", loaded.__getitem__, check.see_pixels)


def check_missing_shards(check: Check, where: str, lose: Lose, read: Callable[[Path, str], Any]) -> None:
    """Loses one shard after the other: reading must fail, not give fewer pairs."""
    noticed: collections.Counter[str] = collections.Counter()
    for split in check.truth:
        for shard in (check.shards(split)[0], check.shards(split)[-1]):
            with tempfile.TemporaryDirectory() as scratch:
                copy = Path(shutil.copytree(check.folder, Path(scratch) / "wds"))
                lose(copy / "data" / shard.name)
                try:
                    read(copy, split)
                    check.findings.add(where, f"{shard.name} is not missed")
                except Exception as error:
                    noticed[type(error).__name__] += 1
    print(f"{where}: missing shards noticed: {dict(noticed)}")


def remove(shard: Path) -> None:
    """Takes a shard away."""
    shard.unlink()


def rename(shard: Path) -> None:
    """Gives a shard another name, one that would still be found by a pattern."""
    shard.rename(shard.with_name(shard.name.replace("-of-", "-off-")))


def check_one_split(check: Check, datasets: ModuleType) -> None:
    """The call that the card gives."""
    for split, pairs in check.truth.items():
        cache = tempfile.mkdtemp(prefix="cache-")
        found = datasets.load_dataset(str(check.folder), split=split, cache_dir=cache)
        if len(found) != len(pairs):
            check.findings.add("datasets, split=", f"{split} has {len(found)}, not {len(pairs)}")


def check_webdataset(check: Check, webdataset: ModuleType) -> None:
    """`webdataset`: as bytes, decoded, and decoded with pictures. None of it needs torch."""
    def urls(split: str) -> str:
        shards = check.shards(split)
        last = shards[0].name.replace("-00000-of-", f"-{{00000..{len(shards) - 1:05}}}-of-")
        return str(check.folder / "data" / last)

    def opened(split: str) -> Any:
        return webdataset.WebDataset(urls(split), shardshuffle=False)

    def with_record(split: str) -> Iterator[Sample]:
        for sample in opened(split):
            yield {**sample, "json": json.loads(sample["json"])}

    where = f"webdataset {getattr(webdataset, '__version__', '')}"
    check.whole(f"{where}, bytes", with_record, check.see_bytes)
    check.whole(f"{where}, decode()", lambda split: opened(split).decode(), check.see_bytes)
    check.whole(f"{where}, decode('pil')", lambda split: opened(split).decode("pil"), check.see_rgb)


def in_order(pairs: list[Pair], samples: Iterable[Sample]) -> list[Sample]:
    """Samples that came in no order, as the truth has them; strangers come last."""
    places = {pair["record"]["pair_id"]: place for place, pair in enumerate(pairs)}
    return sorted(samples, key=lambda sample: places.get(sample["json"]["pair_id"], len(places)))


def check_wids(check: Check, wids: ModuleType) -> None:
    """`wids`, by the index beside the shards: as bytes, and decoded as it does by itself."""
    where = f"wids {wids.__version__}"

    def opened(folder: Path, split: str, **options: Any) -> Any:
        return open_wids(wids, folder / f"wids-{split}.json", **options)

    def read(folder: Path, split: str, **options: Any) -> list[Sample]:
        dataset = opened(folder, split, **options)
        return [undotted(dataset[index]) for index in range(len(dataset))]

    def with_record(split: str) -> Iterator[Sample]:
        for sample in read(check.folder, split, transformations=[]):
            yield {**sample, "json": json.loads(sample["json"])}

    check.whole(f"{where}, bytes", with_record, check.see_bytes)
    check.whole(f"{where}, decoded", lambda split: read(check.folder, split), check.see_wids)
    for split in check.truth:
        told = [(Path(of["url"]), of["filesize"]) for of in opened(check.folder, split).shards]
        if told != [(shard, shard.stat().st_size) for shard in check.shards(split)]:
            check.findings.add(f"{where}, {split}", f"its index says {told}")
    for lose in (remove, rename):
        check_missing_shards(check, f"{where}, {lose.__name__}d", lose, read)


def check_loader(check: Check, torch: ModuleType, webdataset: ModuleType, wids: ModuleType) -> None:
    """Torch's own loader with two processes: each pair once, whatever reads the shards."""
    def with_webdataset(split: str) -> list[Sample]:
        shards = [str(shard) for shard in check.shards(split)]
        dataset = webdataset.WebDataset(shards, shardshuffle=False).decode("pil")
        return in_order(check.truth[split], with_workers(torch, dataset))

    def with_wids(split: str) -> Iterator[Sample]:
        return map(undotted, with_workers(torch, open_wids(wids, check.folder / f"wids-{split}.json")))

    where = f"torch {torch.__version__}, 2 workers"
    check.whole(f"{where}, webdataset", with_webdataset, check.see_rgb)
    check.whole(f"{where}, wids", with_wids, check.see_wids)


def main() -> None:
    """Runs every check there is a library for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--need", default="", help="fail where one of these is not installed")
    parser.add_argument("--easy", action="store_true", help="the set need not be one that is hard to read")
    args = parser.parse_args()
    needed = set(filter(None, args.need.split(",")))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["HF_HOME"] = tempfile.tempdir = scratch
        findings = Findings()
        check = Check(args.folder.resolve(), read_truth(args.truth), findings)
        if not args.easy:
            check_hardness(check)
        check_archives(check)
        if datasets := quiet_datasets(needed):
            check_datasets(check, datasets)
            check_one_split(check, datasets)
            where = f"datasets {datasets.__version__}, cached"
            check_missing_shards(check, where, remove, lambda copy, _: load(datasets, str(copy), False))
        webdataset, wids = library("webdataset", needed), library("wids", needed)
        if webdataset:
            check_webdataset(check, webdataset)
        if wids:
            check_wids(check, wids)
        torch = library("torch", needed)
        if torch and webdataset and wids:
            check_loader(check, torch, webdataset, wids)
        findings.end()
    print("complete: every record, field and picture is there")


if __name__ == "__main__":
    main()
