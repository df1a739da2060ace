// What every client is put through. A client file gives connect(target, answer) and returns an object with
//   list() -> names, call(name, args, {signal, onprogress}) -> result, close()
// and lacks(target), step by step, what the client cannot do. Each step prints one line: name, ok or FAILED or -, detail.
import { once } from 'node:events'
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const target = JSON.parse(process.argv[2])

export async function run(connect, cannot = () => ({})) {
  const lacks = cannot(target)
  let action = { action: 'accept', content: { approve: true } }
  const asked = []
  const client = await connect(target, question => {
    asked.push(question)
    return action
  })
  const step = async (name, work) => {
    if (lacks[name]) return print(name, '-', lacks[name])
    try {
      print(name, 'ok', await work())
    } catch (e) {
      print(name, 'FAILED', String(e?.stack ?? e))
    }
  }
  await step('list', async () => {
    const names = await client.list()
    for (const want of ['add', 'steps', 'slow', 'danger']) {
      must(names.some(n => n === want || n.endsWith('_' + want)), `${want} is not in ${names}`)
    }
    return `${names.length} tools`
  })
  await step('call', async () => {
    const text = JSON.stringify(await client.call('add', { a: 2, b: 3 }))
    must(/\b5\b/.test(text), text)
    return ''
  })
  await step('bad input', async () => {
    const text = await failure(client.call('add', { a: 'two', b: 3 }))
    must(/\/a\b|- a:/.test(text), `the error does not name the place: ${text}`) // the second is a client's own check
    return ''
  })
  await step('unknown', async () => {
    const text = await failure(client.call('nothing_of_the_kind', {}))
    must(/nothing_of_the_kind/.test(text), text)
    return ''
  })
  await step('progress', async () => {
    const seen = []
    await client.call('steps', { n: 4 }, { onprogress: p => seen.push(p.progress) })
    must(seen.length >= 1, 'no progress came')
    must(seen.every((p, i) => i === 0 || p > seen[i - 1]), `it does not increase: ${seen}`)
    return `${seen.length} reports`
  })
  await step('cancel', async () => {
    const key = `${process.pid}`
    const stop = new AbortController()
    const call = client.call('slow', { key }, { signal: stop.signal }).then(() => 'returned', () => 'failed')
    await file(key + '.started')
    const at = Date.now()
    stop.abort(new Error('enough'))
    must((await call) === 'failed', 'the cancelled call returned a result')
    const ended = Number(await file(key + '.cancelled'))
    must(ended - at <= 250, `it reached the tool after ${ended - at} ms`)
    return `${ended - at} ms`
  })
  await step('approval', async () => {
    const done = JSON.stringify(await client.call('danger', { what: 'go' }))
    must(done.includes('did go'), done)
    must(asked.length === 1, `${asked.length} questions`)
    action = { action: 'decline' }
    const text = await failure(client.call('danger', { what: 'stay' }))
    must(!text.includes('did stay'), text)
    return ''
  })
  await client.close()
  process.exit(0)
}

// failure waits for a call that must fail, by a rejection or by a result that says so, and returns its text.
async function failure(call) {
  let result
  try {
    result = await call
  } catch (e) {
    return `${e?.message} ${JSON.stringify(e?.data ?? e?.details ?? null)} ${e?.cause?.message ?? ''}`
  }
  must(result?.isError === true || result?.error, `it did not fail: ${JSON.stringify(result)}`)
  return JSON.stringify(result)
}

// file waits until the tool wrote a file. It watches before it looks, so that nothing is missed in between.
async function file(name) {
  const changes = watch(target.dir)
  const patience = AbortSignal.timeout(20000)
  try {
    for (;;) {
      const change = once(changes, 'change', { signal: patience })
      change.catch(() => {}) // the file may be there already
      const text = await readFile(join(target.dir, name), 'utf8').catch(() => '')
      if (text) return text
      await change
    }
  } finally {
    changes.close()
  }
}

function must(ok, text) {
  if (!ok) throw new Error(text)
}

function print(name, verdict, detail) {
  console.log(JSON.stringify({ step: name, verdict, detail: detail ?? '' }))
}
