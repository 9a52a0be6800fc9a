"""A whole device in Python, standard library only: samples ECG, cuts it into packets of one second, sends them in batches, and keeps each
packet until the service says that it is durable.

    BIO_URL=http://127.0.0.1:8080 BIO_KEY=org_live_... python3 device.py 10

The protocol buffer is written by hand, to show how little it takes. With the protobuf package, compile proto/biosignal.proto instead.
"""
import collections
import json
import math
import os
import random
import struct
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("BIO_URL", "http://127.0.0.1:8080") + "/ingest/raw-packet"
KEY = os.environ["BIO_KEY"]
FS = 250
BATCH = 5  # packets in one request
QUEUE = 3600  # unacknowledged packets that are kept: an hour without network
# Codes of refusals that pass; https://.../api-docs/errors has them all.
AGAIN = {"busy", "unavailable", "shutting_down", "rate_limited", "internal", "request_timeout"}


# ---- the wire: proto/biosignal.proto


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


CHANNEL = (
    data(1, b"ecg.ii")  # code
    + uint(2, 1)  # kind: ECG
    + uint(3, FS * 10**9)  # rate in nano-hertz
    + double(4, 1000.0)  # gain: LSB per unit
    + data(6, b"mV")
    + data(7, b"II")
)


def packet(boot_id, seq, device_ns, unix_ns, samples):
    return (
        uint(1, 1)  # schema version
        + data(2, b"example-python")  # device id: a serial number
        + data(3, boot_id)
        + uint(4, seq)
        + fixed64(5, device_ns)  # sampling clock at the first sample
        + fixed64(6, unix_ns)  # wall clock at the same moment; leave out without one
        + fixed64(7, time.time_ns())  # wall clock when it is handed over
        + data(8, b"example-patient")
        + data(9, b"example 2")
        + data(10, data(1, CHANNEL) + data(3, deltas(samples)))
    )


# ---- sending


def post(packets):
    """One request. Returns the status, seconds to wait, and the answer; status 0 without an answer."""
    body = b"".join(varint(len(one)) + one for one in packets)
    headers = {"Authorization": "Bearer " + KEY, "Content-Type": "application/x-protobuf; encoding=delimited"}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL, data=body, headers=headers), timeout=10) as response:
            return response.status, 0.0, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, float(error.headers.get("Retry-After", 0)), error.read().decode()
    except OSError:
        return 0, 0.0, None  # refused, reset, timed out: what became of the packets is unknown


class Sender:
    """Packets leave in order and are forgotten when they are durable. Sending twice does no harm: a sequence number is stored once."""

    def __init__(self):
        self.queue = collections.deque(maxlen=QUEUE)
        self.wait = 0.25
        self.not_before = 0.0
        self.counts = collections.Counter()

    def step(self, least):
        """Sends one batch when there are enough packets and no wait is due."""
        if len(self.queue) < least or not self.queue or time.monotonic() < self.not_before:
            return
        batch = [self.queue[i] for i in range(min(BATCH, len(self.queue)))]
        status, retry_after, answer = post(batch)
        if status == 202:
            again = []
            for refusal in answer["rejected"]:
                if refusal["code"] in AGAIN:
                    again.append(batch[refusal["index"]])
                else:
                    print("refused:", refusal, file=sys.stderr)  # will not get better: log it and go on
            for _ in batch:
                self.queue.popleft()
            self.queue.extendleft(reversed(again))
            self.counts.update(accepted=answer["accepted"], duplicates=answer["duplicates"])
            self.wait = 0.25
        elif status in (0, 408, 429) or status >= 500:
            pause = max(retry_after, self.wait * random.uniform(0.5, 1.0))  # jitter: a ward of devices must not come back at once
            self.not_before = time.monotonic() + pause
            self.wait = min(10.0, 2 * self.wait)
            self.counts.update(retries=1)
        else:
            raise SystemExit(f"HTTP {status}: {answer}")  # the key or the bytes are wrong: repeating cannot help


def ecg(n):
    """Stands for the ADC: sample n, a beat every 0.8 s, in microvolts. With noise: a line without any is a lead that fell off."""
    phase = n / FS % 0.8 - 0.4
    beat = 1000 * math.exp(-((phase / 0.012) ** 2)) + 150 * math.exp(-(((phase - 0.25) / 0.06) ** 2))
    return round(beat + random.uniform(-10, 10))


def main(seconds):
    boot_id = os.urandom(16)  # new whenever the sampling clock starts again
    # A real device reads its sampling timer; here recorded time passes as fast as it is computed, so it begins in the past.
    start_unix_ns = time.time_ns() - seconds * 10**9
    sender = Sender()
    for seq in range(seconds):  # one packet a second, counted from 0
        samples = [ecg(seq * FS + i) for i in range(FS)]
        sender.queue.append(packet(boot_id, seq, seq * 10**9, start_unix_ns + seq * 10**9, samples))
        sender.step(BATCH)
    while sender.queue:
        sender.step(1)
        time.sleep(0.01)
    print(json.dumps({"packets": seconds, **sender.counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
