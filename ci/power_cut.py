"""A log of system calls replayed as a disk that keeps only what was synced.

A file's bytes are on it once the file was synced, and its name once the folder that has the name
was; `syncfs` does both for all. Whatever has a name and is not on the disk may be lost when the
power is cut, and the name of one thing may be there without those that were given before it. So
what says that something is complete may get its name only when all that it speaks for is on the
disk, whatever a file system may do by itself.
"""

import re

TRACED = [
    "openat", "write", "pwrite64", "ftruncate", "fallocate", "ioctl", "copy_file_range", "fsync",
    "fdatasync", "syncfs", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "unlink",
    "unlinkat", "rmdir",
]
WORK = ".diptych"


class Node:
    """A file, whose bytes are on the disk or not, or a folder with the names in it: as they are,
    and as the disk has them."""

    def __init__(self, is_folder):
        self.is_folder, self.is_synced = is_folder, False
        self.names, self.disk = {}, {}

    def sync(self):
        self.is_synced = True
        self.disk = dict(self.names)

    def sync_all(self):
        self.sync()
        for node in self.names.values():
            node.sync_all()

    def lost(self, name):
        """What of it a power cut may take, by name."""
        if not self.is_folder:
            return [] if self.is_synced else [name]
        lost = [f"{name}/{of}" for of, node in self.names.items() if self.disk.get(of) is not node]
        # A name that is gone here and not there comes back.
        lost += [f"{name}/{of} (removed)" for of in self.disk if of not in self.names]
        for of, node in self.names.items():
            lost += node.lost(f"{name}/{of}")
        return lost


class Disk:
    """The folder that an output lies in, and what is below it. `wrong` has what was broken."""

    def __init__(self, above, out, last):
        self.above, self.last, self.wrong = above, last, []
        self.root = Node(True)
        self.out = out.removeprefix(above + "/")
        # Where all is made ready to be moved.
        self.made = "final" if last == "report.json" else "catalog"
        self.is_ended = self.is_told = False
        self.sealed = 0

    def find(self, path):
        """The folder that has a name, and the name; nothing for what lies elsewhere."""
        if not path.startswith(self.above + "/"):
            return None
        folder, *rest = self.root, *path.removeprefix(self.above + "/").split("/")
        for name in rest[:-1]:
            folder = folder.names.get(name)
            if folder is None:
                return None
        return folder, rest[-1]

    def node(self, path):
        if path == self.above:
            return self.root
        found = self.find(path)
        return found and found[0].names.get(found[1])

    def lost(self, *path):
        """What of the output a power cut may take at this path, or on the way to it."""
        node, lost, done = self.root, [], []
        for name in (self.out, *path):
            done.append(name)
            if node.disk.get(name) is not node.names.get(name):
                lost.append("/".join(done))
            node = node.names.get(name)
            if node is None:
                return lost
        return lost + node.lost("/".join(done))

    def holds(self, what, lost):
        if lost:
            self.wrong.append(f"{what}: {', '.join(sorted(set(lost))[:4])} may be lost")

    def seal(self, to, node):
        """What must be on the disk when something gets the name that says it is complete."""
        parts = to.removeprefix(f"{self.above}/{self.out}/").split("/")
        what = "/".join(parts)
        beside = lambda *path: [  # noqa: E731
            of for of in self.lost(*path) if not re.search(r"\.part$|\.part \(removed\)$", of)
        ]
        match parts:
            case [".diptych", "request.json"]:
                self.holds(what, node.lost(what))
            case [".diptych", "catalog", "catalog.json"]:
                self.holds(what, node.lost(what) + beside(WORK, "catalog"))
            case [".diptych", "plan.parquet"]:
                self.holds(what, node.lost(what) + self.lost(WORK, "catalog"))
            case [".diptych", "units", _]:
                self.holds(what, node.lost(what) + self.lost(WORK, "plan.parquet"))
            case [".diptych", "publishing.json"]:
                self.holds(what, node.lost(what) + self.lost(WORK, self.made))
            case [name] if name == self.last:
                self.is_told = True
                whole = self.root.names[self.out].names
                self.holds(what, node.lost(what))
                made = self.node(f"{self.above}/{self.out}/{WORK}/{self.made}").names
                if set(made) != {self.last}:
                    self.wrong.append(f"{what}: {', '.join(made)} are not moved yet")
                for name in whole:
                    if name not in (WORK, self.last):
                        self.holds(what, self.lost(name))
            case _:
                return
        self.sealed += 1

    def rename(self, old, new):
        (of, was), (to, name) = self.find(old), self.find(new)
        node = of.names[was]
        if old.startswith(f"{self.above}/{self.out}/{WORK}/units/") and not self.is_ended:
            self.is_ended = True
            self.holds("what is finished", self.lost(WORK, "units"))
        self.seal(new, node)
        to.names[name] = of.names.pop(was)

    def removed(self, path):
        found = self.find(path)
        if found is None:
            return
        if self.is_told and f"/{WORK}/" in path:
            self.is_told = False
            self.holds("removing the working folder", self.lost(self.last))
        found[0].names.pop(found[1], None)

    def take(self, name, args):
        """A call that came to its end well."""
        quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', args)
        opened = re.match(r"\d+<((?:[^<>\\]|\\.)*)>", args)
        if name == "openat":
            found = self.find(quoted[0])
            if found and "O_CREAT" in args:
                node = found[0].names.setdefault(found[1], Node(False))
                node.is_synced = node.is_synced and "O_TRUNC" not in args
        elif name in ("mkdir", "mkdirat"):
            if found := self.find(quoted[0]):
                found[0].names[found[1]] = Node(True)
        elif name.startswith("rename"):
            if self.find(quoted[0]) and self.find(quoted[1]):
                self.rename(quoted[0], quoted[1])
        elif name in ("unlink", "rmdir"):
            self.removed(quoted[0])
        elif name == "unlinkat":
            folder = re.search(r"<((?:[^<>\\]|\\.)*)>", args)[1]
            self.removed(quoted[0] if quoted[0].startswith("/") else f"{folder}/{quoted[0]}")
        elif opened and (node := self.node(opened[1])):
            if name == "syncfs":
                self.root.sync_all()
            elif name in ("fsync", "fdatasync"):
                node.sync()
            else:
                node.is_synced = False


LINE = re.compile(r"^(\d+) +(?:(\w+)\((.*)|<\.\.\. (\w+) resumed>(.*))$")


def replay(log, above, out, last):
    """What is wrong with the order of a log of `TRACED` calls, and how many things were sealed."""
    disk, begun = Disk(above, out, last), {}
    for line in log.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        pid, name, args, resumed, rest = match.groups()
        if resumed:
            name, args = resumed, begun.pop(pid, "") + rest
        elif args.endswith("<unfinished ...>"):
            begun[pid] = args.removesuffix("<unfinished ...>")
            continue
        if result := re.search(r"\) += (-?\d+)", args):
            if int(result[1]) >= 0:
                disk.take(name, args)
    return disk.wrong, disk.sealed
