import { brief } from './brief.ts'
import type { Persona } from './persona.ts'
import { ta } from './ta.ts'

export const personas: readonly Persona[] = [brief, ta]

export function findPersona(name: string): Persona {
  const persona = personas.find((candidate) => candidate.name === name)
  if (persona === undefined) {
    const known = personas.map((candidate) => candidate.name).join(', ')
    throw new RangeError(`no persona is called “${name}”; known are ${known}`)
  }
  return persona
}
