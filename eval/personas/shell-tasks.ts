// What Shell-first asks for: tasks with a few things filled in, each combination a task of its own.

interface Template {
  readonly text: string
  /** What may stand for each `{}` in turn; the lists are walked together. */
  readonly fill: readonly (readonly string[])[]
}

const folders = ['/var/log', '~/projects', '/etc', '~/Downloads', '/srv/data', '/tmp']
const endings = ['.log', '.jpg', '.csv', '.py', '.mp3', '.txt']
const files = ['report.txt', 'access.log', 'names.csv', 'notes.md', 'data.json', 'todo.txt']
const words = ['error', 'TODO', 'password', 'timeout', 'Berlin', 'deprecated']
const sizes = ['10 MB', '100 MB', '1 GB', '500 KB', '50 MB', '2 GB']
const ports = ['80', '443', '3000', '5432', '8080', '22']
const users = ['alice', 'bob', 'deploy', 'www-data', 'postgres', 'guest']
const hosts = ['example.org', 'db1', '10.0.0.7', 'backup', 'web2', 'files.local']

const templates: readonly Template[] = [
  { text: 'find all files that end in {} under {}', fill: [endings, folders] },
  { text: 'find files bigger than {} in {}', fill: [sizes, folders] },
  { text: 'count the lines of {}', fill: [files] },
  { text: 'search for the word "{}" in {}', fill: [words, files] },
  { text: 'search for "{}" in every file under {}', fill: [words, folders] },
  { text: 'delete all {} files in {} that are older than 30 days', fill: [endings, folders] },
  { text: 'show the last 20 lines of {}', fill: [files] },
  { text: 'follow {} while it grows', fill: [files] },
  { text: 'pack {} into a compressed archive', fill: [folders] },
  { text: 'copy {} to the server {}', fill: [files, hosts] },
  { text: 'see which program listens on port {}', fill: [ports] },
  { text: 'check whether port {} of {} is open', fill: [ports, hosts] },
  { text: 'make {} belong to the user {}', fill: [files, users] },
  { text: 'show how much space {} takes', fill: [folders] },
  { text: 'rename every {} file in {} to lower case', fill: [endings, folders] },
  { text: 'replace "{}" by "done" in {}', fill: [words, files] },
  { text: 'print only the second column of {}', fill: [files] },
  { text: 'sort {} and drop the duplicate lines', fill: [files] },
  { text: 'list the processes of {}', fill: [users] },
  { text: 'lock the account of {}', fill: [users] },
  { text: 'log in to {} with an SSH key', fill: [hosts] },
  { text: 'keep {} in step with {} over rsync', fill: [folders, hosts] },
  { text: 'count how often "{}" occurs in {}', fill: [words, files] },
  { text: 'list the ten newest files in {}', fill: [folders] },
  { text: 'make a symbolic link to {} in my home folder', fill: [files] },
  { text: 'see who has opened {}', fill: [files] },
  { text: 'let only me read {}', fill: [files] },
  { text: 'compare {} with its backup line by line', fill: [files] },
  { text: 'split {} into pieces of {}', fill: [files, sizes] },
  { text: 'undo my last commit but keep the changes to {}', fill: [files] },
  { text: 'see who changed each line of {} in git', fill: [files] },
  { text: 'download a file from {} and go on if it breaks off', fill: [hosts] },
  { text: 'stop whatever uses port {}', fill: [ports] },
  { text: 'run a backup of {} every night at two', fill: [folders] },
  { text: 'watch how fast {} grows', fill: [folders] },
  { text: 'turn the spaces in the file names under {} into underscores', fill: [folders] },
]

/** Over 200 tasks, always the same. */
export const shellTasks: readonly string[] = templates.flatMap(({ text, fill }) =>
  (fill[0] ?? []).map((_, index) => {
    const left = fill.map((list, place) => list[(index + place) % list.length] ?? '')
    return text.replace(/\{\}/g, () => left.shift() ?? '')
  }),
)
