import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ACK_SPACING_MS, AckSchedule } from './ack-schedule.ts';
import type { AckSocket } from './ack-schedule.ts';

class Socket implements AckSocket {
  ackedMs = -Infinity;
  needsAck = false;
  readonly sentMs: number[] = [];

  sendAck(): void {
    this.ackedMs = performance.now();
    this.needsAck = false;
    this.sentMs.push(Math.round(this.ackedMs));
  }
}

describe('AckSchedule', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setImmediate', 'setInterval', 'clearInterval'], now: 0 }));
  afterEach(() => void vi.useRealTimers());

  it('sends the first one at the end of the turn, and everybody in one go', () => {
    const schedule = new AckSchedule();
    const sockets = [new Socket(), new Socket()];
    for (const socket of sockets) schedule.plan(socket);
    expect(vi.getTimerCount()).toBe(1);
    expect(sockets.map((socket) => socket.sentMs.length)).toEqual([0, 0]);
    vi.advanceTimersByTime(0);
    expect(sockets.map((socket) => socket.sentMs.length)).toEqual([1, 1]);
  });

  it('keeps the spacing of a socket, and no longer than one tick more', () => {
    const schedule = new AckSchedule();
    const socket = new Socket();
    schedule.plan(socket);
    vi.advanceTimersByTime(10);
    schedule.plan(socket);
    vi.advanceTimersByTime(ACK_SPACING_MS - 11);
    expect(socket.sentMs).toHaveLength(1);
    vi.advanceTimersByTime(31);
    expect(socket.sentMs).toHaveLength(2);
    expect(socket.sentMs[1]! - socket.sentMs[0]!).toBeGreaterThanOrEqual(ACK_SPACING_MS);
  });

  it('sends at once what the client needs, planned so or only since', () => {
    const schedule = new AckSchedule();
    const [planned, since] = [new Socket(), new Socket()];
    for (const socket of [planned, since]) socket.ackedMs = performance.now();
    planned.needsAck = true;
    schedule.plan(planned);
    schedule.plan(since);
    vi.advanceTimersByTime(0);
    expect([planned.sentMs.length, since.sentMs.length]).toEqual([1, 0]);
    since.needsAck = true;
    vi.advanceTimersByTime(20);
    expect(since.sentMs).toHaveLength(1);
  });

  it('runs no timer while nobody waits', () => {
    const schedule = new AckSchedule();
    const socket = new Socket();
    socket.ackedMs = performance.now();
    schedule.plan(socket);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(2 * ACK_SPACING_MS);
    expect(socket.sentMs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
