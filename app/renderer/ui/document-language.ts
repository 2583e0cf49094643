import { useEffect } from 'react'
import { useLanguage } from './messages/index.ts'

/** Tells screen readers and spelling checkers which language the page speaks. */
export function useDocumentLanguage(): void {
  const current = useLanguage()
  useEffect(() => {
    document.documentElement.lang = current
  }, [current])
}
