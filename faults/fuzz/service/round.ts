/** One round: an organization of its own in which hostile devices send alongside a witness, and another organization with one; then
 *  everything is held against what it must be. */
import { randomUUID } from 'node:crypto';
import type { NewOrganization } from '../../../src/auth/organizations.ts';
import { wordsOf } from '../stage.ts';
import type { FuzzStage } from '../stage.ts';
import { packetsOf } from './cases.ts';
import type { Case } from './cases.ts';
import { deliver } from './deliver.ts';
import type { Ledger } from './deliver.ts';
import { askEveryPage, exportEverybody } from './pages.ts';
import type { Reader } from './pages.ts';
import { compareStored } from './stored.ts';
import { Witness } from './witness.ts';
import type { WitnessRows } from './witness.ts';

/** What is wrong, by what it is of: cutting down keeps to one of a kind. */
export type Complaint = Readonly<{ kind: 'answer' | 'witness' | 'process' | 'stored' | 'page' | 'export'; text: string }>;

const PEOPLE = 2;
const AT_ONCE = 3;

export type RoundOptions = Readonly<{
  cases: readonly Case[];
  /** Beats and values of the witness when it is alone. */
  wanted: WitnessRows;
  /** Files are written, too: a second and more for each person. */
  exports: boolean;
}>;

/** Beats and values of a witness that is alone. */
export async function witnessAlone(stage: FuzzStage): Promise<WitnessRows> {
  const { apiKey } = await stage.newOrganization('alone');
  const witness = new Witness(randomUUID(), 'alone');
  await witness.sendOverHttp(stage, apiKey.key);
  const rows = await witness.rows(stage, null);
  if (witness.complaints.length > 0 || rows.size === 0)
    throw new Error(`the witness alone: ${rows.size} rows; ${witness.complaints.join('; ')}`);
  return rows;
}

export async function playRound(stage: FuzzStage, { cases, wanted, exports }: RoundOptions): Promise<readonly Complaint[]> {
  const name = randomUUID();
  const [org, other] = [await stage.newOrganization('fuzzed'), await stage.newOrganization('neighbour')];
  const reader = await peopleOf(stage, org);
  const [near, far] = [new Witness(`${name} near`, 'witness'), new Witness(`${name} far`, 'witness')];
  const [ledger, otherLedger]: [Ledger, Ledger] = [new Map(), new Map()];
  const complaints: Complaint[] = [];
  const complain = (kind: Complaint['kind'], texts: readonly string[]): void =>
    void complaints.push(...texts.map((text) => ({ kind, text })));

  await Promise.all([
    near.sendOverHttp(stage, org.apiKey.key),
    far.sendOverSocket(stage, other.apiKey.key),
    playCases(stage, cases, name, { org, other, reader }, ledger, otherLedger, (texts) => complain('answer', texts)),
  ]);
  complain('witness', [...near.complaints, ...far.complaints]);
  if (!stage.service.running) {
    complain('process', stage.takeTroubles());
    return complaints;
  }
  near.enter(ledger);
  far.enter(otherLedger);
  complain('stored', await compareStored(stage, org.orgId, ledger));
  complain('stored', await compareStored(stage, other.orgId, otherLedger));
  complain('witness', await near.compare(stage, wanted));
  complain('witness', await far.compare(stage, wanted));
  complain('page', await askEveryPage(stage, reader));
  if (exports) complain('export', await exportEverybody(stage, reader));
  complain('process', stage.takeTroubles());
  return complaints;
}

type World = Readonly<{ org: NewOrganization; other: NewOrganization; reader: Reader }>;

async function playCases(
  stage: FuzzStage,
  cases: readonly Case[],
  round: string,
  { org, other, reader }: World,
  ledger: Ledger,
  otherLedger: Ledger,
  complain: (texts: readonly string[]) => void,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cases.length && stage.service.running) {
      const given = cases[next++]!;
      const person = given.device % PEOPLE;
      const packets = packetsOf(given, round, `person-${person}`);
      const as = given.sender === 'key' ? org.apiKey.key : given.sender === 'user' ? reader.people[person]!.token : other.apiKey.key;
      try {
        const wrong = await deliver(stage, given, packets, as, given.sender === 'stranger' ? otherLedger : ledger);
        complain(wrong.map((text) => `case ${given.index} (${given.base}, ${given.transport}, ${given.coding}): ${text}`));
      } catch (error) {
        complain([`case ${given.index} got no answer: ${wordsOf(error)}`]);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function peopleOf(stage: FuzzStage, { apiKey, projectId, projectKey }: NewOrganization): Promise<Reader> {
  const people: { id: string; token: string }[] = [];
  for (let i = 0; i < PEOPLE; i++) {
    const body = JSON.stringify({ external_id: `person-${i}`, project_key: projectKey });
    const answer = await stage.ask('POST', '/api/v1/sdk/token', { as: apiKey.key, body, headers: { 'content-type': 'application/json' } });
    const { xuser_token: token, xuser_id: id } = JSON.parse(answer.text) as { xuser_token: string; xuser_id: string };
    people.push({ id, token });
  }
  return { key: apiKey.key, projectId, people };
}
