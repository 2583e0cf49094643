import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { checkFile, checkLayers } from '../../scripts/layers/check.ts'
import { layers, pins } from '../../scripts/layers/table.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A file, one import in it, and whether the table draws that arrow. */
type Arrow = readonly [file: string, code: string]

const forbidden: readonly Arrow[] = [
  ['app/shared/domain/x.ts', "import { a } from '../../main/chat/a.ts'"],
  ['app/shared/domain/x.ts', "import { join } from 'node:path'"],
  ['app/main/engine/x.ts', "import { a } from '../training/a.ts'"],
  ['app/main/training/x.ts', "import { a } from '../learning/a.ts'"],
  ['app/main/signals/x.ts', "import { a } from '../prm/a.ts'"],
  ['app/main/signals/x.ts', "import { readFileSync } from 'node:fs'"],
  ['app/main/prm/x.ts', "import type { a } from '../policy/types.ts'"],
  ['app/main/policy/x.ts', "import type { a } from '../store/types.ts'"],
  ['app/main/store/x.ts', "import { a } from '../policy/a.ts'"],
  ['app/main/gateway/x.ts', "import { a } from '../chat/a.ts'"],
  ['app/main/envs/x.ts', "import { a } from '../engine/index.ts'"],
  ['app/main/models/x.ts', "import { a } from '../engine/nn/a.ts'"],
  ['app/main/chat/x.ts', "import { openStore } from '../store/index.ts'"],
  ['app/main/chat/x.ts', "import { type a, b } from '../store/types.ts'"],
  ['app/main/learning/x.ts', "import { a } from '../chat/a.ts'"],
  ['app/main/rpc/x.ts', "import { openPolicy } from '../policy/index.ts'"],
  ['app/main/workers/x.ts', "import { a } from '../desktop/window.ts'"],
  ['app/main/workers/x.ts', "import { compose } from '../compose.ts'"],
  ['app/main/compose.ts', "import { a } from './desktop/window.ts'"],
  ['app/main/host.ts', "import { a } from './preload/preload.ts'"],
  ['app/main/host.ts', "await import('./desktop/window.ts')"],
  ['app/main/desktop/x.ts', "import { a } from '../chat/a.ts'"],
  ['app/main/preload/x.ts', "import { a } from '../rpc/ports.ts'"],
  ['app/main/compose.ts', "import { a } from '../../eval/user.ts'"],
  ['app/main/compose.ts', "import { a } from '../../bench/run.ts'"],
  ['app/main/compose.ts', "export { a } from '../../test/support/model.ts'"],
  ['app/main/compose.ts', "import { a } from '../renderer/rpc/client.ts'"],
  ['app/renderer/features/chat/x.tsx', "import { a } from '../hints/chip.tsx'"],
  ['app/renderer/features/chat/x.tsx', "import { a } from '../../../main/chat/a.ts'"],
  ['app/renderer/ui/x.tsx', "import { join } from 'node:path'"],
  ['app/renderer/stores/x.ts', "type A = import('../../main/store/types.ts').A"],
  ['native/build.ts', "import { a } from '../app/main/engine/index.ts'"],
  ['somewhere/x.ts', ''],
]

const allowed: readonly Arrow[] = [
  ['app/main/chat/x.ts', "import type { Store } from '../store/types.ts'"],
  ['app/main/chat/x.ts', "import { type Store } from '../store/types.ts'"],
  ['app/main/chat/x.ts', "import { AppError } from '../../shared/errors.ts'"],
  ['app/main/training/x.ts', "import { a } from '../engine/index.ts'"],
  ['app/main/workers/x.ts', "import { a } from '../training/a.ts'"],
  ['app/main/compose.ts', "import { a } from './store/index.ts'"],
  ['app/main/main.ts', "import { a } from './desktop/window.ts'"],
  ['app/main/prm/x.ts', "import data from '../../../resources/prompts/score.json'"],
  ['app/main/chat/x.test.ts', "import { a } from '../../../test/support/model.ts'"],
  ['app/renderer/features/chat/x.tsx', "import { a } from '../../ui/button.tsx'"],
  ['app/renderer/features/chat/x.tsx', "import { a } from './bubble.tsx'"],
]

test.each(forbidden)('the arrow in %s is refused: %s', (file, code) => {
  expect(checkFile(file, `\n${code}\n`)).toHaveLength(1)
})

test.each(allowed)('the arrow in %s is drawn: %s', (file, code) => {
  expect(checkFile(file, code)).toEqual([])
})

test.each(Object.keys(pins))('%s is refused outside its own folder', (name) => {
  const specifier = name.replace('*', 'anything')
  for (const file of ['app/main/learning/x.ts', 'app/shared/x.ts']) {
    const found = checkFile(file, `import { a } from '${specifier}'`)
    expect(found.map((it) => it.message).join()).toContain('belongs to')
  }
})

test.each(Object.entries(pins))('%s is allowed in its own folder', (name, places) => {
  const specifier = name.replace('*', 'anything')
  for (const place of places) {
    const file = place.endsWith('.ts') ? place : `${place}/x.ts`
    expect(checkFile(file, `import { a } from '${specifier}'`)).toEqual([])
  }
})

test('a path into a package counts as the package', () => {
  expect(checkFile('app/main/chat/x.ts', "import { a } from 'hono/cookie'")).toHaveLength(1)
})

test('the tool reads a whole tree and names file and line', async () => {
  await using folder = await temporaryFolder()
  const files = {
    'app/main/engine/ok.ts': "import { cpus } from 'node:os'\n",
    'app/main/engine/bad.ts': "// one line\nimport { a } from '../chat/a.ts'\n",
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true })
    writeFileSync(join(folder.path, name), text)
  }
  expect(checkLayers(folder.path)).toMatchObject([{ file: 'app/main/engine/bad.ts', line: 2 }])
})

test('every folder of app/main has its own row', () => {
  const places = layers.map((layer) => layer.place)
  expect(new Set(places).size).toBe(places.length)
  for (const folder of ['chat', 'policy', 'signals', 'prm', 'learning', 'training', 'engine']) {
    expect(places).toContain(`app/main/${folder}`)
  }
})
