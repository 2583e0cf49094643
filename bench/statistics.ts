/** Middle value; the mean of both middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = (sorted.length - 1) / 2
  const [low, high] = [sorted[Math.floor(middle)] ?? NaN, sorted[Math.ceil(middle)] ?? NaN]
  return (low + high) / 2
}

/** The straight line y = offset + slope · x with the least squared error. */
export function fitLine(points: readonly { readonly x: number; readonly y: number }[]): {
  readonly slope: number
  readonly offset: number
} {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map((it) => it.x)), mean(points.map((it) => it.y))]
  const spread = points.reduce((sum, it) => sum + (it.x - x) ** 2, 0)
  const slope = points.reduce((sum, it) => sum + (it.x - x) * (it.y - y), 0) / spread
  return { slope, offset: y - slope * x }
}
