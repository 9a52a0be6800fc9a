/** Makes custom-elements.json (schema 2.1.0) from the comment on top of each widget, which is the widget's contract. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

type Described = Readonly<{ name: string; description: string; type?: Readonly<{ text: string }> }>;
export type ElementContract = Readonly<{
  tagName: string;
  className: string;
  path: string;
  description: string;
  attributes: readonly Described[];
  members: readonly Described[];
  cssParts: readonly Described[];
  cssProperties: readonly Described[];
  events: readonly Described[];
}>;

/** Reads every widgets/<name>/<name>.ts that has an `@tag`. @throws Error naming the file and what is wrong with its comment */
export async function readContracts(root: string): Promise<ElementContract[]> {
  const folders = await readdir(join(root, 'widgets'), { withFileTypes: true });
  const contracts: ElementContract[] = [];
  for (const folder of folders.filter((entry) => entry.isDirectory()).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = `widgets/${folder.name}/${folder.name}.ts`;
    const source = await readFile(join(root, path), 'utf8').catch(() => null);
    if (source === null || !source.includes('@tag ')) continue;
    contracts.push(readContract(source, path));
  }
  return contracts;
}

function readContract(source: string, path: string): ElementContract {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(source)?.[1] ?? '';
  const [description = '', ...tags] = comment
    .replaceAll(/\n \*[ \t]?/g, '\n')
    .split(/\n\s*@/)
    .map((part) => part.trim().replaceAll(/\s*\n\s*/g, ' '));
  const found: Record<'attr' | 'prop' | 'csspart' | 'cssprop' | 'fires', Described[]> = {
    attr: [],
    prop: [],
    csspart: [],
    cssprop: [],
    fires: [],
  };
  let tagName = '';
  for (const tag of tags) {
    const [, kind, type, name, rest] = /^(\w+)(?:\s+\{([^}]+)\})?\s+(\S+)(?:\s+-\s+([\s\S]*))?$/.exec(tag) ?? [];
    if (kind === undefined || name === undefined) throw new Error(`${path}: cannot read "@${tag}"`);
    if (kind === 'tag') tagName = name;
    else if (kind in found) {
      found[kind as keyof typeof found].push({ name, description: rest ?? '', ...(type === undefined ? {} : { type: { text: type } }) });
    } else throw new Error(`${path}: unknown tag @${kind}`);
  }
  const className = /export class (\w+)/.exec(source)?.[1];
  const observed: readonly string[] = /observedAttributes = \[([\s\S]*?)\]/.exec(source)?.[1]?.match(/[\w-]+/g) ?? [];
  const documented = found.attr.map((attribute) => attribute.name);
  const missing = [...observed.filter((name) => !documented.includes(name)), ...documented.filter((name) => !observed.includes(name))];
  if (tagName === '' || className === undefined) throw new Error(`${path}: no @tag or no exported class`);
  if (missing.length > 0) throw new Error(`${path}: attributes observed and described differ: ${missing.join(', ')}`);
  return {
    tagName,
    className,
    path,
    description,
    attributes: found.attr,
    members: found.prop,
    cssParts: found.csspart,
    cssProperties: found.cssprop,
    events: found.fires,
  };
}

/** The manifest that editors and documentation tools read. */
export function customElementsManifest(contracts: readonly ElementContract[]): object {
  return {
    schemaVersion: '2.1.0',
    readme: '',
    modules: contracts.map((contract) => ({
      kind: 'javascript-module',
      path: contract.path.replace(/\.ts$/, '.js'),
      declarations: [
        {
          kind: 'class',
          customElement: true,
          name: contract.className,
          tagName: contract.tagName,
          description: contract.description,
          attributes: contract.attributes,
          members: contract.members.map((member) => ({ kind: 'field', ...member })),
          cssParts: contract.cssParts,
          cssProperties: contract.cssProperties,
          events: contract.events.map((event) => ({ ...event, type: { text: 'CustomEvent' } })),
        },
      ],
      exports: [
        { kind: 'js', name: contract.className, declaration: { name: contract.className } },
        { kind: 'custom-element-definition', name: contract.tagName, declaration: { name: contract.className } },
      ],
    })),
  };
}
