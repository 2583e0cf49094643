/**
 * Small things this browser remembers: drafts, folded rails, the language.
 * Storage can be switched off or full; then they last as long as the page.
 */
const prefix = 'hone.'
const fallback = new Map<string, string>()

export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(prefix + key)
    else localStorage.setItem(prefix + key, value)
    fallback.delete(key)
  } catch {
    fallback.set(key, value ?? '')
  }
}

export function recall(key: string): string | null {
  const held = fallback.get(key)
  if (held !== undefined) return held === '' ? null : held
  try {
    return localStorage.getItem(prefix + key)
  } catch {
    return null
  }
}
