/** Expected state, derived from the commands and their answers alone, never from what the service stored. */
import { createHash } from 'node:crypto';
import type { NewOrganization } from '../src/auth/organizations.ts';
import type { Packet } from '../src/proto/packet.ts';
import { personOf, PERSONS } from './commands.ts';
import type { Purpose } from './commands.ts';
import { ask } from './http.ts';
import type { Answer, AskOptions } from './http.ts';
import type { Receiver } from './receiver.ts';
import type { Recorder } from './recorder.ts';
import type { Stage } from './stage.ts';

/** What is wrong, by what it is of: shrinking keeps to one of a kind. */
export type Complaint = Readonly<{ kind: string; text: string }>;

export type Sent = Readonly<{ packet: Packet; bytes: Uint8Array<ArrayBuffer>; accepted: boolean }>;

/** One boot of a device, and what was acknowledged of it. */
export type Boot = {
  readonly deviceId: string;
  readonly bootId: string;
  /** What it sent, for messages. */
  readonly what: string;
  readonly person: Person;
  readonly sent: Sent[];
  /** Unix ns of device time 0, from and to; null before the first answer. */
  epoch: { fromNs: bigint; toNs: bigint } | null;
  /** When the newest answer came, Unix ms. */
  answeredMs: number;
};

/** An entry about a person, made by someone else. */
export type Weight = Readonly<{ time: string; kg: number }>;

/** What a webhook must be told. */
export type Told = Readonly<{ type: string; id: string; person: Person }>;

export type Mood = Readonly<{ score: number; note: string }>;

export type Person = {
  readonly index: number;
  /** A new one after an erasure. */
  readonly externalId: string;
  readonly xuserId: string;
  readonly token: string;
  readonly moods: Mood[];
  readonly journal: string[];
  readonly answers: number[];
  readonly weights: Weight[];
  /** Noted by a caller, not by a device. */
  readonly episodes: Set<string>;
  /** Of them, changed. */
  readonly changedEpisodes: Set<string>;
  /** Numbers of the recordings, as the database knows them, from just before an erasure: rows without an owner are found by them. */
  readonly streamIds: Set<number>;
  readonly consents: Map<Purpose, boolean>;
  consentCount: number;
};

export type Device = {
  readonly id: string;
  recorder: Recorder | null;
  boot: Boot | null;
  bootCount: number;
  oddCount: number;
};

/** Changes of consent reach open recordings within a second; until then either answer is right. */
const CONSENT_REACHES_MS = 5000;

export class Oracle {
  readonly seed: number;
  readonly stage: Stage;
  readonly org: NewOrganization;
  readonly complaints: Complaint[] = [];
  /** Indices of the commands that began. */
  readonly told: number[] = [];
  readonly boots: Boot[] = [];
  /** Who was erased. */
  readonly gone: Person[] = [];
  readonly #persons = new Map<number, Promise<Person>>();
  readonly #personCounts = new Map<number, number>();
  readonly #devices = new Map<number, Device>();
  /** The key that devices and readers use. */
  key: string;
  keyId: string;
  keyChanges = 0;
  settingChanges = 0;
  memberCount = 0;
  signInCount = 0;
  signOutCount = 0;
  /** Who is told of events, from its registration on. */
  receiver: Receiver | null = null;
  readonly events: Told[] = [];
  required: readonly Purpose[] = [];
  #consentChangedMs = -Infinity;
  /** The shortest retention that was ever set, days, and when it was set, Unix ms. */
  retention: { days: number; setMs: number } | null = null;
  readonly #disturbanceCount: number;
  /** Tells this playing of a history from the one before. */
  readonly #name: string;

  constructor(seed: number, stage: Stage, org: NewOrganization) {
    this.seed = seed;
    this.stage = stage;
    this.org = org;
    this.key = org.apiKey.key;
    this.keyId = org.apiKey.record.id;
    this.#name = org.orgId.slice(0, 8);
    this.#disturbanceCount = stage.disturbanceCount;
  }

  complain(kind: string, text: string): void {
    this.complaints.push({ kind, text });
  }

  expect(kind: string, holds: boolean, text: () => string): void {
    if (!holds) this.complain(kind, text());
  }

  /** Has the world done anything? */
  get isDisturbed(): boolean {
    return this.stage.disturbanceCount !== this.#disturbanceCount;
  }

  get packetCount(): number {
    return this.boots.reduce((sum, { sent }) => sum + sent.length, 0);
  }

  /** With the key of the organization unless `as` says otherwise. An answer of 500 and more is a fault whatever was asked. */
  async ask(method: string, path: string, options: Partial<AskOptions> = {}): Promise<Answer> {
    const answer = await ask(this.stage, method, path, { ...options, as: options.as ?? this.key });
    this.expect('answers', answer.status < 500, () => `${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer;
  }

  /** Asks for what must be answered with this status. @returns its JSON; null otherwise */
  async must<T>(status: number, method: string, path: string, options: Partial<AskOptions> = {}): Promise<T | null> {
    const answer = await this.ask(method, path, options);
    const isRight = answer.status === status || (status === 201 && answer.status === 200);
    this.expect(
      'answers',
      isRight || answer.status >= 500,
      () => `${method} ${path}: ${answer.status} instead of ${status}: ${answer.text.slice(0, 300)}`,
    );
    return isRight ? (answer.json as T) : null;
  }

  // ------------------------------------------------------------------------------------------------------------ people

  async person(index: number): Promise<Person> {
    const key = index % PERSONS;
    let person = this.#persons.get(key);
    if (person === undefined) this.#persons.set(key, (person = this.#makePerson(key)));
    return await person;
  }

  async people(): Promise<readonly Person[]> {
    return await Promise.all(this.#persons.values());
  }

  async #makePerson(index: number): Promise<Person> {
    const count = this.#personCounts.get(index) ?? 0;
    this.#personCounts.set(index, count + 1);
    const externalId = `${this.#name}-person-${index}-${count}`;
    const body = { external_id: externalId, project_key: this.org.projectKey };
    const made = await this.must<{ xuser_token: string; xuser_id: string }>(200, 'POST', '/api/v1/sdk/token', { body });
    if (made === null) throw new Error('no token');
    const { xuser_id: xuserId, xuser_token: token } = made;
    return {
      index,
      externalId,
      xuserId,
      token,
      moods: [],
      journal: [],
      answers: [],
      weights: [],
      episodes: new Set(),
      changedEpisodes: new Set(),
      streamIds: new Set(),
      consents: new Map(),
      consentCount: 0,
    };
  }

  /** The next person of this index is a different one, with other boots of the devices. */
  erased(person: Person): void {
    this.gone.push(person);
    this.happened('xuser.erased', person.xuserId, person);
    this.#persons.delete(person.index);
    for (const [index, device] of this.#devices) {
      if (personOf(index) !== person.index) continue;
      device.boot = null;
      device.recorder = null;
    }
  }

  /** Something that a webhook is told. */
  happened(type: string, id: string, person: Person): void {
    if (this.receiver !== null) this.events.push({ type, id, person });
  }

  isMissing(person: Person, purpose: Purpose): boolean {
    return this.required.includes(purpose) && person.consents.get(purpose) !== true;
  }

  consentChanged(): void {
    this.#consentChangedMs = performance.now();
  }

  get isConsentSettling(): boolean {
    return performance.now() - this.#consentChangedMs < CONSENT_REACHES_MS;
  }

  // ------------------------------------------------------------------------------------------------------------ devices

  device(index: number): Device {
    let device = this.#devices.get(index);
    if (device === undefined) {
      device = { id: `${this.#name}-device-${index}`, recorder: null, boot: null, bootCount: 0, oddCount: 0 };
      this.#devices.set(index, device);
    }
    return device;
  }

  openBoot(deviceId: string, what: string, person: Person): Boot {
    const bootId = createHash('sha256').update(`${this.org.orgId} ${deviceId} ${what}`).digest('hex').slice(0, 32);
    const boot: Boot = { deviceId, bootId, what, person, sent: [], epoch: null, answeredMs: 0 };
    this.boots.push(boot);
    return boot;
  }

  /** Boots with something acknowledged whose rows must be there, all of them and as they were. */
  get standing(): readonly Boot[] {
    return this.boots.filter((boot) => this.hasAccepted(boot) && !this.gone.includes(boot.person) && !this.isExpired(boot));
  }

  hasAccepted(boot: Boot): boolean {
    return boot.sent.some(({ accepted }) => accepted);
  }

  /** Does retention take any of it? */
  isExpired(boot: Boot): boolean {
    return (
      this.retention !== null &&
      boot.epoch !== null &&
      firstNs(boot) < BigInt(this.retention.setMs - this.retention.days * 86_400_000) * 1_000_000n
    );
  }
}

/** Unix ns of the earliest that was acknowledged; of the epoch's earliest. */
export function firstNs(boot: Boot): bigint {
  const starts = boot.sent.flatMap(({ packet, accepted }) => (accepted ? [packet.t0DeviceNs] : []));
  return (boot.epoch?.fromNs ?? 0n) + starts.reduce((least, start) => (start < least ? start : least), starts[0] ?? 0n);
}
