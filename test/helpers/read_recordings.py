"""Reads WFDB records (format 16, annotations) and EDF+ files as their specifications say, with nothing of the service's own code and only
the standard library, and prints them as JSON. For the round trips of test/cli/import-export.int.test.ts.

WFDB: header(5), signal(5), annot(5) of the WFDB Applications Guide. EDF: Kemp et al. 1992; EDF+: Kemp & Olivan 2003.
"""
import json
import re
import struct
import sys


def wfdb(path):
    lines = [line for line in open(path, encoding="ascii").read().splitlines() if line and not line.startswith("#")]
    name, count, fs, length = lines[0].split()[:4]
    count, length = int(count), int(length)
    signals = []
    for line in lines[1 : 1 + count]:
        fields = line.split(None, 8)
        gain, _, baseline, _, unit = re.fullmatch(r"([-+.\deE]+)(\((-?\d+)\))?(/(\S+))?", fields[2]).groups()
        signals.append(
            {
                "file": fields[0],
                "format": fields[1],
                "gain": float(gain),
                "baseline": int(baseline if baseline is not None else fields[4]),
                "unit": unit,
                "first": int(fields[5]),
                "checksum": int(fields[6]),
                "name": fields[8],
            }
        )
    assert {signal["format"] for signal in signals} == {"16"}, "only format 16 is read here"
    raw = open(path.rsplit("/", 1)[0] + "/" + signals[0]["file"], "rb").read()
    assert len(raw) == 2 * count * length, (len(raw), count, length)
    values = struct.unpack(f"<{count * length}h", raw)
    for i, signal in enumerate(signals):
        own = values[i::count]
        assert own[0] == signal["first"], "initial value"
        assert (sum(own) - signal["checksum"]) % 65536 == 0, "checksum"
        signal["samples"] = [None if value == -32768 else value for value in own]
    return {"name": name, "fs": float(fs.split("/")[0]), "signals": signals}


def annotations(path):
    raw = open(path, "rb").read()
    words = struct.unpack(f"<{len(raw) // 2}H", raw)
    found, at, i = [], 0, 0
    while i < len(words):
        code, delta = words[i] >> 10, words[i] & 0x3FF
        i += 1
        if code == 0 and delta == 0:
            break
        if code == 59:  # SKIP: a signed 32-bit interval, its high half first
            at += struct.unpack("<i", struct.pack("<HH", words[i + 1], words[i]))[0]
            i += 2
        elif code == 63:  # AUX: so many bytes, padded to an even count
            i += (delta + 1) // 2
        elif code < 59:
            at += delta
            found.append([at, code])
    return found


def tals(data):
    """Time-stamped annotation lists of one data record: (onset, duration, texts)."""
    for tal in data.split(b"\x00"):
        if not tal:
            continue
        stamp, *texts = tal.split(b"\x14")
        onset, _, duration = stamp.partition(b"\x15")
        yield float(onset), float(duration) if duration else None, [text.decode("utf-8") for text in texts if text]


def edf(path):
    raw = open(path, "rb").read()
    text = lambda start, size: raw[start : start + size].decode("ascii").strip()
    assert text(0, 8) == "0"
    header_bytes, reserved, records, duration, ns = int(text(184, 8)), text(192, 44), int(text(236, 8)), float(text(244, 8)), int(text(252, 4))
    assert header_bytes == 256 * (1 + ns)

    def column(offset, size):
        return [text(256 + ns * offset + i * size, size) for i in range(ns)]

    labels, units = column(0, 16), column(96, 8)
    physical_min, physical_max = [[float(v) for v in column(o, 8)] for o in (104, 112)]
    digital_min, digital_max = [[int(v) for v in column(o, 8)] for o in (120, 128)]
    per_record = [int(v) for v in column(216, 8)]
    assert len(raw) == header_bytes + 2 * records * sum(per_record)
    signals = [{"label": labels[i], "unit": units[i], "rate": per_record[i] / duration, "records": []} for i in range(ns)]
    events, at = [], header_bytes
    for _ in range(records):
        start, blocks = None, []
        for i in range(ns):
            block = raw[at : at + 2 * per_record[i]]
            at += len(block)
            if labels[i] == "EDF Annotations":
                for onset, length, texts in tals(block):
                    if not texts and start is None:
                        start = onset  # the time-keeping list comes first
                    events += [[onset, length, note] for note in texts]
            else:
                blocks.append((i, struct.unpack(f"<{per_record[i]}h", block)))
        for i, values in blocks:
            assert all(digital_min[i] <= value <= digital_max[i] for value in values)
            signals[i]["records"].append([start, values])
    for i, signal in enumerate(signals):
        signal["lsb"] = (physical_max[i] - physical_min[i]) / (digital_max[i] - digital_min[i])
        signal["offset"] = physical_min[i] - digital_min[i] * signal["lsb"]
    return {
        "kind": reserved,
        "date": text(168, 8),
        "time": text(176, 8),
        "patient": text(8, 80),
        "recording": text(88, 80),
        "signals": [signal for signal in signals if signal["label"] != "EDF Annotations"],
        "events": events,
    }


if __name__ == "__main__":
    kind, path = sys.argv[1:]
    json.dump({"wfdb": wfdb, "annotations": annotations, "edf": edf}[kind](path), sys.stdout)
