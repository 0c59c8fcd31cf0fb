#!/usr/bin/env python3
"""Faults injected into the system calls of `diptych`, and the order in which it has files synced.

    python3 ci/faults.py target/debug/diptych            a sample of all instants: about a minute
    python3 ci/faults.py target/debug/diptych --long     every instant

A small conversion to each destination runs under `strace`, and the Nth call of a kind fails or is
the last: the disk fails or is full, no file can be opened, nothing is allowed, the process is
killed. Each time the command has to say which file it was and why, nothing may look complete that
is not, and the same command without a fault must end byte-identical.

Then a log of all calls is replayed as a disk that keeps only what was synced. What says that
something is complete may get its name only when all that it speaks for is on that disk; without
syncing (`--no-sync`) this check must fail.

Nothing but the standard library, Linux and strace 5.3 or later is needed. Where strace cannot
trace, this ends with a line that says so; with `CI=true` that is a failure.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from power_cut import TRACED, replay  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DESTINATIONS = ["webdataset", "parquet", "folder", "pape"]
SOURCES = {  # Releases whose reading fails, and the exit code of a conversion that does not.
    "imgedit": 0,
    "pape": 0,
    "parquet": 0,
    "webdataset": 0,
    "folder": 0,
}
# What the disk and the system may answer to each call.
ERRORS = {
    "openat": ["EIO", "EMFILE", "EACCES", "ENFILE"],
    "read": ["EIO"],
    "pread64": ["EIO"],
    "statx": ["EIO"],
    "newfstatat": ["EIO"],
    "getdents64": ["EIO"],
    "fcntl": ["EMFILE"],
    "lseek": ["EIO"],
    "write": ["ENOSPC", "EIO", "EDQUOT", "EFBIG"],
    "pwrite64": ["ENOSPC", "EIO"],
    "fsync": ["EIO", "ENOSPC"],
    "fdatasync": ["EIO"],
    "syncfs": ["EIO"],
    "rename": ["EIO", "ENOSPC", "EACCES"],
    "renameat": ["EIO"],
    "renameat2": ["EIO"],
    "mkdir": ["ENOSPC", "EACCES", "EROFS"],
    "mkdirat": ["ENOSPC"],
    "unlink": ["EIO", "EACCES"],
    "unlinkat": ["EIO", "EACCES"],
    "rmdir": ["EIO"],
    "ftruncate": ["EIO"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP"],
    "copy_file_range": ["EIO", "ENOSPC"],
    "ioctl": ["EOPNOTSUPP"],
    "flock": ["ENOLCK"],
    "clone3": ["EAGAIN"],
}
READING = ["openat", "read", "pread64", "statx", "getdents64", "lseek"]
# Calls after which a disk is not what it was before: a process killed between two others leaves
# what one killed here leaves.
CHANGING = [
    "openat", "write", "pwrite64", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "unlink",
    "unlinkat", "rmdir", "ftruncate", "fallocate", "copy_file_range", "ioctl", "flock", "syncfs",
]
# Failures that cost nothing, each with the reason.
HARMLESS = [
    ("fallocate", "", "a hint: the file is written without it"),
    ("ioctl", "", "sharing blocks: the bytes are copied instead"),
    ("statx", "^OUT", "whether something is there: whatever needs it fails, or makes it, by itself"),
]
CAUSES = {
    "EIO": "Input/output error",
    "EMFILE": "Too many open files",
    "ENFILE": "Too many open files in system",
    "EACCES": "Permission denied",
    "ENOSPC": "No space left on device",
    "EDQUOT": "quota exceeded",
    "EFBIG": "File too large",
    "EROFS": "Read-only file system",
    "ENOLCK": "No locks available",
    "EAGAIN": "Resource temporarily unavailable",
    "EOPNOTSUPP": "not supported",
}
# Where the loader and the standard library read before `main` does anything.
SYSTEM = re.compile(r"^(/lib|/usr|/etc|/proc|/sys|/dev(?!/shm)|pipe:|socket:|anon_inode:)")


def tree(root):
    """Every file below a folder with its bytes, and every folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        found[name] = None if path.is_dir() else path.read_bytes()
    return found


def differences(found, wanted):
    names = sorted(set(found) ^ set(wanted))
    names += [name for name in found if name in wanted and found[name] != wanted[name]]
    return names[:5]


class Call:
    """A line of a log: who called what on which paths, and what came of it."""

    LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")

    def __init__(self, line, name):
        match = self.LINE.match(line)
        self.pid, self.name, rest = int(match[1]), match[2], match[3]
        # A debug build asks of every file that it closes whether it is open.
        self.is_check = name == "fcntl" and "F_DUPFD" not in rest
        self.injected = "(INJECTED)" in rest
        paths = re.findall(r"\d+<((?:[^<>\\]|\\.)*)>", rest) + re.findall(r'"((?:[^"\\]|\\.)*)"', rest)
        # Of `read` and `write` what is quoted is bytes.
        quoted = name not in ("read", "pread64", "write", "pwrite64", "getdents64")
        self.paths = [path for path in paths if path.startswith("/")] if quoted else paths[:1]
        self.is_system = bool(self.paths) and all(SYSTEM.match(path) for path in self.paths)


def calls(log):
    found = []
    for line in log.read_text(errors="replace").splitlines():
        match = Call.LINE.match(line)
        if match and "resumed>" not in line:
            found.append(Call(line, match[2]))
    return found


class Case:
    """A command on an output in some state, and how an output begun so is brought to its end."""

    def __init__(self, name, state, command, rest, wanted, code, last, release):
        self.name, self.state, self.command, self.rest = name, state, command, rest
        self.wanted, self.code, self.last, self.release = wanted, code, last, release

    def begin(self, out):
        shutil.rmtree(out, ignore_errors=True)
        if self.state is not None:
            # Times tell whether a release changed; those of an output tell nothing.
            shutil.copytree(self.state, out, symlinks=True)


def run(command, **how):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **how)


def strace(log, inject, traced, command):
    # With this only the calls in question stop the process; signals would be lost with it.
    fast = [] if inject and "signal" in inject else ["--seccomp-bpf"]
    injects = ["-e", f"inject={inject}"] if inject else []
    return [
        "strace", "-f", "-qq", "-y", *fast, "-e", "signal=none", "-s", "4096",
        "-e", f"trace={traced}", *injects, "-o", str(log), *command,
    ]


class Faults:
    def __init__(self, diptych, work, long):
        self.diptych, self.work, self.long = diptych, work, long
        self.failures, self.counts, self.harmless = [], {}, {}

    def line(self, verb, release, out, to):
        take = [str(release)] if release else []
        how = ["--to", to, "--shard-size", "60KB", "--mask-from", "release"] if to else []
        jobs = [] if verb == "finish" else ["--jobs", "1"]
        return [str(self.diptych), verb, *take, *how, *jobs, "--quiet", "--out", str(out)]

    def must(self, command, code=0):
        done = run(command)
        if done.returncode != code:
            sys.exit(f"without a fault: {command} ended with {done.returncode}: {done.stderr}")

    def cases(self):
        """Conversions, units of a plan and finishing for each destination; an index; and for each
        format that is read a conversion whose reading fails."""
        release = ROOT / "fixtures/inter-edit-train"
        for to in DESTINATIONS:
            whole, planned, ran = (self.work / f"{word}-{to}" for word in ("whole", "plan", "run"))
            self.must(self.line("convert", release, whole, to))
            self.must(self.line("plan", release, planned, to))
            shutil.copytree(planned, ran)
            self.must(self.line("run", None, ran, None))
            wanted = tree(whole)

            def command(verb, to=to):
                reads = release if verb in ("convert", "plan") else None
                return lambda out: self.line(verb, reads, out, to if reads else None)

            convert, units, finish = (command(verb) for verb in ("convert", "run", "finish"))
            last = "report.json"
            yield Case(f"convert to {to}", None, convert, [convert], wanted, 0, last, release), None
            yield Case(f"run to {to}", planned, units, [units, finish], wanted, 0, last, release), None
            yield Case(f"finish to {to}", ran, finish, [finish], wanted, 0, last, release), None
        index = self.work / "whole-index"
        self.must(self.line("index", release, index, None))
        again = lambda out, release=release: self.line("index", release, out, None)  # noqa: E731
        yield Case("index", None, again, [again], tree(index), 0, "catalog.json", release), None
        for name, code in SOURCES.items():
            release, whole = ROOT / "fixtures" / name, self.work / f"whole-of-{name}"
            self.must(self.line("convert", release, whole, "webdataset"), code)
            read = lambda out, release=release: self.line("convert", release, out, "webdataset")  # noqa: E731
            wanted = tree(whole)
            yield Case(f"read {name}", None, read, [read], wanted, code, "report.json", release), READING

    def profile(self, case, out, log):
        """Of each call those numbers that some thread makes it under when it is at work: each
        thread counts for itself."""
        case.begin(out)
        done = run(strace(log, None, ",".join(ERRORS), case.command(out)))
        if done.returncode != case.code:
            sys.exit(f"{case.name} under strace ended with {done.returncode}: {done.stderr}")
        numbers, counts = {}, {}
        for call in calls(log):
            key = (call.pid, call.name)
            counts[key] = counts.get(key, 0) + 1
            if not (call.is_system or call.is_check):
                numbers.setdefault(call.name, set()).add(counts[key])
        return {name: sorted(of) for name, of in numbers.items()}

    def instants(self, name, numbers):
        """Which calls of a kind fail: all, or some that lie evenly among them. Of the thousands of
        reads that a table is read with there are some in either form."""
        few = {"read": 6, "lseek": 2, "fcntl": 2, "statx": 8}.get(name, 7)
        most = {"read": 150, "lseek": 40, "fcntl": 40}.get(name, 1000) if self.long else few
        if len(numbers) <= most:
            return numbers
        return sorted({numbers[(len(numbers) - 1) * i // (most - 1)] for i in range(most)})

    def injections(self, case, only, out, log):
        for name, numbers in sorted(self.profile(case, out, log).items()):
            if only is not None and name not in only:
                continue
            errors = ERRORS[name]
            for number in self.instants(name, numbers):
                # Each error has its turn: the next instant of the kind meets the next.
                yield case, name, f"error={errors[number % len(errors)]}", number
                if name in CHANGING and only is None:
                    yield case, name, "signal=SIGKILL", number

    def inject(self, task):
        number, (case, name, fault, when) = task
        out, log = self.work / f"out-{number}", self.work / f"log-{number}"
        try:
            return self.injected(case, name, fault, when, out, log)
        finally:
            shutil.rmtree(out, ignore_errors=True)
            log.unlink(missing_ok=True)

    def injected(self, case, name, fault, when, out, log):
        """What is wrong with how the command took a fault; nothing where the fault met nobody."""
        case.begin(out)
        command = strace(log, f"{name}:{fault}:when={when}", name, case.command(out))
        done = run(command)
        hit = [call for call in calls(log) if call.injected]
        said, wrong = done.stderr, []
        if fault == "signal=SIGKILL":
            if done.returncode == case.code:
                return None
        elif not hit or any(call.is_system or call.is_check for call in hit):
            return None
        elif fault == "error=EACCES" and self.is_not_for_us(hit, case):
            return None
        if "panicked" in said or done.returncode == 101:
            wrong.append("it panicked")
        if fault == "signal=SIGKILL":
            if done.returncode not in (-9, 137):
                wrong.append(f"killed, it ended with {done.returncode}")
        elif done.returncode == case.code:
            reason = self.is_harmless(name, hit, out)
            if reason is None:
                wrong.append("it went on as if nothing had been")
            else:
                self.harmless[reason] = self.harmless.get(reason, 0) + 1
        elif done.returncode != 1:
            wrong.append(f"it ended with {done.returncode}")
        else:
            wrong += self.message(said, hit, fault.removeprefix("error="), out, case.release)
        if (out / case.last).exists():
            there = {name: of for name, of in tree(out).items() if not name.startswith(".diptych")}
            if differences(there, case.wanted):
                wrong.append(f"it looks complete, but for {differences(there, case.wanted)}")
        elif done.returncode == case.code and case.rest[-1] is case.command:
            wrong.append("it says that it is done, and is not")
        if done.returncode != case.code:
            wrong += self.goes_on(case, out)
        where = ", ".join(sorted({path for call in hit for path in call.paths})) or "?"
        told = f"{case.name}: {name}:{fault}:when={when} on {where}"
        return [f"{told}: {what}\n    {said.strip()}" for what in wrong]

    def is_harmless(self, name, hit, out):
        paths = [path.replace(str(out), "OUT") for call in hit for path in call.paths]
        for call, pattern, reason in HARMLESS:
            if call == name and all(re.search(pattern, path) for path in paths):
                return reason
        return None

    @staticmethod
    def is_not_for_us(hit, case):
        """A folder within a release that is not for us is told of, and need not be of it."""
        paths = [Path(path) for call in hit for path in call.paths]
        return any(path.is_dir() and case.release in path.parents for path in paths)

    def message(self, said, hit, error, out, release):
        wrong = []
        if not said.startswith("error: "):
            wrong.append("it says no error")
        # The standard library says of a folder that it cannot look at that it cannot be made.
        exists = hit[0].name == "statx" and "File exists" in said
        if CAUSES[error] not in said and not exists:
            wrong.append(f"it does not say {CAUSES[error]!r}")
        names = set()
        for path in (path for call in hit for path in call.paths):
            names.add(path)
            for root in (out, release):
                if Path(path).is_relative_to(root) and path != str(root):
                    names.add(str(Path(path).relative_to(root)))
            # Of a folder that is removed the file in it is not told.
            if "cannot remove" in said:
                names |= {str(above) for above in Path(path).parents if above.is_relative_to(out)}
        if names and not any(name in said for name in names):
            wrong.append("it does not name the file")
        return wrong

    def goes_on(self, case, out):
        for command in case.rest:
            done = run(command(out))
            if done.returncode not in (0, case.code):
                return [f"afterwards {command(out)[1]} ended with {done.returncode}: {done.stderr}"]
        differ = differences(tree(out), case.wanted)
        return [f"afterwards these differ: {differ}"] if differ else []

    def power_cuts(self):
        """The order in which things are synced, for every destination and an index."""
        release, log = ROOT / "fixtures/inter-edit-train", self.work / "log"
        for to in [*DESTINATIONS, None]:
            for more in ([], ["--no-sync"]):
                out = self.work / "power-cut"
                shutil.rmtree(out, ignore_errors=True)
                verb, last = ("convert", "report.json") if to else ("index", "catalog.json")
                command = [*self.line(verb, release, out, to), *more]
                done = run(strace(log, None, ",".join(TRACED), command))
                if done.returncode != 0:
                    sys.exit(f"{command} under strace ended with {done.returncode}: {done.stderr}")
                wrong, sealed = replay(log.read_text(), str(self.work), str(out), last)
                if more and not wrong:
                    wrong = ["without syncing nothing is found: the check sees nothing"]
                elif more:
                    wrong = []
                name = f"power cut, {to or 'index'}"
                self.failures += [f"{name}: {what}" for what in wrong]
                print("".join(f"{name}: {what}\n" for what in wrong), end="")
                if not more:
                    print(f"{name}: {sealed} things get their names when they may")

    def all(self, only):
        tasks = []
        for case, names in self.cases():
            if only and only not in case.name:
                continue
            of_case = list(self.injections(case, names, self.work / "profile", self.work / "log"))
            tasks += of_case
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for (case, name, fault, _), wrong in zip(tasks, pool.map(self.inject, enumerate(tasks))):
                if wrong is None:
                    continue
                word = "kills" if fault == "signal=SIGKILL" else "errors"
                of = self.counts.setdefault(case.name, {"errors": 0, "kills": 0})
                of[word] += 1
                for line in wrong:
                    print(line, flush=True)
                self.failures += wrong


def can_trace():
    try:
        traced = run(["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=none", "true"])
    except FileNotFoundError:
        return "there is no strace"
    return None if traced.returncode == 0 else traced.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("diptych", type=Path, help="the command")
    parser.add_argument("--long", action="store_true", help="every instant")
    parser.add_argument("--only", help="cases whose name has this")
    args = parser.parse_args()
    why = can_trace()
    if why is not None:
        print(f"faults: not done, since strace does not trace here: {why}")
        sys.exit(1 if os.environ.get("CI") == "true" else 0)
    # In memory, where there is such a place: a fault is the same there, and syncing costs nothing.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="diptych-faults-", dir=place) as work:
        faults = Faults(args.diptych.resolve(), Path(work), args.long)
        faults.power_cuts()
        faults.all(args.only)
        for name, of in faults.counts.items():
            print(f"{name}: {of['errors']} errors, {of['kills']} kills")
        for reason, count in sorted(faults.harmless.items()):
            print(f"rightly harmless, {count} times: {reason}")
        totals = [sum(of[word] for of in faults.counts.values()) for word in ("errors", "kills")]
        print(f"faults: {totals[0]} errors and {totals[1]} kills, {len(faults.failures)} wrong")
        if sum(totals) == 0:
            sys.exit("faults: none was injected")
        sys.exit(1 if faults.failures else 0)


if __name__ == "__main__":
    main()
