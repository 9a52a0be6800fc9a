/** Tells other nodes of failed tries, and counts theirs (src/http/shared-tries.ts). */
import type { Bus } from '../bus/bus.ts';
import type { ClusterView } from '../cluster/cluster-view.ts';
import type { SharedTries } from '../http/shared-tries.ts';
import { decodeObject, encodeObject } from './wire.ts';

type Tried = Readonly<{ limit: string; who: string }>;

export function shareTries(bus: Bus, view: ClusterView, tries: SharedTries): void {
  bus.handle('tried', (_, body) => {
    const { limit, who } = decodeObject<Tried>(body);
    tries.note(limit, who);
    return new Uint8Array(0);
  });
  tries.connect((limit, who) => {
    const body = encodeObject({ limit, who } satisfies Tried);
    for (const { id } of view.nodes()) if (id !== view.self) bus.send(id, 'tried', body);
  });
}
