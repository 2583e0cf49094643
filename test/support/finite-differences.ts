/** Central differences of a scalar function, step 1e-5: exact to about 1e-9 for smooth losses in doubles. */
export function finiteDifferences(
  lossOf: (values: readonly number[]) => number,
  values: readonly number[],
): number[] {
  const step = 1e-5
  return values.map((_, index) => {
    const moved = (by: number) =>
      lossOf(values.map((value, i) => (i === index ? value + by : value)))
    return (moved(step) - moved(-step)) / (2 * step)
  })
}
