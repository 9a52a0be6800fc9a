/** Real recordings through the whole service: replayed as packets of a device, heart rate and RMSSD read from the API and compared with the
 *  reference annotations. Skips loudly without the recordings. */
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import { HR_SHARE_MIN, measureAgreement, sumUp } from '../../src/cli/agreement.ts';
import type { Agreement } from '../../src/cli/agreement.ts';
import type { Console } from '../../src/cli/command.ts';
import { openRecording } from '../../src/cli/client/recording.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { recording } from '../helpers/annotated-recordings.ts';
import { testDatabase } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';

const record = recording('mitdb/101.hea');

const silent: Console = {
  out: () => undefined,
  err: () => undefined,
  progress: null,
  env: {},
  cwd: '.',
  signal: new AbortController().signal,
};

describe.skipIf(record === null)('replayed recordings', () => {
  let database: TestDatabase;
  let service: Service;
  let credential: string;

  beforeAll(async () => {
    database = await testDatabase();
    const config = readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent', BIO_DEVICE_PACKETS_PER_SEC_MAX: '100000' });
    service = await startService({ config });
    credential = (await createOrganization(database.pool, 'Replay')).apiKey.key;
  });

  afterAll(async () => {
    await service?.stop();
    await database?.close();
  });

  const measure = async (name: string, packetMs: number): Promise<Agreement> =>
    await measureAgreement(
      await openRecording(join(dirname(record!), `${name}.hea`)),
      { url: service.baseUrl, credential, subject: `patient-${name}`, deviceId: `replay-${name}-${packetMs}`, packetMs, waitMs: 60_000 },
      silent,
    );

  test('heart rate lies within 2 bpm of the annotated one in 99 % of the seconds flagged good, and most seconds are', async () => {
    const results = [await measure('101', 1000), await measure('112', 1000), await measure('230', 1000)];
    for (const result of results) {
      expect(result.hrShare, result.recording).toBeGreaterThanOrEqual(HR_SHARE_MIN);
    }
    const total = sumUp(results);
    expect(total.hrShare).toBeGreaterThanOrEqual(HR_SHARE_MIN);
    expect(total.good / total.seconds).toBeGreaterThan(0.75);
    expect(total.rmssdMedianError).toBeLessThan(0.05);
  });

  // promise: grid
  test('the length of the packets changes no value', async () => {
    const long = await measure('115', 10_000);
    const short = await measure('115', 250);
    expect({ ...short }).toEqual({ ...long });
  });
});
