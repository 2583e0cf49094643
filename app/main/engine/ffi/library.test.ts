import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../../..')

it('the generated bindings match the headers in node-llama-cpp’s source bundle', async () => {
  const script = path.join(root, 'scripts/gen-ffi.ts')
  const run = promisify(execFile)(process.execPath, [script, '--check'], { cwd: root })
  await expect(run).resolves.toMatchObject({ stderr: '' })
})
