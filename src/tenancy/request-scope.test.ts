import { expect, test } from 'vitest';
import type { Caller } from '../caller.ts';
import { noteProject, noteSubject, scopeOf } from './request-scope.ts';

const caller = (): Caller => ({ kind: 'anonymous' });

test('a request is about nobody until it is noted, and callers are told apart though they look the same', () => {
  const [one, other] = [caller(), caller()];
  noteSubject(one, 'person', 'project');
  expect(scopeOf(one)).toEqual({ subjectId: 'person', projectId: 'project' });
  expect(scopeOf(other)).toEqual({ subjectId: null, projectId: null });
});

test('a project that is noted after a person does not take the person away; without one it is the newest', () => {
  const [one, other] = [caller(), caller()];
  noteSubject(one, 'person', 'project');
  noteProject(one, 'another');
  expect(scopeOf(one)).toEqual({ subjectId: 'person', projectId: 'project' });
  noteProject(other, 'project');
  noteProject(other, 'another');
  expect(scopeOf(other)).toEqual({ subjectId: null, projectId: 'another' });
});
