#!/usr/bin/env python3
"""edit.py N ROOT MOVED.json
Changes the files in ROOT from those of run N-1 of a series to those of run N, and writes
the redirects of run N to MOVED.json: {path: [status, target]}.

The position of a file among the pages of Apache's modules decides how it is changed. Each
time is in a second of its own, so that an edit always changes the ETag that nginx makes.
"""
import glob
import json
import os
import shutil
import sys

DAY = 24 * 3600
FIRST = 1767225600  # 1 January 2026


class Tree:
    def __init__(self, root, time, moved):
        self.root, self.time, self.moved = root, time, moved
        # The files at the beginning, including those that were removed since.
        kept = os.path.join(root, "..", "modules.json")
        if not os.path.exists(kept):
            names = sorted(os.path.basename(p) for p in glob.glob(root + "/manual/en/mod/mod_*.html"))
            with open(kept, "w") as file:
                json.dump(["/manual/en/mod/" + name for name in names], file)
        with open(kept) as file:
            self.modules = json.load(file)
        if len(self.modules) < 90:
            sys.exit("edit.py: %d pages of modules, want 90" % len(self.modules))

    def file(self, path):
        return self.root + path

    def read(self, path):
        with open(self.file(path), "rb") as file:
            return file.read()

    def write(self, path, data):
        with open(self.file(path), "wb") as file:
            file.write(data)
        self.touch(path)

    def touch(self, path):
        os.utime(self.file(path), (self.time, self.time))

    def replace(self, path, old, new):
        data = self.read(path)
        if data.count(old) < 1:
            sys.exit("edit.py: %s has no %r" % (path, old))
        self.write(path, data.replace(old, new, 1))

    def say(self, path, text):
        """Adds what readers see."""
        self.replace(path, b"</body>", b"<p>" + text + b"</p></body>")

    def hide(self, path, text):
        """Adds what readers do not see, in a few ways."""
        self.replace(path, b"<body", b'<body data-made="%s"' % text)
        self.replace(path, b"</body>", b"<!-- %s -->\n<script>var made = '%s'</script></body>" % (text, text))

    def remove(self, path):
        os.remove(self.file(path))

    def move(self, path, to, status):
        os.rename(self.file(path), self.file(to))  # keeps the time, and so nginx's ETag
        self.moved[path] = [status, to]


def renamed(path, what):
    return path.replace(".html", "-%s.html" % what)


def first(t, m):
    """All files begin with the same time."""
    for at, _, names in os.walk(t.root):
        for name in names:
            os.utime(os.path.join(at, name), (t.time, t.time))


def second(t, m):
    for path in m[0:10]:
        t.say(path, b"Edited before the second run.")
    t.say(m[0], b'<a href="../extra.html">Extra</a> <a href="../other.html">Other</a>')
    t.say(m[1], b'<a href="../nowhere.html">A page that is not there</a>')
    for name in "extra", "other":
        t.write("/manual/en/%s.html" % name, b"<!doctype html><title>%s</title><p>A page that is new." % name.encode())
    for path in m[10:14]:
        t.hide(path, b"second")
    for path in m[14:22] + ["/manual/images/down.gif"]:
        t.touch(path)
    for path in m[22:26]:
        t.remove(path)
    for path in m[26:29]:
        t.move(path, renamed(path, "moved"), 301)
    t.move(m[29], renamed(m[29], "moved"), 308)
    t.move(m[30], renamed(m[30], "lent"), 302)
    t.replace("/manual/style/css/manual-print.css", b"{", b"{ /* second */ ")


def third(t, m):
    t.replace(m[0], b'<a href="../extra.html">Extra</a>', b"No extra")  # then no page links to it
    t.remove("/manual/en/other.html")
    t.say(m[1], b"Edited before the third run, too.")
    t.replace(m[9], b"<p>Edited before the second run.</p>", b"")  # as it was at first
    for path in m[40:46]:
        t.say(path, b"Edited before the third run.")
    for path in m[10:12] + m[46:49]:
        t.hide(path, b"third")
    for path in m[14:16] + m[49:55]:
        t.touch(path)
    for path in m[55:58]:
        t.remove(path)
    shutil.copyfile(t.file(m[58]), t.file(m[22]))  # a page again, after the first was removed
    t.touch(m[22])
    for path in m[59:61]:
        t.move(path, renamed(path, "moved"), 301)
    t.move(renamed(m[26], "moved"), renamed(m[26], "again"), 301)  # a second time: both redirect there
    t.moved[m[26]] = [301, renamed(m[26], "again")]
    del t.moved[m[29]]
    t.move(renamed(m[29], "moved"), m[29], 301)  # and back


def main():
    run, root, kept = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    moved = {}
    if run > 1:
        with open(kept) as file:
            moved = json.load(file)
    tree = Tree(root, FIRST + run * DAY, moved)
    (first, second, third)[run - 1](tree, tree.modules)
    with open(kept, "w") as file:
        json.dump(moved, file)


if __name__ == "__main__":
    main()
