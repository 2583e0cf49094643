// `npm run hone -- <command>`: what can be done without the window.
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { dataFolder, defaultModel, inMegabytes, modelsFolder } from '../app/main/models/index.ts'
import { findBrowser } from './launcher/browser.ts'
import { installedElectron } from './launcher/electron.ts'
import { runCommand } from './support/command.ts'

interface DataOption {
  readonly dataDir?: string
}

const program = new Command('hone').description('Hone without its window')

program
  .command('doctor')
  .description('say what this machine has and what is missing')
  .option('--data-dir <dir>', 'the folder that keeps everything')
  .action(doctor)

program
  .command('serve')
  .description('start the host and print its address (options as for npm start)')
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async (_options: unknown, command: Command) => {
    const args = ['scripts/start.ts', '--no-open', ...command.args]
    const { code } = await runCommand(process.execPath, args, { live: true })
    process.exitCode = code
  })

await program.parseAsync()

async function doctor(options: DataOption): Promise<void> {
  const dataDir = dataFolder(options.dataDir)
  const model = join(modelsFolder(dataDir), defaultModel.fileName)
  const browser = findBrowser({
    platform: process.platform,
    environment: process.env,
    isRoot: process.platform !== 'win32' && userInfo().uid === 0,
  })
  const disk = await statfs(existsSync(dataDir) ? dataDir : process.cwd())
  const lines: readonly (readonly [string, string])[] = [
    ['Node', process.versions.node],
    ['data folder', existsSync(dataDir) ? dataDir : `${dataDir} (made at the first start)`],
    ['free disk', inMegabytes(disk.bavail * disk.bsize)],
    ['default model', existsSync(model) ? model : 'not here yet; `npm start` fetches it'],
    ['Electron', installedElectron(process.cwd()) ?? 'its program is not here'],
    ['browser', browser.kind === 'found' ? browser.program : browser.reason],
    ['interface', existsSync('out/renderer/index.html') ? 'built' : 'not built yet'],
  ]
  for (const [name, value] of lines) console.log(`${name.padEnd(14)} ${value}`)
}
