/** Changes that wait for a release, and how a release takes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changeFiles, changeLines, changesFolder, parseChange, withRelease } from '../../scripts/changelog.ts';

it('every file of changes/ is one line of a kind and a sentence', () => {
  for (const name of changeFiles()) {
    expect(name).toMatch(/^[a-z0-9-]+\.md$/);
    expect(parseChange(name, readFileSync(join(changesFolder, name), 'utf8')).text).not.toBe('');
  }
});

describe('a fragment', () => {
  it.each([
    ['Fixed: A thing.', 'one line'],
    ['repaired: A thing.', 'one of added, changed'],
    ['fixed: A thing.\nAnd another.', 'one line'],
    ['fixed: a thing', 'a full stop'],
    ['', 'one line'],
  ])('%o is refused', (content, reason) => {
    expect(() => parseChange('a.md', content)).toThrow(new RegExp(`changes/a.md: .*${reason}`));
  });

  it('is read with or without its last line break', () => {
    expect(parseChange('a.md', 'fixed: A thing.\n')).toEqual(parseChange('a.md', 'fixed: A thing.'));
  });
});

describe('a release', () => {
  const lines = changeLines([
    { kind: 'fixed', text: 'A fault.' },
    { kind: 'added', text: 'A thing.' },
  ]);

  it('has its lines by kind', () => {
    expect(lines).toEqual(['- Added: A thing.', '- Fixed: A fault.']);
  });

  it('closes the open section and keeps what is in it', () => {
    expect(withRelease('# Changelog\n\n## 0.1.0 (unreleased)\n\n- Old.\n', lines, '0.1.0', '2026-01-02')).toBe(
      '# Changelog\n\n## 0.1.0 (2026-01-02)\n\n- Old.\n- Added: A thing.\n- Fixed: A fault.\n',
    );
  });

  it('stands above the version before it', () => {
    expect(withRelease('# Changelog\n\n## Versions\n\nWords.\n\n## 0.1.0 (2026-01-02)\n\n- Old.\n', lines, '0.2.0', '2026-02-03')).toBe(
      '# Changelog\n\n## Versions\n\nWords.\n\n## 0.2.0 (2026-02-03)\n\n- Added: A thing.\n- Fixed: A fault.\n\n## 0.1.0 (2026-01-02)\n\n- Old.\n',
    );
  });
});
