import { Component, type ReactNode } from 'react'
import type { AppError } from '../../shared/errors.ts'
import { toClientError } from '../rpc/errors.ts'
import { Failed } from './states.tsx'

interface CrashGuardProps {
  children: ReactNode
}

interface CrashGuardState {
  error: AppError | null
}

/** A mistake on one page is said there; the other pages stay usable. React asks for a class here. */
export class CrashGuard extends Component<CrashGuardProps, CrashGuardState> {
  override state: CrashGuardState = { error: null }

  static getDerivedStateFromError(thrown: unknown): CrashGuardState {
    return { error: toClientError(thrown) }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="mx-auto max-w-[720px] p-6">
        <Failed error={error} onRetry={() => this.setState({ error: null })} />
      </div>
    )
  }
}
