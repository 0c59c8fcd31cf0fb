"""The overlap (IoU) of each of some masks with the next one, from PNG to number, with OpenCV.

usage: overlap_masks.py RELEASE OUT [--n 200] [--jobs 2]

Needs `common.py` of the bench's peers on the path. Prints milliseconds a pair.
"""

import argparse
import os
import time
from multiprocessing import Pool

import cv2
import numpy as np
from common import TarPool, read_meta


def work(share):
    release, rows, part, jobs = share
    cv2.setNumThreads(1)
    pool, spent = TarPool(release), 0.0
    for at in range(part, len(rows), jobs):
        two = (rows[at], rows[(at + 1) % len(rows)])
        files = [pool.read(row["asset_archive"], row["mask_file"]) for row in two]
        begun = time.perf_counter()
        one, other = (cv2.imdecode(np.frombuffer(f, np.uint8), cv2.IMREAD_GRAYSCALE) for f in files)
        if one.shape == other.shape:
            one, other = (cv2.threshold(m, 127, 255, cv2.THRESH_BINARY)[1] for m in (one, other))
            shared = cv2.countNonZero(cv2.bitwise_and(one, other))
            _ = shared / max(1, cv2.countNonZero(cv2.bitwise_or(one, other)))
        spent += time.perf_counter() - begun
    return spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("release")
    parser.add_argument("out")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    rows = [row for row, _ in zip(read_meta(args.release), range(args.n))]
    with Pool(args.jobs) as processes:
        shares = [(args.release, rows, part, args.jobs) for part in range(args.jobs)]
        spent = sum(processes.map(work, shares)) / args.jobs
    print(f"{spent * 1000 / len(rows):.3f} ms a pair")
