/** Fixes of faults that the service once had, and how each is taken out again. Random histories must notice that it is missing. */
import type { Edit } from '../../scripts/planted/edit.ts';

export type Fix = Readonly<{
  name: string;
  /** What was fixed, in the words of the table in docs/histories.md. */
  what: string;
  /** Seed of the first history to play. Rare faults start shortly before the first history that can show them. Default: FIRST_SEED. */
  seed?: number;
  edits: readonly Edit[];
  /** Matches the complaint that its absence causes, "kind: text". */
  says: RegExp;
}>;

export const FIRST_SEED = 1000;

export const fixes: readonly Fix[] = [
  {
    name: 'ownership',
    what: 'an owner of the packet log that was followed by another writes nothing more, and ends (epochs)',
    edits: [
      { file: 'sql/000063-partitions.sql', find: 'and c.epoch = h.epoch where', replace: 'and c.epoch >= h.epoch where' },
      {
        file: 'src/storage/log-ownership.ts',
        find: 'if (rowCount !== this.held.partitions.length) this.lose();',
        replace: 'if (rowCount === null) this.lose();',
      },
      {
        file: 'src/start/readiness.ts',
        find: 'ownership?.fence.isBehind(rows) === true',
        replace: 'rows.length === 0 && ownership !== null',
      },
    ],
    says: /(?<=^samples: verify: [^]*)FAULT .* was acknowledged but is missing/,
  },
  {
    name: 'retention-lock',
    what: 'retention has a lock of its own',
    seed: 1030,
    edits: [
      {
        file: 'src/storage/database/locks.ts',
        find: 'projectRetention: 8_031_447_120_946n',
        replace: 'projectRetention: 8_031_447_120_945n',
      },
    ],
    says: /^retention: rows from before .* are still there, .*/,
  },
  {
    name: 'silence',
    what: 'a stream that is taken for ended in its first seconds is computed again when it goes on',
    edits: [
      {
        file: 'src/dsp/engine/engine.ts',
        find: 'if (this.#flushedUs !== null) return this.#flushedUs;',
        replace: 'if (this.#flushedUs !== null && this.#flushedUs >= 0) return this.#flushedUs;',
      },
    ],
    says: /^derived: .* of \d+ beats and values of a clean run [1-9]\d* are missing/,
  },
  {
    name: 'poisonous-rows',
    what: 'a row that the database refuses is set aside, and stops no other',
    seed: 1017,
    edits: [{ file: 'src/storage/store-or-set-aside.ts', find: "      if (failure === 'bad_row') return error;\n", replace: '' }],
    says: /^derived: .* of (\d+) beats and values of a clean run \1 are missing/,
  },
  {
    name: 'control-characters',
    what: 'control characters in packets are refused',
    edits: [
      {
        file: 'src/proto/packet-decode.ts',
        find: "  return fault(start, `${fieldName} holds ${refused}`, 'packet_invalid');",
        replace: '  return text;',
      },
    ],
    says: /^answers: a packet that is not legal \(control character.*\) was answered .*accepted.*/,
  },
  {
    name: 'far-numbers',
    what: 'spans of sequence numbers are counted in 64 bits',
    edits: [
      {
        file: 'src/query/device-routes.ts',
        find: 'coalesce(p.span - p.received, 0)::bigint as lost_packets',
        replace: 'coalesce(p.span - p.received, 0)::integer as lost_packets',
      },
    ],
    says: /^answers: GET \/api\/v1\/devices.*: 500 .*/,
  },
  {
    name: 'conflict',
    what: 'a packet number with other content is a conflict, not a duplicate',
    edits: [{ file: 'src/ingest/session.ts', find: "return before === contentHash ? 'same' : 'other';", replace: "return 'same';" }],
    says: /^answers: packet \d+ of .* with other samples was answered 202 .*/,
  },
  {
    name: 'recorded-from',
    what: 'recordings are found by when they were recorded, not by when they came',
    edits: [
      {
        file: 'src/query/chart-sources.ts',
        find: "coalesce(recorded_from, '-infinity') < $4::timestamptz",
        replace: 'started_at < $4::timestamptz',
      },
      {
        file: 'src/query/observations.ts',
        find: "coalesce(s.recorded_from, '-infinity') < $6::timestamptz",
        replace: 's.started_at < $6::timestamptz',
      },
    ],
    says: /^(?:charts: .* is undefined instead of .*|observations: .*: \d+ minutes .* instead of \d+ minutes)/,
  },
  {
    name: 'kept-answers',
    what: 'an erasure takes kept answers that name the person',
    seed: 1006,
    edits: [
      {
        file: 'src/records/erase.ts',
        find: 'for (const { store, from, condition } of mentions) {',
        replace: 'for (const { store, from, condition } of mentions.slice(1)) {',
      },
    ],
    says: /^gone: \d+ kept answers name .*, who was erased: .*/,
  },
  {
    name: 'erased-rollups',
    what: 'an erasure takes minutes, hours and days along',
    seed: 1008,
    edits: [{ file: 'src/records/erase.ts', find: 'for (const rollup of rollups) {', replace: 'for (const rollup of rollups.slice(3)) {' }],
    says: /^gone: feature_1[mhd]\w* has \d+ rows of recordings of .*, who was erased/,
  },
];
