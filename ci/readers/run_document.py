"""Runs what a document tells its readers to run.

usage: run_document.py DOCUMENT.md FOLDER MARK

In FOLDER, runs each code block that follows the comment `<!-- ci: MARK -->`, in order: `sh` with
bash, `python` with this interpreter. Ends with the exit code of the first that fails, and with 1
where nothing has the mark.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^<!-- ci: (\w+) -->\n+```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Runs the blocks."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    document, folder, wanted = sys.argv[1:]
    interpreters = {"sh": ["bash", "-euxo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    blocks = BLOCK.findall(Path(document).read_text(encoding="utf-8"))
    marked = [(language, code) for mark, language, code in blocks if mark == wanted]
    for language, code in marked:
        done = subprocess.run([*interpreters[language], code], cwd=folder, check=False)
        if done.returncode:
            sys.exit(done.returncode)
    if not marked:
        sys.exit(f"{document}: no block is marked with <!-- ci: {wanted} -->")
    print(f"{document}: {len(marked)} blocks were run", flush=True)


if __name__ == "__main__":
    main()
