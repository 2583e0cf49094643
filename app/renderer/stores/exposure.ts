import { useEffect, type RefObject } from 'react'
import type { Host } from '../rpc/client.ts'
import { useStores } from './hooks.ts'

/** The delay policy counts minutes, so seconds of precision are enough. */
const reportMs = 5000
/** A machine that slept must not count the night as reading time. */
const longestReportMs = 2 * reportMs

/** Counts how long each undecided hint was really before the user's eyes. */
export function createExposure(host: Host, now: () => number = () => performance.now()) {
  const visible = new Map<string, number>()
  const shownSince = new Map<string, number>()

  function tick(isWindowOpen: boolean): void {
    const time = now()
    const groups = new Map<number, string[]>()
    for (const [hintId, since] of shownSince) {
      const milliseconds = Math.round(Math.min(time - since, longestReportMs))
      if (isWindowOpen && milliseconds > 0) {
        groups.set(milliseconds, [...(groups.get(milliseconds) ?? []), hintId])
      }
      shownSince.set(hintId, time)
    }
    for (const [milliseconds, hintIds] of groups) {
      // Lost counts only delay the automatic approval; there is nothing for the user to do.
      host.hints.shown({ hintIds, milliseconds }).catch(() => undefined)
    }
  }

  return {
    /** The same hint can be on the screen twice (reply and inbox); it counts once. */
    show(hintId: string): void {
      visible.set(hintId, (visible.get(hintId) ?? 0) + 1)
      if (!shownSince.has(hintId)) shownSince.set(hintId, now())
    },
    hide(hintId: string): void {
      const left = (visible.get(hintId) ?? 1) - 1
      if (left > 0) {
        visible.set(hintId, left)
        return
      }
      visible.delete(hintId)
      shownSince.delete(hintId)
    },
    tick,
    start(): () => void {
      const timer = setInterval(() => tick(document.visibilityState === 'visible'), reportMs)
      return () => clearInterval(timer)
    },
  }
}

const trackers = new WeakMap<Host, ReturnType<typeof createExposure>>()

function trackerOf(host: Host): ReturnType<typeof createExposure> {
  const known = trackers.get(host)
  if (known !== undefined) return known
  const made = createExposure(host)
  made.start()
  trackers.set(host, made)
  return made
}

/** Reports the element's hint as shown while it is on the screen and still undecided. */
export function useExposure(
  element: RefObject<HTMLElement | null>,
  hintId: string,
  isUndecided: boolean,
): void {
  const { host } = useStores()
  useEffect(() => {
    const target = element.current
    if (!isUndecided || target === null) return
    const tracker = trackerOf(host)
    let isShown = false
    const observer = new IntersectionObserver(([entry]) => {
      const next = entry?.isIntersecting === true
      if (next === isShown) return
      isShown = next
      if (next) tracker.show(hintId)
      else tracker.hide(hintId)
    })
    observer.observe(target)
    return () => {
      observer.disconnect()
      if (isShown) tracker.hide(hintId)
    }
  }, [element, hintId, host, isUndecided])
}
