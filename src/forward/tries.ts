/** Tells other nodes of failed tries, and counts theirs (src/http/shared-tries.ts). */
import type { Bus } from '../bus/bus.ts';
import type { ClusterView } from '../cluster/cluster-view.ts';
import type { SharedTries } from '../http/shared-tries.ts';
import { checkSaid, decodeObject, encodeObject } from './wire.ts';

/** Of an address, or of what is kept of a credential or an account. */
const WHO_LENGTH_MAX = 1024;

type Tried = Readonly<{ limit: string; who: string }>;

export function shareTries(bus: Bus, view: ClusterView, tries: SharedTries): void {
  bus.handle('tried', (_, body) => {
    const { limit, who } = decodeObject<Tried>(body);
    checkSaid(typeof who === 'string' && who.length <= WHO_LENGTH_MAX);
    tries.note(limit, who);
    return new Uint8Array(0);
  });
  tries.connect((limit, who) => {
    const body = encodeObject({ limit, who } satisfies Tried);
    for (const { id } of view.nodes()) if (id !== view.self) bus.send(id, 'tried', body);
  });
}
