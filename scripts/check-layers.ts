import { checkLayers } from './layers/check.ts'

const violations = checkLayers(process.cwd())
for (const { file, line, message } of violations) console.error(`${file}:${line} ${message}`)
console.log(violations.length === 0 ? 'layers: clean' : `layers: ${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
