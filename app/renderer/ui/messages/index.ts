import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import { recall, remember } from '../../stores/memory.ts'
import { en, type Messages } from './en.ts'
import { zh } from './zh.ts'

export type { Messages }
export type Language = 'en' | 'zh'

const catalogues: Readonly<Record<Language, Messages>> = { en, zh }
const storageKey = 'language'

function firstLanguage(): Language {
  const chosen = recall(storageKey)
  if (chosen === 'en' || chosen === 'zh') return chosen
  return globalThis.navigator?.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

const language = createStore<{ language: Language }>()(() => ({ language: firstLanguage() }))

export function setLanguage(next: Language): void {
  language.setState({ language: next })
  remember(storageKey, next)
}

export function useLanguage(): Language {
  return useStore(language, (state) => state.language)
}

export function useMessages(): Messages {
  return catalogues[useLanguage()]
}
