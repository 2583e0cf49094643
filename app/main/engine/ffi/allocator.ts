// Scratch memory for the intermediate results of graphs, reused from graph to graph.
import type { Pointer } from './pointer.ts'
import type { Runtime } from './runtime.ts'
import type { Scope } from './scope.ts'

const addresses = new WeakMap<Allocator, Pointer<'ggml_gallocr'>>()

export class Allocator implements Disposable {
  readonly #scope: Scope

  constructor(runtime: Runtime) {
    this.#scope = runtime.newScope()
    addresses.set(this, runtime.createAllocator(this.#scope))
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
  }
}

/** Only this folder imports it. */
export function allocatorAddress(allocator: Allocator): Pointer<'ggml_gallocr'> {
  const address = addresses.get(allocator)
  if (address === undefined) throw new Error('the allocator has no native address')
  return address
}
