/**
 * Joins what the store had when the view was read with the tokens that arrived meanwhile.
 * The two overlap by an unknown length: the longest end of `stored` that begins `streamed` counts once.
 */
export function mergeStream(stored: string, streamed: string): string {
  if (streamed.startsWith(stored)) return streamed
  const longest = Math.min(stored.length, streamed.length)
  for (let length = longest; length > 0; length -= 1) {
    if (stored.endsWith(streamed.slice(0, length))) return stored + streamed.slice(length)
  }
  // Every streamed token may already be in the middle of what was stored.
  return stored.includes(streamed) ? stored : stored + streamed
}
