require('node:http')
  .createServer((_, answer) => answer.end('{"answer":256}'))
  .listen(Number(process.argv[3]), process.argv[2])
