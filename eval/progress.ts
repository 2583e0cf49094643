// Progress of one part as lines, and of the whole plan as a bar with the time that is left.
import { MultiBar, Presets } from 'cli-progress'

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

export interface PlanPart {
  readonly name: string
  /** Parts that are finished, of all. */
  readonly done: number
  readonly all: number
  /** What it and all parts after it are expected to take. */
  readonly seconds: number
  readonly later: number
}

export interface PlanProgress extends Disposable {
  startPart(part: PlanPart): void
  print(line: string): void
}

/** A bar below the lines on a terminal; elsewhere a line at the start of each part. */
export function createPlanProgress(output: {
  readonly isTerminal: boolean
  readonly print: (line: string) => void
}): PlanProgress {
  return output.isTerminal ? withBar() : withLines(output.print)
}

function withLines(print: (line: string) => void): PlanProgress {
  return {
    startPart: (part) =>
      print(`\n[${part.done + 1} of ${part.all}] ${part.name} · ${leftOf(part)}`),
    print,
    [Symbol.dispose]: () => undefined,
  }
}

function leftOf({ seconds, later }: PlanPart): string {
  return `about ${duration(seconds)}, ${duration(seconds + later)} for all that is left`
}

const format = '{bar} {done} of {all} · {name} · about {left} left'

function withBar(): PlanProgress {
  const bars = new MultiBar({ format, hideCursor: true, emptyOnZero: true }, Presets.shades_classic)
  const bar = bars.create(1, 0, { done: 0, all: 0, name: 'getting ready', left: '?' })
  let part: (PlanPart & { readonly startedAt: number }) | null = null
  const draw = (): void => {
    if (part === null) return
    const { name, done, all, seconds, later, startedAt } = part
    // A part that takes longer than expected keeps the bar before its end.
    const share = 1 - Math.exp(-(Date.now() - startedAt) / 1000 / Math.max(1, seconds))
    bar.setTotal(all)
    bar.update(Math.min(all, done + share), {
      ...{ done, all, name },
      left: duration(seconds * (1 - share) + later),
    })
  }
  const ticking = setInterval(draw, 1000)
  return {
    startPart(next) {
      part = { ...next, startedAt: Date.now() }
      draw()
    },
    print: (line) => bars.log(`${line}\n`),
    [Symbol.dispose]() {
      clearInterval(ticking)
      bars.stop()
    },
  }
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
