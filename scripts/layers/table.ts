// The arrows between folders and the packages pinned to folders, as data (DESIGN 3.2).

/** One folder or file of the tree and what its files may import besides themselves and app/shared. */
export interface Layer {
  /** A folder (`app/main/chat`) or, for the roots, one file (`app/main/main.ts`). */
  readonly place: string
  /** Places whose values may be imported; `*` is everything outside `never`. */
  readonly values: readonly string[]
  /** Places of which only types may be imported. */
  readonly types?: readonly string[]
  readonly never?: readonly string[]
  /** May the layer import Node's own modules? */
  readonly node: boolean
}

const desktopSide = ['app/main/desktop', 'app/main/preload', 'app/main/main.ts']
const outsideApp = ['eval', 'bench', 'test', 'scripts']
const entries = ['app/main/host.ts', 'app/main/compose.ts', 'app/main/main.ts']
const pureCores = ['app/main/signals', 'app/main/prm']
const services = [
  ...['policy', 'store', 'training', 'models', 'gateway', 'envs'].map((it) => `app/main/${it}`),
  ...pureCores,
]

/** The first layer whose place holds a file decides, so files and inner folders come first. */
export const layers: readonly Layer[] = [
  { place: 'app/shared', values: [], node: false },
  { place: 'app/main/engine', values: [], node: true },
  { place: 'app/main/training', values: ['app/main/engine'], node: true },
  { place: 'app/main/signals', values: [], node: false },
  { place: 'app/main/prm', values: ['app/main/signals'], node: false },
  { place: 'app/main/policy', values: [], node: true },
  { place: 'app/main/store', values: [], node: true },
  { place: 'app/main/gateway', values: [], node: true },
  { place: 'app/main/envs', values: [], node: true },
  {
    place: 'app/main/models',
    values: ['app/main/engine/gguf', 'app/main/engine/index.ts'],
    node: true,
  },
  { place: 'app/main/chat', values: [], types: services, node: true },
  { place: 'app/main/learning', values: [], types: services, node: true },
  {
    place: 'app/main/rpc',
    values: ['app/main/chat', 'app/main/learning'],
    types: services,
    node: true,
  },
  { place: 'app/main/workers', values: ['*'], never: [...desktopSide, ...entries], node: true },
  { place: 'app/main/preload', values: [], node: false },
  { place: 'app/main/desktop', values: ['app/main/rpc'], node: true },
  {
    place: 'app/main/main.ts',
    values: ['*'],
    never: ['app/renderer', 'app/main/preload'],
    node: true,
  },
  // host.ts, compose.ts and what they are split into
  { place: 'app/main', values: ['*'], never: [...desktopSide, 'app/renderer'], node: true },
  {
    place: 'app/renderer/features',
    values: ['app/renderer/ui', 'app/renderer/stores', 'app/renderer/rpc'],
    node: false,
  },
  { place: 'app/renderer', values: ['app/renderer'], node: false },
  { place: 'scripts', values: ['*'], never: ['app/renderer', 'test'], node: true },
  { place: 'eval', values: ['*'], node: true },
  { place: 'bench', values: ['*'], node: true },
  { place: 'test', values: ['*'], node: true },
  { place: 'native', values: [], node: true },
]

/** Inside these, each direct subfolder is a place of its own and may not import its siblings. */
export const separateChildren: readonly string[] = ['app/renderer/features']

/** Nothing in app may import these, whatever its own row says. */
export const outside: readonly string[] = outsideApp

/** Where a package (or `name/*` for a scope) may be imported from. Tests and fakes are exempt. */
export const pins: Readonly<Record<string, readonly string[]>> = {
  koffi: ['app/main/engine/ffi', 'native', 'scripts/gen-ffi.ts'],
  'node-llama-cpp': ['app/main/policy'],
  'node:sqlite': ['app/main/store'],
  hono: ['app/main/gateway', 'app/main/rpc', 'app/main/host.ts'],
  '@hono/*': ['app/main/gateway', 'app/main/rpc', 'app/main/host.ts'],
  ws: ['app/main/rpc', 'app/main/host.ts', 'scripts', 'eval', 'bench'],
  '@huggingface/jinja': ['app/main/policy'],
  electron: ['app/main/main.ts', 'app/main/desktop', 'app/main/preload'],
  'cli-progress': ['scripts', 'eval', 'bench'],
  commander: ['app/main/host.ts', 'scripts', 'eval', 'bench'],
  'env-paths': ['app/main/models', 'app/main/host.ts', 'app/main/main.ts', 'scripts', 'eval'],
  react: ['app/renderer'],
  'react-dom': ['app/renderer'],
  zustand: ['app/renderer'],
  'radix-ui': ['app/renderer'],
  'lucide-react': ['app/renderer'],
  recharts: ['app/renderer'],
}
