import { ESLint } from 'eslint'
import { beforeAll, expect, test } from 'vitest'

let eslint: ESLint

beforeAll(() => {
  // The planted files are not part of a tsconfig, so the rules that need types stay off here.
  eslint = new ESLint({
    overrideConfig: [
      {
        languageOptions: { parserOptions: { project: null } },
        rules: {
          '@typescript-eslint/await-thenable': 'off',
          '@typescript-eslint/no-floating-promises': 'off',
          '@typescript-eslint/no-misused-promises': 'off',
          '@typescript-eslint/switch-exhaustiveness-check': 'off',
        },
      },
    ],
  })
})

async function rulesBroken(text: string, filePath = 'app/main/chat/planted.ts'): Promise<string[]> {
  const results = await eslint.lintText(text, { filePath })
  return results.flatMap((result) => result.messages.map((it) => it.ruleId ?? it.message))
}

const lines = (count: number): string => 'void 0\n'.repeat(count)

const planted: readonly (readonly [what: string, code: string, rule: string])[] = [
  ['any', 'export const a = (b: any): unknown => b', '@typescript-eslint/no-explicit-any'],
  ['a default export', 'export default 1', 'no-restricted-syntax'],
  ['export *', "export * from './a.ts'", 'no-restricted-syntax'],
  ['an empty catch', 'try { void 0 } catch { }', 'no-restricted-syntax'],
  ['a catch with only a comment', 'try { void 0 } catch { /* nothing */ }', 'no-restricted-syntax'],
  [
    'a type imported as a value',
    "import { A } from './a.ts'\nexport const b = (a: A): A => a",
    '@typescript-eslint/consistent-type-imports',
  ],
  [
    'four parameters',
    'export function f(a: 1, b: 1, c: 1, d: 1): number { return a + b + c + d }',
    '@typescript-eslint/max-params',
  ],
  ['a file of 501 lines', lines(501), 'max-lines'],
  [
    'a function of 81 lines',
    `export function f(): void {\n${lines(80)}}`,
    'max-lines-per-function',
  ],
  ['a non-null assertion', 'export const a = [1][0]!', '@typescript-eslint/no-non-null-assertion'],
  ['console in the app', 'console.log(1)', 'no-console'],
  ['==', 'export const f = (a: unknown): boolean => a == 1', 'eqeqeq'],
]

test.each(planted)('%s is refused', async (_what, code, rule) => {
  expect(await rulesBroken(code)).toContain(rule)
})

test('a file of 500 lines and a function of 80 pass', async () => {
  expect(await rulesBroken(lines(500))).toEqual([])
  expect(await rulesBroken(`export function f(): void {\n${lines(78)}}`)).toEqual([])
})

test('the recipe may be 150 lines long, a component 120', async () => {
  const recipe = `export function f(): void {\n${lines(140)}}`
  const component = `export function F(): void {\n${lines(110)}}`
  expect(await rulesBroken(recipe, 'app/main/training/recipe.ts')).toEqual([])
  expect(await rulesBroken(component, 'app/renderer/ui/planted.tsx')).toEqual([])
})
