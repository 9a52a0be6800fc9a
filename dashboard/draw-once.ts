/** @returns a function that asks for one draw in the next animation frame, however often it is called */
export function drawOnce(draw: () => void): () => void {
  let queued = false;
  return () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      draw();
    });
  };
}
