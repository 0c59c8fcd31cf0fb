"""Checks our run lengths against pycocotools, in both ways.

usage: check_run_length.py COMMAND

COMMAND is the example `run_length` of the crate `diptych-pixels`, as it was built. A thousand
masks are drawn, the same ones each time. What pycocotools makes of each must be the runs and the
mask that the example makes of that string, and the example must make the same string of the
pixels. Ends with 1 at any difference.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from compare import Findings, open_image
from pycocotools import mask as coco

MASKS = 1000

# Widths and heights. The first ones are where columns and rows are easily mistaken.
SIZES = [(1, 1), (1, 2), (2, 1), (1, 97), (97, 1), (2, 3), (3, 2), (5, 64), (64, 5), (33, 31),
         (100, 141), (256, 192), (40, 1333)]

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def draw(generator: np.random.Generator, number: int) -> Pixels:
    """A mask of 0 and 1: empty, full, noise of some density, or boxes one over the other."""
    width, height = SIZES[number % len(SIZES)]
    kind = number // len(SIZES) % 6
    if kind < 2:
        return np.full((height, width), kind, np.uint8)
    if kind < 4:
        return (generator.random((height, width)) < generator.random()).astype(np.uint8)
    pixels = np.zeros((height, width), np.uint8)
    for _ in range(int(generator.integers(1, 6))):
        left, right = sorted(generator.integers(0, width + 1, 2))
        top, bottom = sorted(generator.integers(0, height + 1, 2))
        pixels[top:bottom, left:right] ^= 1
    return pixels


def ask(command: Path, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the example answers to each line."""
    given = "".join(json.dumps(line) + "\n" for line in lines)
    ran = subprocess.run([command], input=given, capture_output=True, check=True, text=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(answers) != len(lines):
        raise SystemExit(f"{len(answers)} answers to {len(lines)} lines")
    return answers


def main() -> None:
    """Compares every mask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", type=Path)
    command = parser.parse_args().command
    generator = np.random.default_rng(7)
    masks = [draw(generator, number) for number in range(MASKS)]
    strings = [coco.encode(np.asfortranarray(mask))["counts"].decode("ascii") for mask in masks]
    sides = [{"width": mask.shape[1], "height": mask.shape[0]} for mask in masks]
    decoded = ask(command, [{**size, "counts": counts} for size, counts in zip(sides, strings)])
    digits = ["".join(map(str, mask.ravel().tolist())) for mask in masks]
    encoded = ask(command, [{**size, "pixels": pixels} for size, pixels in zip(sides, digits)])

    findings = Findings()
    for number, (mask, counts) in enumerate(zip(masks, strings)):
        height, width = mask.shape
        where = f"{width}x{height}, mask {number}"
        image = open_image(bytes.fromhex(decoded[number]["mask"]))
        if image.mode != "L" or not np.array_equal(np.asarray(image), mask * 255):
            findings.add(where, "its pixels are others")
        runs = {"size": [height, width], "counts": decoded[number]["runs"]}
        if coco.frPyObjects(runs, height, width)["counts"] != counts.encode("ascii"):
            findings.add(where, f"its runs are {runs['counts']!r:.80}")
        if decoded[number]["padded"] != 0:
            findings.add(where, f"{decoded[number]['padded']} pixels are padded")
        if encoded[number]["counts"] != counts:
            findings.add(where, f"its string is {encoded[number]['counts']!r:.80}, not {counts!r:.80}")
    findings.end()
    edited = sum(int(mask.sum()) for mask in masks)
    print(f"run lengths: {MASKS} masks, {edited} edited pixels, the same both ways")


if __name__ == "__main__":
    main()
