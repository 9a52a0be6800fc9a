/** The canvases of the viewer of a recording: drawn once in a frame, however much asks for it, again where their size or the colors
 *  change, and at once for paper. */
import { allViews } from './open-recording.ts';
import type { View } from './open-recording.ts';

export class RecordingCanvases {
  readonly #root: ShadowRoot;
  readonly #paint: (views: ReadonlySet<View>) => void;
  readonly #toDraw = new Set<View>();
  #queued = 0;
  /** As they were rendered last. */
  #sizes = '';
  /** Width of the viewer, and how high the words below the strip have been at it, px. */
  #wordsBox: readonly [width: number, height: number] = [0, 0];

  constructor(root: ShadowRoot, paint: (views: ReadonlySet<View>) => void) {
    [this.#root, this.#paint] = [root, paint];
  }

  /** @returns how to end it */
  watch(): () => void {
    const again = (): void => this.draw();
    const sizes = new ResizeObserver(again);
    sizes.observe(this.#root.host);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    // At once: a page is printed before the next frame. Paper is light, whatever the screen is.
    const paper = matchMedia('print');
    const onPaper = (): void => {
      this.draw();
      this.#paintWanted();
    };
    paper.addEventListener('change', onPaper);
    return () => {
      paper.removeEventListener('change', onPaper);
      sizes.disconnect();
      scheme.removeEventListener('change', again);
      this.#cancel();
    };
  }

  /** @param views to redraw; none: all */
  draw(...views: readonly View[]): void {
    for (const view of views.length === 0 ? allViews : views) this.#toDraw.add(view);
    this.#queued ||= requestAnimationFrame(() => this.#paintWanted());
  }

  #paintWanted(): void {
    this.#cancel();
    const views = new Set(this.#toDraw);
    this.#toDraw.clear();
    this.#paint(views);
  }

  #cancel(): void {
    cancelAnimationFrame(this.#queued);
    this.#queued = 0;
  }

  /** After each render. */
  rendered(): void {
    this.#keepAbove();
    const sizes = [...this.#root.querySelectorAll('canvas')]
      .map(({ offsetWidth, offsetHeight }) => `${offsetWidth} ${offsetHeight}`)
      .join();
    if (sizes !== this.#sizes) this.draw();
    this.#sizes = sizes;
  }

  /** The strip stays above the words, however many they are. It does not go back when they are fewer: it would move under the pointer
   *  whose beat is told. */
  #keepAbove(): void {
    const height = this.#root.querySelector<HTMLElement>('.reading')?.offsetHeight ?? 0;
    const [widthBefore, before] = this.#wordsBox;
    const width = (this.#root.host as HTMLElement).offsetWidth;
    this.#wordsBox = [width, width === widthBefore ? Math.max(before, height) : height];
    this.#root.querySelector<HTMLElement>('.views')?.style.setProperty('--_words', `${this.#wordsBox[1]}px`);
  }
}
