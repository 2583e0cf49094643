// `npm run hone -- <command>`: what can be done without the window.
import { Command } from 'commander'
import { doctorLines } from './doctor.ts'
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
  for (const [name, value] of await doctorLines(options.dataDir)) {
    console.log(`${name.padEnd(14)} ${value}`)
  }
}
