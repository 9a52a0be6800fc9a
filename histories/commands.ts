/** Commands of a history: plain JSON, so that a history can be printed, cut down and run again. */

export type Upload = 'in order' | 'newest first' | 'shuffled';
/** Legal, if odd: each is a few packets of a boot of their own. */
export const oddities = [
  'twenty leads',
  'numbers far apart',
  'floats',
  'extreme integers',
  'extreme rates',
  'long texts',
  'many items',
  'nothing',
  'far device time',
  'quality runs',
  'rows that the site refuses',
] as const;
/** What the site's own constraints refuse: the rows are set aside, and nothing else is. */
export const refusedBySite = { text: 'refused by the site', value: 66.25 } as const;
/** Not legal: the code that must be answered, and nothing may be kept. */
export const refusals = {
  'control character in a unit': 'packet_invalid',
  'control character in an event': 'packet_invalid',
  'eleven minutes ahead': 'packet_clock',
  'before the year 2000': 'packet_clock',
  'rate of 0': 'packet_invalid',
  'two days after its packet': 'packet_invalid',
  'cut short': 'packet_malformed',
  'another subject in the same boot': 'packet_invalid',
} as const;
/** How a device's wall clock stands: seconds off the true time, or none at all. */
export type WallClock = number | 'none';

export type DeviceCommand =
  /** A new boot: from now on its recording began so long ago. */
  | Readonly<{ do: 'boot'; device: number; agoSec: number; wallClock: WallClock; driftPpm: number; channels: readonly string[] }>
  /** Records and sends at once. */
  | Readonly<{ do: 'send'; device: number; sec: number; via: 'http' | 'socket' }>
  /** Records, and keeps it. */
  | Readonly<{ do: 'record'; device: number; sec: number }>
  /** Sends what it kept. */
  | Readonly<{ do: 'upload'; device: number; order: Upload; via: 'http' | 'socket' }>
  /** Its clock goes on, and nothing is recorded. */
  | Readonly<{ do: 'skip'; device: number; sec: number }>
  | Readonly<{ do: 'pause'; device: number; ms: number }>
  /** The newest so many acknowledged packets again, the bytes as they were. */
  | Readonly<{ do: 'resend'; device: number; count: number }>
  /** An acknowledged packet's number with other samples. */
  | Readonly<{ do: 'contradict'; device: number; back: number }>
  | Readonly<{ do: 'addChannel'; device: number; channel: string }>
  /** The wall clock is set; a boot's place in time stays. */
  | Readonly<{ do: 'setClock'; device: number; wallClock: WallClock }>
  | Readonly<{ do: 'odd'; device: number; what: (typeof oddities)[number] }>
  | Readonly<{ do: 'illegal'; device: number; what: keyof typeof refusals }>
  /** Sends in real time while a viewer watches. */
  | Readonly<{ do: 'live'; device: number; sec: number }>;

export type PersonCommand =
  | Readonly<{ do: 'mood'; person: number; score: number; note: string }>
  | Readonly<{ do: 'journal'; person: number; text: string }>
  | Readonly<{ do: 'answer'; person: number; points: readonly number[] }>
  /** A weight that did not come in a packet, told twice. */
  | Readonly<{ do: 'measure'; person: number; value: number; unit: 'kg' | '[lb_av]' }>
  /** A caller notes an episode of the person, and closes it. */
  | Readonly<{ do: 'episode'; person: number; kind: string; closes: boolean }>
  /** Opens every page there is of the person. */
  | Readonly<{ do: 'look'; person: number }>;

export type OperatorCommand =
  | Readonly<{ do: 'rotateKey' }>
  | Readonly<{ do: 'revokeKey' }>
  | Readonly<{ do: 'requireConsent'; purposes: readonly Purpose[] }>
  | Readonly<{ do: 'consent'; person: number; purpose: Purpose; granted: boolean }>
  | Readonly<{ do: 'erase'; person: number }>
  | Readonly<{ do: 'retention'; days: number | null }>
  /** Registers a webhook, which is notified of events from now on. */
  | Readonly<{ do: 'webhook' }>
  /** A new member signs in, does what the role may, tries what it may not, and signs out. */
  | Readonly<{ do: 'signIn'; role: 'admin' | 'viewer' }>;
export type Purpose = 'recording' | 'sharing';

/** Each begins so long after its turn, while the commands after it go on. */
export type WorldCommand = Readonly<{ afterMs: number }> &
  (
    | Readonly<{ do: 'killService' }>
    | Readonly<{ do: 'stopService' }>
    | Readonly<{ do: 'killPostgres' }>
    | Readonly<{ do: 'standby' }>
    /** A second instance takes over from one that is cut off, and ends; the first one goes on, or is started again. A device of its own
     *  sends to each. */
    | Readonly<{ do: 'takeBack'; ends: 'kill' | 'stop'; sec: number }>
    /** For longer than the service tries: it refuses packets meanwhile. */
    | Readonly<{ do: 'databaseAway'; how: 'refuse' | 'hole'; ms: number }>
    | Readonly<{ do: 'cutDevices'; ms: number }>
    | Readonly<{ do: 'cutDatabase'; ms: number }>
    | Readonly<{ do: 'freezeService'; ms: number }>
    | Readonly<{ do: 'freezePostgres'; ms: number }>
  );

export type Command = DeviceCommand | PersonCommand | OperatorCommand | WorldCommand;
export type History = Readonly<{ seed: number; commands: readonly Command[] }>;

export const isOfDevice = (command: Command): command is DeviceCommand => 'device' in command;
export const isOfWorld = (command: Command): command is WorldCommand => 'afterMs' in command;
export const isOfPerson = (command: Command): command is PersonCommand =>
  'person' in command && !('granted' in command) && command.do !== 'erase';

/** Two devices record person 0, and one each of the others. */
export const DEVICES = 4;
export const PERSONS = 3;
export const personOf = (device: number): number => [0, 0, 1, 2][device % DEVICES]!;
