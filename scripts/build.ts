// `npm run build`: main, host, workers, preload and interface into out/, as the installers pack them.
import { runCommand } from './support/command.ts'
import { toolArguments } from './support/tools.ts'

const args = toolArguments('electron-vite', ['build'])
const { code } = await runCommand(process.execPath, args, { live: true })
process.exitCode = code
