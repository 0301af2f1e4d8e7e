// A server whose handler takes STEPS steps of integer arithmetic: node work.js ADDRESS STEPS
const http = require('http')
const [address, steps] = process.argv.slice(2)
const [host, port] = address.split(':')
function work(n) {
  let x = 1
  for (let i = 0; i < n; i++) x = (Math.imul(x, 31) + i) | 0
  return x
}
http.createServer((_, response) => {
  response.setHeader('X-Work', work(Number(steps)) === 0 ? 'zero' : 'done')
  response.end('ok')
}).listen(Number(port), host)
