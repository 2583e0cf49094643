import { createContext, useContext } from 'react'
import { useStore } from 'zustand'
import { valueOf, type Loadable, type ResourceStore } from './resource.ts'
import type { ResourceName, Stores } from './stores.ts'

export const StoresContext = createContext<Stores | null>(null)

export function useStores(): Stores {
  const stores = useContext(StoresContext)
  if (stores === null) throw new Error('used outside of StoresContext')
  return stores
}

type ValueOf<Name extends ResourceName> =
  Stores[Name] extends ResourceStore<infer Value> ? Value : never

export function useResource<Name extends ResourceName>(name: Name): Loadable<ValueOf<Name>> {
  const store = useStores()[name] as unknown as ResourceStore<ValueOf<Name>>
  return useStore(store, (state) => state.data)
}

/** The value, or null while it is not there. */
export function useValue<Name extends ResourceName>(name: Name): ValueOf<Name> | null {
  return valueOf(useResource(name))
}
