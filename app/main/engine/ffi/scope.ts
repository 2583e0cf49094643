// Ownership of native objects. Each belongs to one scope, is counted while alive, and is freed in reverse order.

/** Counts the native objects of one engine. */
export interface HandleCounter {
  alive: number
}

export class Scope implements Disposable {
  readonly #counter: HandleCounter
  readonly #releases: (() => void)[] = []
  #closed = false

  constructor(counter: HandleCounter) {
    this.#counter = counter
  }

  /** Takes over a native object; `free` runs when the scope ends. */
  own<T>(object: T, free: (object: T) => void): T {
    if (this.#closed) throw new Error('a closed scope cannot own anything')
    this.#counter.alive += 1
    this.#releases.push(() => {
      this.#counter.alive -= 1
      free(object)
    })
    return object
  }

  [Symbol.dispose](): void {
    this.#closed = true
    for (let release = this.#releases.pop(); release; release = this.#releases.pop()) release()
  }
}
