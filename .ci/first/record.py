"""record.py DOCUMENT CONNECT_TO [--check]

Runs the commands of a document, the lines of its indented blocks that begin with "$ ",
one after the other, and writes the output of each below it. A command with "^C" below it
is interrupted after some seconds. Commands that are not for this machine ("go install")
are left unchanged.
"""

import re
import signal
import subprocess
import sys

AFTER = 6  # seconds until an interrupt


def run(command, connect, interrupted):
    if command.startswith("crawl run"):
        command += " --connect-to " + connect
    job = subprocess.Popen(["bash", "-c", "exec " + command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = job.communicate(timeout=AFTER if interrupted else 300)
    except subprocess.TimeoutExpired:
        job.send_signal(signal.SIGINT)
        out, _ = job.communicate(timeout=60)
    want = 10 if interrupted else 0
    if job.returncode != want:
        sys.exit("%s: exit %d, want %d\n%s" % (command, job.returncode, want, out))
    lines = [line.rstrip() for line in out.splitlines()]
    if interrupted:
        lines.insert(1, "^C")
    return lines


def kind(line):
    """Returns the kind of a line: its label, or that it continues the line before."""
    return re.sub(r"[0-9.]+", "N", line[:12]) if line[:1].strip() else ""


def kinds(lines):
    found = []
    for line in lines:
        of = kind(line.removeprefix("    "))
        if of and of not in found:
            found.append(of)
    return found


def printed_line(two):
    """Reports whether the first of two lines is output: indented, or empty between such lines."""
    line = two[0] or two[-1]
    return line.startswith("    ") and not line.startswith("    $ ")


def main(document, connect, check):
    with open(document, encoding="utf-8") as file:
        lines = file.read().split("\n")
    written, at, commands, wrong = [], 0, 0, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        written.append(line)
        if not line.startswith("    $ ") or line.startswith("    $ go "):
            continue
        below = []
        while at < len(lines) and printed_line(lines[at : at + 2]):
            below.append(lines[at])
            at += 1
        commands += 1
        printed = [("    " + text).rstrip() for text in run(line.removeprefix("    $ "), connect, "    ^C" in below)]
        if check and kinds(printed) != kinds(below):
            wrong += 1
            print("%s prints lines of the kinds\n%s, the document has\n%s" % (line.strip(), kinds(printed), kinds(below)), file=sys.stderr)
        written += printed
    if commands < 5:
        sys.exit("%d commands in %s" % (commands, document))
    if check:
        print("first crawl: %d of %d commands print what the document says" % (commands - wrong, commands))
        sys.exit(1 if wrong else 0)
    with open(document, "w", encoding="utf-8") as file:
        file.write("\n".join(written))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["--check"])
