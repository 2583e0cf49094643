/** What a case's own shapes say is there. */
export function needed<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a case asks for what it did not declare')
  return value
}
