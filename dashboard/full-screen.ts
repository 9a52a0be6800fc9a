/** Takes the whole screen, or gives it back. */
export function toggleFullScreen(): void {
  if (document.fullscreenElement === null) void document.documentElement.requestFullscreen();
  else void document.exitFullscreen();
}
