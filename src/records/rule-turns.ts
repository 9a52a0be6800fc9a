/** The work of a round of rules, shared among organizations: each has a turn, and then another, until all is done or the round's time is
 *  over. What is left is done first in the next round, which begins with the organization whose turn it would have been. So an
 *  organization whose rules concern very many recordings waits for itself, and the others have their turns meanwhile. */
import type { PoolClient } from 'pg';
import type { Db } from '../storage/database/database.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { ONE_PLAN } from './episode-rule.ts';
import type { Candidate, EpisodeRule } from './episode-rule.ts';
import { activeProjects, concernedByProjectRules, currentRules } from './project-rules.ts';
import { markLooked } from './rule-looks.ts';
import type { Look } from './rule-looks.ts';

/** Time after which a round begins no other turn, ms. */
const ROUND_MS_MAX = 10_000;
/** Time after which a turn of an organization begins with no other recording, ms. */
const TURN_MS_MAX = 250;
/** Rules whose recordings are looked for at once. */
const RULES_AT_ONCE = 5;
/** Errors of data or of a statement, its time limit included, are one organization's; with others the next one would fail, too. */
const OF_ONE = /^(?:2|40|42|57014|P0|XX)/;
/** Of these the same look may succeed in the next round. What another one is about is still there then: the mark of its recording moves on,
 *  so that the range of its looks does not grow. */
const PASSING = /^40/;

/** A rule and a recording; of a project's rule, with its id. */
export type Pair = Readonly<{ rule: EpisodeRule; ruleId: string | null; stream: Candidate }>;

/** The work of a round: pairs of the service's own rules, rules of projects by organization, and what is looked at thereby. */
type Round = Readonly<{ own: readonly Pair[]; ruleIds: ReadonlyMap<string, readonly string[]>; looks: readonly Look[] }>;

/** What is left to do for one organization. */
type Share = { readonly organizationId: string; pairs: Pair[]; readonly ruleIds: string[]; looks: Look[] };

type Turn = (work: (client: PoolClient) => Promise<void>) => Promise<void>;
type Apply = (db: Db, stream: Candidate, rule: EpisodeRule) => Promise<void>;

export class RuleTurns {
  /** Shares that rounds have begun and not ended. */
  readonly #begun = new Map<string, Share>();
  /** Organization that had the last turn. */
  #last = '';
  #stopped = false;

  /** No other turn begins. */
  stop(): void {
    this.#stopped = true;
  }

  /** Forgets what was left: another node has had the rounds since. */
  clear(): void {
    this.#begun.clear();
  }

  /** Gives turns.  @param turn runs work in a transaction  @throws the first error, when everybody else has had their turns */
  async take(round: Round, turn: Turn, apply: Apply): Promise<void> {
    const stopMs = performance.now() + ROUND_MS_MAX;
    let waiting = this.#shares(round);
    const failures: unknown[] = [];
    while (waiting.length > 0) {
      const again: Share[] = [];
      for (const share of waiting) {
        if (this.#stopped || performance.now() > stopMs) return fail(failures);
        this.#last = share.organizationId;
        try {
          await turn((client) => work(client, share, apply));
        } catch (error) {
          if (!OF_ONE.test(sqlStateOf(error) ?? '')) throw error;
          failures.push(error);
        }
        if (share.pairs.length > 0 || share.ruleIds.length > 0) again.push(share);
        else this.#begun.delete(share.organizationId);
      }
      waiting = again;
    }
    fail(failures);
  }

  /** Shares in order of turns, beginning behind the one that had the last. */
  #shares({ own, ruleIds, looks }: Round): Share[] {
    const fresh = new Map<string, Share>();
    const shareOf = (organizationId: string): Share => {
      const share = fresh.get(organizationId) ?? {
        organizationId,
        pairs: [],
        ruleIds: [...(ruleIds.get(organizationId) ?? [])],
        looks: [],
      };
      fresh.set(organizationId, share);
      return share;
    };
    for (const organizationId of ruleIds.keys()) shareOf(organizationId);
    for (const pair of own) shareOf(pair.stream.organization_id).pairs.push(pair);
    for (const look of looks) shareOf(look.organization_id).looks.push(look);
    for (const [id, share] of fresh) if (!this.#begun.has(id)) this.#begun.set(id, share);
    const shares = [...this.#begun.values()].toSorted((a, b) => (a.organizationId < b.organizationId ? -1 : 1));
    const at = shares.findIndex(({ organizationId }) => organizationId > this.#last);
    return at < 0 ? shares : [...shares.slice(at), ...shares.slice(0, at)];
  }
}

function fail(failures: readonly unknown[]): void {
  if (failures.length > 0) throw failures[0];
}

/** One turn. Time has passed since the pairs were found: rules that were changed or deleted meanwhile count as they are now. */
async function work(db: Db, share: Share, apply: Apply): Promise<void> {
  const { organizationId, pairs, ruleIds } = share;
  const stopMs = performance.now() + TURN_MS_MAX;
  const active = await activeProjects(db, organizationId);
  const rules = await currentRules(
    db,
    pairs.flatMap(({ ruleId }) => ruleId ?? []),
  );
  const done: Pair[] = [];
  let pair: Pair | undefined;
  try {
    do {
      pair = pairs.shift();
      if (pair === undefined) {
        const ids = ruleIds.splice(0, RULES_AT_ONCE);
        if (ids.length === 0) break;
        await db.query(ONE_PLAN);
        const concerned = await concernedByProjectRules(db, ids);
        await db.query('set local plan_cache_mode to default');
        for (const found of concerned) {
          pairs.push(found);
          rules.set(found.ruleId, found.rule);
        }
        continue;
      }
      const rule = pair.ruleId === null ? pair.rule : rules.get(pair.ruleId);
      if (rule !== undefined && active.has(pair.stream.project_id)) await apply(db, pair.stream, rule);
      done.push(pair);
    } while (performance.now() < stopMs);
  } catch (error) {
    pairs.unshift(...done); // they are rolled back with the one that failed
    if (PASSING.test(sqlStateOf(error) ?? ''))
      share.looks = pair === undefined ? [] : share.looks.filter(({ id }) => id !== pair?.stream.id);
    throw error;
  }
  if (pairs.length === 0 && ruleIds.length === 0) await markLooked(db, share.looks);
}
