// Runs in the sandbox before the page. It exposes one fact and forwards ports; never ipcRenderer.
import { contextBridge, ipcRenderer } from 'electron'
import { forwardPorts, type PageWindow } from './forward.ts'

// This file is checked without the DOM's types, but runs where `window` is the global object.
type Port = InstanceType<typeof MessagePort>
const page = globalThis as unknown as PageWindow<Port>

contextBridge.exposeInMainWorld('honeDesktop', true)
forwardPorts<Port>({ ipc: ipcRenderer, page })
