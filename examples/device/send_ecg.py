"""A device in Python, standard library only: one packet of two seconds of ECG, sent again until it is durable.

The protocol buffer is written by hand, to show how little it takes on a small device. With the protobuf package, compile
proto/biosignal.proto instead.
"""
import math
import os
import struct
import time
import urllib.error
import urllib.request

FS = 250


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uint(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def deltas(samples):
    """The first value, then differences, as zigzag varints."""
    out = bytearray()
    previous = 0
    for sample in samples:
        delta = sample - previous
        previous = sample
        out += varint(2 * delta if delta >= 0 else -2 * delta - 1)
    return bytes(out)


def ecg(n):
    """A beat every 0.8 s in microvolts."""
    for i in range(n):
        phase = i / FS % 0.8 - 0.4
        yield round(1000 * math.exp(-((phase / 0.012) ** 2)) + 150 * math.exp(-(((phase - 0.25) / 0.06) ** 2)))


def packet():
    now_ns = time.time_ns()
    channel = (
        data(1, b"ecg.ii")  # code
        + uint(2, 1)  # kind: ECG
        + uint(3, FS * 10**9)  # rate in nano-hertz
        + double(4, 1000.0)  # gain: LSB per unit
        + data(6, b"mV")
        + data(7, b"II")
    )
    block = data(1, channel) + data(3, deltas(ecg(2 * FS)))
    return (
        uint(1, 1)  # schema version
        + data(2, b"example-python")  # device id
        + data(3, os.urandom(16))  # boot id: new whenever the device's clock starts
        + uint(4, 0)  # seq: counts the packets of this boot
        + fixed64(5, 0)  # device clock at the first sample
        + fixed64(6, now_ns - 2 * 10**9)  # wall clock at the same moment; leave out without one
        + fixed64(7, now_ns)  # wall clock now
        + data(8, b"example-patient")
        + data(9, b"example 1")
        + data(10, block)
    )


def send(body):
    """202: durable. 429 and 503: nothing was kept, send the same bytes again. Anything else will not get better by repeating."""
    request = urllib.request.Request(
        os.environ.get("BIO_URL", "http://127.0.0.1:8080") + "/ingest/raw-packet",
        data=body,
        headers={"Authorization": "Bearer " + os.environ["BIO_KEY"], "Content-Type": "application/x-protobuf"},
    )
    for _ in range(10):
        wait = 1.0
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                raise SystemExit(error.read().decode()) from None
            wait = float(error.headers.get("Retry-After", 1))
        except urllib.error.URLError:
            pass
        time.sleep(wait)
    raise SystemExit("no answer")


if __name__ == "__main__":
    print(send(packet()))
