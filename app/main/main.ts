// Electron entry: one window on the same host that host.ts serves to a browser.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  app,
  BrowserWindow,
  dialog,
  ipcMain,
  Menu,
  MessageChannelMain,
  protocol,
  session,
  shell,
  utilityProcess,
  type MessagePortMain,
} from 'electron'
import { toAppError } from '../shared/errors.ts'
import { compose, type App } from './compose.ts'
import { utilityChildren } from './desktop/children.ts'
import { createPageHandler, pageOrigin, pageScheme } from './desktop/pages.ts'
import { handOutPorts } from './desktop/ports.ts'
import { lockDown, menuTemplate, windowOptions } from './desktop/window.ts'
import { dataFolder } from './models/index.ts'
import { servePort } from './rpc/index.ts'

const here = dirname(fileURLToPath(import.meta.url))
let composed: App | null = null

protocol.registerSchemesAsPrivileged([
  { scheme: pageScheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
])

if (app.requestSingleInstanceLock()) {
  app.on('second-instance', showWindow)
  app.on('window-all-closed', () => {
    app.quit()
  })
  app.on('before-quit', onQuit)
  start().catch(fail)
} else {
  app.quit()
}

async function start(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(app.isPackaged ? 1 : 2),
    options: { 'data-dir': { type: 'string' }, model: { type: 'string' } },
    // Electron and Chromium switches may stand among ours.
    strict: false,
  })
  await app.whenReady()
  composed = await compose({
    dataDir: dataFolder(asText(values['data-dir'])),
    modelPath: asText(values.model) ?? null,
    spawnChild: utilityChildren(utilityProcess),
  })
  const { services } = composed
  protocol.handle(pageScheme, createPageHandler(join(here, '../renderer')))
  session.defaultSession.setPermissionRequestHandler((_contents, _permission, decide) => {
    decide(false)
  })
  handOutPorts<MessagePortMain>({
    ipc: ipcMain,
    createChannel: () => new MessageChannelMain(),
    serve: (port) => {
      servePort(port, services)
    },
  })
  Menu.setApplicationMenu(Menu.buildFromTemplate(menuTemplate(process.platform)))
  await openWindow()
}

async function openWindow(): Promise<void> {
  const window = new BrowserWindow(windowOptions(preloadPath()))
  lockDown(window.webContents, (url) => void openOutside(window, url))
  window.once('ready-to-show', () => {
    window.show()
  })
  await window.loadURL(`${pageOrigin}/`)
}

function preloadPath(): string {
  const path = join(here, '../preload/preload.cjs')
  if (existsSync(path)) return path
  throw new Error(`${path} is missing; run \`npm run build\``)
}

async function openOutside(window: BrowserWindow, url: string): Promise<void> {
  const { response } = await dialog.showMessageBox(window, {
    type: 'question',
    message: 'Open this link in your browser?',
    detail: url,
    buttons: ['Open', 'Cancel'],
    defaultId: 1,
    cancelId: 1,
  })
  if (response === 0) await shell.openExternal(url)
}

function showWindow(): void {
  const window = BrowserWindow.getAllWindows()[0]
  if (window === undefined) return
  if (window.isMinimized()) window.restore()
  window.focus()
}

/** Quitting waits until the host has put everything away. */
function onQuit(event: { preventDefault(): void }): void {
  const closing = composed
  if (closing === null) return
  event.preventDefault()
  composed = null
  void closing[Symbol.asyncDispose]().then(
    () => {
      app.quit()
    },
    () => {
      app.exit(1)
    },
  )
}

function fail(thrown: unknown): void {
  dialog.showErrorBox('Hone could not start', toAppError(thrown).message)
  app.exit(1)
}

function asText(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
