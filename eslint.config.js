import tseslint from 'typescript-eslint'

const sizes = {
  'max-lines': ['error', { max: 500 }],
  'max-params': 'off',
  '@typescript-eslint/max-params': ['error', { max: 3 }],
}

const functionLines = (max) => ({ 'max-lines-per-function': ['error', { max }] })

const rules = {
  ...sizes,
  ...functionLines(80),
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-console': 'error',
  'no-empty': ['error', { allowEmptyCatch: false }],
  'no-eval': 'error',
  'no-implied-eval': 'error',
  'no-useless-rename': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
  'no-restricted-syntax': [
    'error',
    { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
    { selector: 'ExportAllDeclaration', message: 'Name what a door exports; no `export *`.' },
    {
      selector: 'CatchClause > BlockStatement[body.length=0]',
      message: 'Catch only to add context, translate at a boundary, or clean up.',
    },
  ],
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/ban-ts-comment': 'error',
  '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
  '@typescript-eslint/no-unused-vars': [
    'error',
    { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
  ],
}

// The few rules that need types: each finds a bug that no test is sure to find.
const typedRules = {
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: true },
  ],
}

const tests = ['**/*.test.ts', '**/*.test.tsx', 'test/**/*.ts']

export const config = [
  {
    ignores: ['node_modules/', 'out/', 'dist/', '.cache/', 'test-results/', '**/*.gen.ts'],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: ['./tsconfig.main.json', './tsconfig.renderer.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: { ...rules, ...typedRules },
  },
  { files: ['app/renderer/**/*.tsx'], rules: functionLines(120) },
  { files: ['app/main/training/recipe.ts'], rules: functionLines(150) },
  {
    files: ['scripts/**', 'eval/**', 'bench/**', 'app/main/host.ts', ...tests],
    rules: { 'no-console': 'off' },
  },
  {
    files: tests,
    rules: { 'max-lines': ['error', { max: 800 }], 'max-lines-per-function': 'off' },
  },
  {
    files: ['*.config.ts', '*.config.js'],
    rules: { 'no-restricted-syntax': 'off' },
  },
]

export default config
