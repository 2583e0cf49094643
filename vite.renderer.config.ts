import { resolve } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: resolve(import.meta.dirname, 'app/renderer'),
  // relative, so that the same files work from the host and from Electron's own protocol
  base: './',
  plugins: [react(), tailwindcss()],
  build: {
    outDir: resolve(import.meta.dirname, 'out/renderer'),
    emptyOutDir: true,
    // Electron and the browsers that open the app are of this age or newer
    target: 'chrome126',
    sourcemap: false,
    chunkSizeWarningLimit: 1500,
  },
})
