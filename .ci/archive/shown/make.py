# python3 make.py DIR
# Writes the requisites of the pages beside it that are not text to DIR: pictures of one
# colour each, a sound, and a font whose letters are boxes.
import struct
import sys
import zlib
from pathlib import Path

pictures = """
	shown/plain.png shown/late.png shown/late-set.png shown/late-bg.png shown/far-down.png shown/with%20blank.png
	shown/caf\u00e9.png shown/query.png shown/button.png shown/body.png shown/poster.png shown/one.png shown/two.png
	shown/narrow.png shown/wide.png shown/source.png shown/printed.png shown/preload.png shown/preload-2.png
	shown/header.png shown/noscript.png shown/inline.png shown/style.png shown/dark.png shown/nested.png
	shown/document.png shown/in-svg.png shown/in-object.png shown/in-painted.png shown/computed.png shown/framed.png
	shown/in-template.png shown/icon.png shown/folder/based.png shown/in-styled.png
	cdn/bg.png cdn/set-1.png cdn/set-2.png cdn/list.png cdn/mask.png cdn/variable.png cdn/moved.png cdn/framed.png
	cdn/supported.png cdn/border.png cdn/content.png cdn/picture.png cdn/linked.png shown/srcdoc.png
""".split()


def png(red, green, blue, side=48):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wav(samples=800):
    data = b"\x80" * samples
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def font():
    """Returns a TrueType font with one glyph for all printable ASCII characters."""
    box = struct.pack(">hhhhh", 1, 50, 0, 550, 700) + struct.pack(">HH", 3, 0) + bytes([1, 1, 1, 1])
    box += struct.pack(">hhhh", 50, 0, 500, 0) + struct.pack(">hhhh", 0, 700, 0, -700)
    box += b"\0" * (-len(box) % 4)
    # Segments of the character map: space to tilde, each the second glyph, and the end.
    deltas = range(32, 127)
    ends = [*deltas, 0xFFFF]
    count = len(ends)
    power = 1 << (count.bit_length() - 1)
    table = struct.pack(">HHHH", count * 2, power * 2, power.bit_length() - 1, count * 2 - power * 2)
    table += b"".join(struct.pack(">H", c) for c in ends) + b"\0\0" + b"".join(struct.pack(">H", c) for c in ends)
    table += b"".join(struct.pack(">H", (1 - c) % 65536) for c in ends) + b"\0\0" * count
    cmap = struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, len(table) + 6, 0) + table
    name = "Boxes".encode("utf-16-be")
    names = b"".join(struct.pack(">HHHHHH", 3, 1, 0x409, i, len(name), 0) for i in (1, 2, 3, 4, 6))
    os2 = struct.pack(">HhHHH", 4, 600, 400, 5, 0) + struct.pack(">10h", *[100] * 10) + struct.pack(">h", 0) + bytes(10)
    os2 += struct.pack(">IIII", 1, 0, 0, 0) + b"TEST" + struct.pack(">HHHhhhHH", 64, 32, 126, 800, -200, 0, 800, 200)
    os2 += struct.pack(">II", 1, 0) + struct.pack(">hhHHH", 500, 700, 0, 32, 1)
    tables = {
        b"OS/2": os2,
        b"cmap": cmap,
        b"glyf": box,
        b"head": struct.pack(">IIIIHHQQhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 3, 1000, 0, 0, 50, 0, 550, 700, 0, 8, 2, 0, 0),
        b"hhea": struct.pack(">IhhhHhhhhhh4hhH", 0x10000, 800, -200, 0, 600, 50, 50, 550, 1, 0, 0, 0, 0, 0, 0, 0, 2),
        b"hmtx": struct.pack(">HhHh", 600, 50, 600, 50),
        b"loca": struct.pack(">HHH", 0, 0, len(box) // 2),
        b"maxp": struct.pack(">IH13H", 0x10000, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        b"name": struct.pack(">HHH", 0, 5, 6 + len(names)) + names + name,
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, -100, 50, 0, 0, 0, 0, 0),
    }

    def checksum(data):
        data += b"\0" * (-len(data) % 4)
        return sum(struct.unpack(f">{len(data) // 4}I", data)) % 2**32

    head = struct.pack(">IHHHH", 0x10000, len(tables), 128, 3, len(tables) * 16 - 128)
    at = len(head) + 16 * len(tables)
    body = b""
    for tag, data in tables.items():
        head += tag + struct.pack(">III", checksum(data), at + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    return head + body


root = Path(sys.argv[1])
for i, path in enumerate(pictures):
    file = root / path.replace("%20", " ")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(png(i * 53 % 200, i * 97 % 200, i * 31 % 200))
(root / "cdn/boxes.ttf").write_bytes(font())
(root / "shown/sound.wav").write_bytes(wav())
