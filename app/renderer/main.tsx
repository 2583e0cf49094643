import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { connect } from './rpc/client.ts'
import { follow } from './stores/dispatch.ts'
import { StoresContext } from './stores/hooks.ts'
import { createStores } from './stores/stores.ts'
import './ui/theme.css'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')

const connection = connect()
const stores = createStores(connection)
follow(connection, stores)

createRoot(root).render(
  <StrictMode>
    <StoresContext value={stores}>
      <App />
    </StoresContext>
  </StrictMode>,
)
