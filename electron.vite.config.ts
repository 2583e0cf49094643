import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'electron-vite'

const root = import.meta.dirname
const at = (path: string): string => join(root, path)

const workerSuffix = '.worker.ts'
const workers = readdirSync(at('app/main/workers'))
  .filter((file) => file.endsWith(workerSuffix))
  .map((file) => [`workers/${file.slice(0, -'.ts'.length)}`, at(`app/main/workers/${file}`)])

export default defineConfig({
  main: {
    build: {
      outDir: 'out/main',
      rollupOptions: {
        input: {
          main: at('app/main/main.ts'),
          host: at('app/main/host.ts'),
          ...(Object.fromEntries(workers) as Record<string, string>),
        },
        // One output file per source file: workers are found beside the module that starts them.
        output: {
          format: 'es',
          preserveModules: true,
          preserveModulesRoot: at('app/main'),
          entryFileNames: '[name].js',
        },
      },
    },
  },
  preload: {
    build: {
      outDir: 'out/preload',
      // A sandboxed preload cannot load packages: one CommonJS file with everything in it.
      externalizeDeps: false,
      rollupOptions: {
        input: { preload: at('app/main/preload/preload.ts') },
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  renderer: {
    root: at('app/renderer'),
    plugins: [react(), tailwindcss()],
    build: {
      outDir: 'out/renderer',
      rollupOptions: { input: { index: at('app/renderer/index.html') } },
    },
  },
})
