import { describe, expect, it } from 'vitest';
import { WINDOW } from '../ingest/ingest-socket.ts';
import { MESSAGE_MS_MAX, TURN_BYTES_MAX, TURN_MESSAGES_FREE, TURN_MS_MAX, TurnBudget, Turns } from './turn-budget.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('TurnBudget', () => {
  it('ends a socket that sends more bytes in one turn than one may', () => {
    const budget = new TurnBudget(new Turns());
    expect(budget.isOver(TURN_BYTES_MAX - 1)).toBe(false);
    expect(budget.isOver(1)).toBe(false);
    expect(budget.isOver(1)).toBe(true);
  });

  it('ends a socket whose messages beyond the window take longer in one turn than one may', () => {
    const budget = new TurnBudget(new Turns());
    for (let i = 1; i <= TURN_MESSAGES_FREE; i++) budget.isOver(0);
    for (let ms = 0; ms < TURN_MS_MAX; ms += MESSAGE_MS_MAX) {
      expect(budget.isOver(0)).toBe(false);
      budget.spend(MESSAGE_MS_MAX);
    }
    expect(budget.isOver(0)).toBe(false);
    budget.spend(0.1);
    expect(budget.isOver(0)).toBe(true);
  });

  it('takes what the window allows at once on a machine that is slow, too', () => {
    const budget = new TurnBudget(new Turns());
    for (let i = 1; i <= WINDOW; i++) {
      expect(budget.isOver(0)).toBe(false);
      budget.spend(MESSAGE_MS_MAX);
    }
    expect(budget.isOver(0)).toBe(true);
  });

  it('counts a pause of the machine as one long message', () => {
    const budget = new TurnBudget(new Turns());
    for (let i = 1; i <= TURN_MESSAGES_FREE; i++) budget.isOver(0);
    budget.spend(10_000);
    expect(budget.isOver(0)).toBe(false);
  });

  it('begins anew with the next turn', async () => {
    const budget = new TurnBudget(new Turns());
    budget.isOver(TURN_BYTES_MAX);
    budget.isOver(0); // asks for the turn
    await nextTurn();
    expect(budget.isOver(TURN_BYTES_MAX)).toBe(false);
    expect(budget.isOver(1)).toBe(true);
  });

  it('begins anew when another socket was read in between', () => {
    const turns = new Turns();
    const [one, other] = [new TurnBudget(turns), new TurnBudget(turns)];
    expect(one.isOver(TURN_BYTES_MAX)).toBe(false);
    expect(other.isOver(1)).toBe(false);
    expect(one.isOver(TURN_BYTES_MAX)).toBe(false);
    expect(one.isOver(1)).toBe(true);
  });

  it('does not mix the sockets of two servers in one process', () => {
    const [one, other] = [new TurnBudget(new Turns()), new TurnBudget(new Turns())];
    expect(one.isOver(TURN_BYTES_MAX)).toBe(false);
    expect(other.isOver(1)).toBe(false);
    expect(one.isOver(1)).toBe(true);
  });
});
