"""Says what an output holds, read by the standard library and Pillow alone.

usage: as_written.py OUT > TRUTH

OUT is a WebDataset output. A line for each sample, in the form of the `truth.jsonl` of the example
`mixed_set`: its record, the digests of its pictures (of a mask: of its pixels), and the split whose
files it is in. The other checks hold against it what the libraries make of the output; what is in
the output itself is tested elsewhere.
"""

import json
import sys
import tarfile
from pathlib import Path
from typing import Any

from compare import open_image, sha256


def digests(pictures: dict[str, Any], members: dict[str, bytes]) -> dict[str, Any]:
    """The digests of a sample's pictures, by role."""
    def of(picture: dict[str, Any] | None) -> str | None:
        return sha256(members[picture["part"]]) if picture else None

    mask = pictures["mask"]
    return {
        "source": of(pictures["source"]),
        "references": [of(reference) for reference in pictures["references"]],
        "target": of(pictures["target"]),
        "mask": sha256(open_image(members[mask["part"]]).tobytes()) if mask else None,
    }


def main() -> None:
    """Prints the lines."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for shard in sorted((Path(sys.argv[1]) / "data").glob("*.tar")):
        samples: dict[str, dict[str, bytes]] = {}
        with tarfile.open(shard, "r:") as tar:
            for member in tar:
                key, part = member.name.split(".", 1)
                file = tar.extractfile(member)
                samples.setdefault(key, {})[part] = file.read() if file else b""
        for members in samples.values():
            record = json.loads(members["json"])
            digest = digests(record["pictures"], members)
            line = {"record": record, "sha256": digest, "split_file": shard.name.split("-")[0]}
            print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
