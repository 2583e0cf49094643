/**
 * Largest-triangle-three-buckets: keeps the points that carry a curve's shape.
 * Points without a finite value are kept only when everything is kept; the curve bridges them.
 */
export interface Reading<T> {
  x: (item: T) => number
  y: (item: T) => number | null
}

export const mostPoints = 1000

export function decimate<T>(items: readonly T[], reading: Reading<T>, limit = mostPoints): T[] {
  if (items.length <= limit) return [...items]
  const drawn = items.filter((item) => isFinitePoint(item, reading))
  if (drawn.length <= limit || limit < 3) return drawn.slice(0, limit)
  const last = drawn.length - 1
  const bucketSize = (drawn.length - 2) / (limit - 2)
  const kept: T[] = [drawn[0] as T]
  let previous = 0
  for (let bucket = 0; bucket < limit - 2; bucket += 1) {
    const from = Math.floor(bucket * bucketSize) + 1
    const to = Math.floor((bucket + 1) * bucketSize) + 1
    const after = Math.min(Math.floor((bucket + 2) * bucketSize) + 1, last + 1)
    const next = meanOf(drawn.slice(to, Math.max(after, to + 1)), reading)
    previous = largest(drawn, { from, to, previous, next }, reading)
    kept.push(drawn[previous] as T)
  }
  kept.push(drawn[last] as T)
  return kept
}

function isFinitePoint<T>(item: T, { x, y }: Reading<T>): boolean {
  const value = y(item)
  return Number.isFinite(x(item)) && value !== null && Number.isFinite(value)
}

interface Point {
  x: number
  y: number
}

function pointOf<T>(item: T, reading: Reading<T>): Point {
  return { x: reading.x(item), y: reading.y(item) ?? 0 }
}

function meanOf<T>(items: readonly T[], reading: Reading<T>): Point {
  const sum = items
    .map((item) => pointOf(item, reading))
    .reduce((a, b) => ({ x: a.x + b.x, y: a.y + b.y }), { x: 0, y: 0 })
  return { x: sum.x / items.length, y: sum.y / items.length }
}

interface Bucket {
  from: number
  to: number
  previous: number
  next: Point
}

function largest<T>(items: readonly T[], bucket: Bucket, reading: Reading<T>): number {
  const a = pointOf(items[bucket.previous] as T, reading)
  let best = bucket.from
  let bestArea = -1
  for (let index = bucket.from; index < bucket.to; index += 1) {
    const b = pointOf(items[index] as T, reading)
    const area = Math.abs((a.x - bucket.next.x) * (b.y - a.y) - (a.x - b.x) * (bucket.next.y - a.y))
    if (area > bestArea) {
      bestArea = area
      best = index
    }
  }
  return best
}
