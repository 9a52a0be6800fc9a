/** One run of the conformance test: the state that its groups share, and their order. */
import type { Checks } from './checks.ts';
import type { Client, Credential } from './client.ts';
import type { Description } from './description.ts';
import type { Brief } from './groups/ends.ts';
import type { Raw } from './raw.ts';
import type { Person, Stage } from './stage.ts';

export type Run = Readonly<{
  client: Client;
  raw: Raw;
  checks: Checks;
  stage: Stage;
  description: Description;
  /** Two people of the project, and one of the other project, if there is one. */
  ada: Person;
  ben: Person;
  cleo: Person | null;
  /** A key of another organization, or why there is none. */
  otherKey: Credential | string;
  /** An operator's session, or why there is none. */
  session: Credential | string;
  brief: Brief;
  webhookUrl: string;
  /** Name that the proxy in front gives; '' when none is seen. */
  proxy: string;
}>;
