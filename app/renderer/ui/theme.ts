import { useEffect, useState } from 'react'
import { useValue } from '../stores/hooks.ts'
import { recall, remember } from '../stores/memory.ts'
import { useMedia } from './media.ts'

const themeKey = 'theme'
type Theme = 'light' | 'dark'

/** Sets the document's theme; the last choice is remembered, so that a start does not flash. */
export function useAppliedTheme(): Theme {
  const isDarkSystem = useMedia('(prefers-color-scheme: dark)')
  const settings = useValue('settings')
  const wanted = settings?.theme ?? recall(themeKey) ?? 'system'
  const theme: Theme =
    wanted === 'system' ? (isDarkSystem ? 'dark' : 'light') : wanted === 'dark' ? 'dark' : 'light'
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  useEffect(() => {
    if (settings !== null) remember(themeKey, settings.theme)
  }, [settings])
  return theme
}

/** The theme on the page now; what is drawn on a canvas must be drawn again when it changes. */
export function useDocumentTheme(): string {
  const [theme, setTheme] = useState(() => document.documentElement.dataset['theme'] ?? 'light')
  useEffect(() => {
    const read = (): void => setTheme(document.documentElement.dataset['theme'] ?? 'light')
    const observer = new MutationObserver(read)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    read()
    return () => observer.disconnect()
  }, [])
  return theme
}
