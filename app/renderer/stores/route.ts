import { createStore } from 'zustand/vanilla'

export type Page = 'chat' | 'learning' | 'hints' | 'adapters' | 'settings'

export interface Route {
  page: Page
  /** The open chat; null = a chat that does not exist yet. */
  chatId: string | null
}

const pages: readonly Page[] = ['chat', 'learning', 'hints', 'adapters', 'settings']

export function parseHash(hash: string): Route {
  const [name = '', id = ''] = hash.replace(/^#\/?/, '').split('/')
  const page = pages.find((candidate) => candidate === name) ?? 'chat'
  return { page, chatId: page === 'chat' && id !== '' ? decodeURIComponent(id) : null }
}

export function hrefOf(page: Page, chatId: string | null = null): string {
  return chatId === null ? `#/${page}` : `#/${page}/${encodeURIComponent(chatId)}`
}

export function createRoute() {
  const store = createStore<Route>()(() => parseHash(window.location.hash))
  window.addEventListener('hashchange', () => store.setState(parseHash(window.location.hash)))
  return store
}

export function go(page: Page, chatId: string | null = null): void {
  window.location.hash = hrefOf(page, chatId)
}
