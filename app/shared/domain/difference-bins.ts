/** Bins of teacher − student log-probability differences in nats: half a nat each, and one open bin at either end. */
export const differenceBins = { low: -5, high: 5, width: 0.5, count: 22 } as const
