/** Faults that are put into a copy of the checkout one at a time, and what the fuzzer must say of each. */
import type { Edit } from '../../scripts/planted/edit.ts';

export type Plant = Readonly<{
  name: string;
  what: string;
  by: 'service' | 'api';
  edits: readonly Edit[];
  /** Of a line that the fuzzer prints. */
  says: RegExp;
}>;

const single = {
  file: 'src/ingest/post-raw-packet.ts',
  find: '  if (isRejected(packet)) throw failure(packet);\n',
} as const;
const stored = {
  file: 'src/pipeline/pipeline.ts',
  find: '        blocks.push(stream.id, stream.epochNs, stream.rates, runs, position);\n',
} as const;
const odd = 'admitted.seq % 50 === 49';

export const plants: readonly Plant[] = [
  {
    name: 'fault',
    what: 'a packet of 20 channels is a 500',
    by: 'service',
    edits: [{ ...single, replace: `${single.find}  if (packet.blocks.length === 20) throw new Error('planted');\n` }],
    says: /answered 500/,
  },
  {
    name: 'turn',
    what: 'a packet of 20 channels holds the main thread for 800 ms',
    by: 'service',
    edits: [
      {
        ...single,
        replace: `${single.find}  if (packet.blocks.length === 20) for (const cpu = process.cpuUsage(); process.cpuUsage(cpu).user < 8e5;);\n`,
      },
    ],
    says: /the main thread worked \d+ ms before it answered/,
  },
  {
    name: 'lost',
    what: 'the samples of an acknowledged packet are not stored',
    by: 'service',
    edits: [{ ...stored, replace: `        if (!(${odd})) ${stored.find.trim()}\n` }],
    says: /sample \d+ was acknowledged and is not there/,
  },
  {
    name: 'wrong-sample',
    what: 'a sample is stored one too high',
    by: 'service',
    edits: [{ ...stored, replace: `        if (${odd}) runs[0]!.samples[0]! += 1;\n${stored.find}` }],
    says: /sample \d+ is -?\d+ .*, sent was/,
  },
  {
    name: 'doubled',
    what: 'what a packet reports is stored twice',
    by: 'service',
    edits: [
      {
        file: 'src/pipeline/pipeline.ts',
        find: 'const measurements = admitted.measurements.map(',
        replace: 'const measurements = [...admitted.measurements, ...admitted.measurements].map(',
      },
    ],
    says: /2 times, and 1 were acknowledged/,
  },
  {
    name: 'miscounted',
    what: 'a packet that is sent again is answered as accepted',
    by: 'service',
    edits: [
      {
        file: 'src/ingest/post-raw-packet.ts',
        find: '    else duplicates++;\n    if (offered.unverified)',
        replace: '    else accepted++;\n    if (offered.unverified)',
      },
    ],
    says: /accepted and \d+ duplicates were told, it must be/,
  },
  {
    name: 'not-computed',
    what: 'packets that are committed together with those of others do not reach the detectors',
    by: 'service',
    edits: [
      {
        file: 'src/pipeline/pipeline.ts',
        find: '        this.#computing.take(stream, runs, admitted);\n',
        replace: '        if (taken[0]!.stream === stream) this.#computing.take(stream, runs, admitted);\n',
      },
    ],
    says: /beats and values of the witness \d+ are missing/,
  },
  {
    name: 'refusal',
    what: 'a key without the scope is refused with the code of a conflict',
    by: 'api',
    edits: [
      {
        file: 'src/http/access.ts',
        find: 'if (!caller.scopes.includes(needed)) {\n',
        replace: "if (!caller.scopes.includes(needed)) {\n    if (needed !== 'ingest') throw new PipelineError('conflict', 'planted');\n",
      },
    ],
    says: /the (?:code conflict|status 409) is not described|may not and is answered 409/,
  },
  {
    name: 'schema',
    what: 'a name in the list of users is a number',
    by: 'api',
    edits: [
      {
        file: 'src/tenancy/xuser-routes.ts',
        find: '({ ...user, ...shownXuser(user) })',
        replace: '({ ...user, ...shownXuser(user), display_name: 7 as never })',
      },
    ],
    says: /described: .*display_name/,
  },
  {
    name: 'slow',
    what: 'a request with a limit waits for 1.5 s',
    by: 'api',
    edits: [
      {
        file: 'src/http/incoming.ts',
        find: '    const query = row.query(this.#query);\n',
        replace:
          "    const query = row.query(this.#query);\n    if (this.#query.includes('limit=')) await new Promise((resolve) => setTimeout(resolve, 1500));\n",
      },
    ],
    says: /slow: \d+ ms every time/,
  },
];
