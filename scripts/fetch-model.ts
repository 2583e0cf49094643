// Fetches the default model once: `node scripts/fetch-model.ts [--models-dir DIR] [--verify]`.
import { resolve } from 'node:path'
import { Command } from 'commander'
import { dataFolder, defaultModel, modelsFolder } from '../app/main/models/index.ts'
import { toAppError } from '../app/shared/errors.ts'
import { obtainWithProgress } from './support/model-progress.ts'

interface Options {
  readonly modelsDir?: string
  readonly dataDir?: string
  readonly verify: boolean
}

const options = new Command('fetch-model')
  .option('--models-dir <dir>', 'the folder for the file')
  .option('--data-dir <dir>', 'the folder of Hone; the file goes to its models folder')
  .option('--verify', 'read the whole file and compare its hash', false)
  .parse()
  .opts<Options>()

const localFile = process.env['HONE_MODEL']
const modelsDir =
  options.modelsDir === undefined
    ? modelsFolder(dataFolder(options.dataDir))
    : resolve(options.modelsDir)

try {
  const { path, from } = await obtainWithProgress({
    model: defaultModel,
    modelsDir,
    verify: options.verify,
    ...(localFile === undefined || localFile === '' ? {} : { localFile }),
  })
  console.log(`Model: ${path} (${from})`)
} catch (error) {
  console.error(toAppError(error).message)
  process.exitCode = 1
}
