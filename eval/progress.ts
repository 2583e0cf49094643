/** Progress lines with the time that is left at most. */
export interface Progress {
  /** Prints a line after `work` more units of the plan are done. */
  report(line: string, work: number): void
  /** Prints a line about something that is not counted. */
  note(line: string): void
  /** Work that turned out not to be needed. */
  skip(work: number): void
}

export function createProgress(plannedWork: number, print: (line: string) => void): Progress {
  const start = Date.now()
  let planned = plannedWork
  let done = 0
  return {
    report(line, work) {
      done += work
      const left = ((Date.now() - start) / 1000) * Math.max(0, planned / done - 1)
      print(`${line} · ${done >= planned ? 'done' : `at most ${duration(left)} left`}`)
    },
    note: print,
    skip(work) {
      planned -= work
    },
  }
}

export function duration(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
