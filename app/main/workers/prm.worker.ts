// The PRM thread: serves the PRM contract on one port and asks the host's model through the other.
import { workerData, type MessagePort } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import { implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import { prmContract, type judgePortContract } from '../../shared/contract/prm.ts'
import { judgeTurn, runSelfTest, type Calibration } from '../prm/index.ts'
import { ruleVotes } from '../signals/index.ts'

interface PrmWorkerData {
  /** Serves `prmContract`; the thread ends when it closes. */
  readonly port: MessagePort
  /** Client of `judgePortContract`. */
  readonly judgePort: MessagePort
}

const { port, judgePort } = workerData as PrmWorkerData
const judge: ContractRouterClient<typeof judgePortContract> = createORPCClient(
  new RPCLink({ port: judgePort }),
)
const calibration: Calibration = new Map()

const contract = implement(prmContract)
const router = contract.router({
  judge: contract.judge.handler(({ input: { state, options, notes } }) => {
    // The host knows the self-test's result and switches a judge that failed it off.
    const judgeUsable = options.mode !== 'off'
    const votes = ruleVotes(state, options.ruleWeights)
    return judgeTurn({ state, options, notes, ruleVotes: votes, judgeUsable, calibration }, judge)
  }),
  selfTest: contract.selfTest.handler(async ({ input: { mode } }) => {
    // The host asks again when it has another judge model, so nothing measured before holds.
    calibration.clear()
    return await runSelfTest({ mode, calibration }, judge)
  }),
})

port.once('close', () => judgePort.close())
new RPCHandler(router).upgrade(port)
port.start()
