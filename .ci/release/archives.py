"""archives.py RELEASE DIR

Reads each archive of a release to its end, checks that it has the files that the guide names,
and that all belong to one directory with fixed owners, and writes its program into DIR.
"""

import pathlib
import sys
import tarfile
import zipfile

WANT = {
    "README.md", "LICENSE", "CHANGELOG.md", "third-party-licenses.txt", "sbom.cdx.json", "man/man1/crawl.1",
    "man/man1/crawl-run.1", "completions/crawl.bash", "completions/_crawl", "completions/crawl.fish", "completions/crawl.ps1",
}
UNITS = {"systemd/crawl@.service", "systemd/crawl@.timer", "systemd/crawl-series@.service"}


def read(path):
    """Returns the files of an archive, by name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as z:
            if z.testzip():
                sys.exit("%s is damaged" % path)
            return {i.filename: z.read(i) for i in z.infolist() if not i.is_dir()}
    with tarfile.open(path) as t:
        members = t.getmembers()
        if any(m.uid or m.gid or m.uname or m.gname for m in members):
            sys.exit("%s has files of a user" % path)
        return {m.name: t.extractfile(m).read() for m in members if m.isfile()}


release, out = map(pathlib.Path, sys.argv[1:])
out.mkdir()
archives = sorted(p for p in release.iterdir() if p.name.endswith((".tar.gz", ".zip")))
if len(archives) != 5:
    sys.exit("%d archives: %s" % (len(archives), archives))
for path in archives:
    name = path.name.removesuffix(".zip").removesuffix(".tar.gz")
    files = read(path)
    program = "crawl.exe" if "windows" in name else "crawl"
    want = WANT | {program} | (UNITS if "linux" in name else set())
    missing = {name + "/" + w for w in want} - files.keys()
    outside = [f for f in files if not f.startswith(name + "/")]
    if missing or outside:
        sys.exit("%s: missing are %s, outside are %s" % (path, missing, outside))
    if files[name + "/sbom.cdx.json"] != (release / (name + ".cdx.json")).read_bytes():
        sys.exit("%s has another bill of materials" % path)
    (out / name).write_bytes(files[name + "/" + program])
