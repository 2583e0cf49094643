// Small stand-ins for the parts of Electron that app/main/desktop and app/main/preload touch.

type Listener<Event> = (event: Event) => void

export interface PostedPorts {
  readonly channel: string
  readonly ports: readonly unknown[]
}

interface IpcEvent {
  readonly senderFrame: { readonly url: string } | null
  readonly sender: {
    postMessage(channel: string, message: unknown, ports: readonly unknown[]): void
  }
  readonly ports: readonly never[]
}

/** Both ends of Electron's IPC: `request` plays a page, `deliver` plays the main process. */
export class FakeIpc {
  readonly sent: string[] = []
  readonly #listeners = new Map<string, Listener<never>>()

  on<Event>(channel: string, listener: Listener<Event>): void {
    this.#listeners.set(channel, listener as Listener<never>)
  }

  send(channel: string): void {
    this.sent.push(channel)
  }

  /** A message from the frame at `url`; returns what was posted back. */
  request(channel: string, url: string | null): PostedPorts[] {
    const posted: PostedPorts[] = []
    const event: IpcEvent = {
      senderFrame: url === null ? null : { url },
      sender: {
        postMessage: (answerChannel, _message, ports) => {
          posted.push({ channel: answerChannel, ports })
        },
      },
      ports: [],
    }
    this.#listeners.get(channel)?.(event as never)
    return posted
  }

  deliver(channel: string, ports: readonly unknown[]): void {
    this.#listeners.get(channel)?.({ ports } as never)
  }
}

interface PageMessage {
  readonly source: unknown
  readonly data: unknown
}

/** The page's window as the preload sees it. */
export class FakePage {
  readonly location: { readonly origin: string }
  readonly posted: { message: unknown; origin: string; ports: readonly unknown[] }[] = []
  #listener: Listener<PageMessage> = () => undefined

  constructor(origin: string) {
    this.location = { origin }
  }

  addEventListener(_type: 'message', listener: Listener<PageMessage>): void {
    this.#listener = listener
  }

  postMessage(message: unknown, origin: string, ports: readonly unknown[]): void {
    this.posted.push({ message, origin, ports })
  }

  hear(message: PageMessage): void {
    this.#listener(message)
  }
}

type NavigationListener = (event: { preventDefault(): void }, url: string) => void

/** A window's contents: tells whether a navigation would have happened. */
export class FakeContents {
  readonly #listeners = new Map<string, NavigationListener>()
  #open: (details: { url: string }) => { action: 'deny' } = () => ({ action: 'deny' })

  on(event: string, listener: NavigationListener): void {
    this.#listeners.set(event, listener)
  }

  setWindowOpenHandler(handler: (details: { url: string }) => { action: 'deny' }): void {
    this.#open = handler
  }

  navigate(event: string, url: string): 'allowed' | 'prevented' {
    let outcome: 'allowed' | 'prevented' = 'allowed'
    const preventDefault = (): void => {
      outcome = 'prevented'
    }
    this.#listeners.get(event)?.({ preventDefault }, url)
    return outcome
  }

  open(url: string): string {
    return this.#open({ url }).action
  }
}

/** Electron's `utilityProcess` with one child: the test plays the child's side. */
export class FakeUtility {
  readonly pid = 4711
  readonly forked: {
    readonly script: string
    readonly args: readonly string[]
    readonly options: unknown
  }[] = []
  readonly posted: unknown[] = []
  killed = false
  readonly #listeners = new Map<string, (value: never) => void>()

  fork(script: string, args: readonly string[], options: unknown): this {
    this.forked.push({ script, args, options })
    return this
  }

  postMessage(message: unknown): void {
    this.posted.push(message)
  }

  on<Value>(event: string, listener: (value: Value) => void): void {
    this.#listeners.set(event, listener as (value: never) => void)
  }

  once<Value>(event: string, listener: (value: Value) => void): void {
    this.on(event, listener)
  }

  kill(): boolean {
    this.killed = true
    return true
  }

  emit(event: 'message' | 'exit', value: unknown): void {
    this.#listeners.get(event)?.(value as never)
  }
}
