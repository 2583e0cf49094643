// Starts one of the TypeScript programs: `node scripts/run.mjs scripts/start.ts --no-open`.
// Plain JavaScript, so that a Node too old to read TypeScript still gets to say so.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Below 22.18 Node does not run TypeScript without a flag.
const oldest = [22, 18]

function isTooOld(version) {
  const [major, minor] = version.split('.').map(Number)
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1])
}

if (isTooOld(process.versions.node)) {
  process.stderr.write(
    `Hone needs Node ${oldest.join('.')} or newer; this is ${process.versions.node}.\n` +
      '`npm ci` brings Node 24 along. If install scripts were blocked, run\n' +
      '`npm rebuild node`, then start again through npm (`npm start`).\n',
  )
  process.exit(1)
}

const [, , program, ...rest] = process.argv
if (program === undefined) {
  process.stderr.write('usage: node scripts/run.mjs PROGRAM.ts [options]\n')
  process.exit(2)
}
process.argv = [process.argv[0] ?? '', resolve(program), ...rest]
await import(pathToFileURL(resolve(program)).href)
