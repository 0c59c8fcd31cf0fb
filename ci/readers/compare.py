"""What the checks of readers share: comparing, and saying what differs."""

import contextlib
import hashlib
import importlib
import importlib.util
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from PIL import Image

# How many differences are shown of one kind: the first say what is wrong.
SHOWN = 5


class Findings:
    """Differences, and where each was found: up to the first comma it names what it was found by."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, where: str, what: str) -> None:
        """Takes a difference in; the first ones are printed as they come."""
        kind = where.split(",")[0]
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            print(f"DIFFERENT: {where}: {what}")

    def end(self) -> None:
        """Ends the program with 1 where anything differs."""
        if self.counts:
            print("differences:", ", ".join(f"{kind} {n}" for kind, n in self.counts.items()))
            sys.exit(1)


def differences(want: Any, got: Any, path: str = "") -> Iterator[str]:
    """What differs between two values as JSON has them. Types count: 1 is not 1.0."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in want.keys() | got.keys():
            if key not in got:
                yield f"{path}.{key} is missing, not {want[key]!r:.80}"
            elif key not in want:
                yield f"{path}.{key} is {got[key]!r:.80} and should not be there"
            else:
                yield from differences(want[key], got[key], f"{path}.{key}")
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{path} has {len(got)} items, not {len(want)}"
        for index, (a, b) in enumerate(zip(want, got)):
            yield from differences(a, b, f"{path}[{index}]")
    elif type(want) is not type(got) or want != got or repr(want) != repr(got):
        # Numbers are compared as they are written, too: 0.0 equals -0.0.
        yield f"{path} is {got!r:.80} ({type(got).__name__}), not {want!r:.80} ({type(want).__name__})"


def sha256(data: bytes) -> str:
    """The digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def open_image(data: bytes) -> Image.Image:
    """A picture, decoded to its end."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def same_pixels(want: Image.Image, got: Image.Image) -> bool:
    """Whether two pictures are the same in mode, size and every pixel."""
    return (want.mode, want.size, want.tobytes()) == (got.mode, got.size, got.tobytes())


class Generic:
    """A class that others are made from, with types or without."""

    def __class_getitem__(cls, _: Any) -> type:
        return cls


def wids_without_torch() -> ModuleType:
    """`wids` where there is no torch: it derives its classes from two of torch's, and asks torch for
    nothing more as long as one machine reads. Modules of torch's names are there while it is
    imported, and not when others look whether there is a torch."""
    names = ("torch", "torch.distributed", "torch.utils", "torch.utils.data")
    modules = {name: ModuleType(name) for name in names}
    modules["torch"].distributed = modules["torch.distributed"]
    modules["torch.utils.data"].Dataset = modules["torch.utils.data"].Sampler = Generic
    sys.modules.update(modules)
    wids = importlib.import_module("wids")
    for name in names:
        del sys.modules[name]
    return wids


def library(name: str, needed: set[str]) -> ModuleType | None:
    """A library by its name; None where it is not installed and is not needed."""
    if importlib.util.find_spec(name) is None:
        if name in needed:
            sys.exit(f"{name} is not installed")
        print(f"{name}: not installed, left out")
        return None
    if name == "wids" and importlib.util.find_spec("torch") is None:
        return wids_without_torch()
    return importlib.import_module(name)


def quiet_datasets(needed: set[str]) -> ModuleType | None:
    """The library `datasets`: no network, no progress bars, and a cache of its own."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    datasets = library("datasets", needed)
    if datasets is not None:
        datasets.disable_progress_bars()
        datasets.logging.set_verbosity_error()
    return datasets


def load(datasets: ModuleType, folder: str, streaming: bool) -> Any:
    """Loads a folder as the card says, past any cache."""
    if streaming:
        return datasets.load_dataset(folder, streaming=True)
    return datasets.load_dataset(folder, cache_dir=tempfile.mkdtemp(prefix="cache-"))


def undecoded(datasets: ModuleType, split: Any) -> Any:
    """A split whose pictures are given as their bytes."""
    for name, feature in split.features.items():
        if isinstance(feature, datasets.Image):
            split = split.cast_column(name, datasets.Image(decode=False))
        elif isinstance(getattr(feature, "feature", None), datasets.Image):
            of = datasets.List if hasattr(datasets, "List") else datasets.Sequence  # Before 4.
            split = split.cast_column(name, of(datasets.Image(decode=False)))
        elif isinstance(feature, list) and isinstance(feature[0], datasets.Image):  # Before 4.
            split = split.cast_column(name, [datasets.Image(decode=False)])
    return split


def as_it_is(sample: Any) -> Any:
    """A sample, not made into tensors."""
    return sample


def with_workers(torch: ModuleType, dataset: Any) -> Any:
    """The samples of a dataset by torch's loader, in order, read by two processes."""
    loader = torch.utils.data.DataLoader
    return loader(dataset, batch_size=None, num_workers=2, collate_fn=as_it_is)


def open_wids(wids: ModuleType, index: Path, **options: Any) -> Any:
    """A split by its index, its shards read where they lie: by itself `wids` reads copies."""
    with contextlib.redirect_stderr(io.StringIO()):  # It prints a line for each index.
        return wids.ShardListDataset(str(index), localname=str, **options)


def undotted(sample: dict[str, Any]) -> dict[str, Any]:
    """A sample of `wids` as others give it: no dot before a part, and bytes where it has streams."""
    return {
        name.removeprefix("."): given.getvalue() if isinstance(given, io.BytesIO) else given
        for name, given in sample.items()
    }
