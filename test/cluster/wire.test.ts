/** The bytes of messages between nodes. They are written down here, so that a change of them is seen: nodes of two releases run next to
 *  each other while a cluster is upgraded. Who changes them gives WIRE a new number, and reads the old one as well. */
import { expect, test } from 'vitest';
import { decodeFrames, decodeObject, decodePackets, encodeFrames, encodeObject, PacketMessage } from '../../src/forward/wire.ts';
import type { StreamId, SubjectId } from '../../src/signal.ts';

const packets = [
  { streamId: 7 as StreamId, receivedNs: 1_764_000_000_123_456_789n, bytes: Buffer.from([1, 2, 3]) },
  { streamId: 0xffff_fffe as StreamId, receivedNs: -1n, bytes: Buffer.alloc(0) },
];
const frame = { subjectId: '01890000-0000-7000-8000-000000000000' as SubjectId, selection: 'ecg', seq: 17_640_000_001, endUnixMs: 1.5 };
const object = { streamId: 7, fromNs: 1_764_000_000_123_456_789n, note: 'é', none: null };

function messageOf(all: typeof packets, isHurried: boolean): Buffer {
  const message = new PacketMessage();
  for (const packet of all) message.add(packet);
  return message.finish(isHurried);
}

/** Of wire 1. */
const written = {
  packets: '01010700000015cd256fa7fc7a1803000000010203feffffffffffffffffffffff00000000',
  frames:
    '0130313839303030302d303030302d373030302d383030302d303030303030303030303030030065636700000428b46d1042000000000000f83f020000000908',
  object: '01' + Buffer.from('{"streamId":7,"fromNs":{"$big":"1764000000123456789"},"note":"é","none":null}').toString('hex'),
};

test('packets, frames and objects have the bytes of wire 1, and are read from them', () => {
  expect(messageOf(packets, true).toString('hex')).toBe(written.packets);
  expect(encodeFrames([{ ...frame, bytes: Buffer.from([9, 8]) }]).toString('hex')).toBe(written.frames);
  expect(encodeObject(object).toString('hex')).toBe(written.object);

  expect(decodePackets(Buffer.from(written.packets, 'hex'))).toEqual({ packets, isHurried: true });
  expect(decodeFrames(Buffer.from(written.frames, 'hex'))).toEqual([{ ...frame, bytes: Buffer.from([9, 8]) }]);
  expect(decodeObject(Buffer.from(written.object, 'hex'))).toEqual(object);
});

test('a message that grows past its first room keeps every packet', () => {
  const many = Array.from({ length: 300 }, (_, i) => ({
    streamId: i as StreamId,
    receivedNs: BigInt(i),
    bytes: Buffer.alloc((i * 37) % 900, i),
  }));
  const message = messageOf(many, false);
  expect(decodePackets(message)).toEqual({ packets: many, isHurried: false });
});

test('a message of another wire is refused by a sentence that names both', () => {
  const later = Buffer.concat([Buffer.of(2), Buffer.from('{}')]);
  expect(() => decodeObject(later)).toThrow('another node speaks wire 2, this one 1');
});

test('a frame whose number is none is refused: no later one would be newer', () => {
  for (const wrong of [{ seq: Infinity }, { seq: NaN }, { seq: -1 }, { seq: 1.5 }, { seq: 2 ** 60 }, { endUnixMs: NaN }])
    expect(() => decodeFrames(encodeFrames([{ ...frame, ...wrong, bytes: Buffer.alloc(3) }]))).toThrow(/damaged/);
});
