import type { BrowserWindowConstructorOptions, MenuItemConstructorOptions } from 'electron'
import { isOwnPage } from './pages.ts'

export function windowOptions(preload: string): BrowserWindowConstructorOptions {
  return {
    title: 'Hone',
    width: 1180,
    height: 800,
    minWidth: 420,
    minHeight: 480,
    show: false,
    autoHideMenuBar: true,
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      webviewTag: false,
      spellcheck: false,
    },
  }
}

/** What the lock-down needs of Electron's `WebContents`; a fake in tests. */
export interface LockableContents {
  on(
    event: 'will-navigate' | 'will-redirect',
    listener: (event: { preventDefault(): void }, url: string) => void,
  ): unknown
  on(event: 'will-attach-webview', listener: (event: { preventDefault(): void }) => void): unknown
  setWindowOpenHandler(handler: (details: { url: string }) => { action: 'deny' }): void
}

/** Keeps a window on Hone's own page; a web link goes to `openOutside`, which asks first. */
export function lockDown(contents: LockableContents, openOutside: (url: string) => void): void {
  for (const event of ['will-navigate', 'will-redirect'] as const) {
    contents.on(event, (navigation, url) => {
      if (!isOwnPage(url)) navigation.preventDefault()
    })
  }
  contents.on('will-attach-webview', (event) => {
    event.preventDefault()
  })
  contents.setWindowOpenHandler(({ url }) => {
    if (/^https?:\/\//i.test(url)) openOutside(url)
    return { action: 'deny' }
  })
}

/** Only what people expect to find: editing, zoom, window, quit. */
export function menuTemplate(platform: NodeJS.Platform): MenuItemConstructorOptions[] {
  const appMenu: MenuItemConstructorOptions[] = platform === 'darwin' ? [{ role: 'appMenu' }] : []
  const fileMenu: MenuItemConstructorOptions[] =
    platform === 'darwin' ? [] : [{ label: 'File', submenu: [{ role: 'quit' }] }]
  return [
    ...appMenu,
    ...fileMenu,
    { role: 'editMenu' },
    {
      label: 'View',
      submenu: [
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { type: 'separator' },
        { role: 'togglefullscreen' },
      ],
    },
    { role: 'windowMenu' },
  ]
}
