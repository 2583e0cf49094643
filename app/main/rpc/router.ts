// The contract's handlers: parse, call a service, return. No rule of the product lives here.
import { implement } from '@orpc/server'
import { appContract } from '../../shared/contract/app.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import type { Chat } from '../../shared/domain/chat.ts'
import { toRpcError } from './errors.ts'
import type { Services } from './services.ts'

/** Every failure crosses as a code and a fact; what is a bug also goes into the log. */
function guardedContract(services: Services) {
  return implement(appContract).use(async ({ next, path }) => {
    try {
      return await next()
    } catch (thrown) {
      if (toAppError(thrown).code === 'internal') services.log.failure(path.join('.'), thrown)
      throw toRpcError(thrown)
    }
  })
}

type Contract = ReturnType<typeof guardedContract>

function changedChat(services: Services, chat: Chat): Chat {
  services.publish({ kind: 'chats-changed' })
  services.publish({ kind: 'chat-changed', chatId: chat.id })
  return chat
}

function requireChat(services: Services, chatId: string): Chat {
  const chat = services.store.chat(chatId)
  if (chat === null) throw new AppError('not-found', 'This chat does not exist any more.')
  return chat
}

function chatRoutes(contract: Contract, services: Services) {
  const { store, chat } = services
  return {
    chats: {
      list: contract.chats.list.handler(() => store.chats()),
      create: contract.chats.create.handler(() => changedChat(services, store.createChat())),
      view: contract.chats.view.handler(({ input }) => services.chatView(input.chatId)),
      rename: contract.chats.rename.handler(({ input }) => {
        requireChat(services, input.chatId)
        return changedChat(services, store.updateChat(input.chatId, { title: input.title }))
      }),
      setLearn: contract.chats.setLearn.handler(({ input }) => {
        requireChat(services, input.chatId)
        return changedChat(services, store.updateChat(input.chatId, { learn: input.learn }))
      }),
      remove: contract.chats.remove.handler(async ({ input }) => {
        requireChat(services, input.chatId)
        chat.stop(input.chatId)
        await chat.settled(input.chatId)
        changedChat(services, store.updateChat(input.chatId, { deletedAt: Date.now() }))
        return {}
      }),
      restore: contract.chats.restore.handler(({ input }) =>
        changedChat(services, store.updateChat(input.chatId, { deletedAt: null })),
      ),
    },
    chat: {
      send: contract.chat.send.handler(({ input }) => {
        services.touch()
        return chat.send(input)
      }),
      stop: contract.chat.stop.handler(({ input }) => {
        chat.stop(input.chatId)
        return {}
      }),
      regenerate: contract.chat.regenerate.handler(({ input }) => {
        services.touch()
        return chat.regenerate(input.messageId)
      }),
      editAndResend: contract.chat.editAndResend.handler(({ input }) => {
        services.touch()
        return chat.editAndResend(input)
      }),
      editReply: contract.chat.editReply.handler(({ input }) => {
        services.touch()
        return chat.editReply(input)
      }),
      selectBranch: contract.chat.selectBranch.handler(({ input }) => {
        chat.selectBranch(input.messageId)
        return {}
      }),
    },
  }
}

function feedbackRoutes(contract: Contract, services: Services) {
  const { learning, store } = services
  return {
    feedback: {
      thumb: contract.feedback.thumb.handler(({ input }) => {
        services.touch()
        learning.thumb(input)
        return {}
      }),
      votes: contract.feedback.votes.handler(({ input }) => store.votes(input.turnId)),
    },
    hints: {
      list: contract.hints.list.handler(() => store.hints()),
      approve: contract.hints.approve.handler(({ input }) =>
        learning.hints.approve(input.hintId, 'user'),
      ),
      veto: contract.hints.veto.handler(({ input }) => learning.hints.veto(input.hintId)),
      edit: contract.hints.edit.handler(({ input }) =>
        learning.hints.edit(input.hintId, input.text),
      ),
      undo: contract.hints.undo.handler(({ input }) => learning.hints.undo(input.hintId)),
      shown: contract.hints.shown.handler(({ input }) => {
        learning.hints.shown(input.hintIds, input.milliseconds)
        return {}
      }),
    },
    notes: {
      list: contract.notes.list.handler(() => store.notes()),
      update: contract.notes.update.handler(({ input }) => {
        const { noteId, text, scope, state } = input
        return learning.updateNote(noteId, {
          ...(text === undefined ? {} : { text }),
          ...(scope === undefined ? {} : { scope }),
          ...(state === undefined ? {} : { state }),
        })
      }),
      remove: contract.notes.remove.handler(({ input }) => {
        learning.removeNote(input.noteId)
        return {}
      }),
    },
  }
}

function learningRoutes(contract: Contract, services: Services) {
  const { learning, store } = services
  const setSchedule = (schedule: 'as-i-chat' | 'paused') => {
    store.updateSettings({ schedule })
    services.publish({ kind: 'settings-changed' })
    learning.announce()
    return {}
  }
  return {
    learning: {
      status: contract.learning.status.handler(() => learning.status()),
      trainNow: contract.learning.trainNow.handler(() => {
        learning.trainNow()
        return {}
      }),
      practiceNow: contract.learning.practiceNow.handler(() => {
        learning.practiceNow()
        return {}
      }),
      pause: contract.learning.pause.handler(() => setSchedule('paused')),
      resume: contract.learning.resume.handler(() => setSchedule('as-i-chat')),
      curves: contract.learning.curves.handler(() => learning.curves()),
      runs: contract.learning.runs.handler(() => learning.runs()),
      heatMaps: contract.learning.heatMaps.handler(() => learning.heatMaps()),
      heatMap: contract.learning.heatMap.handler(({ input }) =>
        learning.heatMap(input.runId, input.sampleId),
      ),
    },
    versions: {
      list: contract.versions.list.handler(() => store.versions()),
      activate: contract.versions.activate.handler(async ({ input }) => {
        await learning.activate(input.version)
        return {}
      }),
      export: contract.versions.export.handler(({ input }) =>
        services.exportVersion(input.version),
      ),
    },
    settings: {
      get: contract.settings.get.handler(() => store.settings()),
      update: contract.settings.update.handler(({ input }) => {
        const change = Object.fromEntries(
          Object.entries(input).filter(([, value]) => value !== undefined),
        )
        const settings = store.updateSettings(change)
        services.publish({ kind: 'settings-changed' })
        learning.announce()
        return settings
      }),
    },
  }
}

/** The whole contract over one set of services; every transport serves this router. */
export function createRouter(services: Services) {
  const contract = guardedContract(services)
  return contract.router({
    system: {
      info: contract.system.info.handler(() => services.systemInfo()),
      trainer: contract.system.trainer.handler(() => services.trainerBackend()),
      events: contract.system.events.handler(({ signal }) =>
        services.events.subscribe('app', signal === undefined ? {} : { signal }),
      ),
    },
    ...chatRoutes(contract, services),
    ...feedbackRoutes(contract, services),
    ...learningRoutes(contract, services),
  })
}
