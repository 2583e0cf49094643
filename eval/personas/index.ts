import { brief } from './brief.ts'
import type { Persona } from './persona.ts'
import { shellFirst } from './shell-first.ts'
import { student } from './student.ts'
import { ta } from './ta.ts'
import { teacher } from './teacher.ts'

/** In the order in which a joint run takes them: grades and comments build on the Student's work. */
export const personas: readonly Persona[] = [student, ta, teacher, brief, shellFirst]

export function findPersona(name: string): Persona {
  const persona = personas.find((candidate) => candidate.name === name)
  if (persona === undefined) {
    const known = personas.map((candidate) => candidate.name).join(', ')
    throw new RangeError(`no persona is called “${name}”; known are ${known}`)
  }
  return persona
}
