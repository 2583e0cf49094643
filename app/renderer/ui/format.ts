import type { Language } from './messages/index.ts'

const minuteSeconds = 60
const hourSeconds = 3600

/** A chart or table never shows NaN; what is not a number is a dash. */
export function formatNumber(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return value.toExponential(1)
  return value.toFixed(digits).replace('-', '−')
}

export function formatCount(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString() : '–'
}

export function formatSize(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let size = bytes
  let unit = 0
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit += 1
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–'
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < minuteSeconds) return `${Math.round(seconds)} s`
  if (seconds < hourSeconds) {
    return `${Math.floor(seconds / minuteSeconds)} min ${Math.round(seconds % minuteSeconds)} s`
  }
  return `${Math.floor(seconds / hourSeconds)} h ${Math.round((seconds % hourSeconds) / minuteSeconds)} min`
}

/** The reader's own form of the language (en-GB, zh-TW), where the browser names one. */
function regionOf(language: Language): string {
  const named = globalThis.navigator?.languages ?? []
  return named.find((name) => name.toLowerCase().startsWith(language)) ?? language
}

/** Today: the time; before: day and time. */
export function formatWhen(at: number, language: Language, now = Date.now()): string {
  const date = new Date(at)
  const isToday = new Date(now).toDateString() === date.toDateString()
  return date.toLocaleString(
    regionOf(language),
    isToday
      ? { hour: '2-digit', minute: '2-digit' }
      : { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  )
}
