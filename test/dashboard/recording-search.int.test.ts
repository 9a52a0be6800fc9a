/** The viewer of a recording in a real Chromium: it goes to events, marks, gaps, ectopic beats and bad stretches, and says when there is
 *  none. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import { shownSec, startViewer } from '../helpers/recording-viewer.ts';
import type { ViewerFixture } from '../helpers/recording-viewer.ts';
import { addPerson, at, ECTOPIC_SEC, EVENT_SEC, GAP, NOTE_SEC, sendRecording, startMs } from '../helpers/viewed-recording.ts';

let dashboard: DashboardFixture;
let stream: string;
let openViewer: ViewerFixture['openViewer'];

beforeAll(async () => {
  if (chromiumPath !== null) ({ dashboard, stream, openViewer } = await startViewer());
}, 400_000);
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('a recording', () => {
  it('goes to the events of one text among many others, exactly that one where there is one', async () => {
    const beats = Array.from({ length: 59 }, (_, i) => ({ sec: i + 0.5, code: 'annotation', text: i % 20 === 14 ? 'V' : 'N' }));
    const others = [
      { sec: 22, code: 'annotation', text: '+ (AFIB' },
      { sec: 26, code: 'annotation', text: 'missing ECG V1' },
      { sec: 49, code: 'annotation', text: '+ (N' },
    ];
    await addPerson(dashboard, 'annotated', 'Anna Annotated');
    await sendRecording(dashboard, {
      subject: 'annotated',
      deviceId: 'annotated patch',
      bootId: '0a'.repeat(16),
      startMs,
      seconds: 60,
      events: [...beats, ...others].toSorted((a, b) => a.sec - b.sec),
    });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=annotated'))[0]!.id;
    const { page } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(1)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.getByLabel('Jump to').selectOption('Event of the device or file');
    const text = page.getByLabel('With the text');
    // What there is to choose: the most frequent first.
    const offered = page.locator('datalist option');
    await until(async () => (await offered.count()) === 5);
    expect(await offered.evaluateAll((options: HTMLOptionElement[]) => options.map(({ value }) => value))).toEqual([
      'N',
      'V',
      '+ (AFIB',
      'missing ECG V1',
      '+ (N',
    ]);
    const next = page.getByRole('button', { name: 'Next' });
    const goesTo = async (sec: number): Promise<void> => await until(async () => Math.abs((await shownSec(page)) - sec) < 0.01);
    await text.fill('V');
    for (const sec of [14.5, 34.5, 54.5]) {
      await next.click();
      await goesTo(sec);
    }
    await next.click();
    await page.getByText('There are no more in this direction').waitFor();
    // A part of it is enough, in small letters too; Enter leads back to the keys of the strip.
    await text.fill('afib');
    await text.press('Enter');
    await page.keyboard.press('p');
    await goesTo(22);
    await text.fill('');
    await next.click();
    await goesTo(22.5);
    expect(await violations(page, 'bio-recording')).toEqual([]);
    await page.context().close();
  });

  it('says that there are more events than it shows, and goes to those as well', async () => {
    // As many as the annotated beats of five hours.
    const beats = Array.from({ length: 20_000 }, (_, i) => ({ sec: i * 0.002, code: 'annotation', text: 'N' }));
    const late = [42, 44, 48, 55].map((sec) => ({ sec, code: 'annotation', text: sec === 48 ? 'V' : 'N' }));
    await addPerson(dashboard, 'counted', 'Conny Counted');
    const sent = { subject: 'counted', deviceId: 'counted patch', bootId: '0b'.repeat(16), startMs, seconds: 60, packetSec: 0.5 } as const;
    await sendRecording(dashboard, { ...sent, events: [...beats, ...late] });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=counted'))[0]!.id;
    // Until its times are saved, what is asked for lies after its end.
    await until(async () => {
      const { last_sample_at: last } = await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${of}`);
      return Date.parse(last ?? '') > startMs + 59_000;
    });
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(43)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    await page.getByText(/^Only the first 19,999 marks or events are shown here, none after .*:39 UTC$/).waitFor();
    await page.getByLabel('Jump to').selectOption('Event of the device or file');
    const go = async (name: string, sec: number): Promise<void> => {
      await page.getByRole('button', { name }).click();
      await until(async () => Math.abs((await shownSec(page)) - sec) < 0.01);
    };
    await go('Next', 44);
    await go('Next', 48);
    await go('Previous', 44);
    await go('Previous', 42);
    await go('Previous', 39.998);
    await page.getByLabel('With the text').fill('V');
    await go('Next', 48);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('There are no more in this direction').waitFor();
    await page.getByLabel('With the text').fill('N');
    await go('Next', 55);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that there are more marks, and more episodes, than it shows', async () => {
    const subject = await addPerson(dashboard, 'marked', 'Mara Marked');
    await sendRecording(dashboard, { subject: 'marked', deviceId: 'marked patch', bootId: '0c'.repeat(16), startMs, seconds: 60 });
    const of = (await dashboard.send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=marked'))[0]!.id;
    const mark = { stream_id: of, kind: 'note', starts_at: at(10), text: 'one of many' };
    const episode = { subject_id: subject, kind: 'manual', title: 'One of many', severity: 'low', started_at: at(10), ended_at: at(59) };
    // One through the service; as many more as it takes, every 2 ms, as copies of its row: so many requests take minutes.
    for (const [table, begin, path, body] of [
      ['annotation', 'starts_at', '/api/v1/annotations', mark],
      ['episode', 'started_at', '/api/v1/episodes', episode],
    ] as const) {
      const { id } = await dashboard.send<{ id: string }>('POST', path, body);
      await dashboard.database.pool.query(
        `insert into ${table} select (jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), '${begin}', one.${begin} + n * interval '2 ms'))).*
         from ${table} one, generate_series(1, 20000) n where one.id = $1`,
        [id],
      );
    }
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${of}?at=${at(20)}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
    });
    // 20 answers of 1000; each begins with the last of the one before.
    await page.getByText(/^Only the first 19,981 marks or events are shown here, none after .*:49 UTC$/).waitFor();
    await page.getByText(/^Only the newest 19,981 episodes are shown here, none before .*:10 UTC$/).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('goes to the ectopic beat, the gap, the event and the note, and says when there is no more', async () => {
    const { page } = await openViewer(`?at=${at(20)}`);
    const [jump, next] = [page.getByLabel('Jump to'), page.getByRole('button', { name: 'Next' })];
    for (const [choice, sec] of [
      ['Ectopic beat', ECTOPIC_SEC],
      ['Gap', GAP[0]],
      ['Event of the device or file', EVENT_SEC],
      ['Episode or mark', NOTE_SEC],
    ] as const) {
      await jump.selectOption(choice);
      await until(async () => {
        await next.click();
        return Math.abs((await shownSec(page)) - sec) < 2;
      });
    }
    await next.click();
    const noMore = page.getByText('There are no more in this direction');
    await noMore.waitFor();
    // What is said does not stand in place of what is read.
    await expect.poll(() => page.locator('.read').textContent()).toMatch(/heart rate 75 \/min, Good$/);
    await jump.selectOption('Event of the device or file');
    await page.getByLabel('With the text').fill('full');
    for (const name of ['Next', 'Previous']) {
      await page.getByRole('button', { name, exact: true }).click();
      await expect.poll(() => page.locator('.said').textContent(), { message: name }).toBe('There are none in this recording');
    }
    await jump.selectOption('Episode or mark');
    await next.click();
    await noMore.waitFor();
    // Steps that follow one another closely: it does not wait for the last of them.
    await page.locator('.views').focus();
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press('ArrowLeft');
      await page.waitForTimeout(60);
    }
    expect(await noMore.count()).toBe(0);
    // One that is still being looked for when the person has gone elsewhere.
    await page.keyboard.press('End');
    await jump.selectOption('Gap');
    await page.route('**/overview*', async (route) => {
      await sleep(800);
      await route.continue().catch(() => undefined); // nobody waits for it any more
    });
    const sought = page.waitForRequest(/\/overview/);
    await page.getByRole('button', { name: 'Previous' }).click();
    await sought;
    await page.keyboard.press('Home');
    await page.locator('.views').focus();
    await page.keyboard.press('Home');
    await page.waitForTimeout(1200);
    expect(await shownSec(page)).toBeLessThan(1);
    expect(await noMore.count()).toBe(0);
    // Another kind is another question.
    await page.unroute('**/overview*');
    await jump.selectOption('Episode or mark');
    await page.getByRole('button', { name: 'Previous' }).click();
    await noMore.waitFor();
    await jump.selectOption('Ectopic beat');
    await expect.poll(() => noMore.count()).toBe(0);
    await page.context().close();
  });

  // promise: worst-first
  it('goes to the worst stretch, then to the next worst and back, and says which of how many, by key and by choice', async () => {
    const subject = await addPerson(dashboard, 'loose', 'Lou Loose', 'UTC');
    const off = [
      [0, 20],
      [100, 130],
      [200, 260],
      [330, 340],
    ] as const;
    // Not where a bucket of the service begins.
    const beginMs = startMs + 2600;
    await sendRecording(dashboard, {
      subject: 'loose',
      deviceId: 'loose patch',
      bootId: '27'.repeat(16),
      startMs: beginMs,
      seconds: 400,
      off,
    });
    const [{ id }] = await dashboard.send<[{ id: string }]>('GET', `/api/v1/streams?subject_id=${subject}`);
    await until(async () => {
      const { last_sample_at: last } = await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${id}`);
      const [beats] = await dashboard.send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${id}/beats`);
      return Date.parse(last ?? '') > startMs + 399_000 && (beats?.ts_ns.at(-1) ?? 0) > 1e6 * (startMs + 340_000);
    }, 60_000);
    const query = `?at=${at(20)}`;
    const { page, errors } = await dashboard.open(`/dashboard/#/recordings/${id}${query}`, { storageState: dashboard.signedIn });
    await page.locator('bio-recording[data-state=ready]').waitFor();
    const said = page.locator('bio-recording .said');
    const goes = async (press: () => Promise<void>, rank: number, sec: number, lengthSec: number): Promise<void> => {
      await press();
      await expect.poll(() => said.textContent()).toMatch(new RegExp(`^Worst quality, ${rank} of 4: \\d+ s from [\\d:]+, Unusable$`));
      const length = Number(/: (\d+) s/.exec((await said.textContent())!)![1]);
      expect(Math.abs(length - lengthSec)).toBeLessThanOrEqual(10); // judged by the second, put together by 5 s
      await expect.poll(async () => Math.abs((await shownSec(page)) - sec)).toBeLessThanOrEqual(6);
    };
    const press = (key: string) => (): Promise<void> => page.keyboard.press(key);
    await page.locator('.views').focus();
    // Until it is judged to its end there is less to go to.
    await expect
      .poll(
        async () => {
          await page.reload();
          await page.locator('bio-recording[data-state=ready]').waitFor();
          await page.waitForLoadState('networkidle');
          await page.locator('.views').focus();
          await page.keyboard.press('w');
          await page.waitForTimeout(500);
          return await said.textContent();
        },
        { timeout: 60_000 },
      )
      .toContain('1 of 4');
    await page.keyboard.press('Home');
    await page.locator('.views').focus();
    await goes(press('w'), 2, 100, 30);
    await goes(press('w'), 3, 2, 20);
    expect(await said.textContent()).toContain(` from ${at(2.6).slice(11, 19)},`);
    await goes(press('w'), 4, 330, 10);
    await press('w')();
    await expect.poll(() => said.textContent()).toBe('There are no more in this direction');
    await goes(press('Shift+W'), 3, 2, 20);
    await goes(press('Shift+W'), 2, 100, 30);
    await goes(press('Shift+W'), 1, 200, 60);
    await page.getByLabel('Jump to').selectOption('Worst quality'); // begins anew
    await goes(() => page.getByRole('button', { name: 'Next' }).click(), 1, 200, 60);
    await goes(() => page.getByRole('button', { name: 'Next' }).click(), 2, 100, 30);
    await goes(() => page.getByRole('button', { name: 'Previous' }).click(), 1, 200, 60);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that it could not look, not that there are no more', async () => {
    const { page } = await openViewer(`?at=${at(200)}`);
    await page.locator('.views').focus();
    const said = page.locator('bio-recording .said');
    await page.getByLabel('Jump to').selectOption('Ectopic beat');
    await page.route(/\/beats\?.*limit=100000/, (route) => route.abort('connectionrefused'));
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => said.textContent()).toBe('It could not be looked for. Try again.');
    await page.context().close();
  });

  it('says so, too, where marks or the whole could not be read, and looks again', async () => {
    const { page } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    const unread = /\/(episodes|overview)\?/;
    await page.route(unread, (route) => route.abort('connectionrefused'));
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${stream}?at=${at(200)}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    const said = page.locator('bio-recording .said');
    const next = async (to: string): Promise<void> => {
      await page.getByLabel('Jump to').selectOption(to);
      await page.getByRole('button', { name: 'Next' }).click();
    };
    for (const to of ['Mark', 'Gap']) {
      await next(to);
      await expect.poll(() => said.textContent(), { message: to }).toBe('It could not be looked for. Try again.');
    }
    await page.unroute(unread);
    await next('Gap');
    await until(async () => Math.abs((await shownSec(page)) - GAP[0]) < 2);
    await next('Mark');
    await until(async () => Math.abs((await shownSec(page)) - NOTE_SEC) < 2);
    await page.context().close();
  });

  it('looks for nothing any more once one has moved on, or closed it', async () => {
    const { page, errors } = await openViewer(`?at=${at(200)}`);
    await page.getByLabel('Jump to').selectOption('Ectopic beat');
    const sought = /\/beats\?.*limit=100000/;
    await page.route(sought, () => undefined); // never answered
    for (const away of [() => page.keyboard.press('Home'), () => page.evaluate(() => void (location.hash = '#/users'))]) {
      const [asked, dropped] = [page.waitForRequest(sought), page.waitForEvent('requestfailed', (request) => sought.test(request.url()))];
      await page.locator('.views').focus();
      await page.keyboard.press('n');
      await asked;
      await away();
      await dropped;
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
