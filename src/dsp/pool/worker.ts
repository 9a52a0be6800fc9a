/** The worker thread: engines by handle, one batch at a time. */
import { move } from 'piscina';
import type { BatchAnswer, BatchTask, Control, Refusal } from './wire.ts';
import { headWidth, recordOp, recordWidth } from './wire.ts';
import { KernelStock } from '../engine/runner.ts';
import { StreamEngine } from '../engine/engine.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';

/** Live engines emit rows as they become final. Gated ones (recomputation) emit a range as one replacement when all of it is final. */
type Slot = { engine: StreamEngine; rows: RowBuffer; gated: boolean; fromUs: number; toUs: number; giveUs: number; closing: boolean };

const slots = new Map<number, Slot>();
const stock = new KernelStock();
const out = new RowBuffer();
let refused: Refusal[] = [];

/** Feeds one batch and returns the packed outputs of the engines that it touched (see readOutputs). */
export function runBatch(task: BatchTask): BatchAnswer {
  const touched = new Map<number, Slot>();
  const { records, payload, recordCount } = task;
  let last: Slot | undefined;
  for (let i = 0; i < recordCount; i++) {
    const at = i * recordWidth;
    const op = records[at]!;
    const handle = records[at + 1]!;
    if (op === recordOp.control) applyControl(task.controls[records[at + 2]!]!);
    const slot = slots.get(handle);
    if (slot === undefined) continue;
    touched.set(handle, slot);
    if (last !== slot) last?.engine.settle();
    last = slot;
    if (op === recordOp.control) continue;
    const channelNo = records[at + 2]!;
    const k0 = records[at + 3]!;
    if (op === recordOp.pass) slot.engine.pass(channelNo, k0);
    else takeRun(slot.engine, channelNo, k0, op, payload, records[at + 4]!, records[at + 5]!);
  }
  last?.engine.settle();
  out.count = 0;
  for (const [handle, slot] of touched) writeOutput(handle, slot);
  const rows = out.rows.slice(0, out.count * rowWidth);
  if (refused.length === 0) return move(rows) as Float64Array;
  const answer = { rows, refused };
  refused = [];
  return answer;
}

function takeRun(engine: StreamEngine, channelNo: number, k0: number, op: number, payload: SharedArrayBuffer, n: number, at: number): void {
  const masked = op >= recordOp.masked;
  const kind = masked ? op - recordOp.masked : op;
  const samples = kind === recordOp.int32 ? new Int32Array(payload, at, n) : new Float32Array(payload, at, n);
  engine.run(channelNo, k0, samples, masked ? new Uint8Array(payload, at + 4 * n, n) : null);
}

function applyControl(control: Control): void {
  const slot = slots.get(control.handle);
  switch (control.op) {
    case 'open':
      // Nothing is shared before an engine is made, so an error here says nothing about the others; one in its work ends the thread.
      try {
        slots.set(control.handle, newSlot(control));
      } catch (error) {
        refused.push({ handle: control.handle, reason: String(error) });
      }
      return;
    case 'give':
      if (slot !== undefined) slot.giveUs = control.endUs;
      return;
    case 'flush':
      slot?.engine.flush();
      return;
    case 'close':
      if (slot !== undefined) slot.closing = true;
      return;
    default: {
      const never: never = control;
      throw new Error(`control ${String(never)}`);
    }
  }
}

function newSlot({ channels, fromUs, toUs, spo2, gated }: Extract<Control, { op: 'open' }>): Slot {
  const rows = new RowBuffer();
  return { engine: new StreamEngine(channels, fromUs, stock, rows, spo2), rows, gated, fromUs, toUs, giveUs: -1, closing: false };
}

function writeOutput(handle: number, slot: Slot): void {
  const { engine, rows } = slot;
  const finalUs = engine.finalUs;
  const head = out.count;
  out.add(handle, 0, finalUs, -1, -1, 0);
  let moved: number;
  if (!slot.gated) moved = rows.moveBefore(Number.POSITIVE_INFINITY, out);
  else {
    const toUs = slot.closing ? slot.toUs : Math.min(finalUs, slot.giveUs, slot.toUs);
    moved = toUs > slot.fromUs ? rows.moveBefore(toUs, out) : 0;
    if (toUs > slot.fromUs) {
      out.rows[head * rowWidth + 3] = slot.fromUs;
      out.rows[head * rowWidth + 4] = toUs;
      slot.fromUs = toUs;
    }
  }
  out.rows[head * rowWidth + 1] = moved;
  if (slot.closing) {
    engine.close();
    slots.delete(handle);
  }
}

if (headWidth !== rowWidth) throw new Error('heads and rows share one buffer');
