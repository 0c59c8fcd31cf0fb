"""Checks that conditions choose the rows that DuckDB chooses.

usage: check_conditions.py PROGRAM CATALOG...

PROGRAM is the example `rows` of `diptych-condition`. Conditions are drawn from a grammar, always the
same ones, and answered by both over the catalogs and over one that is drawn here, in which much is
null. DuckDB is asked with its divisions by zero NULL, as ours are, and with `score('x')`, `label('x')`
and the length of a list in its own words. Ends with 1 where an answer differs, where one of the two
refuses what the other answers, or where something that is no condition is taken for one.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet

CONDITIONS = 1500
ROWS = 400
# A condition as it is written for ours and for DuckDB.
Both = tuple[str, str]

WORDS = ["add", "remove", "Add", "ÉCLAIR", "éclair", "it's", "100%", "a_b", "a\\b", "", "日本", "İstanbul", "ΣΑΣ"]
SCORES = ["gpt.average", "clip", "it's", "absent"]
LABELS = ["scene", "größe", "absent"]
TEXTS = [
    "pair_id", "dataset", "subset", "split", "session_id", "base", "group_id", "edit_type",
    "instruction", "language", "editor", "licence", "source.name", "source.media_type",
    "target.name", "target.media_type", "mask.grid", "mask.origin", "mask.combine", "mask.edited",
    "box.status", "source.address.kind",
]  # fmt: skip
WHOLES = [
    "turn", "source.width", "source.height", "target.width", "target.height",
    "source.address.length", "box.frame_width",
]  # fmt: skip
REALS = ["box.x0", "box.y1"]
LISTS = ["labels", "references", "regions", "instructions", "scores", "captions", "edit_type_native"]
RECORDS = ["mask", "target", "box", "source", "source.address"]
REFUSED = [
    "edit_typ = 'add'", 'edit_type = "add"', "scores('clip') > 1", "source.widht > 1", "5 >",
    "edit_type = 'a' AND", "edit_type IN (,)", "(turn = 1", "turn = 1)", "turn = 1; SELECT 1",
    "edit_type LIKE 'a!' ESCAPE '!'", "edit_type LIKE 'a' ESCAPE '!!'", "1 < turn < 3",
    "edit_type 'a'", "turn BETWEEN 1", "source > 4 + edit_type", "NOT", "'a", "length(1, 2) = 1",
]  # fmt: skip


def text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


class Grammar:
    """Draws conditions."""

    def __init__(self, seed: int, found: dict[str, list[str]]) -> None:
        """Texts that are compared with a column are mostly those that are `found` in it."""
        self.random = random.Random(seed)
        self.found = found
        self.used: Counter[str] = Counter()

    def name(self, path: str) -> Both:
        """A column, in any case or in quotes."""
        duck = ".".join(f'"{part}"' for part in path.split("."))
        kind = self.random.randrange(6)
        ours = path.upper() if kind == 0 else duck if kind == 1 else path
        return ours, duck

    def literal(self, path: str | None = None) -> Both:
        """A text, or NULL."""
        if self.random.random() < 0.06:
            return "NULL", "NULL"
        known = self.found.get(path or "", [])
        value = self.random.choice(known if known and self.random.random() < 0.75 else WORDS)
        return text(value), text(value)

    def text(self) -> tuple[str | None, Both]:
        """Something that is text, and which column it is."""
        if self.random.random() < 0.2:
            self.used["label"] += 1
            name = self.random.choice(LABELS)
            item = f"list_extract(list_filter(labels, lambda item: item.name = {text(name)}), 1)"
            return "label", (f"{self.case('label')}({text(name)})", f"{item}.value")
        path = self.random.choice(TEXTS)
        return path, self.name(path)

    def case(self, word: str) -> str:
        """A word of the language in either case."""
        return self.random.choice([word, word.upper(), word.capitalize()])

    def number(self, depth: int) -> Both:
        """A number of any kind; DuckDB's whole numbers are as wide as ours."""
        kind = self.random.randrange(12 if depth > 0 else 7)
        if kind == 0:
            value = self.random.choice(["0", "1", "2", "-1", "512", "768", "1024", "3", "-7", "NULL"])
            return value, value
        if kind == 1:
            value = self.random.choice(["0.5e0", "4.25e0", "-1.5e0", "1e2", "0e0", "3.75e0"])
            return value, value
        if kind in (2, 3):
            self.used["score"] += 1
            name = self.random.choice(SCORES)
            item = f"list_extract(list_filter(scores, lambda item: item.name = {text(name)}), 1)"
            return f"{self.case('score')}({text(name)})", f"{item}.value"
        if kind == 4:
            if self.random.random() < 0.5:
                self.used["length of a list"] += 1
                ours, duck = self.name(self.random.choice(LISTS))
                return f"length({ours})", f"len({duck})"
            self.used["length"] += 1
            ours, duck = self.text()[1]
            return f"length({ours})", f"length({duck})"
        if kind in (5, 6):
            if self.random.random() < 0.3:
                return self.name(self.random.choice(REALS))
            ours, duck = self.name(self.random.choice(WHOLES))
            return ours, f"CAST({duck} AS BIGINT)"
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind == 11:
            self.used["minus"] += 1
            return f"-({left[0]})", f"-({left[1]})"
        operator = self.random.choice("+-*/%")
        self.used[operator] += 1
        wrap = self.random.choice(["{} {} {}", "({} {} {})"])
        return wrap.format(left[0], operator, right[0]), wrap.format(left[1], operator, right[1])

    def pattern(self, path: str | None) -> str:
        """A pattern of LIKE, made of a text that may be there."""
        known = self.found.get(path or "", [])
        value = self.random.choice(known if known and self.random.random() < 0.8 else WORDS)
        start = self.random.randrange(len(value) + 1)
        end = self.random.randrange(start, len(value) + 1)
        pieces = [self.random.choice(["%", ""]), value[start:end], self.random.choice(["%", "", "%_"])]
        pattern = list("".join(pieces))
        for place in range(len(pattern)):
            if self.random.random() < 0.12:
                pattern[place] = self.random.choice("_%")
        drawn = "".join(pattern)
        return drawn.upper() if self.random.random() < 0.2 else drawn

    def leaf(self) -> Both:
        """A condition without AND, OR and NOT."""
        kind = self.random.randrange(13)
        negated = self.random.choice(["", "NOT "])
        path, (ours, duck) = self.text()
        operator = self.random.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
        if kind == 0:
            self.used[f"text {operator}"] += 1
            value = self.literal(path) if self.random.random() < 0.8 else self.text()[1]
            return f"{ours} {operator} {value[0]}", f"{duck} {operator} {value[1]}"
        if kind in (1, 2):
            self.used[f"number {operator}"] += 1
            left, right = self.number(2), self.number(1)
            return f"{left[0]} {operator} {right[0]}", f"{left[1]} {operator} {right[1]}"
        if kind in (3, 4):
            self.used[f"{negated}LIKE"] += 1
            word = self.random.choice(["LIKE", "ILIKE"])
            pattern, escape = self.pattern(path), ""
            if self.random.random() < 0.3:
                self.used["ESCAPE"] += 1
                pattern = pattern.replace("!", "!!").replace("_", self.random.choice(["!_", "_"]))
                escape = " ESCAPE '!'"
            rest = f"{negated}{word} {text(pattern)}{escape}"
            return f"{ours} {rest}", f"{duck} {rest}"
        if kind in (5, 6):
            self.used[f"{negated}IN text"] += 1
            items = [self.literal(path) for _ in range(self.random.randrange(1, 6))]
            if self.random.random() < 0.2:
                items.append(self.text()[1])
            first, second = (", ".join(item[side] for item in items) for side in (0, 1))
            return f"{ours} {negated}IN ({first})", f"{duck} {negated}IN ({second})"
        if kind == 7:
            self.used[f"{negated}IN numbers"] += 1
            value = self.number(1)
            items = [self.number(0) for _ in range(self.random.randrange(1, 5))]
            first, second = (", ".join(item[side] for item in items) for side in (0, 1))
            return f"{value[0]} {negated}IN ({first})", f"{value[1]} {negated}IN ({second})"
        if kind == 8:
            self.used[f"{negated}BETWEEN numbers"] += 1
            value, low, high = self.number(1), self.number(1), self.number(0)
            return tuple(
                f"{value[side]} {negated}BETWEEN {low[side]} AND {high[side]}" for side in (0, 1)
            )
        if kind == 9:
            self.used[f"{negated}BETWEEN text"] += 1
            low, high = self.literal(path), self.literal(path)
            return (
                f"{ours} {negated}BETWEEN {low[0]} AND {high[0]}",
                f"{duck} {negated}BETWEEN {low[1]} AND {high[1]}",
            )
        if kind == 10:
            self.used[f"IS {negated}NULL"] += 1
            what = self.name(self.random.choice(RECORDS + LISTS))
            if self.random.random() < 0.5:
                what = self.random.choice([(ours, duck), self.number(0)])
            return f"{what[0]} IS {negated}NULL", f"{what[1]} IS {negated}NULL"
        if kind == 11:
            self.used[f"IS {negated}DISTINCT FROM"] += 1
            if self.random.random() < 0.5:
                left, right = self.number(1), self.number(1)
            else:
                left, right = (ours, duck), self.literal(path)
            middle = f"IS {negated}DISTINCT FROM"
            return f"{left[0]} {middle} {right[0]}", f"{left[1]} {middle} {right[1]}"
        self.used["a literal"] += 1
        value = self.random.choice(["TRUE", "false", "NULL"])
        return value, value

    def condition(self, depth: int) -> Both:
        """A condition; parentheses stand only where they are drawn."""
        kind = self.random.randrange(9) if depth > 0 else 8
        if kind < 5:
            word = self.random.choice(["AND", "OR"])
            self.used[word] += 1
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            wrap = self.random.choice(["{} {} {}", "({} {} {})", "{} {} ({})"])
            shown = self.case(word)
            return wrap.format(left[0], shown, right[0]), wrap.format(left[1], shown, right[1])
        if kind == 5:
            self.used["NOT"] += 1
            inner = self.condition(depth - 1)
            wrap = self.random.choice(["NOT {}", "NOT ({})"])
            return wrap.format(inner[0]), wrap.format(inner[1])
        if kind == 6:
            negated = self.random.choice(["", "NOT "])
            word = self.random.choice(["TRUE", "FALSE", "NULL"])
            self.used[f"IS {negated}{word}"] += 1
            inner = self.condition(depth - 1)
            return f"({inner[0]}) IS {negated}{word}", f"({inner[1]}) IS {negated}{word}"
        return self.leaf()


def drawn_rows(rows: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows with many nulls, few values and odd texts."""
    draw = random.Random(seed)

    def maybe(value: Any) -> Any:
        return value if draw.random() < 0.6 else None

    def address() -> dict[str, Any]:
        return {"kind": "range", "file": 0, "offset": 512, "length": draw.choice([0, 70, 5_000_000_000])}

    def picture() -> dict[str, Any]:
        return {
            "name": draw.choice(WORDS),
            "address": address(),
            "width": maybe(draw.choice([512, 768, 1024, 4294967295])),
            "height": maybe(draw.choice([512, 3])),
            "media_type": maybe(draw.choice(["image/png", "image/jpeg"])),
        }

    for row in range(rows):
        names = [draw.choice(SCORES[:3]) for _ in range(draw.randrange(4))]
        labels = [draw.choice(LABELS[:2]) for _ in range(draw.randrange(3))]
        box = {"x0": draw.choice([-0.0, 0.0, 1.5, 4.25]), "y0": 0.5, "x1": 2.0}
        box |= {"y1": draw.choice([3.75, 512.0]), "frame_width": 512, "frame_height": 3}
        mask = {"parts": [], "combine": "union", "edited": draw.choice(["white", "painted"])}
        yield {
            "pair_id": f"drawn:{row}",
            "dataset": draw.choice(["drawn", "Drawn"]),
            "subset": maybe(draw.choice(WORDS)),
            "split": maybe(draw.choice(["train", "val", "test"])),
            "session_id": maybe(draw.choice(WORDS)),
            "turn": maybe(draw.randrange(4)),
            "base": maybe("original"),
            "group_id": maybe(draw.choice(WORDS)),
            "edit_type": maybe(draw.choice(WORDS)),
            "edit_type_native": draw.choices(WORDS, k=draw.randrange(3)),
            "instruction": maybe(" ".join(draw.choices(WORDS, k=draw.randrange(4)))),
            "language": maybe(draw.choice(["en", "zh"])),
            "licence": maybe("CC BY 4.0"),
            "instructions": [{"text": "x", "language": None, "kind": None}] * draw.randrange(3),
            "captions": [{"text": "x", "language": None, "of": None}] * draw.randrange(2),
            "source": picture(),
            "references": [{**picture(), "role": None} for _ in range(draw.randrange(3))],
            "target": maybe(picture()),
            "mask": maybe({**mask, "grid": draw.choice(["source", "other"]), "origin": "release"}),
            "box": maybe({**box, "status": draw.choice(["ok", "degenerate"])}),
            "regions": [],
            "scores": [{"name": name, "value": draw.choice([-1.5, 0.0, -0.0, 3.75, 4.25, 5.0])} for name in names],
            "labels": [{"name": name, "value": draw.choice(WORDS)} for name in labels],
        }  # fmt: skip


def main() -> None:
    """Draws, asks both and compares."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, *catalogs = sys.argv[1:]
    files = [str(file) for folder in catalogs for file in sorted(Path(folder).glob("pairs-*.parquet"))]
    with tempfile.TemporaryDirectory() as folder:
        drawn = f"{folder}/pairs-00000.parquet"
        schema = pyarrow.parquet.read_schema(files[0])
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pylist(list(drawn_rows(ROWS, 1)), schema=schema), drawn
        )
        check(program, [*files, drawn])


def check(program: str, files: list[str]) -> None:
    """Asks both over the same files."""
    database = duckdb.connect()
    # What has no number is NULL: DuckDB's own default is an infinity, or an error.
    database.execute("SET ieee_floating_point_ops = false")
    database.execute("SET error_on_division_by_zero = false")
    database.execute("CREATE TABLE pairs AS SELECT * FROM read_parquet(?)", [files])

    def ask(query: str) -> list[Any]:
        return [row[0] for row in database.execute(query).fetchall()]

    found = {}
    for path in TEXTS:
        name = ".".join(f'"{part}"' for part in path.split("."))
        values = f"SELECT DISTINCT {name} FROM pairs WHERE {name} IS NOT NULL ORDER BY 1 LIMIT 50"
        found[path] = ask(values)
    found["label"] = ask("SELECT DISTINCT unnest(labels).value FROM pairs ORDER BY 1 LIMIT 50")

    grammar = Grammar(7, found)
    drawn = [grammar.condition(index % 5) for index in range(CONDITIONS)]
    # A condition is a line for the program.
    drawn = [both for both in drawn if "\n" not in both[0]]
    asked = [ours for ours, _ in drawn] + REFUSED
    answers = subprocess.run(
        [program, *files], input="\n".join(asked), capture_output=True, check=True, text=True
    ).stdout.split("\n")[:-1]
    assert len(answers) == len(asked), (len(answers), len(asked))

    wrong, sizes = 0, Counter()
    total = ask("SELECT count(*) FROM pairs")[0]
    for (ours, duck), answer in zip(drawn, answers, strict=False):
        given: Any = answer if answer.startswith("error ") else sorted(filter(None, answer.split("\t")))
        try:
            expected: Any = sorted(ask(f"SELECT pair_id FROM pairs WHERE {duck}"))
        except duckdb.OutOfRangeException:
            # Where whole numbers overflow DuckDB ends, and ours have NULL.
            sizes["overflow"] += 1
            continue
        except duckdb.Error as error:
            expected = f"error {error}"
        if given != expected:
            wrong += 1
            print(f"{ours}\n  in DuckDB {duck}\n  ours   {str(given)[:300]}\n  DuckDB {str(expected)[:300]}")
        sizes["no row" if not given else "all rows" if len(given) == total else "some rows"] += 1
    for ours, answer in zip(REFUSED, answers[len(drawn) :], strict=True):
        if not answer.startswith("error "):
            wrong += 1
            print(f"{ours}\n  is taken for a condition")
        try:
            ask(f"SELECT pair_id FROM pairs WHERE ({ours})")
        except duckdb.Error:
            continue
        wrong += 1
        print(f"{ours}\n  is taken for a condition by DuckDB")
    print(f"{len(drawn)} conditions over {total} pairs: {dict(sizes)}; {len(REFUSED)} refused; {wrong} wrong")
    print(dict(sorted(grammar.used.items())))
    missing = [path for path, values in found.items() if not values]
    if wrong or missing or sizes["overflow"] > 10 or sizes["some rows"] < 500:
        sys.exit(f"{wrong} answers differ; without values: {missing}")


if __name__ == "__main__":
    main()
