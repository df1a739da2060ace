// Mastra's own way to tools out of process: its MCP client over stdio, to the server of this folder. It makes calls on
// command: a line of stdin is {"inFlight": 8, "ms": 400}, a line of stdout the times of the calls in microseconds.
import { MCPClient } from '@mastra/mcp'
import { createInterface } from 'node:readline'

const mcp = new MCPClient({ id: 'bench', servers: { w: { command: process.execPath, args: ['server.mjs'] } } })
const tool = Object.values(await mcp.listTools())[0]
const input = { location: 'Paris', units: 'metric', days: 3 }

async function call() {
  const text = JSON.stringify(await tool.execute(input, {}))
  if (!text.includes('21.5')) throw new Error(text)
}

await call()
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const { inFlight, ms } = JSON.parse(line)
  const times = []
  const start = performance.now()
  const work = async () => {
    for (let before = performance.now(); before < start + ms;) {
      await call()
      const now = performance.now()
      times.push(Math.round((now - before) * 1000))
      before = now
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  console.log(JSON.stringify({ seconds: (performance.now() - start) / 1000, times }))
}
await mcp.disconnect()
process.exit(0)
