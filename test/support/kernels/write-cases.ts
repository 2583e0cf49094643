// Writes the cases that make_op_reference.py works out: node test/support/kernels/write-cases.ts FILE
import { writeFileSync } from 'node:fs'
import { needed } from './needed.ts'
import { casesToRecord, hashOf } from './recorded.ts'

const [target] = process.argv.slice(2)
if (target === undefined) throw new Error('name the file to write')

const cases = casesToRecord.map((test) => ({
  operator: test.operator,
  name: test.name,
  hash: hashOf(test),
  parameters: test.parameters ?? {},
  tensors: Object.entries({ ...test.inputs, ...test.matrices })
    .filter(([name]) => test.values[name] !== undefined)
    .map(([name, shape]) => {
      const values = needed(test.values[name])
      const type = values instanceof Int32Array ? 'i32' : 'f32'
      const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
      return { name, shape, type, data: bytes.toString('base64') }
    }),
}))
writeFileSync(target, JSON.stringify(cases))
console.log(`${cases.length} cases`)
